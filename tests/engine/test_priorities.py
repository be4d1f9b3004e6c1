"""Priorities: the first come first, the last come late, and nobody starves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.machine import Go
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import PARCEL, claim_one, parcel, trial_of

FIRST, LAST = 0, 3


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, PARCEL) as trial:
        yield trial


def create(trial: Trial, priority: int, count: int = 1) -> list[UUID]:
    """So many, each a second older than the next."""
    made = []
    for _ in range(count):
        made.append(trial.create("parcel", priority=priority))
        trial.clock.advance(timedelta(seconds=1))
    return made


def test_what_has_the_first_priority_is_claimed_first(trial: Trial) -> None:
    ids = {priority: create(trial, priority)[0] for priority in (3, 1, 0, 2)}
    assert [claim_one(trial).id for _ in range(4)] == [ids[0], ids[1], ids[2], ids[3]]


def test_among_equals_the_oldest_is_claimed_first(trial: Trial) -> None:
    ids = create(trial, 2, 5)
    assert [claim_one(trial).id for _ in range(5)] == ids


def test_a_batch_is_filled_from_the_first_priority_down(trial: Trial) -> None:
    last, middle, first = create(trial, 3, 2), create(trial, 2, 2), create(trial, 0, 2)
    assert {claim.id for claim in trial.claim(5)} == {*first, *middle, last[0]}


def test_one_claim_in_eight_goes_by_age_alone(trial: Trial) -> None:
    [old] = create(trial, LAST)
    create(trial, FIRST, 20)
    taken = [claim_one(trial).id for _ in range(16)]
    assert taken.count(old) == 1
    assert old in taken[:8]


def test_of_a_batch_of_sixteen_two_go_by_age(trial: Trial) -> None:
    old, young = create(trial, LAST, 4), create(trial, FIRST, 20)
    batch = {claim.id for claim in trial.claim(16)}
    assert batch == {*old[:2], *young[:14]}


def test_a_slot_by_age_is_not_wasted_where_the_oldest_comes_first_anyway(trial: Trial) -> None:
    ids = create(trial, FIRST, 20)
    assert {claim.id for claim in trial.claim(16)} == set(ids[:16])


@pytest.mark.parametrize(
    "priorities",
    [
        [3, 2, 1, 0] * 6,  # each priority reached in part
        [0, 1, 2, 3] * 6,
        [0] * 8 + [3] * 4 + [1] * 12,  # the oldest come first anyway
        [2] + [3] + [0] * 20,  # one by age of each that is not reached
        [3, 3, 3] + [0] * 10 + [2] * 10,  # the last reached lies between
    ],
)
def test_a_batch_is_the_two_oldest_and_then_the_first_priorities(trial: Trial, priorities: list[int]) -> None:
    made = [(priority, create(trial, priority)[0]) for priority in priorities]
    oldest = [it for _, it in made[:2]]
    others = [it for _, it in sorted(made, key=lambda one: one[0]) if it not in oldest]
    assert {claim.id for claim in trial.claim(16)} == {*oldest, *others[:14]}
    assert {claim.id for claim in trial.claim(16)} == set(others[14:])


def test_the_last_priority_is_late_but_never_starves(trial: Trial) -> None:
    """As much new work of the first priority as can be done, all the time."""
    waiting = create(trial, LAST, 3)
    done: list[UUID] = []
    for _ in range(24):
        create(trial, FIRST)
        claim = claim_one(trial)
        trial.finish(claim, Go("shipped"))
        done.append(claim.id)
    assert [it for it in done if it in waiting] == waiting


def test_age_is_counted_from_when_the_work_became_due(trial: Trial) -> None:
    retried = trial.create("parcel", priority=LAST, at=trial.clock.time + timedelta(minutes=5))
    [older] = create(trial, LAST)
    create(trial, FIRST, 9)
    trial.clock.advance(timedelta(minutes=5))
    taken = [claim_one(trial).id for _ in range(8)]
    assert older in taken
    assert retried not in taken


def test_queues_of_a_priority_take_turns(store: Store) -> None:
    with trial_of(store, PARCEL, parcel("crate")) as trial:
        for _ in range(4):
            trial.create("parcel")
        trial.clock.advance(timedelta(seconds=1))
        for _ in range(4):
            trial.create("crate")
        names = [claim_one(trial).instance.machine for _ in range(4)]
        assert sorted(names) == ["crate", "crate", "parcel", "parcel"]
