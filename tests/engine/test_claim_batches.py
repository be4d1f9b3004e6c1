"""Claims in place: no index has them, and yet nobody takes them twice, and none is lost with its worker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, Result, claim_batches, due, finishing, picking, workers
from interlock.machine import Again, Fail, Go
from interlock.store import Store
from interlock.store.tables import claim_batch, instance
from interlock.testing import Trial
from interlock.watch import measures
from tests.support.machines import ANN, LETTER, job, kinds, trial_of

JOB = job()


@pytest.fixture
def trial(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.setattr(claim_batches, "SMALLEST", 2)
    with trial_of(store, JOB, LETTER) as made:
        made.engine.core.claims_in_place = True
        yield made


def stored(trial: Trial, it: UUID) -> dict[str, object]:
    """The row as it is in the database."""
    row = trial.engine.read(lambda conn: conn.execute(sa.select(instance).where(instance.c.id == it)).one())
    return dict(row._mapping)


def batches(trial: Trial) -> int:
    return trial.engine.read(
        lambda conn: conn.execute(sa.select(sa.func.count()).select_from(claim_batch)).scalar_one()
    )


def in_place(trial: Trial, it: UUID) -> bool:
    return stored(trial, it)["taken_by"] is not None


def claimed(trial: Trial, count: int, worker: UUID | None = None) -> list[Claim]:
    trial.engine.create_many("job", [None] * count)
    claims = trial.claim(count, worker=worker)
    assert len(claims) == count
    assert all(in_place(trial, claim.id) for claim in claims)
    return claims


def settle(trial: Trial) -> int:
    return trial.write(claim_batches.settle)


def test_a_claim_in_place_changes_nothing_that_an_index_has(trial: Trial) -> None:
    ids = trial.engine.create_many("job", [None] * 2)
    before = {it: stored(trial, it) for it in ids}
    trial.claim(2)
    has = {column.name for index in instance.indexes for column in index.columns} | {"id", "paused_at"}
    for it in ids:
        after = stored(trial, it)
        changed = {name for name, value in after.items() if value != before[it][name]}
        assert changed == {"fence", "claimed_at", "taken_by", "taken_until"}
        assert changed.isdisjoint(has)
    assert batches(trial) == 1


def test_it_is_a_lease_to_everybody_who_reads_it(trial: Trial) -> None:
    worker = trial.new_worker()
    claim, _ = claimed(trial, 2, worker)
    seen = trial.get(claim.id)
    assert (seen.wake, seen.holder, seen.fence, seen.due_at) == ("lease", worker, claim.fence, claim.until)
    assert claim.instance == seen
    assert "A worker on trial (process 0) is at it" in trial.engine.explain(claim.id).sentence
    assert trial.engine.read(workers.claim_counts) == {worker: 2}
    assert trial.engine.read(lambda conn: workers.claimed_by(conn, worker))[claim.id] == claim.fence


def test_it_is_not_ready_any_more(trial: Trial) -> None:
    claimed(trial, 3)
    assert trial.claim(3) == []
    now, core = trial.clock.now(), trial.engine.core
    assert not trial.engine.read(lambda conn: picking.anything_ready(core, conn, now, trial.queues))
    assert trial.engine.read(lambda conn: measures.oldest_ready(conn, now)) == []


def test_few_claims_and_claims_beside_older_processes_are_not_in_place(trial: Trial) -> None:
    one = trial.create("job")
    trial.claim(1)
    assert (in_place(trial, one), batches(trial)) == (False, 0)
    assert trial.engine.read(workers.all_know_claims_in_place)
    older = trial.new_worker()
    row = workers.W.c
    trial.engine.store.write(lambda conn: conn.execute(sa.update(workers.W).where(row.id == older).values(in_place=0)))
    assert not trial.engine.read(workers.all_know_claims_in_place)
    trial.engine.core.claims_in_place = False
    trial.engine.create_many("job", [None] * 2)
    assert [in_place(trial, claim.id) for claim in trial.claim(2)] == [False, False]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(
    "outcome", [Go("second"), Go("second", data={"a": 1}), Again(after=timedelta(hours=1)), Fail(ValueError("no"))]
)
def test_its_result_is_written_whether_or_not_it_was_settled(trial: Trial, outcome: object, settled: bool) -> None:
    claim, other = claimed(trial, 2)
    if settled:
        trial.clock.advance(timedelta(seconds=2))
        assert settle(trial) == 0
        assert not in_place(trial, claim.id)
    assert trial.engine.finish([Result(claim, outcome)]) == [True]  # type: ignore[arg-type]
    after = stored(trial, claim.id)
    assert (after["holder"], after["taken_by"], after["taken_until"], after["claimed_at"]) == (None,) * 4
    assert after["wake"] != "lease"
    assert trial.get(other.id).wake == "lease"
    assert trial.engine.finish([Result(claim, Go("second"))]) == [False]


def test_whatever_changes_it_writes_its_lease(trial: Trial) -> None:
    claim, other = claimed(trial, 2)
    trial.write(lambda unit: finishing.save(unit, claim, {"page": 1}))
    row = stored(trial, claim.id)
    assert (row["wake"], row["holder"], row["taken_by"], row["due_at"]) == ("lease", trial.worker, None, claim.until)
    trial.engine.pause(other.id, actor=ANN)
    row = stored(trial, other.id)
    assert (row["wake"], row["holder"], row["taken_by"]) == (None, None, None)
    assert trial.engine.finish([Result(claim, Go("second")), Result(other, Go("second"))]) == [True, False]


def test_what_is_claimed_for_long_is_settled(trial: Trial) -> None:
    claim, _ = claimed(trial, 2)
    trial.clock.advance(timedelta(milliseconds=900))
    assert (settle(trial), batches(trial), in_place(trial, claim.id)) == (0, 1, True)
    trial.clock.advance(timedelta(milliseconds=200))
    assert trial.engine.read(lambda conn: due.anything_due(conn, trial.clock.now()))
    trial.engine.tick()
    row = stored(trial, claim.id)
    assert (row["wake"], row["due_at"], row["holder"], row["taken_by"]) == ("lease", claim.until, trial.worker, None)
    assert batches(trial) == 0


def test_a_batch_of_a_clock_that_was_ahead_is_settled_too(trial: Trial) -> None:
    claim, _ = claimed(trial, 2)
    trial.engine.store.write(lambda conn: conn.execute(sa.update(claim_batch).values(at=trial.clock.now() + 10**12)))
    trial.engine.tick()
    assert (in_place(trial, claim.id), batches(trial)) == (False, 0)


def test_a_lost_workers_claims_in_place_are_taken_back(trial: Trial) -> None:
    worker = trial.new_worker()
    claim, other = claimed(trial, 2, worker)
    assert trial.engine.finish([Result(other, Go("second"))]) == [True]
    assert trial.lose(worker) == 1
    after = trial.get(claim.id)
    assert (after.wake, after.holder, after.failures) == ("work", None, {"first|crash": 1})
    assert (kinds(trial, claim.id)[-1], batches(trial)) == ("lost", 0)
    assert trial.engine.finish([Result(claim, Go("second"))]) == [False]


def test_a_claim_that_arrives_after_its_worker_was_lost_is_found_by_its_batch(trial: Trial) -> None:
    worker = trial.new_worker()
    assert trial.lose(worker) == 0
    claim, _ = claimed(trial, 2, worker)  # its transaction was under way
    assert trial.engine.read(workers.gone_with_claims) == [worker]
    assert trial.engine.take_back([worker]) == 2
    assert trial.get(claim.id).failures == {"first|crash": 1}
    assert trial.engine.read(workers.gone_with_claims) == []


def test_a_claim_whose_commit_was_not_confirmed_is_given_back(trial: Trial) -> None:
    worker = trial.new_worker()
    claim, _ = claimed(trial, 2, worker)
    fences = trial.engine.read(lambda conn: workers.claimed_by(conn, worker))
    assert trial.write(lambda unit: finishing.give_back_orphans(unit, worker, fences)) == 2
    row = stored(trial, claim.id)
    assert (row["wake"], row["holder"], row["taken_by"]) == ("work", None, None)
    assert len(trial.claim(2)) == 2


def test_a_batch_stays_as_long_as_somebody_has_locked_a_row_of_it(trial: Trial) -> None:
    claim, other = claimed(trial, 2)
    trial.clock.advance(timedelta(seconds=2))
    if trial.engine.store.dialect == "sqlite":  # it has one writer, so nobody else can have locked a row
        assert (settle(trial), batches(trial), in_place(trial, claim.id)) == (0, 0, False)
        return

    def locked(conn: sa.Connection) -> tuple[int, int]:
        conn.execute(sa.select(instance.c.id).where(instance.c.id == claim.id).with_for_update())
        return trial.engine.submit(claim_batches.settle).result(10), batches(trial)

    assert trial.engine.store.write(locked) == (1, 1)
    assert (in_place(trial, claim.id), in_place(trial, other.id)) == (True, False)
    assert (settle(trial), batches(trial), in_place(trial, claim.id)) == (0, 0, False)
