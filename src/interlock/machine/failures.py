"""Failure rules: how often a step is retried after an error, how long it waits, and where it goes then."""

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
    """How long to wait before each retry."""

    base: timedelta
    factor: float = 1.0
    cap: timedelta | None = None
    jitter: float = 0.0
    honour_retry_after: bool = True

    def delay(self, retry: int, *, retry_after: timedelta | None = None, chance: float = 0.5) -> timedelta:
        """The wait before retry number `retry`, from 1. `chance`, from 0 to 1, chooses the place within the jitter."""
        # 2**1000 overflows a float, and a timedelta ends at a billion days, so the exponent is capped.
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
    """Wait in a waiting state until a moment; then the system fires an event there."""

    state: str
    resume: str
    wait: timedelta | None = None
    """How long to wait. None: until the error's `until`."""


SOON = exponential(timedelta(seconds=2), cap=timedelta(minutes=5), jitter=0.2)


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do after these errors: how often to retry, with which waits, and where to go after the last retry."""

    errors: tuple[ErrorName, ...]
    retries: int | None = 0
    """None, without a bound, is allowed only with a pause until a named moment: it cannot spin."""
    retries_setting: str = ""
    """The setting that says it instead, as `application.key`."""
    backoff: Backoff = SOON
    pause: Pause | None = None
    then: str | None = None
    """The state that it moves to when no retry is left. None: it stays in the state for failures."""
    dead_letter: bool = True
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Data that is set with the move to `then`, such as a reason."""
    asks: tuple[Ask, ...] = ()
    """Reviews that are opened with that move."""
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
        # An unknown effect must not be repeated, so a rule applies only if it names EffectUnknown.
        if isinstance(error, EffectUnknown):
            kin = tuple(cls for cls in kin if issubclass(cls, EffectUnknown))
        names = {cls.__name__ for cls in kin}
        return any(e in names if isinstance(e, str) else e in kin for e in self.errors)


ANY_ERROR = Rule((Exception,), retries=3)


@dataclass(frozen=True, slots=True)
class Failures:
    """The failure policy of a machine: the state for failures, the event that retries, and the rules in order."""

    state: str | None = None
    """The state that a failed step moves to. None: the instance stays in its state and is retried there."""
    retry: str = "retry"
    """The event that the system fires when a retry is due."""
    rules: tuple[Rule, ...] = ()
    otherwise: Rule = ANY_ERROR
    crashes: int = 3
    """After so many lost workers in one step it counts as poison and is not retried."""

    def rule_for(self, error: BaseException, state: str) -> Rule | None:
        """The first rule that matches. None only for an unknown effect that no rule names."""
        for rule in self.rules:
            if rule.matches(error, state):
                return rule
        return None if isinstance(error, EffectUnknown) else self.otherwise
