"""Routing: a claim takes only from its queues, only what is pinned to its host, only versions that it serves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from pydantic import BaseModel

from interlock.engine import Engine, NotServed, Result
from interlock.engine.creating import route
from interlock.machine import FINAL, SYSTEM, USER, WAITING, Go, Machine, Reminder, State, Timer, Transition, Work
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import ANN, PARCEL, by_hand, decided_by_the_test, do, pass_time


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL], store=store) as trial:
        yield trial
        assert trial.engine.verify().problems == ()


def claimed(trial: Trial, *queues: str) -> list[UUID]:
    return [claim.id for claim in trial.engine.claim(trial.worker, queues, 10)]


# -- queues and hosts


def test_a_claim_takes_only_from_the_queues_that_it_names(trial: Trial) -> None:
    slow, fast = trial.create("parcel", queue="slow"), trial.create("parcel", queue="fast")
    assert claimed(trial, "medium") == []
    assert claimed(trial, "fast") == [fast]
    assert claimed(trial, "fast", "slow") == [slow]


def test_work_pinned_to_a_host_is_taken_by_that_host_alone(trial: Trial) -> None:
    it = trial.create("parcel", host="h1")
    assert claimed(trial, "parcel") == []
    assert claimed(trial, "parcel", route("parcel", "h2")) == []
    assert claimed(trial, "parcel", route("parcel", "h1")) == [it]


def test_it_stays_in_its_queue_and_on_its_host_for_its_whole_life(trial: Trial) -> None:
    it = trial.create("parcel", queue="slow", host="h1")
    [claim] = trial.engine.claim(trial.worker, ["slow@h1"], 1)
    trial.finish(claim, Go(("shipped", "ordered")))
    assert (trial.get(it).queue, claimed(trial, "slow", "parcel")) == ("slow@h1", [])
    assert claimed(trial, "slow@h1") == [it]


def test_work_without_a_handler_here_is_left_to_those_who_have_one(trial: Trial, store: Store) -> None:
    it = trial.create("parcel")
    lean = Engine(store, [PARCEL.with_handlers({})], clock=trial.clock)
    assert lean.claim(trial.worker, ["parcel"], 1) == []
    trial.clock.advance(timedelta(minutes=1))
    assert claimed(trial, "parcel") == [it]


# -- versions: the first knows a state that the second has no more


class Data(BaseModel):
    size: int = 1


class Annotated(Data):
    note: str = ""


def task(*, states: tuple[str, ...], data: type[BaseModel] = Data) -> Machine:
    """Its version changes with its states and its data, not with its handlers."""
    timers = (Timer(timedelta(hours=2), fire="expire"), Reminder(timedelta(hours=1), "Look at it."))
    return by_hand(
        Machine(
            "task",
            initial="new",
            states=[
                State("new"),
                *(State(name) for name in states),
                State("asked", WAITING, waits_for="its owner", timers=timers),
                State("done", FINAL),
            ],
            transitions=[
                Transition("new", "asked", on="ask"),
                Transition("asked", "done", on="answer", by=USER),
                Transition("asked", "done", on="expire", by=SYSTEM),
                *(Transition("new", name, on=f"go_{name}") for name in states),
                *(Transition(name, "done", on="finish") for name in states),
            ],
            data=data,
        )
    )


OLD, NEW = task(states=("old",)), task(states=("new_one",))
WIDER = task(states=("old", "more"), data=Annotated)


@pytest.fixture
def old(store: Store) -> Iterator[Trial]:
    with Trial([OLD], store=store) as trial:
        yield trial


def test_a_process_does_not_claim_versions_that_it_has_no_code_for(old: Trial, store: Store) -> None:
    it = old.create("task")
    new = Engine(store, [NEW], clock=old.clock)
    assert new.core.unserved == {
        ("task", 1): [
            "state 'old' is gone",
            "transition 'new' → 'old' on 'go_old' is gone",
            "transition 'old' → 'done' on 'finish' is gone",
        ]
    }
    assert new.claim(old.worker, ["task"], 1) == []
    mine = new.create("task").id
    assert [claim.id for claim in new.claim(old.worker, ["task"], 5)] == [mine]
    assert claimed(old, "task") == [it]


def test_an_older_process_does_not_claim_what_newer_code_started(old: Trial, store: Store) -> None:
    new = Engine(store, [WIDER], clock=old.clock)
    it = new.create("task").id
    restarted = Engine(store, [OLD], clock=old.clock)
    assert claimed(old, "task") == []
    assert restarted.claim(old.worker, ["task"], 1) == []
    assert [claim.id for claim in new.claim(old.worker, ["task"], 5)] == [it]


def test_newer_code_serves_older_versions_that_fit_it(old: Trial, store: Store) -> None:
    it = old.create("task")
    new = Engine(store, [WIDER], clock=old.clock)
    [claim] = new.claim(old.worker, ["task"], 1)
    assert (claim.id, claim.instance.version, new.core.current["task"]) == (it, 1, 2)
    assert new.finish([Result(claim, Go("old"))]) == [True]
    assert old.state(it) == "old"


def test_the_same_machine_declared_again_is_the_same_version(old: Trial, store: Store) -> None:
    again = Engine(store, [task(states=("old",))], clock=old.clock)
    assert again.core.current == {"task": 1}
    assert again.core.unserved == {}


def test_other_numbers_of_a_policy_are_no_other_version(old: Trial, store: Store) -> None:
    hasty = OLD.with_handlers({"new": Work(decided_by_the_test, timedelta(seconds=1))})
    assert Engine(store, [hasty], clock=old.clock).core.current == {"task": 1}


def test_an_event_for_a_version_without_code_is_refused_with_the_reason(old: Trial, store: Store) -> None:
    it = old.create("task")
    new = Engine(store, [NEW], clock=old.clock)
    with pytest.raises(NotServed, match=r"no code for task version 1: state 'old' is gone"):
        new.fire(it, "answer", actor=ANN)
    assert new.explain(it).waits_for == "code"


def test_timers_of_a_version_without_code_are_left_to_those_who_have_it(old: Trial, store: Store) -> None:
    it = old.create("task")
    do(old, Go("asked"))
    new = Engine(store, [NEW], clock=old.clock)
    old.clock.advance(timedelta(hours=2))
    new.tick()
    assert old.state(it) == "asked"
    pass_time(old)
    assert old.path(it) == ["new", "asked", "done"]


def test_time_limits_of_a_version_without_code_do_not_stop_the_sweeper(old: Trial, store: Store) -> None:
    it = old.create("task")
    [claim] = old.claim()
    new = Engine(store, [NEW], clock=old.clock)
    mine = new.create("task").id
    [my_claim] = new.claim(old.worker, ["task"], 1)
    old.clock.advance(timedelta(minutes=16))
    new.tick()
    assert new.get(mine).failures == {"new|Exception": 1}
    assert new.finish([Result(my_claim, Go("asked"))]) == [False]
    assert old.get(it).failures == {}
    pass_time(old)
    assert old.get(it).failures == {"new|Exception": 1}
    assert old.finish(claim, Go("asked")) is False


def test_lost_workers_of_a_version_without_code_give_back_what_they_held(old: Trial, store: Store) -> None:
    it = old.create("task")
    old.claim()
    new = Engine(store, [NEW], clock=old.clock)
    assert new.take_back([old.worker]) == 1
    assert (old.get(it).wake, old.get(it).holder) == ("resume", None)
    old.engine.tick()
    assert claimed(old, "task") == [it]


# -- machines that only others know


@pytest.fixture
def stranger(trial: Trial, store: Store) -> Engine:
    """A process on the same database that has other machines."""
    return Engine(store, [OLD], clock=trial.clock)


def test_a_process_does_what_is_due_beside_machines_that_it_does_not_know(trial: Trial, stranger: Engine) -> None:
    theirs, mine = trial.create("parcel"), stranger.create("task").id
    do(trial, Go("checking"))
    trial.engine.fire(theirs, "park", actor=ANN, resume_at=trial.clock.time + timedelta(hours=1))
    held = trial.create("parcel")
    [_, my_claim] = [*trial.claim(), *stranger.claim(trial.worker, ["task"], 1)]
    trial.clock.advance(timedelta(hours=1))
    assert stranger.tick() == 1
    assert stranger.get(mine).failures == {"new|Exception": 1}
    assert (trial.state(theirs), trial.get(held).failures) == ("parked", {})
    assert stranger.finish([Result(my_claim, Go("asked"))]) == [False]
    pass_time(trial)
    assert (trial.state(theirs), trial.get(held).failures) == ("checking", {"packing|Exception": 1})
    trial.engine.cancel(held, actor=ANN)


def test_an_event_for_a_machine_that_it_does_not_know_is_refused(trial: Trial, stranger: Engine) -> None:
    it = trial.create("parcel")
    with pytest.raises(NotServed, match="no code for parcel version 1: no machine here has that name"):
        stranger.cancel(it, actor=ANN)
    assert stranger.explain(it).waits_for == "code"
