"""Items that are not plain: with data, under a limit, followed by an application, or reviewed by a person."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bench.peers import interlock
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.engine.instance import Instance
from interlock.machine import (
    FINAL,
    USER,
    WAITING,
    Actor,
    Concurrent,
    Edge,
    Go,
    Limit,
    Machine,
    Outcome,
    Review,
    State,
    Transition,
    Window,
)
from interlock.worker import Task

PACKAGE = "interlock"
USERS = 200
Data = dict[str, Any]

ledger = sa.Table(
    "ledger",
    sa.MetaData(),
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("instance_id", sa.Uuid, nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
)
"""A table of the application."""


def write_down(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """As the tutorial has it: a row in the transaction of the move."""
    unit.insert(ledger, instance_id=instance.id, n=instance.data["n"])


def run_statement(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """The same row by a statement of the follower's own."""
    unit.conn.execute(sa.insert(ledger).values(instance_id=instance.id, n=instance.data["n"]))


def look_at(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """A check in memory, which could refuse the move."""
    assert instance.data["n"] >= 0


def plain(n: int) -> Data:
    return {"n": n}


def of_a_user(n: int) -> Data:
    return {"n": n, "user": n % USERS}


def two_kilobytes(n: int) -> Data:
    """Eight fields of words that do not repeat, so that nothing can compress them much."""
    chance = random.Random(n)
    fields = {f"field{k}": "".join(chance.choices(string.ascii_letters + " ", k=234)) for k in range(8)}
    return {"n": n, **fields}


@dataclass(frozen=True, slots=True)
class Kind:
    """A contender: the same worker, with another machine."""

    title: str
    data: Callable[[int], Data] = plain
    limits: Sequence[Limit] = ()
    takes: tuple[str, ...] = ()
    follower: Callable[[Unit, Instance, Edge, Actor], None] | None = None
    end: str = "done"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the handler changes."""

    PACKAGE = PACKAGE

    @property
    def SETTINGS(self) -> str:
        return self.title

    @property
    def FINISHED(self) -> str:
        return interlock.FINISHED.replace("'done'", f"'{self.end}'")

    def machine(self, tick: Callable[[], None]) -> Machine:
        approval = Review("Is this right?", {"yes": "approve"})
        asked = [State("asked", WAITING, "an answer", review=approval)] if self.end == "asked" else []
        made = Machine(
            "trivial",
            initial="new",
            states=[State("new"), *asked, State("done", FINAL)],
            transitions=[
                Transition("new", self.end, on="do", accepts=tuple(self.changes), takes=self.takes),
                *(Transition("asked", "done", on="approve", by=USER) for _ in asked),
            ],
            limits=self.limits,
        )

        @made.work("new")
        def do(task: Task[Data]) -> Outcome:
            tick()
            return Go(self.end, data=dict(self.changes)) if self.changes else Go(self.end)

        if self.follower:
            made.entering(self.end)(self.follower)
        return made

    def setup(self, url: str) -> None:
        with Engine(url, [self.machine(lambda: None)]) as engine:
            if self.follower in (write_down, run_statement):
                engine.store.schema(lambda conn: ledger.create(conn))

    def enqueue(self, url: str, count: int) -> None:
        with Engine(url, [self.machine(lambda: None)]) as engine:
            for start in range(0, count, 1000):
                engine.create_many("trivial", [self.data(n) for n in range(start, min(start + 1000, count))])

    def verify(self, url: str) -> None:
        interlock.verify_as(url, self.machine(lambda: None))

    def work(self, url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
        interlock.work_as(url, self.machine(tick), go)


HOUR = timedelta(hours=1)
KINDS = {
    "plain": Kind("plain"),
    "data": Kind("data of 2 kB", two_kilobytes),
    "changed": Kind("data of 2 kB, one field of which the handler changes", two_kilobytes, changes={"n": -1}),
    "slots": Kind(
        f"a limit of 8 at once for each of {USERS} users", of_a_user, [Concurrent("own", "user:{user}", 8, ("new",))]
    ),
    "window": Kind(
        f"a limit of 1,000 an hour for each of {USERS} users",
        of_a_user,
        [Window("hourly", "user:{user}", 1000, HOUR)],
        ("hourly",),
    ),
    "checked": Kind("a follower that checks the data", follower=look_at),
    "follower": Kind("a follower that writes a row of the application", follower=write_down),
    "statement": Kind("a follower that writes it by a statement of its own", follower=run_statement),
    "review": Kind("a review that it opens", end="asked"),
}


def of(name: str) -> Kind:
    return KINDS[name]
