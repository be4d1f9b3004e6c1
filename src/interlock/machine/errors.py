"""What can go wrong, as types: a failure rule names one of these, or an application's own."""

from __future__ import annotations

from datetime import datetime, timedelta


class InterlockError(Exception):
    """The root of every error that this package raises on purpose."""


class MachineError(InterlockError):
    """A machine is declared wrongly; the message names the place, one line for each mistake."""

    def __init__(self, machine: str, problems: list[str]) -> None:
        self.machine = machine
        self.problems = problems
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"machine {machine!r} is not sound:{lines}")


class WorkError(InterlockError):
    """A handler's step failed. Subclass it for each kind of failure that a rule must tell apart."""

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: timedelta | None = None,
        until: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.until = until


class EffectUnknown(WorkError):
    """Something left the house and nobody knows whether it arrived; it is never sent again by itself."""


class EffectKeyReused(WorkError):
    """The key of an effect was used for something else: another request, another kind, another instance."""


class NotSent(WorkError):
    """What was to leave the house certainly did not arrive, so it may be sent again."""


class LimitReached(WorkError):
    """A limit has no room left; `until` says when it has again."""


class WorkerLost(WorkError):
    """The processes that worked on a step were lost, too often to try again."""


class HandlerTimeout(WorkError):
    """A handler ran past its time limit."""


class HandlerNonsense(WorkError):
    """A handler returned something that is not an outcome of its machine."""


class HandlerOutOfMemory(WorkError):
    """A handler used up the memory that was set for it."""


class HandlerDied(WorkError):
    """A handler's own process ended without a result."""


class DataTooBig(WorkError):
    """An instance's data is larger than the store takes; big values belong into artifacts."""
