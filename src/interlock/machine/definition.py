"""A machine: a life cycle declared as data, with plain functions as its handlers."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel

from interlock.machine.checks import check
from interlock.machine.failures import Failures
from interlock.machine.limits import Concurrent, Limit, Window, quoted
from interlock.machine.schemas import differences
from interlock.machine.states import Kind, Review, State
from interlock.machine.transitions import Actor, Arm, By, Edge, Transition

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)
Follower = Callable[[Any, Any, Edge, Actor], None]
"""Runs when an instance enters a state. Arguments: the unit of work, the instance, the transition, the actor."""
F = TypeVar("F", bound=Follower)
DecisionFollower = Callable[[Any, Any, Any, Actor], None]
"""Runs when a review is decided. Arguments: the unit of work, the instance, the decided review, the actor."""
DF = TypeVar("DF", bound=DecisionFollower)
Upgrade = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Converts data of an older version to data that fits this one."""


class KeyScope(StrEnum):
    """How long a business key stays taken."""

    FOREVER = "forever"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class Work:
    """A handler and the bounds it runs in."""

    handler: Handler
    timeout: timedelta
    memory_mb: int | None = None
    """If set, the handler runs in a process of its own with at most this much memory."""


class Machine:
    """A life cycle: states, transitions, policies. Raises MachineError if the declaration is unsound."""

    def __init__(
        self,
        name: str,
        *,
        initial: str,
        states: Sequence[State],
        transitions: Sequence[Transition],
        arms: Sequence[Arm] = (),
        failures: Failures | None = None,
        data: type[BaseModel] | None = None,
        key: KeyScope = KeyScope.LIVE,
        queue: str | None = None,
        limits: Sequence[Limit] = (),
        reviews: Sequence[Review] = (),
        max_depth: int = 10,
        stage: str | None = None,
        cancel: str | None = None,
        title: str = "",
        upgrades: Mapping[int | str, Upgrade] | None = None,
        created_through: str | None = None,
    ) -> None:
        self.name = name
        self.title = title or name.replace("_", " ")
        self.initial = initial
        self.states: Mapping[str, State] = {state.name: state for state in states}
        self.edges: tuple[Edge, ...] = tuple(
            Edge(source, t.to, t.on, t.by, t.guard, t.accepts, t.takes, t.pick_up, t.sets, t.merges)
            for t in transitions
            for source in t.sources
        )
        self.arms = tuple(arms)
        self.failures = failures or Failures()
        self.data = data
        self.key = key
        self.queue = queue or name
        self.limits: Mapping[str, Limit] = {limit.name: limit for limit in limits}
        self.reviews = tuple(reviews)
        """Reviews with a form that outcomes open beside a state."""
        self.max_depth = max_depth
        self.stage = stage
        """The field of the data that names the stage, for machines in which one state has several handlers."""
        self.cancel = cancel
        """The final state that cancelled work ends in."""
        self.upgrades: Mapping[int | str, Upgrade] = dict(upgrades or {})
        """By the number of an older version, or by the first characters of its digest, the same everywhere."""
        self.created_through = created_through
        """The application's own way to create an instance, such as `POST /workflows/ingest`. If set, every other way is
        refused, because the application derives data that must agree with other rows. It is not part of `spec`: the
        life cycle is the same however an instance was created."""
        self.handlers: dict[tuple[str, str | None], Work] = {}
        self.followers: dict[str, list[Follower]] = {}
        self.decision_followers: dict[str, list[DecisionFollower]] = {}
        """By the name of a review that no state owns."""
        self.others: tuple[Machine, ...] = ()
        """Other versions of this machine that a process with this one serves too."""
        self.earlier: tuple[Machine, ...] = ()
        """Those of them that have a lower number in every database."""
        check(self, states, transitions, limits)
        self._between: dict[tuple[str, str], tuple[Edge, ...]] = {}
        for edge in self.edges:
            self._between[edge.source, edge.to] = (*self._between.get((edge.source, edge.to), ()), edge)
        self._automatic = {
            (*pair, by): tuple(sorted((e for e in edges if e.automatic), key=lambda e: by not in e.by))
            for pair, edges in self._between.items()
            for by in (By.WORKER, By.SYSTEM)
        }
        self._from: dict[str, tuple[Edge, ...]] = {
            s: tuple(e for e in self.edges if e.source == s) for s in self.states
        }
        self._pick_ups = {edge.source: edge for edge in self.edges if edge.pick_up}
        self._arms = {(arm.state, arm.on): arm for arm in self.arms}
        self._armed_states = {arm.state for arm in self.arms}
        self.has_slots = any(isinstance(limit, Concurrent) for limit in limits)
        self.has_windows = any(isinstance(limit, Window) for limit in limits)
        self._concurrent = {
            state: tuple(limit for limit in limits if isinstance(limit, Concurrent) and state in limit.states)
            for state in self.states
        }

    def __repr__(self) -> str:
        return f"Machine({self.name!r}, {len(self.states)} states, {len(self.edges)} transitions)"

    def followed_by(self, later: Machine) -> None:
        """Declares a later version of this machine that a setting chooses; a process with either serves both.

        Instances go on under the declaration that they began with, until an operator migrates them. Code that simply
        replaces a version needs no declaration of the old one.
        """
        if later.name != self.name:
            raise ValueError(f"{later.name!r} is another machine than {self.name!r}, and no version of it")
        self.others = (*self.others, later)
        later.others = (*later.others, self)
        later.earlier = (*later.earlier, self)

    def work(
        self,
        state: str,
        *,
        stage: str | None = None,
        timeout: timedelta = timedelta(minutes=15),
        memory_mb: int | None = None,
    ) -> Callable[[H], H]:
        """Declares the function that does the work of a state (or of one stage of it)."""
        if state not in self.states:
            raise ValueError(f"machine {self.name!r} has no state {state!r}; it has {', '.join(self.states)}")
        if stage is not None and self.stage is None:
            raise ValueError(f"machine {self.name!r} has no stages; declare it with stage= to give {stage!r} a handler")
        if (state, stage) in self.handlers:
            raise ValueError(f"state {state!r} of machine {self.name!r} has a handler for stage {stage!r} already")

        def register(handler: H) -> H:
            self.handlers[state, stage] = Work(handler, timeout, memory_mb)
            return handler

        return register

    def entering(self, *states: str) -> Callable[[F], F]:
        """Declares a function that runs in the transaction of every move into one of these states, however it is made.

        An instance that is created in such a state enters it as well, from "" on "created".

        The function is called with the unit of work, the instance, the transition and the actor. An error that it
        raises refuses the move. It may change other instances that it has locked with `unit.lock`.
        """
        for state in states:
            if state not in self.states:
                raise ValueError(f"machine {self.name!r} has no state {state!r}; it has {', '.join(self.states)}")

        def register(follower: F) -> F:
            for state in states:
                self.followers.setdefault(state, []).append(follower)
            return follower

        return register

    def decided(self, *names: str) -> Callable[[DF], DF]:
        """Declares a function that runs in the transaction of every decision of a review with one of these names.

        It is for reviews that no state owns (`Ask`, `task.ask`). The decision of a state's own review is a transition:
        use `entering`.

        The function is called with the unit of work, the instance, the decided review and the actor, after the event
        of the decision was fired, if it has one. An error that it raises undoes the decision, and the person sees it.
        """
        for name in names:
            if name in self.states:
                raise ValueError(
                    f"{name!r} is a state of machine {self.name!r}: follow the transitions that its review fires "
                    "with entering()"
                )

        def register(follower: DF) -> DF:
            for name in names:
                self.decision_followers.setdefault(name, []).append(follower)
            return follower

        return register

    def with_handlers(self, handlers: Mapping[str | tuple[str, str], Handler | Work]) -> Machine:
        """A copy of the machine that has these handlers only."""
        made = copy.copy(self)
        made.handlers = {}
        for name, handler in handlers.items():
            state, stage = (name, None) if isinstance(name, str) else name
            if isinstance(handler, Work):
                made.work(state, stage=stage, timeout=handler.timeout, memory_mb=handler.memory_mb)(handler.handler)
            else:
                made.work(state, stage=stage)(handler)
        return made

    def handler_for(self, state: str, data: Mapping[str, Any]) -> Work | None:
        """The work of the state, or of the stage that the data names."""
        stage = data.get(self.stage) if self.stage else None
        return self.handlers.get((state, stage)) or self.handlers.get((state, None))

    def step_of(self, state: str, data: Mapping[str, Any]) -> str:
        """The name under which failures are counted: the state, and the stage where there is one."""
        stage = data.get(self.stage) if self.stage else None
        return state if stage is None or stage == "" else f"{state}:{_stage_text(stage)}"

    def edges_from(self, state: str) -> tuple[Edge, ...]:
        return self._from.get(state, ())  # a stored row may name a state that the machine does not have

    def edge(self, source: str, to: str) -> Edge | None:
        """The transition between two states, or the first declared of several."""
        return next(iter(self.edges_between(source, to)), None)

    def edges_between(self, source: str, to: str) -> tuple[Edge, ...]:
        """All transitions between two states, in the order of their declaration."""
        return self._between.get((source, to), ())

    def automatic_edges(self, source: str, to: str, by: By) -> tuple[Edge, ...]:
        """The transitions between two states that need no person, in the order in which they are tried.

        First come those for this actor (a worker or the system), then those for the other, each in the order of their
        declaration."""
        return self._automatic.get((source, to, By.WORKER if by is By.WORKER else By.SYSTEM), ())

    def edges_on(self, source: str, event: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges_from(source) if edge.on == event)

    def pick_up(self, state: str) -> Edge | None:
        return self._pick_ups.get(state)

    def arm(self, state: str, event: str) -> Arm | None:
        return self._arms.get((state, event))

    def runs_when_armed(self, state: str) -> bool:
        """Whether the state's work waits for an event instead of starting by itself."""
        return state in self._armed_states and self.states[state].kind is not Kind.WORK

    def starts_work(self, state: str) -> bool:
        return self.states[state].kind is Kind.WORK

    def concurrent(self, state: str) -> tuple[Concurrent, ...]:
        return self._concurrent[state]

    def window(self, name: str) -> Window:
        limit = self.limits.get(name)
        if not isinstance(limit, Window):
            known = ", ".join(n for n, entry in self.limits.items() if isinstance(entry, Window)) or "none"
            raise ValueError(f"machine {self.name!r} has no window limit {name!r}; it has {known}")
        return limit

    def spec(self) -> dict[str, Any]:
        """The life cycle as plain values. A version is defined by it. Numbers of policies are not part of it."""
        return {
            "name": self.name,
            "initial": self.initial,
            "states": [
                {
                    "name": s.name,
                    "kind": s.kind.value,
                    "timers": [
                        [type(t).__name__, int(t.after.total_seconds()), getattr(t, "fire", "")] for t in s.timers
                    ],
                }
                for s in self.states.values()
            ],
            "transitions": [
                {
                    "from": e.source,
                    "to": e.to,
                    "event": e.on,
                    "by": sorted(by.value for by in e.by),
                    "guard": e.guard.__name__ if e.guard else None,
                    "pick_up": e.pick_up,
                }
                for e in self.edges
            ],
            "arms": [
                {
                    "state": a.state,
                    "event": a.on,
                    "by": sorted(by.value for by in a.by),
                    "guard": a.guard.__name__ if a.guard else None,
                }
                for a in self.arms
            ],
            "failures": {"state": self.failures.state, "retry": self.failures.retry},
            "data": self._data_schema,
            "key": self.key.value,
            "stage": self.stage,
        }

    @cached_property
    def _data_schema(self) -> dict[str, Any] | None:
        return self.data.model_json_schema() if self.data else None

    def upgrade_from(self, version: int, digest: str) -> Upgrade | None:
        """The function that converts data of this older version, if one is declared."""
        for name, upgrade in self.upgrades.items():
            if name == version or (isinstance(name, str) and len(name) >= 8 and digest.startswith(name)):
                return upgrade
        return None

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.spec(), sort_keys=True).encode()).hexdigest()


def _stage_text(stage: object) -> str:
    """A stage as part of a step's name. Stages are data, so any value may occur; different values differ."""
    if isinstance(stage, str):
        return stage if stage.isidentifier() else quoted(stage)
    return f"%!{quoted(repr(stage))}"


def compatible(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Why a process that only knows `new` cannot serve instances of `old`; empty if it can."""
    problems = []
    kinds = {state["name"]: state["kind"] for state in new["states"]}
    for state in old["states"]:
        name = state["name"]
        if name not in kinds:
            problems.append(f"state {name!r} is gone")
        elif kinds[name] != state["kind"]:
            problems.append(f"state {name!r} was {state['kind']} and is {kinds[name]}")
    rows = {(t["from"], t["to"], t["event"]) for t in new["transitions"]}
    problems += [
        f"transition {t['from']!r} → {t['to']!r} on {t['event']!r} is gone"
        for t in old["transitions"]
        if (t["from"], t["to"], t["event"]) not in rows
    ]
    arms = {(a["state"], a["event"]) for a in new["arms"]}
    problems += [
        f"event {a['event']!r}, which starts the work of {a['state']!r}, is gone"
        for a in old["arms"]
        if (a["state"], a["event"]) not in arms
    ]
    was, now = old.get("data"), new.get("data")
    if was is not None and now is None:
        problems.append("the data model is gone")
    elif was is None and now is not None:
        problems.append("the data had no model, so it cannot be known whether it fits the new model")
    elif was is not None and now is not None:
        problems += differences(was, now)
    return problems
