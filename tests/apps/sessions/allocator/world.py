"""An allocator on a virtual clock, with items and borrowers of the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.sessions import registry
from interlock.apps.sessions.allocator import duties, lending, operations, pool
from interlock.apps.sessions.allocator.lender import Lent
from interlock.apps.sessions.allocator.local_lender import LocalLender
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.settings import AllocatorSettings, SessionSettings
from interlock.engine import Engine
from interlock.store import Store
from interlock.testing import VirtualClock

POOL = "local"


@dataclass
class Allocator:
    """The allocator of one installation."""

    engine: Engine
    clock: VirtualClock = field(default_factory=VirtualClock)

    @property
    def db(self) -> EngineTransactions:
        return EngineTransactions(self.engine)

    @property
    def settings(self) -> AllocatorSettings:
        found: SessionSettings = self.engine.setting("sessions")
        return found.allocator

    def configure(self, **given: Any) -> None:
        settings = SessionSettings(allocator=AllocatorSettings.model_validate(given))
        self.engine.core.settings = {**self.engine.core.settings, "sessions": settings}

    def lender(self, borrower: str = "ann") -> LocalLender:
        return LocalLender(self.db, self.settings, borrower)

    def add(self, *items: Any) -> list[UUID]:
        """Add free items; their ids."""
        return [self.db.write(pool.add, POOL, pool.canonical(item)).id for item in items]

    def counts(self) -> tuple[int, int, int, int, int]:
        """Free, borrowed, on the way back, in quarantine, and all of them."""
        found = self.db.read(pool.counts, POOL)
        assert self.db.read(pool.miscounted) == []
        return found.free, found.borrowed, found.in_return, found.quarantined, found.total

    def state(self, item: UUID | Lent) -> str:
        found = self.db.read(pool.find, item if isinstance(item, UUID) else UUID(item.item_id))
        assert found is not None
        return found.state

    def events(self, operation_id: str) -> list[str]:
        return [one.event for one in self.db.read(operations.events, UUID(operation_id))]

    def wait(self, **parts: float) -> None:
        """Let time pass, with what the clock does for the allocator."""
        self.clock.advance(timedelta(**parts))
        self.look_after()

    def look_after(self) -> None:
        duties.expire(self.engine)
        duties.carry_on(self.engine)

    def holders(self) -> list[tuple[str, str]]:
        return [(one.borrower, one.status) for one in self.db.read(lending.holders)]


def open_allocator(store: Store) -> Allocator:
    clock = VirtualClock()
    return Allocator(Engine(store, registry, clock=clock), clock)
