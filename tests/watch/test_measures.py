"""What the pages show is what happened: counts, lag, rates, percentiles and series, against a plain computation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from math import ceil
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.apps.sample import parcel as sample
from interlock.engine import Engine, InvalidData, workers
from interlock.machine import Fail, Go
from interlock.store import SECOND, Store, micros
from interlock.store import service_tables as s
from interlock.testing import START, Trial
from interlock.watch import measures
from interlock.watch.histogram import BUCKET_BOUNDS, DAY, HOUR, MILLI, MINUTE, Bucket, bucket_of, lower_bound, summarize
from tests.support.effects_and_reviews import visit
from tests.support.machines import ANN, BOSS, PARCEL, Unreachable, do, pass_time
from tests.support.rollups import JOB, STUBBORN, STUCK, roll_all


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([PARCEL, JOB], store=store) as made:
        yield made


def overview(trial: Trial, **options: Any) -> measures.Overview:
    roll_all(trial.engine)
    return trial.engine.read(lambda conn: measures.overview(conn, trial.engine.registry, trial.clock.now(), **options))


# -- now


def test_an_empty_house_has_nothing_to_tell(store: Store) -> None:
    with Trial([PARCEL], store=store) as trial:
        seen = trial.engine.read(lambda conn: measures.overview(conn, trial.engine.registry, trial.clock.now()))
        assert (seen.totals.instances, seen.totals.live, seen.totals.queue_lag) == (0, 0, 0)
        assert (seen.totals.success_rate, seen.totals.failure_rate, seen.totals.retry_rate) == (None, None, None)
        assert seen["parcel"].reviews == measures.Backlog()


def test_counts_by_state_and_what_is_alive(trial: Trial) -> None:
    for _ in range(3):
        trial.create("parcel")
    do(trial, Go("shipped"))
    seen = overview(trial)
    assert seen["parcel"].states == {"ordered": 2, "shipped": 1}
    assert (seen["parcel"].live, seen.totals.instances, seen["job"].states) == (2, 3, {})


def test_queue_lag_is_the_age_of_the_oldest_ready_step(trial: Trial) -> None:
    trial.create("parcel", priority=3)
    pass_time(trial, minutes=7)
    trial.create("parcel", priority=0)
    trial.create("job", at=trial.clock.time + timedelta(hours=1))
    pass_time(trial, minutes=2)
    seen = overview(trial)
    assert seen["parcel"].queue_lag == seen.totals.queue_lag == 9 * MINUTE
    assert seen["job"].queue_lag == 0, "what may not run yet does not wait"


def test_queues_of_their_own_and_pinned_ones_are_looked_at_too(trial: Trial) -> None:
    trial.create("parcel", queue="aside", priority=1)
    pass_time(trial, minutes=1)
    trial.create("job", host="far")
    trial.create("job", queue="later", at=trial.clock.time + timedelta(hours=1))
    pass_time(trial, minutes=1)
    now = trial.clock.now()
    found = trial.engine.read(lambda conn: measures.oldest_ready(conn, now))
    assert {(w.queue, w.priority, w.machine, now - w.since) for w in found} == {
        ("aside", 1, "parcel", 2 * MINUTE),
        ("job@far", 2, "job", MINUTE),
    }


def test_average_lag_is_how_long_claimed_steps_had_waited(trial: Trial) -> None:
    for _ in range(2):
        trial.create("parcel")
    pass_time(trial, seconds=10)
    do(trial, Go("shipped"))
    pass_time(trial, seconds=20)
    do(trial, Go("shipped"))
    assert overview(trial)["parcel"].average_lag == (10 + 30) * SECOND // 2


def test_open_reviews_and_those_that_wait_too_long(store: Store) -> None:
    with Trial([sample], store=store) as trial:
        for hours in (30, 1):
            trial.create("parcel", {"content": "a whole piano", "grams": 9000})
            do(trial, Go("labelling"))
            do(trial, Go("customs"))
            trial.clock.advance(timedelta(hours=hours))  # its timer would end the review, so nobody ticks
        seen = overview(trial)["parcel"].reviews
        assert (seen.open, seen.late, seen.oldest) == (2, 1, trial.clock.now() - 31 * HOUR)


def test_dead_letters_are_counted_up_to_a_bound(store: Store) -> None:
    with Trial([STUBBORN], store=store) as trial:
        for _ in range(4):
            trial.create("job")
            do(trial, Fail(Unreachable("no answer")))
        assert overview(trial)["job"].dead_letters == 4
        assert trial.engine.read(lambda conn: measures.dead_letters(conn, "job", most=2)) == 3
        assert trial.engine.read(lambda conn: measures.dead_letters(conn, "parcel")) == 0
        letter = trial.engine.dead_letters.find()[0]
        trial.engine.dead_letters.discard(letter.id, actor=ANN)
        assert overview(trial).totals.dead_letters == 3


def test_a_worker_is_alive_until_its_heartbeat_runs_out(trial: Trial) -> None:
    assert overview(trial).totals.workers_alive == 1
    trial.engine.store.write(lambda conn: workers.mark(conn, trial.worker, "stopped"))
    lone = trial.new_worker()
    assert overview(trial).totals.workers_alive == 1
    trial.engine.store.write(lambda conn: workers.beat(conn, trial.clock.now(), lone, lease=timedelta(seconds=20)))
    trial.clock.advance(timedelta(seconds=21))
    assert overview(trial).totals.workers_alive == 0


# -- over a window


def test_success_is_good_ends_among_good_and_bad_ones(store: Store) -> None:
    with Trial([PARCEL], store=store) as trial:
        ids = [trial.create("parcel", {"note": "broken"}) for _ in range(8)]
        for _ in range(5):
            do(trial, Go("shipped"))
        for _ in range(2):
            claim = do(trial, Go("checking"))
            trial.engine.force(claim.id, "returned", actor=BOSS, reason="broken")
        [left] = [one for one in ids if trial.engine.get(one).finished_at is None]
        trial.engine.fire(left, "cancel", actor=ANN)
        seen = overview(trial)["parcel"]
        assert seen.ends == measures.Ends(good=5, bad=2, neither=1)
        assert seen.success_rate == 5 / 7
        assert seen.throughput == 8


def test_what_rests_as_failed_or_in_its_step_is_a_bad_end(store: Store) -> None:
    for machine, measured in ((JOB, "failed"), (STUCK, "first")):
        with Trial([machine], store=store.url) as trial:
            trial.create("job")
            for _ in range(2):
                do(trial, Fail(Unreachable("no answer")))
                pass_time(trial, minutes=10)
            trial.create("job")
            do(trial, Go("second"))
            do(trial, Go("done"))
            seen = overview(trial, window=timedelta(minutes=25))["job"]
            assert (measured in seen.states, seen.success_rate) == (True, 0.5)
            pass_time(trial, days=3)


def test_failure_rate_counts_attempts_and_retry_rate_counts_instances(trial: Trial) -> None:
    for _ in range(4):
        trial.create("job")
    first, *others = trial.claim(4)
    trial.finish(first, Fail(Unreachable("no answer")))
    for claim in others:
        trial.finish(claim, Go("second"))
    pass_time(trial, minutes=10)
    while claims := trial.claim(4):
        for claim in claims:
            trial.finish(claim, Go("second" if trial.state(claim.id) == "first" else "done"))
    seen = overview(trial)["job"]
    assert seen.failure_rate == 1 / 9
    assert (seen.retry_rate, seen.throughput, seen.failures, seen.created) == (1 / 4, 4, 1, 4)
    assert overview(trial).totals.failure_rate == 1 / 9


def test_what_is_older_than_the_window_does_not_count(trial: Trial) -> None:
    trial.create("parcel")
    do(trial, Go("shipped"))
    pass_time(trial, hours=2)
    trial.create("parcel")
    do(trial, Go("checking"))
    assert overview(trial, window=timedelta(hours=1))["parcel"].throughput == 0
    assert overview(trial, window=timedelta(hours=3))["parcel"].throughput == 1
    assert overview(trial, window=timedelta(hours=24))["parcel"].throughput == 1


def test_only_events_of_the_asked_workspaces_are_sent(store: Store) -> None:
    with Trial([STUBBORN], store=store) as trial:
        for workspace in ("red", "red", "blue"):
            trial.create("job", workspace=workspace)
        do(trial, Fail(Unreachable("no answer")))
        red, none = overview(trial, workspaces={"red"}), overview(trial, workspaces=())
        assert (red.totals.instances, red.totals.dead_letters, red.totals.throughput) == (2, 1, 1)
        assert (none.totals.instances, none.totals.dead_letters, none.totals.created) == (0, 0, 0)
        seen = trial.engine.read(lambda conn: measures.series(conn, "created", trial.clock.now(), workspaces=["blue"]))
        assert [point.n for point in seen][-1] == 1


# -- lengths of time


def test_dwell_is_as_long_as_instances_stayed(store: Store) -> None:
    chance = random.Random(7)
    waits = [chance.randint(1, 4_000_000) * MILLI for _ in range(40)]
    with Trial([PARCEL], store=store) as trial:
        for wait in waits:
            it = trial.create("parcel")
            do(trial, Go("checking"))
            trial.clock.advance(timedelta(microseconds=wait))
            trial.engine.fire(it, "approve", actor=ANN)
        roll_all(trial.engine)
        values = trial.engine.read(lambda conn: measures.dwell(conn, "parcel", trial.clock.now()))["checking"]
    assert (values.n, values.worst, values.mean) == (40, max(waits), sum(waits) // 40)
    for part, seen in ((0.5, values.median), (0.9, values.p90)):
        true = sorted(waits)[ceil(part * len(waits)) - 1]
        bound = next(b for b in BUCKET_BOUNDS if true <= b)
        assert lower_bound(bound) <= seen <= bound, "right to its class"


@pytest.mark.parametrize("measure", ["dwell", "waited"])
def test_nothing_happened_so_there_are_no_lengths(trial: Trial, measure: str) -> None:
    assert trial.engine.read(lambda conn: measures.dwell(conn, "parcel", trial.clock.now(), measure=measure)) == {}


def test_other_measures_have_no_lengths(trial: Trial) -> None:
    with pytest.raises(InvalidData, match="'created' has no durations"):
        trial.engine.read(lambda conn: measures.dwell(conn, "parcel", 0, measure="created"))


def test_the_class_of_a_length_is_the_same_in_sql(store: Store) -> None:
    edges = [length + shift for length in BUCKET_BOUNDS for shift in (-1, 0, 1)]

    def ask(conn: sa.Connection) -> list[int]:
        return [conn.execute(sa.select(bucket_of(sa.literal(length, sa.BigInteger)))).scalar_one() for length in edges]

    assert store.read(ask) == [next((b for b in BUCKET_BOUNDS if length <= b), BUCKET_BOUNDS[-1]) for length in edges]


def test_the_ladder_climbs_from_a_millisecond_past_a_month() -> None:
    assert BUCKET_BOUNDS[0] == MILLI
    assert 30 * DAY in BUCKET_BOUNDS
    assert list(BUCKET_BOUNDS) == sorted(set(BUCKET_BOUNDS))


def test_a_quantile_lies_within_its_class_and_never_beyond_the_longest() -> None:
    one = summarize({SECOND: Bucket(1, 700_000, 700_000)})
    assert one.median <= one.p90 <= one.worst == 700_000
    two = summarize({SECOND: Bucket(9, 9 * 600_000, 900_000), DAY: Bucket(1, 15 * HOUR, 15 * HOUR)})
    assert 500 * MILLI < two.median <= 900_000
    assert two.p90 <= 900_000 < two.worst == 15 * HOUR


# -- series


def test_a_series_has_zeros_where_nothing_happened(trial: Trial) -> None:
    trial.create("parcel")
    pass_time(trial, minutes=3)
    for _ in range(2):
        trial.create("parcel")
    pass_time(trial, minutes=1)
    trial.create("job")
    roll_all(trial.engine)
    now, window = trial.clock.now(), timedelta(minutes=6)
    values = trial.engine.read(lambda conn: measures.series(conn, "created", now, window=window, by="minute"))
    assert [point.n for point in values] == [0, 1, 0, 0, 2, 1]
    assert [point.at for point in values] == [now - n * MINUTE for n in (5, 4, 3, 2, 1, 0)]
    one = trial.engine.read(
        lambda conn: measures.series(conn, "created", now, window=window, by="minute", machine="job", state="first")
    )
    assert [point.n for point in one] == [0, 0, 0, 0, 0, 1]


def test_failures_over_the_hours(trial: Trial) -> None:
    trial.create("job")
    do(trial, Fail(Unreachable("no answer")))
    pass_time(trial, hours=2)
    roll_all(trial.engine)
    values = trial.engine.read(
        lambda conn: measures.series(conn, "failed", trial.clock.now(), window=timedelta(hours=4))
    )
    assert [(point.at - micros(START), point.n) for point in values] == [(-HOUR, 0), (0, 1), (HOUR, 0), (2 * HOUR, 0)]


@pytest.mark.parametrize(
    ("measure", "by", "days", "why"),
    [
        ("dwell", "hour", 1, "there is no series of 'dwell'"),
        ("created", "day", 1, "not by 'day'"),
        ("created", "minute", 3, "at most 3000 points, not 4320"),
    ],
)
def test_a_series_that_makes_no_sense_is_refused(store: Store, measure: str, by: str, days: int, why: str) -> None:
    with pytest.raises(InvalidData, match=why):
        store.read(lambda conn: measures.series(conn, measure, 10**15, by=by, window=timedelta(days=days)))


def test_numbers_are_plain_integers_on_both_databases(store: Store) -> None:
    """PostgreSQL's sums are decimals, which JSON does not take."""
    with Trial([visit], store=store) as trial:
        trial.create("visit")
        roll_all(trial.engine)
        seen = overview(trial)
        assert type(seen["visit"].created) is int
        assert {type(n) for n in seen["visit"].states.values()} == {int}
        rows = trial.engine.read(lambda conn: conn.execute(sa.select(s.rollup.c.n)).scalars().all())
        assert {type(n) for n in rows} == {int}


def test_an_engine_without_machines_can_be_looked_at(store: Store) -> None:
    engine = Engine(store, [])
    assert engine.read(lambda conn: measures.overview(conn, engine.registry, 10**15)).machines == ()
