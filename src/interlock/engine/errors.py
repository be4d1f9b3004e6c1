"""Why the engine refused something. The type tells a caller what to do; the message tells a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.machine import InterlockError
from interlock.store import StoreError


class EngineError(InterlockError):
    """The root of the engine's refusals. Nothing was changed."""


def is_item_error(error: BaseException) -> bool:
    """Whether the trouble is one item's: raised by the application, by a rule or by its data.

    Then those beside it go on. Trouble of the database, or an interrupt, is everybody's.
    """
    return not isinstance(error, StoreError | sa.exc.DBAPIError | sa.exc.TimeoutError | KeyboardInterrupt)


class StatementRefused(EngineError):
    """The database refused a statement of the application's, and what it belonged to was undone."""


class NotFound(EngineError):
    """There is no such thing."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """An event that would be accepted now, and from whom."""

    event: str
    to: str | None
    by: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.event} ({', '.join(self.by)})"


class Refused(EngineError):
    """The event does not fit the state; `allowed` says what would."""

    def __init__(self, message: str, allowed: Sequence[Allowed] = ()) -> None:
        self.allowed = tuple(allowed)
        more = "; allowed now: " + ", ".join(map(str, self.allowed)) if self.allowed else "; nothing is allowed now"
        super().__init__(message + more)


class GuardFailed(Refused):
    """The guard of the event's transition raised, so nobody knows whether it would pass."""


class Forbidden(Refused):
    """The event fits the state, but not whoever fired it."""


class OutOfDate(EngineError):
    """The instance has moved on since the caller looked at it."""

    def __init__(self, instance: UUID, expected: int, found: int) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"instance {instance} is at seq {found}, not {expected}; look again and decide again")


class Fenced(EngineError):
    """The worker no longer holds the instance; what it wanted to write was not written."""


class InvalidData(EngineError):
    """The data does not fit the machine's model."""


class Unreadable(EngineError):
    """A row in the database holds what cannot be read: it was written by hand, or by another version."""


class KeyTaken(EngineError):
    """Another instance has this key."""

    def __init__(self, machine: str, key: str, existing: UUID) -> None:
        self.existing = existing
        super().__init__(f"{machine} {key!r} exists already, as instance {existing}")


class CreatedElsewhere(EngineError):
    """Only the machine's own application creates its instances; the message says through what."""

    def __init__(self, machine: str, through: str) -> None:
        super().__init__(f"a {machine} is created by its application alone; use {through}")


class NotServed(EngineError):
    """No code for this version of the machine is loaded here."""


class LeaseTaken(EngineError):
    """Somebody else holds the named resource."""


class AlreadyDecided(EngineError):
    """The review has its decision; the first one counts."""


class ReviewClaimed(EngineError):
    """Another reviewer is working on this review."""


class NotFinished(EngineError):
    """The instance has not ended, so its data is still needed."""
