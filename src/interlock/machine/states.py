"""States of a machine, with their timers and reviews."""

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
    """A worker runs a handler, here or in the state that a pick-up leads to."""
    WAITING = "waiting"
    """A person or an outside event moves the instance on."""
    FAILED = "failed"
    """A step failed. A failure rule or a person moves the instance on."""
    FINAL = "final"
    """The instance has ended. Only a transition declared for a person leads out again."""


WORK, WAITING, FAILED, FINAL = Kind.WORK, Kind.WAITING, Kind.FAILED, Kind.FINAL


@dataclass(frozen=True, slots=True)
class Timer:
    """Fires an event as the system, this long after the instance entered the state."""

    after: timedelta
    fire: str


@dataclass(frozen=True, slots=True)
class Reminder:
    """Reminds people that the instance still waits. It moves nothing."""

    after: timedelta
    message: str


@dataclass(frozen=True, slots=True)
class Review:
    """A question for a person, with the event that each decision fires."""

    title: str
    decisions: Mapping[str, str] = field(default_factory=dict)
    """Decision → event. The event is declared for the state, as a transition or as an arm."""
    settles: Mapping[str, str] = field(default_factory=dict)
    """Decision → `confirmed` or `failed`: sets the status of the instance's effects whose outcome is unknown."""
    form: type[BaseModel] | None = None
    due: timedelta | None = None
    role: str = "reviewer"

    def __post_init__(self) -> None:
        object.__setattr__(self, "decisions", MappingProxyType(dict(self.decisions)))
        object.__setattr__(self, "settles", MappingProxyType(dict(self.settles)))

    def __reduce__(self) -> tuple[type[Review], tuple[object, ...]]:
        """Makes it picklable, for handlers that run in a process of their own."""
        return Review, (self.title, dict(self.decisions), dict(self.settles), self.form, self.due, self.role)


@dataclass(frozen=True, slots=True)
class State:
    """One state of a machine."""

    name: str
    kind: Kind = Kind.WORK
    waits_for: str = ""
    """For a waiting state: the end of the sentence "it waits for …"."""
    timers: tuple[Timer | Reminder, ...] = ()
    review: Review | None = None
    lost: str | None = None
    """The state that it moves to when its worker is lost. By default it stays, and its step runs again."""
    good: bool | None = None
    """For a final state: whether it counts as success or as failure; None: as neither."""

    @property
    def ordered_timers(self) -> tuple[Timer | Reminder, ...]:
        return tuple(sorted(self.timers, key=lambda timer: timer.after)) if len(self.timers) > 1 else self.timers
