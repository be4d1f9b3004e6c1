"""Creating an instance: its data, its key, its priority, its route, and when its work starts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import InvalidData, KeyTaken
from interlock.machine import FINAL, DataTooBig, Go, Machine, State, Transition, UnknownMachine
from interlock.store import Store, micros
from interlock.testing import Trial
from tests.support.machines import ANN, INVOICE, LETTER, PARCEL, Parcel, by_hand, do, trial_of
from tests.support.racing import race

FREE = by_hand(
    Machine(
        "note",
        initial="new",
        states=[State("new"), State("done", FINAL)],
        transitions=[Transition("new", "done", on="do")],
    )
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL, INVOICE, LETTER, FREE) as trial:
        yield trial


def everything(trial: Trial) -> int:
    return trial.engine.verify().instances


# -- the first row


def test_a_new_instance_is_in_the_initial_state_and_its_work_is_ready_now(trial: Trial) -> None:
    it = trial.get(trial.create("parcel"))
    assert (it.state, it.previous, it.wake, it.due_at) == ("ordered", None, "work", trial.clock.now())
    assert (it.created_at, it.entered_at, it.finished_at) == (trial.clock.now(), trial.clock.now(), None)


def test_its_history_begins_with_who_created_it_and_with_what(trial: Trial) -> None:
    it = trial.create("parcel", {"item": "ink"}, actor=ANN)
    [row] = trial.engine.history(it)
    assert (row.seq, row.kind, row.from_state, row.to_state) == (1, "created", None, "ordered")
    assert (row.actor, row.at) == ("user:ann", trial.clock.now())
    assert row.payload == {"machine": "parcel", "version": 1, "set": {"item": "ink", "weight": 1, "note": ""}}


# -- data


@pytest.mark.parametrize("data", [{"weight": 3}, Parcel(weight=3)])
def test_data_is_kept_as_the_model_keeps_it(trial: Trial, data: Any) -> None:
    assert trial.data(trial.create("parcel", data)) == {"item": "tea", "weight": 3, "note": ""}


def test_data_that_does_not_fit_is_refused_with_every_field_and_nothing_is_created(trial: Trial) -> None:
    with pytest.raises(InvalidData) as refusal:
        trial.create("parcel", {"weight": -2, "item": 7})
    assert "parcel" in str(refusal.value)
    assert "weight: Input should be greater than 0 (got -2)" in str(refusal.value)
    assert "item: Input should be a valid string (got 7)" in str(refusal.value)
    assert everything(trial) == 0


@pytest.mark.parametrize("data", [["a list"], "text", 7])
def test_data_that_is_no_mapping_is_refused(trial: Trial, data: Any) -> None:
    with pytest.raises(InvalidData, match="a model or a mapping of fields"):
        trial.create("parcel", data)


def test_a_machine_without_a_model_keeps_any_json(trial: Trial) -> None:
    data = {"deep": {"er": [1, 2.5, None, True, "é\u2028🦜"]}}
    assert trial.data(trial.create("note", data)) == data


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"bytes"])
def test_what_json_cannot_hold_is_refused(trial: Trial, value: object) -> None:
    with pytest.raises(InvalidData, match=r"data.value is .*JSON does not have"):
        trial.create("note", {"value": value})


def test_data_too_big_for_its_row_lies_beside_it_and_comes_back_whole(trial: Trial) -> None:
    big = {"text": "x" * 100_000}
    assert trial.data(trial.create("note", big)) == big


def test_data_too_big_for_the_store_is_refused(trial: Trial) -> None:
    with pytest.raises(DataTooBig, match="store large values as artifacts"):
        trial.create("note", {"text": "x" * 300_000})
    assert everything(trial) == 0


def test_an_unknown_machine_is_refused_with_the_names_of_those_there_are(trial: Trial) -> None:
    with pytest.raises(UnknownMachine, match=r"no machine 'parrot'; there are: invoice, letter, note, parcel"):
        trial.create("parrot")


def test_labels_are_kept(trial: Trial) -> None:
    assert trial.get(trial.create("parcel", labels={"b": "2", "a": "1"})).labels == '{"a":"1","b":"2"}'


# -- keys


def test_a_key_is_taken_while_its_instance_lives(trial: Trial) -> None:
    first = trial.create("parcel", key="p-1")
    with pytest.raises(KeyTaken, match="'p-1' exists already") as refusal:
        trial.create("parcel", key="p-1")
    assert refusal.value.existing == first
    assert everything(trial) == 1


def test_a_live_key_is_free_again_once_its_instance_rests_in_a_final_state(trial: Trial) -> None:
    first = trial.create("parcel", key="p-1")
    do(trial, Go("shipped"))
    second = trial.create("parcel", key="p-1")
    found = trial.engine.find("parcel", "p-1")
    assert found is not None
    assert (found.id, trial.get(first).key) == (second, "p-1")


def test_a_live_key_stays_taken_while_a_chain_passes_a_final_state(trial: Trial) -> None:
    trial.create("parcel", key="p-1")
    do(trial, Go(("shipped", "ordered")))
    with pytest.raises(KeyTaken):
        trial.create("parcel", key="p-1")


def test_a_key_for_ever_stays_taken_after_the_end(trial: Trial) -> None:
    first = trial.create("invoice", key="i-1")
    do(trial, Go("shipped"))
    with pytest.raises(KeyTaken) as refusal:
        trial.create("invoice", key="i-1")
    assert refusal.value.existing == first
    found = trial.engine.find("invoice", "i-1")
    assert found is not None
    assert found.state == "shipped"


def test_what_is_reopened_takes_its_key_again(trial: Trial) -> None:
    first = trial.create("parcel", key="p-1")
    do(trial, Go("shipped"))
    trial.engine.fire(first, "reopen", actor=ANN)
    with pytest.raises(KeyTaken):
        trial.create("parcel", key="p-1")


def test_what_lost_its_key_to_another_cannot_be_reopened(trial: Trial) -> None:
    first = trial.create("parcel", key="p-1")
    do(trial, Go("shipped"))
    second = trial.create("parcel", key="p-1")
    with pytest.raises(KeyTaken) as refusal:
        trial.engine.fire(first, "reopen", actor=ANN)
    assert refusal.value.existing == second
    assert trial.state(first) == "shipped"


def test_a_key_is_its_own_in_each_machine_and_each_workspace(trial: Trial) -> None:
    trial.create("parcel", key="x")
    trial.create("invoice", key="x")
    trial.create("parcel", key="x", workspace="other")
    assert everything(trial) == 3
    found = trial.engine.find("parcel", "x", workspace="other")
    assert found is not None
    assert found.workspace == "other"


@pytest.mark.parametrize("key", ["", "x" * 2001, "é" * 1001])
def test_an_empty_or_endless_key_is_refused(trial: Trial, key: str) -> None:
    with pytest.raises(InvalidData, match=r"the key is empty|the key has 2,00[12] .* at most 2,000 fit"):
        trial.create("parcel", key=key)


def test_create_or_get_gives_the_one_that_has_the_key(trial: Trial) -> None:
    first = trial.engine.create_or_get("parcel", {"item": "ink"}, key="p-1")
    second = trial.engine.create_or_get("parcel", {"item": "tea"}, key="p-1")
    assert (first.new, second.new) == (True, False)
    assert second.instance.id == first.instance.id
    assert second.instance.data["item"] == "ink"


def test_of_many_who_want_a_key_at_once_one_gets_it(trial: Trial) -> None:
    made = race(8, lambda _: trial.engine.create_or_get("parcel", key="p-1"))
    assert [created.new for created in made].count(True) == 1
    assert len({created.instance.id for created in made}) == 1
    assert everything(trial) == 1


# -- priority, route, start


@pytest.mark.parametrize("priority", [0, 1, 2, 3])
def test_there_are_four_priorities(trial: Trial, priority: int) -> None:
    assert trial.get(trial.create("parcel", priority=priority)).priority == priority


@pytest.mark.parametrize("priority", [-1, 4])
def test_another_priority_is_refused(trial: Trial, priority: int) -> None:
    with pytest.raises(InvalidData, match=f"priority {priority} is not one of 0"):
        trial.create("parcel", priority=priority)


@pytest.mark.parametrize(
    ("options", "queue"),
    [
        ({}, "parcel"),
        ({"queue": "slow"}, "slow"),
        ({"host": "h1"}, "parcel@h1"),
        ({"queue": "slow", "host": "h1"}, "slow@h1"),
    ],
)
def test_work_goes_to_the_machines_queue_by_default(trial: Trial, options: dict[str, Any], queue: str) -> None:
    assert trial.get(trial.create("parcel", **options)).queue == queue


def test_work_can_start_at_a_later_moment(trial: Trial) -> None:
    later = trial.clock.time + timedelta(hours=2)
    it = trial.create("parcel", at=later)
    assert trial.get(it).due_at == micros(later)
    trial.clock.advance(timedelta(hours=2) - timedelta(microseconds=1))
    assert trial.claim() == []
    trial.clock.advance(timedelta(microseconds=1))
    assert [claim.id for claim in trial.claim()] == [it]


def test_an_instance_can_be_created_unstarted_until_an_event_starts_its_work(trial: Trial) -> None:
    it = trial.create("letter", unstarted=True)
    assert (trial.get(it).wake, trial.claim()) == (None, [])
    trial.engine.fire(it, "begin", actor=ANN)
    assert [claim.id for claim in trial.claim()] == [it]


def test_work_that_no_event_could_start_cannot_be_created_unstarted(trial: Trial) -> None:
    with pytest.raises(InvalidData, match=r"'ordered' cannot be entered unstarted: declare an event"):
        trial.create("parcel", unstarted=True)


def test_many_are_created_together_or_not_at_all(trial: Trial) -> None:
    assert len(set(trial.engine.create_many("parcel", [{"weight": n} for n in (1, 2, 3)]))) == 3
    with pytest.raises(InvalidData):
        trial.engine.create_many("parcel", [{"weight": 1}, {"weight": 0}])
    assert everything(trial) == 3
