"""Moving from inside a handler: the move is committed at once, and the lease stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Claim, Fenced, InvalidData, finishing
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WAITING,
    Concurrent,
    Fail,
    Failures,
    Go,
    LimitReached,
    Machine,
    State,
    Transition,
)
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task
from tests.support.machines import ANN, by_hand, claim_one, do, kinds, last_row, pass_time, trial_of

ONE_CAR = Concurrent("car", "car:{car}", 1, ("riding",))


def ride(*limits: Concurrent) -> Machine:
    return by_hand(
        Machine(
            "ride",
            initial="waiting",
            states=[
                State("waiting"),
                State("riding", lost="waiting"),
                State("asked", WAITING, waits_for="its rider to say where to"),
                State("done", FINAL),
                State("broken", FAILED),
            ],
            transitions=[
                Transition("waiting", "riding", on="start"),
                Transition("waiting", "done", on="skip"),
                Transition("riding", "waiting", on="lose", by=SYSTEM),
                Transition("riding", "done", on="arrive"),
                Transition("riding", "asked", on="ask"),
                Transition("riding", "broken", on="break"),
                Transition("asked", "riding", on="answer", by=USER),
                Transition("broken", "waiting", on="mend", by=USER),
            ],
            failures=Failures(crashes=3),
            limits=limits,
        )
    )


RIDE = ride()


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, RIDE) as trial:
        yield trial


def move(trial: Trial, claim: Claim, to: str, **options: Any) -> None:
    trial.write(lambda unit: finishing.move_and_keep(unit, claim, to, **options))


@pytest.fixture
def riding(trial: Trial) -> Claim:
    trial.create("ride")
    claim = claim_one(trial)
    move(trial, claim, "riding", data={"sandbox": "s1"}, reason="got one")
    return claim


def test_the_move_has_its_own_row_and_the_worker_still_holds_it(trial: Trial, riding: Claim) -> None:
    after = trial.get(riding.id)
    assert (after.state, after.wake, after.holder, after.fence) == ("riding", "lease", trial.worker, riding.fence)
    assert after.due_at == riding.until
    row = last_row(trial, riding.id)
    assert (row.from_state, row.to_state, row.event) == ("waiting", "riding", "start")
    assert (row.actor, row.payload["reason"]) == (f"worker:{trial.worker}", "got one")
    assert after.data == {"sandbox": "s1"}


def test_nobody_else_can_claim_it_between(trial: Trial, riding: Claim) -> None:
    assert trial.claim(worker=trial.new_worker()) == []
    assert trial.get(riding.id).holder == riding.worker


def test_the_handlers_outcome_goes_on_from_where_it_moved(trial: Trial, riding: Claim) -> None:
    assert trial.finish(riding, Go("done")) is True
    assert trial.path(riding.id) == ["waiting", "riding", "done"]


def test_an_undeclared_move_is_refused_and_nothing_changes(trial: Trial, riding: Claim) -> None:
    with pytest.raises(InvalidData, match="there is no transition 'riding' → 'riding'"):
        move(trial, riding, "riding")
    assert trial.finish(riding, Go("done")) is True


@pytest.mark.parametrize("to", ["done", "broken", "asked"])
def test_where_nobody_works_no_lease_is_kept(trial: Trial, riding: Claim, to: str) -> None:
    with pytest.raises(InvalidData, match=f"return Go\\({to!r}\\)"):
        move(trial, riding, to)
    assert trial.state(riding.id) == "riding"


def test_whoever_lost_the_instance_cannot_move_it(trial: Trial, riding: Claim) -> None:
    trial.engine.pause(riding.id)
    with pytest.raises(Fenced, match="was taken away from this worker"):
        move(trial, riding, "asked")
    assert trial.state(riding.id) == "riding"


def test_a_failure_after_the_move_is_counted_at_the_new_step(trial: Trial, riding: Claim) -> None:
    trial.finish(riding, Fail(ValueError("flat tyre")))
    assert trial.get(riding.id).failures == {"riding|Exception": 1}
    assert trial.get(riding.id).failed_step == "riding"


def test_moving_on_passes_the_step_that_was_left(trial: Trial) -> None:
    it = trial.create("ride")
    do(trial, Fail(ValueError("no driver")))
    pass_time(trial, minutes=5)
    claim = claim_one(trial)
    assert trial.get(it).failures == {"waiting|Exception": 1}
    move(trial, claim, "riding")
    assert trial.get(it).failures == {}


def test_a_worker_lost_after_the_move_sends_it_where_the_new_state_says(trial: Trial, riding: Claim) -> None:
    trial.lose(riding.worker)
    after = trial.get(riding.id)
    assert (after.state, after.wake, after.failures) == ("waiting", "work", {"riding|crash": 1})


def test_moving_into_a_state_with_a_limit_takes_a_slot_or_is_refused(store: Store) -> None:
    with trial_of(store, ride(ONE_CAR)) as trial:
        for _ in range(2):
            trial.create("ride", {"car": "red"})
        first, second = trial.claim(2)
        move(trial, first, "riding")
        with pytest.raises(LimitReached, match="all slots of 'car/car:red' are taken"):
            move(trial, second, "riding")
        assert (trial.state(second.id), trial.get(second.id).holder) == ("waiting", trial.worker)
        trial.finish(first, Go("done"))
        move(trial, second, "riding")
        assert trial.finish(second, Go("done")) is True


def test_what_is_saved_on_the_way_is_kept_with_a_row_and_moves_nothing(trial: Trial, riding: Claim) -> None:
    trial.write(lambda unit: finishing.save(unit, riding, {"km": 4}, reason="half way"))
    row = last_row(trial, riding.id)
    assert (row.kind, row.payload["set"], row.payload["reason"]) == ("saved", {"km": 4}, "half way")
    assert trial.get(riding.id).holder == riding.worker
    trial.lose(riding.worker)
    assert trial.data(riding.id) == {"sandbox": "s1", "km": 4}


def test_a_handler_moves_and_goes_on(store: Store) -> None:
    seen: list[tuple[str, int, Any]] = []

    def drive(task: Task[dict[str, Any]]) -> Go:
        seen.append((task.state, task.fence, dict(task.data)))
        task.move("riding", {"sandbox": "s1"})
        seen.append((task.state, task.fence, dict(task.data)))
        return Go("done")

    with trial_of(store, RIDE.with_handlers({"waiting": drive, "riding": drive})) as trial:
        it = trial.create("ride")
        trial.run_until_idle()
        assert seen == [("waiting", 1, {}), ("riding", 1, {"sandbox": "s1"})]
        assert trial.path(it) == ["waiting", "riding", "done"]


def test_a_handler_that_lost_the_instance_is_stopped_by_its_next_write(store: Store) -> None:
    errors: list[BaseException] = []

    def drive(task: Task[dict[str, Any]]) -> Go:
        own.engine.pause(task.id, actor=ANN)
        try:
            task.move("riding")
        except Fenced as error:
            errors.append(error)
            raise
        return Go("done")

    with trial_of(store, RIDE.with_handlers({"waiting": drive, "riding": drive})) as own:
        it: UUID = own.create("ride")
        own.clock.advance(timedelta(seconds=1))
        own.step()
        assert len(errors) == 1
        assert kinds(own, it) == ["created", "paused"]
        assert own.get(it).failures == {}
