"""What sessions need of an allocator, whether it is in this process (`local_lender`) or elsewhere (`remote_lender`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from interlock.machine import EffectUnknown, NotSent, WorkError

SUCCEEDED, FAILED = "succeeded", "failed"


class PoolEmpty(NotSent):
    """No sandbox is free. It is no failure: ask again after `retry_after`."""


class AllocatorUnavailable(NotSent):
    """The allocator cannot be reached, or answered that it cannot help now. Nothing was borrowed or returned."""


class AllocatorRefused(NotSent):
    """The allocator refused the request: its token, the item or the borrow token is wrong."""


class WrongToken(AllocatorRefused):
    """The sandbox is borrowed, and not with this token."""


class NotBorrowed(AllocatorRefused):
    """Nothing is borrowed with this token, and the sandbox is not borrowed at all."""


class KeyUsed(AllocatorRefused):
    """The idempotency key was used for a borrow that has ended."""


class AnswerLost(WorkError):
    """The request was sent and its answer never came; ask with `find` or `operation` before sending again."""


class KeysUnknown(EffectUnknown):
    """The allocator does not know idempotency keys, so nobody can tell whether a sandbox was lent."""


class ReturnFailed(WorkError):
    """The allocator tried to take the sandbox back and failed."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A sandbox that is lent to the caller."""

    item_id: str
    """The allocator's id of the item, or the digest of its content where the allocator has no ids."""
    item: Any = field(repr=False)
    """What is needed to work in it; contains secrets."""
    token: str = field(repr=False)
    """The secret that returns it."""


@dataclass(frozen=True, slots=True)
class Return:
    """A return as the allocator sees it: pending, inprogress, succeeded or failed."""

    operation_id: str
    status: str
    message: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status in {SUCCEEDED, FAILED}


@dataclass(frozen=True, slots=True)
class Borrowed:
    """An item that the allocator counts as borrowed, without its secrets."""

    item_id: str
    key: str | None
    """The idempotency key of the borrow; None where the allocator knows none."""
    state: str = "borrowed"


class Lender(Protocol):
    """An allocator, as sessions see it. All calls block."""

    @property
    def name(self) -> str:
        """`inside`, or the address of the allocator."""

    def turn(self, key: str) -> timedelta | None:
        """How long to wait before `borrow` has a chance; None to try now. It keeps the caller's place in line."""

    def leave_line(self, key: str) -> None:
        """Give up the place in line."""

    def borrow(self, key: str, *, wait: float = 0, params: Mapping[str, Any] | None = None) -> Lent:
        """Borrow a sandbox. The same key gets the same one. Raises PoolEmpty, AllocatorUnavailable or AnswerLost."""

    def find(self, key: str) -> Lent | None:
        """What was borrowed with this key and not returned; None if nothing. Raises KeysUnknown if it cannot tell."""

    def give_back(self, lent: Lent) -> Return:
        """Start the return, or find the one that is under way or done: a second return gets the same answer."""

    def operation(self, operation_id: str) -> Return:
        """How far a return is."""

    def renew(self, lent: Lent) -> None:
        """Keep a sandbox that is still used; without it, the borrow ends after the allocator's time limit."""

    def release_by_force(self, item_id: str, item: Any, key: str | None = None) -> None:
        """Put an item back without its borrower. Nothing happens if it is free.

        With a key, only if that borrow still has it, where the allocator knows keys: nobody else loses a sandbox.
        """

    def quarantine(self, item_id: str, reason: str) -> None:
        """Take an item out of use until somebody repairs it."""

    def borrowed(self) -> Sequence[Borrowed]:
        """Everything that the allocator counts as lent, for the reconciler."""
