"""Errors of the engine. The type tells a caller what to do, the message tells a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.machine import InterlockError
from interlock.store import StoreError


class EngineError(InterlockError):
    """The base class of the engine's errors. Nothing was changed."""


def is_item_error(error: BaseException) -> bool:
    """Whether an error concerns one item only: it was raised by application code, by a rule or because of its data.

    Then the other items of a batch go on. Errors of the database, and interrupts, concern all of them.
    """
    return not isinstance(
        error, StoreError | sa.exc.DBAPIError | sa.exc.TimeoutError | KeyboardInterrupt | SavepointNeeded
    )


class SavepointNeeded(BaseException):
    """An item failed that has used the connection without a savepoint: the transaction runs again, with savepoints."""


class StatementRefused(EngineError):
    """The database refused a statement of the application. The changes of that item were undone."""


class NotFound(EngineError):
    """There is no such object, or the caller may not see it."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """An event that would be accepted now, and from whom."""

    event: str
    to: str | None
    by: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.event} ({', '.join(self.by)})"


class Refused(EngineError):
    """The event is not allowed in this state; `allowed` lists those that are."""

    def __init__(self, message: str, allowed: Sequence[Allowed] = ()) -> None:
        self.allowed = tuple(allowed)
        more = "; allowed now: " + ", ".join(map(str, self.allowed)) if self.allowed else "; nothing is allowed now"
        super().__init__(message + more)


class GuardFailed(Refused):
    """The guard of the transition raised an error."""


class Forbidden(Refused):
    """The event is allowed in this state, but not for this actor."""


class OutOfDate(EngineError):
    """The instance has changed since the caller read it."""

    def __init__(self, instance: UUID, expected: int, found: int) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"instance {instance} is at seq {found}, not {expected}; read it again and decide again")


class Fenced(EngineError):
    """The worker's claim is no longer valid; nothing was written."""


class InvalidData(EngineError):
    """The data does not fit the machine's model."""


class Unreadable(EngineError):
    """A row of the database cannot be read: it was written by hand, or by another version."""


class KeyTaken(EngineError):
    """Another instance has this key."""

    def __init__(self, machine: str, key: str, existing: UUID) -> None:
        self.existing = existing
        super().__init__(f"{machine} {key!r} exists already, as instance {existing}")


class CreatedElsewhere(EngineError):
    """Only the machine's own application creates its instances; the message says how."""

    def __init__(self, machine: str, through: str) -> None:
        super().__init__(f"a {machine} is created only by its application; use {through}")


class NotServed(EngineError):
    """This process has no code for this version of the machine."""


class LeaseTaken(EngineError):
    """Somebody else holds the named resource."""


class AlreadyDecided(EngineError):
    """The review was decided or closed already; the first decision counts."""


class ReviewClaimed(EngineError):
    """Another person has claimed this review."""


class NotFinished(EngineError):
    """The instance has not ended, so its data is still needed."""
