"""The allocator of this installation, as sessions use it: its tables are in the same database."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.sessions.allocator import lending, operations, subscribers, waiting_line
from interlock.apps.sessions.allocator.lender import (
    AllocatorRefused,
    AllocatorUnavailable,
    Borrowed,
    Lent,
    PoolEmpty,
    Return,
)
from interlock.apps.sessions.allocator.lending import Notifying, Request
from interlock.apps.sessions.allocator.operations import BORROW, RETURN
from interlock.apps.sessions.allocator.transactions import Transactions
from interlock.apps.sessions.allocator.waiting_line import LOOK_AGAIN, MustWait
from interlock.apps.sessions.settings import AllocatorSettings

NOTHING_FREE = "No items available in the freelist"
SHORTLY = 0.2
"""Seconds between two looks while a call blocks."""


@dataclass(frozen=True)
class LocalLender:
    """A Lender on our own tables."""

    db: Transactions
    settings: AllocatorSettings
    borrower: str = "a session"
    name: str = "inside"

    @property
    def pool(self) -> str:
        return self.settings.pool

    @property
    def lend_for(self) -> timedelta:
        return timedelta(hours=self.settings.lend_for)

    def turn(self, key: str) -> timedelta | None:
        return None if self.db.write(waiting_line.keep_place, self.pool, key) is None else LOOK_AGAIN

    def leave_line(self, key: str) -> None:
        self.db.write(waiting_line.leave_line, self.pool, key)

    def borrow(self, key: str, *, wait: float = 0, params: Mapping[str, Any] | None = None) -> Lent:
        notifies = bool(subscribers.of_kind(self.settings, BORROW))
        request = Request(self.pool, key, self.borrower, self.lend_for, params or {}, wait > 0, notifies)
        end = time.monotonic() + wait
        while True:
            found = self.db.write(lending.lend, request)
            match found:
                case Lent():
                    return found
                case Notifying():
                    return self._notified(found.operation_id, request)
                case MustWait() if time.monotonic() >= end:
                    raise PoolEmpty(NOTHING_FREE, retry_after=LOOK_AGAIN)
            time.sleep(min(SHORTLY, max(0.0, end - time.monotonic())))

    def _notified(self, operation_id: UUID, request: Request) -> Lent:
        """Notify the subscribers, or wait until another process has."""
        while not subscribers.work(self.db, self.settings, operation_id):
            time.sleep(SHORTLY)
        ended = self.db.read(operations.find, operation_id)
        found = self.db.read(lending.find_by_key, request.key)
        if found is None:
            why = ended.message if ended is not None and ended.message else "the operation was deleted"
            raise AllocatorUnavailable(f"the sandbox was put back: {why}")
        return found

    def find(self, key: str) -> Lent | None:
        return self.db.read(lending.find_by_key, key)

    def give_back(self, lent: Lent) -> Return:
        notifies = bool(subscribers.of_kind(self.settings, RETURN))
        return self.db.write(lending.take_back, lent.token, None, {}, notifies)

    def operation(self, operation_id: str) -> Return:
        try:
            found = self.db.read(operations.find, UUID(operation_id))
        except ValueError:
            found = None
        if found is None:
            raise AllocatorRefused(f"the allocator has no operation {operation_id[:100]!r}")
        if not found.is_over and subscribers.work(self.db, self.settings, found.id):
            found = self.db.read(operations.find, found.id) or found
        return Return(str(found.id), found.status, found.message)

    def renew(self, lent: Lent) -> None:
        self.db.write(lending.renew, lent.token, self.lend_for)

    def release_by_force(self, item_id: str, item: Any, key: str | None = None) -> None:
        self.db.write(lending.release, UUID(item_id), key)

    def quarantine(self, item_id: str, reason: str) -> None:
        self.db.write(lending.quarantine, UUID(item_id), reason)

    def borrowed(self) -> Sequence[Borrowed]:
        return self.db.read(lending.borrowed, self.pool)
