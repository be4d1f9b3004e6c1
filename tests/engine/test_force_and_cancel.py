"""What people may do beside the table of transitions, and the way to the end that they can always ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.engine import Forbidden, InvalidData, Refused
from interlock.machine import Actor, Go
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import (
    ANN,
    BOSS,
    PARCEL,
    ROBOT,
    THE_SYSTEM,
    claim_one,
    do,
    last_row,
    page,
    trial_of,
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, page()) as trial:
        yield trial


# -- force


def test_an_owner_with_a_reason_puts_it_into_any_state(trial: Trial) -> None:
    it = trial.create("parcel")
    after = trial.engine.force(it, "returned", actor=BOSS, reason="the warehouse burnt down")
    assert (after.state, after.previous) == ("returned", "ordered")
    row = last_row(trial, it)
    assert (row.kind, row.from_state, row.to_state, row.actor) == ("forced", "ordered", "returned", "owner:boss")
    assert row.payload == {"reason": "the warehouse burnt down"}


@pytest.mark.parametrize("actor", [ANN, ROBOT, THE_SYSTEM])
def test_nobody_else_may_force(trial: Trial, actor: Actor) -> None:
    it = trial.create("parcel")
    with pytest.raises(Forbidden, match=f"only an owner may force an instance, not {actor.kind.value}"):
        trial.engine.force(it, "returned", actor=actor, reason="because")
    assert trial.state(it) == "ordered"


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_forcing_needs_a_reason(trial: Trial, reason: str) -> None:
    it = trial.create("parcel")
    with pytest.raises(InvalidData, match="needs a reason"):
        trial.engine.force(it, "returned", actor=BOSS, reason=reason)


def test_forcing_into_an_unknown_state_is_refused_with_those_there_are(trial: Trial) -> None:
    it = trial.create("parcel")
    with pytest.raises(InvalidData, match=r"parcel has no state 'nowhere'; it has ordered, packing"):
        trial.engine.force(it, "nowhere", actor=BOSS, reason="because")


def test_forcing_fences_off_the_worker_who_was_at_it(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.force(it, "checking", actor=BOSS, reason="let me see")
    assert trial.finish(claim, Go("shipped")) is False
    assert trial.state(it) == "checking"


def test_forced_into_a_work_state_its_work_is_ready(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("shipped"))
    trial.engine.force(it, "packing", actor=BOSS, reason="once more")
    assert trial.get(it).finished_at is None
    assert do(trial, Go("checking")).id == it


# -- cancel


def test_cancelling_takes_the_declared_way(trial: Trial) -> None:
    it = trial.create("parcel")
    after = trial.engine.cancel(it, actor=ANN, reason="changed my mind")
    assert after.state == "cancelled"
    row = last_row(trial, it)
    assert (row.kind, row.event, row.payload) == ("moved", "cancel", {"reason": "changed my mind"})


def test_where_no_straight_way_leads_it_takes_the_shortest_chain_in_one_transaction(trial: Trial) -> None:
    it = trial.create("parcel")
    claim = claim_one(trial)
    trial.engine.cancel(it, actor=ANN)
    assert trial.path(it) == ["ordered", "packing", "checking", "cancelled"]
    assert [row.event for row in trial.engine.history(it)][-2:] == ["stop", "cancel"]
    assert trial.finish(claim, Go("shipped")) is False


def test_an_actor_without_a_way_is_refused(trial: Trial) -> None:
    it = trial.create("parcel")
    with pytest.raises(Refused, match=r"is in 'ordered', from where agent has no path to 'cancelled'"):
        trial.engine.cancel(it, actor=ROBOT)


def test_what_is_cancelled_cannot_be_cancelled_again(trial: Trial) -> None:
    it = trial.create("parcel")
    trial.engine.cancel(it, actor=ANN)
    with pytest.raises(Refused):
        trial.engine.cancel(it, actor=ANN)
    assert trial.path(it) == ["ordered", "cancelled"]


def test_a_way_out_of_a_final_state_is_taken_only_if_it_is_declared_for_the_person(trial: Trial) -> None:
    it = trial.create("parcel")
    do(trial, Go("shipped"))
    trial.engine.cancel(it, actor=ANN)
    assert trial.path(it)[-3:] == ["shipped", "checking", "cancelled"]


def test_a_machine_without_a_state_for_it_cannot_be_cancelled(trial: Trial) -> None:
    it = trial.create("page")
    with pytest.raises(Refused, match="page declares no state for cancelled work"):
        trial.engine.cancel(it, actor=ANN)
