"""Processes with other code: what one without the machine, or without its limit, does to what another left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, Result
from interlock.machine import FINAL, SYSTEM, Concurrent, Failures, Go, Machine, State, Transition
from interlock.store import Store, tables
from interlock.testing import VirtualClock
from tests.support.machines import by_hand, job

ONE = Concurrent("desk", "all", 1, ("writing",))


def letter(*limits: Concurrent, lost: str | None = None, failures: Failures | None = None) -> Machine:
    """Written, then sent."""
    return by_hand(
        Machine(
            "letter",
            initial="writing",
            states=[State("writing", lost=lost), State("torn", FINAL), State("sent", FINAL)],
            transitions=[
                Transition("writing", "sent", on="send"),
                Transition("writing", "torn", on="tear", by=SYSTEM),
            ],
            limits=limits,
            failures=failures,
        )
    )


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@contextmanager
def process(store: Store, clock: VirtualClock, machine: Machine) -> Iterator[Engine]:
    yield Engine(store, [machine], clock=clock)


def lose(owner: Engine, finder: Engine) -> UUID | None:
    """A worker of the one claims what is next and vanishes; a process of the other finds out."""
    worker = UUID(int=owner.clock.now())
    claims = owner.claim(worker, ["letter"], 1)
    finder.take_back([worker])
    return claims[0].id if claims else None


def slots(engine: Engine) -> list[str]:
    return list(engine.read(lambda conn: conn.execute(sa.select(tables.limit_slot.c.key)).scalars()))


# -- a process without the machine finds the lost worker


def test_what_it_takes_back_is_left_to_a_process_that_serves_it(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter()) as owner, process(store, clock, job()) as stranger:
        it = owner.create("letter").id
        assert lose(owner, stranger) == it
        after = owner.get(it)
        assert (after.holder, after.wake, after.failures) == (None, "resume", {})
        assert "Its worker was lost" in owner.explain(it).sentence
        assert stranger.explain(it).waits_for == "code"
        assert stranger.tick() == 0
        assert owner.claim(UUID(int=1), ["letter"], 1) == []
        assert owner.tick() == 1
        after = owner.get(it)
        assert (after.wake, after.due_event, after.failures) == ("work", None, {"writing|crash": 1})
        assert [row.kind for row in owner.history(it)] == ["created", "lost", "lost"]
        assert owner.verify().problems == ()


def test_three_crashes_are_poison_whoever_finds_them(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter()) as owner, process(store, clock, job()) as stranger:
        it = owner.create("letter").id
        lost = 0
        for _ in range(12):
            lost += lose(owner, stranger) is not None
            owner.tick()
        assert lost == 3
        [dead] = owner.dead_letters.find()
        assert (dead.instance_id, dead.error_type) == (it, "WorkerLost")


def test_the_way_for_lost_workers_is_taken(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter(lost="torn")) as owner, process(store, clock, job()) as stranger:
        it = owner.create("letter").id
        lose(owner, stranger)
        owner.tick()
        assert owner.get(it).state == "torn"


def test_it_can_be_paused_meanwhile_and_the_crash_is_counted_afterwards(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter()) as owner, process(store, clock, job()) as stranger:
        it = owner.create("letter").id
        lose(owner, stranger)
        owner.pause(it)
        assert owner.tick() == 0
        owner.resume(it)
        owner.tick()
        assert owner.get(it).failures == {"writing|crash": 1}


# -- a process without the limit


def test_a_slot_is_free_when_code_without_the_limit_takes_back(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter(ONE)) as limited, process(store, clock, letter()) as free:
        limited.create("letter")
        lose(limited, free)
        assert slots(limited) == []


def test_a_slot_is_free_soon_when_code_without_the_limit_finishes(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter(ONE)) as limited, process(store, clock, letter()) as free:
        limited.create("letter")
        [claim] = limited.claim(UUID(int=1), ["letter"], 1)
        old = free.core.machine("letter", 1)
        assert free.finish([Result(claim._replace(machine=old), Go("sent"))]) == [True]
        waiting = limited.create("letter").id
        assert limited.claim(UUID(int=2), ["letter"], 1) == []
        assert limited.get(waiting).wake == "blocked"
        assert limited.tick() == 1
        assert [claim.id for claim in limited.claim(UUID(int=2), ["letter"], 1)] == [waiting]


def test_a_slot_that_is_worked_under_stays(store: Store, clock: VirtualClock) -> None:
    with process(store, clock, letter(ONE)) as limited:
        limited.create("letter")
        limited.claim(UUID(int=1), ["letter"], 1)
        limited.create("letter")
        assert limited.claim(UUID(int=2), ["letter"], 1) == []
        assert limited.tick() == 0
        assert slots(limited) == ["desk/all"]
