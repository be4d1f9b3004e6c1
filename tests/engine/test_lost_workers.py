"""Lost workers: what they held goes on elsewhere; a crash costs a crash, not an attempt; too many are poison."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.engine import Fenced, workers
from interlock.engine.application import clear_crashes
from interlock.machine import Fail, Failures, Go, Rule, WorkerLost
from interlock.store import Store
from interlock.testing import Trial
from tests.support.machines import claim_one, do, job, kinds, last_row, pass_time, trial_of
from tests.support.racing import race

JOB = job()
SENT_BACK = job(lost="second")


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, JOB) as trial:
        yield trial


def crash(trial: Trial) -> None:
    """Somebody claims what is next, and is never seen again."""
    worker = trial.new_worker()
    claim_one(trial, worker=worker)
    assert trial.lose(worker) == 1


def test_what_a_lost_worker_held_is_ready_at_once(trial: Trial) -> None:
    it = trial.create("job")
    worker = trial.new_worker()
    claim_one(trial, worker=worker)
    trial.lose(worker)
    after = trial.get(it)
    assert (after.state, after.wake, after.due_at, after.holder) == ("first", "work", trial.clock.now(), None)
    row = last_row(trial, it)
    assert (row.kind, row.actor) == ("lost", "system")
    assert row.payload == {"why": "worker_lost", "worker": str(worker), "step": "first", "crash": 1}


def test_a_step_that_got_further_forgets_its_lost_workers_and_says_so(trial: Trial) -> None:
    it = trial.create("job")
    for _ in range(2):
        crash(trial)
    worker = trial.new_worker()
    claim = claim_one(trial, worker=worker)
    assert trial.write(lambda unit: clear_crashes(unit, claim, "page 7")) is True
    row = last_row(trial, it)
    assert (row.kind, row.payload) == ("advanced", {"step": "first", "crashes": 2, "reason": "page 7"})
    assert trial.write(lambda unit: clear_crashes(unit, claim, "page 8")) is False, "there is nothing to forget"
    trial.lose(worker)
    with pytest.raises(Fenced):
        trial.write(lambda unit: clear_crashes(unit, claim, "page 9"))
    for _ in range(2):
        assert trial.state(it) == "first"
        crash(trial)
    [letter] = trial.engine.dead_letters.find()
    assert letter.instance_id == it, "three more at one place are poison"
    assert trial.engine.verify().problems == ()


def test_its_result_comes_too_late(trial: Trial) -> None:
    it = trial.create("job")
    worker = trial.new_worker()
    claim = claim_one(trial, worker=worker)
    trial.lose(worker)
    assert trial.finish(claim, Go("second")) is False
    new = claim_one(trial)
    assert new.fence > claim.fence
    assert trial.finish(claim, Go("second")) is False
    assert trial.finish(new, Go("second")) is True
    assert trial.path(it) == ["first", "second"]


def test_only_what_it_held_is_taken_back(trial: Trial) -> None:
    trial.engine.create_many("job", [None] * 3)
    lost, alive = trial.new_worker(), trial.new_worker()
    gone, kept = trial.claim(2, worker=lost), claim_one(trial, worker=alive)
    assert trial.lose(lost) == 2
    assert {trial.get(claim.id).holder for claim in gone} == {None}
    assert trial.get(kept.id).holder == alive


def test_the_worker_is_marked_as_lost_and_learns_it_at_its_next_beat(trial: Trial) -> None:
    worker = trial.new_worker()
    trial.lose(worker)
    [row] = [w for w in trial.engine.read(workers.every) if w.id == worker]
    assert row.status == "lost"
    with pytest.raises(Fenced, match="is counted as lost"):
        trial.engine.store.write(lambda conn: workers.beat(conn, trial.clock.now(), worker))


def test_a_crash_is_counted_apart_from_failures_and_costs_no_retry(trial: Trial) -> None:
    it = trial.create("job")
    crash(trial)
    do(trial, Fail(ValueError("no paper")))
    assert trial.get(it).failures == {"first|crash": 1, "first|Exception": 1}
    pass_time(trial, minutes=5)
    crash(trial)
    for _ in range(2):
        do(trial, Fail(ValueError("no paper")))
        pass_time(trial, minutes=5)
    do(trial, Go("second"))
    assert trial.state(it) == "second"


def test_three_crashes_in_one_step_are_poison(trial: Trial) -> None:
    it = trial.create("job", {"n": 1})
    for _ in range(3):
        crash(trial)
    after = trial.get(it)
    assert (after.state, after.wake, after.failed_step) == ("first", None, "first")
    assert trial.claim() == []
    [letter] = trial.engine.dead_letters.find()
    assert (letter.instance_id, letter.step, letter.error_type) == (it, "first", "WorkerLost")
    assert "3 workers were lost" in letter.error["message"]
    assert kinds(trial, it) == ["created", "lost", "lost", "failed"]
    assert last_row(trial, it).payload["exhausted"] is True


def test_a_step_that_was_passed_forgets_its_crashes_and_keeps_those_of_others(trial: Trial) -> None:
    it = trial.create("job")
    crash(trial)
    crash(trial)
    do(trial, Go("second"))
    assert trial.get(it).failures == {}
    crash(trial)
    do(trial, Go("first"))
    crash(trial)
    crash(trial)
    assert trial.get(it).failures == {"first|crash": 2}
    assert trial.engine.dead_letters.find() == []


def test_a_machine_says_how_many_crashes_are_poison(store: Store) -> None:
    with trial_of(store, job(Failures(crashes=1))) as trial:
        trial.create("job")
        crash(trial)
        assert len(trial.engine.dead_letters.find()) == 1


def test_poison_goes_where_its_rule_says(store: Store) -> None:
    failures = Failures(
        state="failed",
        crashes=2,
        rules=(Rule((WorkerLost,), then="given_up", sets={"why": "poison"}),),
    )
    with trial_of(store, job(failures)) as trial:
        it = trial.create("job")
        crash(trial)
        crash(trial)
        assert trial.path(it) == ["first", "failed", "given_up"]
        assert trial.data(it) == {"why": "poison"}


def test_a_state_can_say_where_it_goes_when_its_worker_is_lost(store: Store) -> None:
    with trial_of(store, job(lost="failed", failures=Failures(state="failed"))) as trial:
        it = trial.create("job")
        crash(trial)
        row = last_row(trial, it)
        assert (row.kind, row.from_state, row.to_state, row.event) == ("moved", "first", "failed", "fail")
        assert (row.actor, row.payload["why"], row.payload["crash"]) == ("system", "worker_lost", 1)


def test_and_there_too_the_last_crash_is_poison(store: Store) -> None:
    with trial_of(store, SENT_BACK) as trial:
        it = trial.create("job")
        for _ in range(2):
            crash(trial)
            assert trial.state(it) == "second"
            do(trial, Go("first"))
        assert trial.get(it).failures == {"first|crash": 2}
        crash(trial)
        assert (trial.state(it), len(trial.engine.dead_letters.find())) == ("first", 1)


def test_of_many_who_find_it_lost_one_counts_the_crash(trial: Trial) -> None:
    ids = trial.engine.create_many("job", [None] * 5)
    worker = trial.new_worker()
    trial.claim(5, worker=worker)
    taken = race(6, lambda _: trial.lose(worker))
    assert sum(taken) == 5
    assert [trial.get(i).failures for i in ids] == [{"first|crash": 1}] * 5
