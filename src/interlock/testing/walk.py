"""Random walks: drive any machine at random, and check the laws on the way."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.engine import Claim, EngineError, firing
from interlock.machine import (
    AGENT,
    OWNER,
    SYSTEM,
    USER,
    WORKER,
    Actor,
    Again,
    Edge,
    Fail,
    Go,
    Kind,
    Machine,
    Outcome,
    Patch,
    Stay,
    WorkError,
)
from interlock.testing.laws import broken_laws
from interlock.testing.trial import Trial


class Mishap(WorkError):
    """An error of handlers in a walk, besides those that the machine's rules name."""


@dataclass
class Walk:
    """The result of a walk."""

    steps: int = 0
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: int = 0
    problems: list[str] = field(default_factory=list)

    def missed(self, machine: Machine) -> set[tuple[str, str]]:
        """Transitions that the walk never took."""
        return {(e.source, e.to) for e in machine.edges} - set(self.taken)


def random_walk(
    machine: Machine,
    *,
    data: Patch | Callable[[random.Random], Patch] = None,
    steps: int = 300,
    seed: int = 0,
    store: Any = None,
    patch: Callable[[random.Random, str], Patch] | None = None,
) -> Walk:
    """Create, claim, finish, finish late, fail, crash, fire, pause, resume, and let time pass; then check the laws.

    `data` makes the data of a new instance, `patch` the data of an outcome on the way to a state. The machine's own
    handlers are not run: chance decides what they would return.
    """
    chance = random.Random(seed)  # noqa: S311
    standing = machine.with_handlers(dict.fromkeys(machine.states, _never))
    with Trial([standing], store=store, seed=seed) as trial:
        walker = _Walker(standing, trial, chance, data, patch)
        for _ in range(steps):
            walker.step()
        walker.walk.problems += broken_laws(trial.engine)
        walker.count()
        return walker.walk


def _never(_: Any) -> Outcome:
    raise AssertionError("a walk decides outcomes by chance")


class _Walker:
    def __init__(self, machine: Machine, trial: Trial, chance: random.Random, data: Any, patch: Any) -> None:
        self.machine, self.trial, self.chance = machine, trial, chance
        self.data, self.patch = data, patch
        self.ids: list[UUID] = []
        self.claims: list[Claim] = []
        self.walk = Walk()

    def step(self) -> None:
        self.walk.steps += 1
        moves: list[tuple[int, Callable[[], None]]] = [
            (2, self.create),
            (8, self.claim),
            (8, self.finish),
            (4, self.fire),
            (1, self.crash),
            (1, self.pause),
            (2, self.resume),
            (3, self.wait),
        ]
        chosen = self.chance.choices([m for _, m in moves], [w for w, _ in moves])[0]
        try:
            chosen()
        except EngineError:
            self.walk.refused += 1

    def create(self) -> None:
        made = self.data(self.chance) if callable(self.data) else self.data
        self.ids.append(self.trial.create(self.machine.name, made, priority=self.chance.randrange(4)))

    def claim(self) -> None:
        self.claims += self.trial.claim(self.chance.randint(1, 4))

    def finish(self) -> None:
        if self.claims:
            # Kept sometimes, to be finished a second time, which must have no effect.
            late = self.chance.random() < 0.1
            claim = self.chance.choice(self.claims) if late else self.claims.pop()
            self.trial.finish(claim, self.outcome(claim))

    def outcome(self, claim: Claim) -> Outcome:
        state = self.trial.state(claim.id)
        if self.chance.random() < 0.25:
            return Fail(self.error())
        if self.chance.random() < 0.1:
            return Again(timedelta(minutes=self.chance.randint(1, 60)))
        ways = [e for e in self.machine.edges_from(state) if e.by & {WORKER, SYSTEM}]
        if not ways:
            return Stay()
        path, patch = self.chain(self.chance.choice(ways))
        return Go(path, data=patch, unstarted=self.chance.random() < 0.05)

    def chain(self, edge: Edge) -> tuple[tuple[str, ...], Patch]:
        """Mostly one move; through a final state sometimes two."""
        path: tuple[str, ...] = (edge.to,)
        onward = [e for e in self.machine.edges_from(edge.to) if e.by & {WORKER, SYSTEM}]
        if self.machine.states[edge.to].kind is Kind.FINAL and onward and self.chance.random() < 0.5:
            path = (edge.to, self.chance.choice(onward).to)
        return path, self.patch(self.chance, path[-1]) if self.patch else None

    def error(self) -> BaseException:
        named = [
            error
            for rule in self.machine.failures.rules
            for error in rule.errors
            if isinstance(error, type) and issubclass(error, Exception)
        ]
        kind: type[Exception] = self.chance.choice([*named, Mishap, ValueError])
        return kind("a walk's mishap")

    def fire(self) -> None:
        if not self.ids:
            return
        instance = self.trial.get(self.chance.choice(self.ids))
        actor = Actor(self.chance.choice([USER, OWNER, AGENT, SYSTEM]), "walker")
        open_events = firing.allowed(instance, self.machine, actor)
        if open_events and self.chance.random() < 0.9:
            event = self.chance.choice(open_events).event
        else:
            event = self.chance.choice([e.on for e in self.machine.edges])
        self.trial.engine.fire(instance.id, event, actor=actor)

    def crash(self) -> None:
        self.trial.lose(self.trial.worker)
        self.trial.worker = self.trial.new_worker()

    def pause(self) -> None:
        if self.ids:
            later = self.trial.clock.time + timedelta(hours=1) if self.chance.random() < 0.5 else None
            self.trial.engine.pause(self.chance.choice(self.ids), resume_at=later)

    def resume(self) -> None:
        if self.ids:
            self.trial.engine.resume(self.chance.choice(self.ids))

    def wait(self) -> None:
        self.trial.clock.advance(timedelta(minutes=self.chance.choice([1, 10, 60, 600, 2000])))
        self.trial.engine.tick()

    def count(self) -> None:
        for instance_id in self.ids:
            for row in self.trial.engine.history(instance_id, limit=1_000_000):
                if row.kind == "moved" and row.from_state and row.to_state:
                    self.walk.taken[row.from_state, row.to_state] += 1
