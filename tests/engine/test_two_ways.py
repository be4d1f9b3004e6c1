"""Two transitions between the same states: whoever moves takes the first that is for them and lets them pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from interlock.engine import Refused
from interlock.machine import (
    FAILED,
    FINAL,
    SYSTEM,
    USER,
    WORKER,
    Facts,
    Fail,
    Failures,
    Go,
    Machine,
    Rule,
    State,
    Transition,
)
from interlock.store import Store
from tests.support.machines import ANN, by_hand, claim_one, do, last_row, trial_of

SKIP = Transition("open", "done", on="skip", by=USER)
WORK = Transition("open", "done", on="finish")
LATE = Transition("open", "done", on="late", by=SYSTEM)


def never(_: Facts) -> bool:
    return False


def not_yet(_: Facts) -> str:
    return "not yet"


def if_small(facts: Facts) -> bool:
    return bool(facts.data.get("small"))


def errand(*ways: Transition, **options: Any) -> Machine:
    more = options.pop("states", ())
    return by_hand(
        Machine(
            "errand", initial="open", states=[State("open"), State("done", FINAL), *more], transitions=ways, **options
        )
    )


def worked(store: Store, *ways: Transition, data: dict[str, Any] | None = None) -> str | None:
    """The event that a worker's Go takes."""
    with trial_of(store, errand(*ways)) as trial:
        it = trial.create("errand", data)
        do(trial, Go("done"))
        row = last_row(trial, it)
        assert row.to_state == "done", row
        return row.event


@pytest.mark.parametrize("ways", [(WORK, SKIP), (SKIP, WORK)], ids=["the worker's first", "the person's first"])
def test_a_worker_takes_its_own(store: Store, ways: Sequence[Transition]) -> None:
    assert worked(store, *ways) == "finish"


@pytest.mark.parametrize("ways", [(WORK, SKIP), (SKIP, WORK)], ids=["the worker's first", "the person's first"])
def test_a_person_takes_theirs(store: Store, ways: Sequence[Transition]) -> None:
    with trial_of(store, errand(*ways)) as trial:
        it = trial.create("errand")
        trial.engine.fire(it, "skip", actor=ANN)
        assert (trial.state(it), last_row(trial, it).event) == ("done", "skip")


def test_a_worker_takes_its_own_before_the_systems(store: Store) -> None:
    assert worked(store, LATE, WORK) == "finish"


def test_a_worker_may_take_the_systems_where_there_is_no_other(store: Store) -> None:
    assert worked(store, SKIP, LATE) == "late"


def test_of_several_that_fit_the_first_that_is_declared_is_taken(store: Store) -> None:
    assert worked(store, Transition("open", "done", on="first"), Transition("open", "done", on="second")) == "first"


def test_one_whose_guard_refuses_is_passed_over(store: Store) -> None:
    assert worked(store, Transition("open", "done", on="never", guard=never), WORK) == "finish"


@pytest.mark.parametrize(("data", "event"), [({"small": True}, "quick"), ({}, "finish")])
def test_guards_choose(store: Store, data: dict[str, Any], event: str) -> None:
    assert worked(store, Transition("open", "done", on="quick", guard=if_small), WORK, data=data) == event


def test_where_no_guard_lets_it_pass_the_worker_gets_the_reason(store: Store) -> None:
    ways = [Transition("open", "done", on="one", guard=never), Transition("open", "done", on="two", guard=not_yet)]
    with trial_of(store, errand(*ways)) as trial:
        it = trial.create("errand")
        do(trial, Go("done"))
        error = trial.get(it).error
        assert error is not None
        assert "'open' → 'done' does not pass: its guard; not yet" in error["message"]


def test_a_batch_of_results_takes_the_same_ways_as_one(store: Store) -> None:
    with trial_of(store, errand(SKIP, LATE, WORK)) as trial:
        ids = trial.engine.create_many("errand", [None] * 5)
        from interlock.engine import Result

        trial.engine.finish([Result(claim, Go("done")) for claim in trial.claim(5)])
        assert [last_row(trial, it).event for it in ids] == ["finish"] * 5


# -- failures


REJECT = Transition("open", "dead", on="reject", by=USER)
GIVE_UP = Transition("open", "dead", on="give_up", by=SYSTEM)
DEAD = State("dead", FINAL)
TO_DEAD = Failures(otherwise=Rule((Exception,), retries=0, then="dead"))


@pytest.mark.parametrize("ways", [(REJECT, GIVE_UP), (GIVE_UP, REJECT)], ids=["person first", "system first"])
def test_a_failure_rule_takes_the_systems_way(store: Store, ways: Sequence[Transition]) -> None:
    with trial_of(store, errand(WORK, *ways, states=(DEAD,), failures=TO_DEAD)) as trial:
        it = trial.create("errand")
        do(trial, Fail(ValueError("no")))
        assert (trial.state(it), last_row(trial, it).event) == ("dead", "give_up")


def test_a_failure_rule_passes_over_what_a_guard_refuses(store: Store) -> None:
    guarded = Transition("open", "dead", on="never", by=SYSTEM, guard=never)
    with trial_of(store, errand(WORK, guarded, GIVE_UP, states=(DEAD,), failures=TO_DEAD)) as trial:
        it = trial.create("errand")
        do(trial, Fail(ValueError("no")))
        assert (trial.state(it), last_row(trial, it).event) == ("dead", "give_up")


@pytest.mark.parametrize("dead_letter", [True, False])
def test_a_failure_whose_way_is_refused_is_a_dead_letter_in_any_case(store: Store, dead_letter: bool) -> None:
    guarded = Transition("open", "dead", on="never", by=SYSTEM, guard=never)
    failures = Failures(otherwise=Rule((Exception,), retries=0, then="dead", dead_letter=dead_letter))
    with trial_of(store, errand(WORK, guarded, states=(DEAD,), failures=failures)) as trial:
        it = trial.create("errand")
        do(trial, Fail(ValueError("no")))
        assert trial.state(it) == "open"
        assert [letter.instance_id for letter in trial.engine.dead_letters.find()] == [it]


def test_a_failure_whose_way_onward_is_refused_rests_where_failures_rest(store: Store) -> None:
    states = (DEAD, State("failed", FAILED))
    ways = (
        WORK,
        Transition("open", "failed", on="report_failure", by=USER),
        Transition("open", "failed", on="fail", by=WORKER),
        Transition("failed", "dead", on="give_up", by=SYSTEM, guard=never),
        Transition("failed", "open", on="retry", by=(SYSTEM, USER)),
    )
    failures = Failures(state="failed", otherwise=Rule((Exception,), retries=0, then="dead", dead_letter=False))
    with trial_of(store, errand(*ways, states=states, failures=failures)) as trial:
        it = trial.create("errand")
        do(trial, Fail(ValueError("no")))
        assert (trial.state(it), last_row(trial, it).event) == ("failed", "fail")
        assert len(trial.engine.dead_letters.find()) == 1


@pytest.mark.parametrize("turned", [False, True])
def test_a_lost_worker_goes_the_systems_way(store: Store, turned: bool) -> None:
    ways = [Transition("open", "lost", on="drop", by=USER), Transition("open", "lost", on="vanished", by=SYSTEM)]
    states = [State("open", lost="lost"), State("done", FINAL), State("lost", FINAL)]
    transitions = [WORK, *(reversed(ways) if turned else ways)]
    machine = by_hand(Machine("errand", initial="open", states=states, transitions=transitions))
    with trial_of(store, machine) as trial:
        it = trial.create("errand")
        claim = claim_one(trial)
        trial.lose(claim.worker)
        assert (trial.state(it), last_row(trial, it).event) == ("lost", "vanished")


def test_an_event_that_is_not_for_a_person_stays_so_beside_one_that_is(store: Store) -> None:
    with trial_of(store, errand(SKIP, WORK)) as trial:
        it = trial.create("errand")
        with pytest.raises(Refused):
            trial.engine.fire(it, "finish", actor=ANN)
