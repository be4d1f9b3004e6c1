"""A machine whose every part raises at random, beside a sound one that must not notice."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, model_validator

from interlock.engine import Engine, Instance
from interlock.engine.unit import Unit
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Again,
    Ask,
    Concurrent,
    Edge,
    Facts,
    Failures,
    Go,
    KeyScope,
    Machine,
    Outcome,
    Reminder,
    Review,
    Rule,
    Spawn,
    State,
    Stay,
    Timer,
    Transition,
    Window,
    WorkError,
    failed_at,
    fixed,
)
from interlock.store import Store, StoreError
from interlock.store import tables as t
from interlock.testing import broken_laws
from interlock.worker import Task, Worker

SECONDS = 300.0 if os.environ.get("INTERLOCK_SOAK") else 2.5
"""For each of the two databases; a busy machine is given longer, until enough has been raised."""
FEWEST_RAISED = 20
MOST_ROUNDS = 30
"""So many rounds of a worker at most from the beginning of a sound item to its end; it takes four or five alone."""
ANN = Actor(USER, "ann")


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("it cannot even say what it is")


class Chance:
    """Raises now and then, anything that Python can raise."""

    ERRORS: tuple[Callable[[], BaseException], ...] = (
        lambda: ValueError("a wild value \x00 \ud800"),
        lambda: KeyError("n"),
        lambda: RecursionError("too deep"),
        lambda: MemoryError(),
        lambda: SystemExit(2),
        lambda: asyncio.CancelledError(),
        lambda: GeneratorExit(),
        lambda: Mute(),
        lambda: WorkError("a wild failure"),
        lambda: sa.exc.ArgumentError("a wild statement"),
    )

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.raised: Counter[str] = Counter()

    def next(self) -> float:
        with self._lock:
            return self._random.random()

    def maybe(self, where: str, often: float = 0.15) -> None:
        if self.next() < often:
            error = self.one_of(self.ERRORS)()
            self.raised[f"{where} {type(error).__name__}"] += 1
            raise error

    def one_of(self, choices: Any) -> Any:
        with self._lock:
            return self._random.choice(choices)


def wild(chance: Chance) -> Machine:
    """Limits, stages, followers, guards, a model, timers, reviews, a way for lost workers: each raises at random."""

    class Data(BaseModel, extra="allow"):
        n: int = 0
        stage: Any = None
        who: Any = "x"

        @model_validator(mode="after")
        def sometimes(self) -> Data:
            chance.maybe("model", 0.05)
            return self

    def guard(about: Facts) -> bool | str:
        chance.maybe("guard")
        return chance.one_of((True, True, True, False, "not now"))

    again = failed_at("one")

    def retries(about: Facts) -> bool | str:
        chance.maybe("retry guard")
        return again(about)

    machine = Machine(
        "wild",
        initial="queued",
        data=Data,
        stage="stage",
        key=KeyScope.LIVE,
        cancel="gone",
        states=[
            State("queued"),
            State("one", lost="queued", timers=(Timer(timedelta(seconds=1), "late"),)),
            State(
                "asking",
                WAITING,
                waits_for="a person",
                review=Review("Well?", decisions={"yes": "yes", "no": "no"}),
                timers=(Reminder(timedelta(milliseconds=50), "well?"), Timer(timedelta(milliseconds=300), "late")),
            ),
            State("two"),
            State("failed", FAILED, timers=(Timer(timedelta(milliseconds=400), "reopen"),)),
            State("gone", FINAL),
            State("done", FINAL),
        ],
        limits=[
            Concurrent("slots", "{who}", 3, ("one",)),
            Concurrent("spelled", "{who:>5}", 50, ("two",)),
            Window("window", "{who}", 40, timedelta(seconds=2)),
        ],
        failures=Failures(
            state="failed",
            rules=(Rule((WorkError,), retries=2, backoff=fixed(timedelta(milliseconds=50)), then="gone"),),
            otherwise=Rule(
                (Exception,),
                retries=1,
                backoff=fixed(timedelta(milliseconds=20)),
                then="gone",
                asks=(Ask("what now", Review("What now?", decisions={"fine": ""})),),
                sets={"n": -1},
            ),
        ),
        transitions=[
            Transition("queued", "one", on="pick", pick_up=True, takes=("window",), sets={"n": 1}),
            Transition("one", "asking", on="ask"),
            Transition(("one", "asking"), "two", on="late", by=SYSTEM, guard=guard),
            Transition("one", "queued", on="lost", by=SYSTEM, guard=guard),
            Transition("asking", "two", on="yes", by=USER, guard=guard),
            Transition("asking", "gone", on="no", by=USER),
            Transition("two", "done", on="end", guard=guard),
            Transition(("queued", "one", "two"), "failed", on="fail", by=SYSTEM),
            Transition("failed", "one", on="retry", by=(SYSTEM, USER), guard=retries),
            Transition("failed", "queued", on="retry", by=(SYSTEM, USER), guard=guard),
            Transition("failed", "queued", on="reopen", by=SYSTEM, guard=guard),
            Transition("failed", "gone", on="give_up", by=SYSTEM),
            Transition(("queued", "one", "asking", "two"), "gone", on="cancel", by=USER),
        ],
    )

    @machine.entering("one", "asking", "two", "failed", "gone", "done")
    def follows(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        chance.maybe("follower")
        if chance.next() < 0.1:
            unit.insert(
                t.progress, instance_id=instance.id, permille=0, message=None, at=unit.now
            )  # refused at the end
        if chance.next() < 0.1:
            unit.conn.execute(sa.text("SELECT nothing FROM nowhere"))

    def work(task: Task[Any]) -> Outcome:
        chance.maybe("handler", 0.2)
        values = ({"n": 5}, {"stage": ["a list"]}, {"who": []}, {"who": "é" * 3000}, {"who": {"a": 1}}, {"stage": "s"})
        outcomes: tuple[Callable[[], Any], ...] = (
            lambda: Go("asking" if task.state == "one" else "done"),
            lambda: Go("asking" if task.state == "one" else "done", data=chance.one_of(values)),
            lambda: Go("nowhere"),
            lambda: Go(["a list"]),  # type: ignore[arg-type]
            lambda: Go("done", reason="half a pair \ud800, and a NUL \x00"),
            lambda: Go("asking", data={"n": "a text"}),
            lambda: Again(timedelta(milliseconds=5)),
            lambda: Stay(),
            lambda: Go("done", spawn=(Spawn("wild", {"n": 1}, key=str(task.instance_id)),)),
            lambda: 3,
        )
        return chance.one_of(outcomes)()  # type: ignore[no-any-return]

    machine.work("one")(work)
    machine.work("two")(work)
    machine.work("one", stage="s")(work)
    return machine


def sound() -> Machine:
    """Two steps; no error of its own."""
    machine = Machine(
        "sound",
        initial="first",
        states=[State("first"), State("second"), State("done", FINAL)],
        transitions=[Transition("first", "second", on="go"), Transition("second", "done", on="end")],
    )
    machine.work("first")(lambda task: Go("second", data={"first": True}))
    machine.work("second")(lambda task: Go("done"))
    return machine


def bravely(call: Callable[[], object]) -> None:
    """What people do to the wild ones is refused in as many ways; trouble of the database is not theirs."""
    try:
        call()
    except StoreError:
        raise
    except (Exception, SystemExit, asyncio.CancelledError, GeneratorExit):
        return


def test_a_machine_that_raises_everywhere_never_delays_a_sound_one(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    seed = int(time.time()) if os.environ.get("INTERLOCK_SOAK") else 7
    chance = Chance(seed)
    engine = Engine(store, [wild(chance), sound()])
    slowest, made = 0, 0
    caplog.set_level(logging.WARNING, "interlock.worker")
    with Worker(engine, concurrency=8) as worker:
        begin = time.monotonic()
        while (spent := time.monotonic() - begin) < SECONDS or (
            spent < 60 and sum(chance.raised.values()) <= FEWEST_RAISED
        ):
            for _ in range(4):
                who = chance.one_of(("a", "b", [], {"x": 1}, "é" * 600, ["c"]))
                data = {"who": who, "stage": chance.one_of((None, "s", []))}
                bravely(lambda data=data: engine.create("wild", data))  # type: ignore[misc]
            it, begun = engine.create("sound").id, worker.claimer.rounds
            made += 1
            for review in engine.reviews.waiting()[:3]:
                bravely(lambda review=review: engine.reviews.decide(review.id, "yes", actor=ANN))  # type: ignore[misc]
            patience = time.monotonic() + 60
            while engine.get(it).state != "done":
                assert time.monotonic() < patience, f"sound {it} is in {engine.get(it).state!r}, seed {seed}"
                time.sleep(0.002)
            slowest = max(slowest, worker.claimer.rounds - begun)
        failed = [one.getMessage() for one in caplog.records if "failed, trying again" in one.getMessage()]
    assert made > 2, "it was tried"
    assert sum(chance.raised.values()) > FEWEST_RAISED, chance.raised
    assert failed == [], f"a round of a loop was lost, seed {seed}"
    assert slowest <= MOST_ROUNDS, f"seed {seed}"
    assert broken_laws(engine) == [], f"seed {seed}"
    for instance in engine.page(limit=200).instances:
        assert engine.explain(instance.id).sentence
    assert engine.dead_letters.find(), "what could not be worked out is in the dead letters"
    engine.close()
