"""States: where an instance can be, and what is true of it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from pydantic import BaseModel


class Kind(StrEnum):
    """What happens to an instance in a state."""

    WORK = "work"
    """A worker does something, or picks the instance up into the state where it does."""
    WAITING = "waiting"
    """A person or an outside event moves it on; nothing is done meanwhile."""
    FAILED = "failed"
    """A step failed; a failure rule or a person moves it on."""
    FINAL = "final"
    """It rests here; only a transition declared for a person leads out again."""


WORK, WAITING, FAILED, FINAL = Kind.WORK, Kind.WAITING, Kind.FAILED, Kind.FINAL


@dataclass(frozen=True, slots=True)
class Timer:
    """Fires an event by the system, counted from the entry into the state."""

    after: timedelta
    fire: str


@dataclass(frozen=True, slots=True)
class Reminder:
    """Tells somebody that the instance still waits; moves nothing."""

    after: timedelta
    message: str


@dataclass(frozen=True, slots=True)
class Review:
    """The question that a person answers while an instance waits, with the events that the answers fire."""

    title: str
    decisions: Mapping[str, str] = field(default_factory=dict)
    """Decision → event; an event that is declared for the state, as a transition or as an arm."""
    settles: Mapping[str, str] = field(default_factory=dict)
    """Decision → confirmed or failed: what it says about the instance's effects whose outcome is unknown."""
    form: type[BaseModel] | None = None
    due: timedelta | None = None
    role: str = "reviewer"

    def __post_init__(self) -> None:
        object.__setattr__(self, "decisions", MappingProxyType(dict(self.decisions)))
        object.__setattr__(self, "settles", MappingProxyType(dict(self.settles)))

    def __reduce__(self) -> tuple[type[Review], tuple[object, ...]]:
        """Its way through the pipe of a handler that runs in a process of its own."""
        return Review, (self.title, dict(self.decisions), dict(self.settles), self.form, self.due, self.role)


@dataclass(frozen=True, slots=True)
class State:
    """One state of a machine."""

    name: str
    kind: Kind = Kind.WORK
    waits_for: str = ""
    """For a waiting state: whom or what, in words that finish "it waits for …"."""
    timers: tuple[Timer | Reminder, ...] = ()
    review: Review | None = None
    lost: str | None = None
    """Where the system moves it when its worker is lost; by default it stays and is worked on again."""
    good: bool | None = None
    """For a final state: whether reaching it counts as success, as failure, or (None) as neither."""

    @property
    def ordered_timers(self) -> tuple[Timer | Reminder, ...]:
        return tuple(sorted(self.timers, key=lambda timer: timer.after)) if len(self.timers) > 1 else self.timers
