"""Errors. A failure rule names one of these, or an application's own."""

from __future__ import annotations

from datetime import datetime, timedelta


class InterlockError(Exception):
    """The base class of every error that Interlock raises."""


class MachineError(InterlockError):
    """A machine is declared wrongly. The message has one line for each mistake."""

    def __init__(self, machine: str, problems: list[str]) -> None:
        self.machine = machine
        self.problems = problems
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"machine {machine!r} is not sound:{lines}")


class WorkError(InterlockError):
    """A step failed. Derive a class for each kind of failure that needs a rule of its own."""

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
    """Something was sent and nobody knows whether it arrived. It is never sent again automatically."""


class EffectKeyReused(WorkError):
    """The key of an effect was used before for another request, another kind or another instance."""


class NotSent(WorkError):
    """What was to be sent certainly did not arrive, so it may be sent again."""


class LimitReached(WorkError):
    """A limit is used up; `until` says when there is room again."""


class WorkerLost(WorkError):
    """Workers were lost during this step too often to try again."""


class HandlerTimeout(WorkError):
    """A handler exceeded its time limit."""


class InvalidOutcome(WorkError):
    """A handler returned something that its machine does not allow."""


class HandlerOutOfMemory(WorkError):
    """A handler exceeded its memory limit."""


class HandlerDied(WorkError):
    """The process of a handler ended without a result."""


class DataTooBig(WorkError):
    """An instance's data is too large. Store large values as artifacts."""
