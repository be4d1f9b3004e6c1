"""Transitions: how an instance moves from one state to another, and who may move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class By(StrEnum):
    """Who may fire an event. An owner may fire whatever a user may."""

    SYSTEM = "system"
    WORKER = "worker"
    USER = "user"
    OWNER = "owner"
    AGENT = "agent"


SYSTEM, WORKER, USER, OWNER, AGENT = By.SYSTEM, By.WORKER, By.USER, By.OWNER, By.AGENT
PEOPLE = frozenset({By.USER, By.OWNER})
OUTSIDE = PEOPLE | {By.AGENT}
"""Actors outside of the engine and its workers."""
ROLES = ("viewer", "reviewer", "member", "owner")
"""Roles of people in a workspace. Each includes those before it."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something: a kind, and a name that is recorded in the history."""

    kind: By
    name: str = ""
    roles: frozenset[str] | None = field(default=None, compare=False, repr=False)
    """The roles that are checked for a review. None: the caller has checked them. They are not recorded."""

    def __post_init__(self) -> None:
        if not self.name.isprintable() or len(self.name) > 200:
            raise ValueError(f"an actor's name is at most 200 printable characters, not {self.name[:80]!r}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)

    def may(self, by: frozenset[By]) -> bool:
        return self.kind in by or (self.kind is By.OWNER and By.USER in by)

    @classmethod
    def parse(cls, text: str) -> Actor:
        kind, _, name = text.partition(":")
        return cls(By(kind), name)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a guard decides by: the instance as it is now, read in the same transaction."""

    state: str
    previous: str | None
    failed_step: str | None
    data: Mapping[str, Any]
    actor: Actor


Guard = Callable[[Facts], bool | str]
"""True lets the transition pass; False or a sentence refuses it. The caller sees the sentence."""


def failed_at(state: str) -> Guard:
    """A guard that passes if the failed step belongs to this state: the way back to where it failed."""

    def guard(facts: Facts) -> bool:
        return facts.failed_step is not None and facts.failed_step.partition(":")[0] == state

    guard.__name__ = f"failed_at({state})"
    return guard


def came_from(state: str) -> Guard:
    """A guard that passes if the instance was in this state before the current one."""

    def guard(facts: Facts) -> bool:
        return facts.previous == state

    guard.__name__ = f"came_from({state})"
    return guard


def _who(by: By | tuple[By, ...] | frozenset[By]) -> frozenset[By]:
    return frozenset({by}) if isinstance(by, By) else frozenset(by)


class Transition:
    """One row of a life cycle: from one or several states to another, on an event, by these actors."""

    __slots__ = ("accepts", "by", "guard", "merges", "on", "pick_up", "sets", "sources", "takes", "to")

    def __init__(
        self,
        source: str | tuple[str, ...],
        to: str,
        *,
        on: str,
        by: By | tuple[By, ...] = By.WORKER,
        guard: Guard | None = None,
        accepts: tuple[str, ...] = (),
        merges: tuple[str, ...] = (),
        sets: Mapping[str, Any] | None = None,
        takes: tuple[str, ...] = (),
        pick_up: bool = False,
    ) -> None:
        self.sources = (source,) if isinstance(source, str) else tuple(source)
        self.to = to
        self.on = on
        self.by = _who(by)
        self.guard = guard
        self.accepts = (*accepts, *merges)
        """Fields of the data that the caller may set with the event."""
        self.merges = merges
        """Those of them whose new value is merged deeply into the old one instead of replacing it."""
        self.sets = dict(sets or {})
        """Data that the move sets, unless the caller gives other values."""
        self.takes = takes
        """Limits that the move counts against, in its transaction."""
        self.pick_up = pick_up
        """A claim takes this transition and runs the handler of the state that it leads to."""

    def __repr__(self) -> str:
        return f"{' | '.join(self.sources)} → {self.to} on {self.on!r}"


class Arm:
    """An event that starts the handler of a state without a move: approve, then submit."""

    __slots__ = ("accepts", "by", "guard", "on", "state")

    def __init__(
        self,
        state: str,
        *,
        on: str,
        by: By | tuple[By, ...] = By.USER,
        guard: Guard | None = None,
        accepts: tuple[str, ...] = (),
    ) -> None:
        self.state = state
        self.on = on
        self.by = _who(by)
        self.guard = guard
        self.accepts = accepts


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition with exactly one source."""

    source: str
    to: str
    on: str
    by: frozenset[By]
    guard: Guard | None
    accepts: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    pick_up: bool = False
    sets: Mapping[str, Any] = field(default_factory=dict)
    merges: tuple[str, ...] = ()
    automatic: bool = field(init=False, default=False)
    """Whether a worker or the system may take it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "automatic", bool(self.by & {By.SYSTEM, By.WORKER}))
