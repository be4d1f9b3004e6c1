"""Outcomes: the value that a handler returns. The engine applies it in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from interlock.machine.states import Review

Patch = Mapping[str, Any] | BaseModel | None
"""New data: a model replaces all of it, a mapping sets the named fields."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """A child that is created with the outcome. It inherits root, ancestors and trace id."""

    machine: str
    data: Patch = None
    key: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message that is put into the outbox and delivered after the commit."""

    channel: str
    to: str
    subject: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """A review that an outcome opens, whatever the state: verify a submission, approve a tool call."""

    name: str
    review: Review
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Outcome:
    """The base class of what a handler may return."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Go(Outcome):
    """Move to another state, or through several of them, in one transaction."""

    to: str | tuple[str, ...]
    data: Patch = None
    reason: str = ""
    spawn: tuple[Spawn, ...] = ()
    messages: tuple[Message, ...] = ()
    asks: tuple[Ask, ...] = ()
    unstarted: bool = False
    """Enter the last state without starting its work. An event declared with `Arm` starts it."""
    at: datetime | None = None
    """The earliest moment at which the work of the last state starts."""

    @property
    def path(self) -> tuple[str, ...]:
        return (self.to,) if isinstance(self.to, str) else self.to


@dataclass(frozen=True, slots=True)
class Stay(Outcome):
    """Stay in the state: the armed work is done, and the instance waits again."""

    data: Patch = None
    reason: str = ""
    spawn: tuple[Spawn, ...] = ()
    messages: tuple[Message, ...] = ()
    asks: tuple[Ask, ...] = ()


@dataclass(frozen=True, slots=True)
class Again(Outcome):
    """Run the same step again later. It is no failure: it costs no attempt and resets the step's failure counts.

    With `keep_failures` the counts stay: for a step that only waits for the outcome of what it has begun.
    """

    after: timedelta
    data: Patch = None
    reason: str = ""
    keep_failures: bool = False


@dataclass(frozen=True, slots=True)
class Fail(Outcome):
    """Fail the step, as if the handler had raised the error."""

    error: BaseException
