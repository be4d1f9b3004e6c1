"""Firing events: who may, when, with what data, and what a refusal says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from interlock.engine import Allowed, Forbidden, InvalidData, NotFound, OutOfDate, Refused
from interlock.machine import SYSTEM, WORKER, Actor, Go
from interlock.store import Store, micros
from interlock.testing import Trial
from tests.support.machines import ANN, BOSS, LETTER, PARCEL, ROBOT, THE_SYSTEM, claim_one, do, last_row, trial_of
from tests.support.racing import race


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, LETTER) as trial:
        yield trial


@pytest.fixture
def checked(trial: Trial) -> UUID:
    """A parcel that waits for a clerk."""
    it = trial.create("parcel", {"item": "ink"})
    do(trial, Go("checking"))
    return it


def test_an_event_moves_along_its_transition_and_leaves_a_row(trial: Trial, checked: UUID) -> None:
    trial.clock.advance(timedelta(minutes=5))
    after = trial.engine.fire(checked, "approve", actor=ANN, reason="looks fine")
    assert (after.state, after.previous, after.entered_at) == ("shipped", "checking", trial.clock.now())
    row = last_row(trial, checked)
    assert (row.kind, row.from_state, row.to_state, row.event) == ("moved", "checking", "shipped", "approve")
    assert (row.actor, row.at, row.payload) == ("user:ann", trial.clock.now(), {"reason": "looks fine"})
    assert trial.get(checked).finished_at == trial.clock.now()


def test_an_unknown_instance_is_not_found(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no instance"):
        trial.engine.fire(uuid4(), "approve", actor=ANN)


# -- refusals


def test_an_event_that_means_nothing_here_is_refused_with_what_is_allowed(trial: Trial) -> None:
    it = trial.create("parcel")
    with pytest.raises(Refused, match=r"is in 'ordered', where 'approve' is not declared; allowed now: ") as refusal:
        trial.engine.fire(it, "approve", actor=ANN)
    assert set(refusal.value.allowed) == {
        Allowed("start", "packing", ("worker",)),
        Allowed("cancel", "cancelled", ("user",)),
    }


def test_a_refusal_leaves_no_trace(trial: Trial, checked: UUID) -> None:
    before = trial.get(checked)
    with pytest.raises(Refused):
        trial.engine.fire(checked, "start", actor=ANN)
    assert trial.get(checked) == before
    assert last_row(trial, checked).to_state == "checking"


def test_an_event_for_somebody_else_is_forbidden_and_says_for_whom(trial: Trial, checked: UUID) -> None:
    with pytest.raises(Forbidden, match=r"'approve' is for user, not for agent") as refusal:
        trial.engine.fire(checked, "approve", actor=ROBOT)
    assert Allowed("repack", "packing", ("agent", "user")) in refusal.value.allowed


def test_an_agent_may_what_is_declared_for_agents(trial: Trial, checked: UUID) -> None:
    assert trial.engine.fire(checked, "repack", actor=ROBOT).state == "packing"
    assert last_row(trial, checked).actor == "agent:robot"


def test_an_owner_may_whatever_a_user_may(trial: Trial, checked: UUID) -> None:
    assert trial.engine.fire(checked, "approve", actor=BOSS).state == "shipped"


def test_a_user_may_not_what_is_for_owners(trial: Trial, checked: UUID) -> None:
    with pytest.raises(Forbidden, match="'return' is for owner, not for user"):
        trial.engine.fire(checked, "return", actor=ANN)


def test_a_guard_refuses_with_its_own_words_and_is_not_offered(trial: Trial, checked: UUID) -> None:
    with pytest.raises(Refused, match="a return needs a note that says why") as refusal:
        trial.engine.fire(checked, "return", actor=BOSS)
    assert not isinstance(refusal.value, Forbidden)
    assert "return" not in {allowed.event for allowed in refusal.value.allowed}


def test_a_guard_lets_pass_what_fits(trial: Trial) -> None:
    it = trial.create("parcel", {"note": "it was broken"})
    do(trial, Go("checking"))
    assert trial.engine.fire(it, "return", actor=BOSS).state == "returned"


# -- expected seq


def test_an_event_with_the_seq_that_the_caller_saw_is_taken(trial: Trial, checked: UUID) -> None:
    seq = trial.get(checked).seq
    assert trial.engine.fire(checked, "approve", actor=ANN, expected_seq=seq).seq == seq + 1


def test_an_event_for_an_older_seq_is_out_of_date(trial: Trial, checked: UUID) -> None:
    seen = trial.get(checked).seq
    trial.engine.fire(checked, "park", actor=BOSS)
    with pytest.raises(OutOfDate, match=f"is at seq {seen + 1}, not {seen}") as refusal:
        trial.engine.fire(checked, "cancel", actor=ANN, expected_seq=seen)
    assert (refusal.value.expected, refusal.value.found) == (seen, seen + 1)
    assert trial.state(checked) == "parked"


def test_of_many_who_decide_on_the_same_seq_one_decides(trial: Trial, checked: UUID) -> None:
    seen = trial.get(checked).seq

    def decide(number: int) -> str:
        try:
            return trial.engine.fire(checked, "repack", actor=Actor(ANN.kind, f"user{number}"), expected_seq=seen).state
        except OutOfDate:
            return "out of date"

    assert sorted(race(8, decide)) == sorted(["packing", *["out of date"] * 7])
    assert trial.get(checked).seq == seen + 1


# -- data


def test_an_event_may_set_the_fields_that_it_accepts(trial: Trial, checked: UUID) -> None:
    trial.engine.fire(checked, "approve", actor=ANN, data={"note": "fine", "weight": 2})
    assert trial.data(checked) == {"item": "ink", "weight": 2, "note": "fine"}
    assert last_row(trial, checked).payload["set"] == {"note": "fine", "weight": 2}


def test_another_field_is_refused_and_nothing_changes(trial: Trial, checked: UUID) -> None:
    with pytest.raises(InvalidData, match=r"does not take the field 'item'; it takes note, weight"):
        trial.engine.fire(checked, "approve", actor=ANN, data={"note": "fine", "item": "gold"})
    with pytest.raises(InvalidData, match=r"does not take the field 'note'; it takes none"):
        trial.engine.fire(checked, "repack", actor=ANN, data={"note": "fine"})
    assert (trial.state(checked), trial.data(checked)["note"]) == ("checking", "")


def test_a_value_that_does_not_fit_the_model_is_refused(trial: Trial, checked: UUID) -> None:
    with pytest.raises(InvalidData, match="weight: Input should be greater than 0"):
        trial.engine.fire(checked, "approve", actor=ANN, data={"weight": 0})
    assert trial.state(checked) == "checking"


# -- chains


def test_a_chain_takes_every_event_in_one_transaction_with_a_row_each(trial: Trial, checked: UUID) -> None:
    seq = trial.get(checked).seq
    after = trial.engine.fire(checked, ("park", "resume", "approve"), actor=ANN, data={"note": "at last"})
    assert (after.state, after.seq) == ("shipped", seq + 3)
    assert [row.to_state for row in trial.engine.history(checked, after=seq)] == ["parked", "checking", "shipped"]
    assert [row.payload.get("set") for row in trial.engine.history(checked, after=seq)] == [
        None,
        None,
        {"note": "at last"},
    ]


def test_a_chain_with_one_refused_event_does_nothing_at_all(trial: Trial, checked: UUID) -> None:
    before = trial.get(checked)
    with pytest.raises(Refused, match="is in 'parked', where 'approve' is not declared"):
        trial.engine.fire(checked, ("park", "approve"), actor=ANN)
    assert trial.get(checked) == before


# -- final is final


@pytest.mark.parametrize("actor", [THE_SYSTEM, Actor(WORKER, "w"), ROBOT])
def test_nobody_but_a_person_takes_it_out_of_a_final_state(trial: Trial, checked: UUID, actor: Actor) -> None:
    trial.engine.fire(checked, "approve", actor=ANN)
    with pytest.raises(Refused, match="is in 'shipped', which is final") as refusal:
        trial.engine.fire(checked, "next", actor=actor)
    assert refusal.value.allowed == (Allowed("reopen", "checking", ("user",)),)
    with pytest.raises(Forbidden):
        trial.engine.fire(checked, "reopen", actor=actor)


def test_a_person_takes_it_out_along_the_transition_declared_for_that(trial: Trial, checked: UUID) -> None:
    trial.engine.fire(checked, "approve", actor=ANN)
    assert trial.engine.fire(checked, "reopen", actor=ANN).state == "checking"
    assert trial.get(checked).finished_at is None


def test_a_chain_of_the_system_may_pass_a_final_state_in_which_it_does_not_rest(trial: Trial, checked: UUID) -> None:
    assert trial.engine.fire(checked, ("deliver", "next"), actor=THE_SYSTEM).state == "ordered"
    assert trial.get(checked).finished_at is None


def test_where_nothing_leads_out_nothing_is_allowed(trial: Trial, checked: UUID) -> None:
    trial.engine.fire(checked, "cancel", actor=ANN)
    with pytest.raises(Refused, match="nothing is allowed now") as refusal:
        trial.engine.fire(checked, "approve", actor=BOSS)
    assert refusal.value.allowed == ()


# -- a moment to go on


def test_an_event_can_carry_the_moment_when_the_system_resumes(trial: Trial, checked: UUID) -> None:
    moment = trial.clock.time + timedelta(hours=3)
    after = trial.engine.fire(checked, "park", actor=ANN, resume_at=moment)
    assert (after.wake, after.due_at, after.due_event) == ("resume", micros(moment), "resume")
    trial.advance(hours=2, minutes=59)
    assert trial.state(checked) == "parked"
    trial.advance(minutes=1)
    assert trial.state(checked) == "checking"
    row = last_row(trial, checked)
    assert (row.actor, row.event, row.at) == (SYSTEM.value, "resume", micros(moment))


def test_a_person_may_resume_before_that_moment(trial: Trial, checked: UUID) -> None:
    trial.engine.fire(checked, "park", actor=ANN, resume_at=trial.clock.time + timedelta(hours=3))
    trial.engine.fire(checked, "resume", actor=ANN)
    trial.advance(hours=4)
    assert trial.path(checked) == ["ordered", "packing", "checking", "parked", "checking"]


def test_a_moment_is_refused_where_the_system_could_not_resume(trial: Trial, checked: UUID) -> None:
    with pytest.raises(Refused, match=r"'cancelled' cannot be resumed by the system with 'resume'"):
        trial.engine.fire(checked, "cancel", actor=ANN, resume_at=trial.clock.time + timedelta(hours=3))
    assert trial.state(checked) == "checking"


# -- a worker is at it


def test_an_event_takes_the_work_away_from_the_worker_who_holds_it(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.fire(it, "stop", actor=ANN)
    assert (trial.get(it).holder, trial.get(it).wake) == (None, None)
    assert trial.finish(claim, Go("shipped")) is False
    assert trial.path(it) == ["ordered", "packing", "checking"]
