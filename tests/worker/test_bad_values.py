"""Values that are hard to keep: kept exactly, or refused with their step; never do they sink what is beside them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, field_validator

from interlock.engine import Instance, InvalidData, Result
from interlock.engine.unit import Unit
from interlock.machine import (
    FINAL,
    Actor,
    Concurrent,
    DataTooBig,
    Edge,
    Failures,
    Go,
    Machine,
    Message,
    Rule,
    Spawn,
    State,
    Transition,
    Window,
)
from interlock.store import tables
from interlock.worker import Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

HOUR = timedelta(hours=1)


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


KEPT: dict[str, Any] = {
    "an emoji": "🦜",
    "control characters": "".join(map(chr, range(1, 32))),
    "quotes and backslashes": "'\"\\%s{}:x",
    "a big number": 2**200,
    "a small number": 5e-324,
    "much text": "x" * 100_000,
    "deep": nested(50),
    "an empty name": {"": {"": None}},
}

REFUSED: dict[str, Any] = {
    "a NUL": "before\x00after",
    "half of a pair": "before\udc80after",
    "both": "\x00\ud800",
    "a NUL in a name": {"\x00": 1},
    "a number as a name": {1: 2},
    "a number of 2,000 digits": 10**2000,
    "not a number": math.nan,
    "infinity": math.inf,
    "bytes": b"bytes",
    "a set": {1, 2},
    "a moment": datetime(2026, 1, 1, tzinfo=UTC),
    "an object": object(),
    "a circle": circle(),
    "too deep": nested(5_000),
    "a tuple as a name": {(1, 2): 3},
    "too big": "x" * 300_000,
}


@pytest.mark.parametrize("value", KEPT.values(), ids=KEPT.keys())
def test_a_strange_value_comes_back_as_it_was_given(live_engine: Opener, value: Any) -> None:
    live = live_engine(errand(todo=lambda task: Go("done", {"value": value})))
    it = live.create({"given": value})
    live.start_worker()
    assert live.reaches(it, "done").data == {"given": value, "value": value}
    assert live.engine.verify(it).problems == ()


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_cannot_be_kept_fails_its_step(live_engine: Opener, value: Any) -> None:
    live = live_engine(errand(todo=lambda task: Go("done", {"value": value})))
    it = live.create({"small": True})
    live.start_worker()
    letter = live.fails(it)
    assert letter.error_type in {"InvalidOutcome", "DataTooBig"}
    assert live.get(it).data == {"small": True}
    assert live.get(it).state == "todo"


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_cannot_be_kept_is_refused_at_the_door(live_engine: Opener, value: Any) -> None:
    live = live_engine(errand())
    with pytest.raises((InvalidData, DataTooBig)):
        live.create({"value": value})
    assert live.engine.verify().instances == 0


def save(task: Task[Any], value: Any) -> None:
    task.save({"value": value})


def move(task: Task[Any], value: Any) -> None:
    task.move("doing", {"value": value})


@pytest.mark.parametrize("write", [save, move])
def test_data_too_big_raises_in_the_handler_that_writes_it(
    live_engine: Opener, write: Callable[[Task[Any], Any], None]
) -> None:
    def work(task: Task[Any]) -> Go:
        with pytest.raises(DataTooBig, match="store large values as artifacts"):
            write(task, "x" * 300_000)
        task.keep("value", b"x" * 300_000)
        return Go("done")

    live = live_engine(errand(todo=work))
    it = live.create()
    live.start_worker()
    assert live.reaches(it, "done").data == {}
    assert live.engine.artifacts(it)[0].size == 300_000


class Watchful(BaseModel):
    """A model with a validator that fails in ways that Pydantic does not expect."""

    value: str = ""

    @field_validator("value")
    @classmethod
    def look(cls, value: str) -> str:
        if value == "exit":
            raise SystemExit(1)
        if value == "crash":
            raise RuntimeError("the validator broke")
        return value


@pytest.mark.parametrize("value", ["exit", "crash"])
def test_a_model_that_breaks_fails_the_step_and_not_the_worker(live_engine: Opener, value: str) -> None:
    live = live_engine(errand(todo=lambda task: Go("done", {"value": task.key or ""}), data=Watchful))
    worker = live.start_worker()
    it = live.create(key=value)
    assert live.fails(it).error_type == "InvalidOutcome"
    live.reaches(live.create(key="fine"), "done")
    assert worker.claimer.troubles == 0


def batch(live: LiveEngine, count: int, release: threading.Event) -> list[Any]:
    """Instances whose handlers all wait, so that their results come in together."""
    ids = [live.create({"poison": n == 1}) for n in range(count)]
    live.start_worker(concurrency=count)
    eventually(lambda: all(live.get(it).holder for it in ids))
    release.set()
    return ids


POISON: dict[str, Go] = {
    "refused by the database": Go("done", messages=(Message("mail", "nobody"),)),
    "a child too big": Go("doing", data={"n": 1}, spawn=(Spawn("errand", {"x": "y" * 300_000}),)),
    "a recipient that is a number": Go("done", messages=(Message("mail", 5),)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("outcome", POISON.values(), ids=POISON.keys())
def test_a_lone_poisonous_result_does_not_sink_its_batch(live_engine: Opener, outcome: Go) -> None:
    release = threading.Event()

    def work(task: Task[dict[str, Any]]) -> Go:
        release.wait(20)
        return outcome if task.data["poison"] else Go("done")

    live = live_engine(errand(todo=work))
    live.refuse("outbox", "NEW.recipient = 'nobody'")
    good, bad, *rest = batch(live, 6, release)
    for it in (good, *rest):
        live.reaches(it, "done", within=10)
    letter = live.fails(bad)
    assert letter.error_type in {"InvalidOutcome", "DataTooBig"}
    assert letter.attempts == 1
    assert live.get(bad).state == "todo"
    assert live.engine.children(bad) == []


def test_a_row_of_a_follower_that_the_database_refuses_fails_its_own_step_alone(live_engine: Opener) -> None:
    release = threading.Event()

    def work(task: Task[Any]) -> Go:
        release.wait(20)
        return Go("done")

    def write_twice(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
        for _ in range(2 if instance.data["poison"] else 1):
            unit.insert(tables.progress, instance_id=instance.id, permille=5, message="done", at=unit.now)

    machine = errand(todo=work)
    machine.entering("done")(write_twice)
    live = live_engine(machine)
    good, bad, *rest = batch(live, 6, release)
    for it in (good, *rest):
        live.reaches(it, "done", within=10)
    assert live.fails(bad).error_type == "InvalidOutcome"
    assert live.get(bad).state == "todo"
    written = live.engine.read(lambda conn: conn.execute(sa.select(tables.progress.c.instance_id)).scalars().all())
    assert set(written) == {good, *rest}


def test_nonsense_does_not_hold_up_what_is_finished_in_the_same_transaction(live_engine: Opener) -> None:
    live = live_engine(errand())
    ids = live.engine.create_many("errand", [None] * 3)
    claims = {claim.id: claim for claim in live.engine.claim(uuid4(), ["errand"], 3)}
    nonsense = Go("done", spawn=("child",))  # type: ignore[arg-type]
    outcomes = [Go("done"), nonsense, Go("waiting")]
    done = live.engine.finish([Result(claims[it], outcome) for it, outcome in zip(ids, outcomes, strict=True)])
    assert done == [True, True, True]
    assert [live.get(it).state for it in ids] == ["done", "todo", "waiting"]
    assert live.fails(ids[1]).error_type == "InvalidOutcome"


def test_a_poisonous_result_is_tried_no_more_often_than_its_rule_allows(live_engine: Opener) -> None:
    """It must neither be lost nor come round forever."""
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.attempt)
        return Go("done", messages=(Message("mail", "nobody"),))

    live = live_engine(errand(todo=work))
    live.refuse("outbox", "NEW.recipient = 'nobody'")
    it = live.create()
    live.start_worker()
    live.fails(it)
    assert runs == [1]
    assert live.get(it).holder is None


def shared(*, pick_up: bool) -> Machine:
    """Work of which only so much is done at once per user; the user stands in the data."""
    limit = Concurrent("per_user", "{user}", 2, ("doing",)) if not pick_up else Window("per_user", "{user}", 1, HOUR)
    return Machine(
        "shared",
        initial="new",
        states=[State("new"), State("doing"), State("done", FINAL)],
        transitions=[
            Transition("new", "doing", on="begin", pick_up=True, takes=("per_user",) if pick_up else ()),
            Transition("doing", "done", on="finish"),
        ],
        limits=[limit],
        failures=Failures(otherwise=Rule((Exception,), retries=0)),
    ).with_handlers({"doing": lambda task: Go("done")})


@pytest.mark.parametrize("pick_up", [False, True], ids=["a slot", "a window"])
def test_an_instance_whose_limit_cannot_be_worked_out_does_not_hold_up_the_others(
    live_engine: Opener, pick_up: bool
) -> None:
    live = live_engine(shared(pick_up=pick_up))
    bad = live.create({"nobody": True})
    good = live.create({"user": "ada"})
    live.start_worker(concurrency=2)
    live.reaches(good, "done", within=10)
    assert live.fails(bad).error_type == "LimitReached"
