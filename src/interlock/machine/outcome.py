"""What a handler says when it is done: one frozen value, applied by the engine in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from interlock.machine.states import Review

Patch = Mapping[str, Any] | BaseModel | None
"""New data: a model replaces what was there, a mapping sets the named fields."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """A child to create with the outcome; it inherits root, ancestry and trace."""

    machine: str
    data: Patch = None
    key: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """Something to tell the world after the commit: it lies in the outbox until it is delivered."""

    channel: str
    to: str
    subject: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """A review that an outcome opens beside the state: verify a submission, approve a tool call."""

    name: str
    review: Review
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Outcome:
    """The root of what a handler may return."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Go(Outcome):
    """Take one declared move, or a chain of them, in one transaction."""

    to: str | tuple[str, ...]
    data: Patch = None
    reason: str = ""
    spawn: tuple[Spawn, ...] = ()
    messages: tuple[Message, ...] = ()
    asks: tuple[Ask, ...] = ()
    unstarted: bool = False
    """Enter the last state without starting its work. An event declared with `Arm` starts it."""
    at: datetime | None = None
    """Start the next state's work not before this moment."""

    @property
    def path(self) -> tuple[str, ...]:
        return (self.to,) if isinstance(self.to, str) else self.to


@dataclass(frozen=True, slots=True)
class Stay(Outcome):
    """Keep the state; the armed work is done, and the instance waits again."""

    data: Patch = None
    reason: str = ""
    spawn: tuple[Spawn, ...] = ()
    messages: tuple[Message, ...] = ()
    asks: tuple[Ask, ...] = ()


@dataclass(frozen=True, slots=True)
class Again(Outcome):
    """Run the same step again later. Nothing is wrong: it costs no attempt, and the step's failures count anew."""

    after: timedelta
    data: Patch = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fail(Outcome):
    """The same as raising the error."""

    error: BaseException
