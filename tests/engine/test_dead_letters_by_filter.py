"""Many dead letters at once: by what they have in common, and never all of them by accident."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Filter, InvalidData
from interlock.machine import Fail, Failures, Go, Rule, WorkError
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import ANN, BOSS, Refusal, Unreachable, do, job, last_row, page, trial_of

JOB = job(Failures(state="failed", otherwise=Rule((Exception,))))
PAGE = page()


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, JOB, PAGE) as trial:
        yield trial


def fail(trial: Trial, error: WorkError, *, step: str = "first", workspace: str = "default") -> UUID:
    it = trial.create("job", workspace=workspace)
    if step == "second":
        do(trial, Go("second"))
    do(trial, Fail(error))
    trial.clock.advance(timedelta(seconds=1))
    return it


@pytest.fixture
def ids(trial: Trial) -> dict[str, UUID]:
    return {
        "first": fail(trial, Unreachable("no answer in 1 s")),
        "alike": fail(trial, Unreachable("no answer in 2 s")),
        "other": fail(trial, Refusal("no")),
        "second": fail(trial, Unreachable("no answer in 3 s"), step="second"),
        "theirs": fail(trial, Unreachable("no answer in 4 s"), workspace="theirs"),
    }


def found(trial: Trial, where: Filter | None = None, limit: int = 100) -> list[UUID]:
    return [letter.instance_id for letter in trial.engine.dead_letters.find(where, limit=limit)]


def open_ones(trial: Trial) -> set[UUID]:
    return set(found(trial))


# -- finding


def test_without_a_filter_all_open_ones_are_found_the_newest_first(trial: Trial, ids: dict[str, UUID]) -> None:
    assert found(trial) == list(reversed(ids.values()))
    assert found(trial, limit=2) == [ids["theirs"], ids["second"]]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (Filter(machine="job"), {"first", "alike", "other", "second", "theirs"}),
        (Filter(machine="page"), set()),
        (Filter(error_type="Refusal"), {"other"}),
        (Filter(step="second"), {"second"}),
        (Filter(workspace="theirs"), {"theirs"}),
        (Filter(error_type="Unreachable", workspace="default"), {"first", "alike", "second"}),
        (Filter(error_type="Unreachable", workspace="default", step="first"), {"first", "alike"}),
    ],
)
def test_a_filter_finds_what_fits_all_of_it(trial: Trial, ids: dict[str, UUID], where: Filter, names: set[str]) -> None:
    assert set(found(trial, where)) == {ids[name] for name in names}


def test_a_fingerprint_finds_those_that_failed_alike(trial: Trial, ids: dict[str, UUID]) -> None:
    [letter] = [one for one in trial.engine.dead_letters.find() if one.instance_id == ids["first"]]
    assert set(found(trial, Filter(fingerprint=letter.fingerprint))) == {ids["first"], ids["alike"], ids["theirs"]}


# -- changing many


@pytest.mark.parametrize("action", ["retry", "resolve", "discard"])
def test_an_empty_filter_is_refused(trial: Trial, ids: dict[str, UUID], action: str) -> None:
    with pytest.raises(InvalidData, match="an empty filter would select every dead letter"):
        trial.engine.dead_letters.many(action, Filter(), actor=ANN)
    assert open_ones(trial) == set(ids.values())


def test_those_that_match_are_retried_and_the_others_stay(trial: Trial, ids: dict[str, UUID]) -> None:
    done = trial.engine.dead_letters.many("retry", Filter(step="first", workspace="default"), actor=ANN, note="again")
    assert len(done) == 3
    assert {trial.engine.dead_letters.get(letter).status for letter in done} == {"retried"}
    assert {trial.state(ids[name]) for name in ("first", "alike", "other")} == {"first"}
    assert open_ones(trial) == {ids["second"], ids["theirs"]}
    assert last_row(trial, ids["first"]).payload["reason"] == "again"


@pytest.mark.parametrize(("action", "status"), [("resolve", "resolved"), ("discard", "discarded")])
def test_those_that_match_are_closed_and_stay_where_they_are(
    trial: Trial, ids: dict[str, UUID], action: str, status: str
) -> None:
    [done] = trial.engine.dead_letters.many(action, Filter(error_type="Refusal"), actor=ANN, note="by hand")
    letter = trial.engine.dead_letters.get(done)
    assert (letter.status, letter.note, letter.closed_by) == (status, "by hand", "user:ann")
    assert (letter.instance_id, trial.state(ids["other"])) == (ids["other"], "failed")
    trial.engine.force(ids["other"], "given_up", actor=BOSS, reason="tidy up")


def test_an_unknown_action_is_refused(trial: Trial, ids: dict[str, UUID]) -> None:
    with pytest.raises(InvalidData, match="resolved or discarded, not 'burn'; use one of retry, resolve, discard"):
        trial.engine.dead_letters.many("burn", Filter(machine="job"), actor=ANN)
    assert open_ones(trial) == set(ids.values())


def test_no_more_than_the_limit_are_taken_at_once(trial: Trial, ids: dict[str, UUID]) -> None:
    where = Filter(machine="job")
    assert len(trial.engine.dead_letters.many("retry", where, actor=ANN, limit=2)) == 2
    assert len(open_ones(trial)) == 3
    assert len(trial.engine.dead_letters.many("retry", where, actor=ANN, limit=2)) == 2
    assert len(trial.engine.dead_letters.many("retry", where, actor=ANN, limit=2)) == 1
    assert trial.engine.dead_letters.many("retry", where, actor=ANN, limit=2) == []
    assert set(found(trial)).isdisjoint(ids.values())


def test_one_that_cannot_be_retried_does_not_hold_up_the_others(trial: Trial, ids: dict[str, UUID]) -> None:
    trial.engine.fire(ids["alike"], "retry")  # by the system, which closes no letter
    do(trial, Go("second"))
    before = trial.get(ids["alike"])
    done = trial.engine.dead_letters.many("retry", Filter(step="first", workspace="default"), actor=ANN)
    assert {trial.engine.dead_letters.get(letter).instance_id for letter in done} == {ids["first"], ids["other"]}
    assert trial.get(ids["alike"]) == before
    assert ids["alike"] in open_ones(trial)
