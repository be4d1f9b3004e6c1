"""Failure rules: what follows from which error, how often, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from interlock.machine.errors import EffectUnknown
from interlock.machine.outcome import Ask

ErrorName = type[BaseException] | str


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before the n-th retry."""

    base: timedelta
    factor: float = 1.0
    cap: timedelta | None = None
    jitter: float = 0.0
    honour_retry_after: bool = True

    def delay(self, retry: int, *, retry_after: timedelta | None = None, chance: float = 0.5) -> timedelta:
        """The wait before retry number `retry` (1 is the first); `chance` in 0..1 places it in the jitter."""
        # 2**1000 overflows a float and a timedelta holds a billion days, so the exponent stops early.
        seconds = self.base.total_seconds() * self.factor ** min(retry - 1, 60)
        seconds = min(seconds, (self.cap or timedelta(days=365)).total_seconds())
        seconds *= 1 + self.jitter * (2 * chance - 1)
        wait = timedelta(seconds=seconds)
        if self.honour_retry_after and retry_after is not None:
            wait = max(wait, min(retry_after, timedelta(days=7)))
        return wait


def exponential(base: timedelta, *, factor: float = 2.0, cap: timedelta | None = None, jitter: float = 0.0) -> Backoff:
    """Each wait is `factor` times the one before, up to `cap`."""
    return Backoff(base, factor, cap, jitter)


def fixed(wait: timedelta, *, jitter: float = 0.0) -> Backoff:
    """Each wait is the same."""
    return Backoff(wait, 1.0, None, jitter)


@dataclass(frozen=True, slots=True)
class Pause:
    """Rest in a waiting state until a moment, then let the system fire an event there."""

    state: str
    resume: str
    wait: timedelta | None = None
    """How long; None takes the moment from the error's `until`."""


SOON = exponential(timedelta(seconds=2), cap=timedelta(minutes=5), jitter=0.2)


@dataclass(frozen=True, slots=True)
class Rule:
    """For these errors: retry so often, so spaced; when that is used up, move there."""

    errors: tuple[ErrorName, ...]
    retries: int | None = 0
    """None is only for a pause: each round waits for a named moment, so it cannot spin."""
    backoff: Backoff = SOON
    pause: Pause | None = None
    then: str | None = None
    """The state it goes on to when no retry is left; None leaves it where failures rest."""
    dead_letter: bool = True
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Data set together with the move to `then`: the reason, in the application's words."""
    asks: tuple[Ask, ...] = ()
    """Reviews that open together with that move."""
    at: tuple[str, ...] = ()
    """Only for failures in these states; empty means all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", MappingProxyType(dict(self.sets)))

    @property
    def name(self) -> str:
        return "|".join(error if isinstance(error, str) else error.__name__ for error in self.errors)

    def matches(self, error: BaseException, state: str) -> bool:
        if self.at and state not in self.at:
            return False
        kin: tuple[type, ...] = type(error).__mro__
        # What is unknown must not be repeated, so a rule has to name it; a rule for Exception does not.
        if isinstance(error, EffectUnknown):
            kin = tuple(cls for cls in kin if issubclass(cls, EffectUnknown))
        names = {cls.__name__ for cls in kin}
        return any(e in names if isinstance(e, str) else e in kin for e in self.errors)


ANY_ERROR = Rule((Exception,), retries=3)


@dataclass(frozen=True, slots=True)
class Failures:
    """How a machine fails: the state for it, the way back, and the rules in order."""

    state: str | None = None
    """Where a failed step goes; None keeps the instance in its state, to be retried there."""
    retry: str = "retry"
    """The event that the system fires when a retry is due."""
    rules: tuple[Rule, ...] = ()
    otherwise: Rule = ANY_ERROR
    crashes: int = 3
    """So many lost workers in one step make it poison."""

    def rule_for(self, error: BaseException, state: str) -> Rule | None:
        """The first rule that matches; None only for an unknown effect that no rule names."""
        for rule in self.rules:
            if rule.matches(error, state):
                return rule
        return None if isinstance(error, EffectUnknown) else self.otherwise
