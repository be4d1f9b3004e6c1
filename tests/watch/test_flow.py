"""Moves between states and times in them over a window, from the roll-ups alone, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.machine import Fail, Go
from interlock.store import Store
from interlock.store import service_tables as s
from interlock.testing import Trial
from interlock.watch import flow
from interlock.watch.flow import Move
from interlock.watch.histogram import HOUR, MINUTE, Bucket, summarize
from interlock.watch.rollups import SEPARATOR
from tests.support.machines import do
from tests.support.rollups import JOB, roll_all

DAY = timedelta(days=1)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([JOB], store=store) as made:
        yield made


def moves(trial: Trial, window: timedelta = DAY, workspaces: Any = None) -> list[Move]:
    now = trial.clock.now()
    return trial.engine.read(lambda conn: flow.moves(conn, "job", now, window, workspaces))


def add(trial: Trial, *rows: dict[str, Any]) -> None:
    usual = {"span": "hour", "workspace": "default", "machine": "job", "size": 0, "total": 0, "worst": 0}
    trial.engine.write(lambda unit: unit.conn.execute(sa.insert(s.rollup), [{**usual, **row} for row in rows]))


def hour(trial: Trial, ago: int) -> int:
    now = trial.clock.now() - ago * HOUR
    return now - now % HOUR


def test_moves_are_counted_by_both_states(trial: Trial) -> None:
    trial.create("job")
    do(trial, Go("second"))
    do(trial, Go("done"))
    trial.create("job")
    do(trial, Fail(ValueError("no")))
    roll_all(trial.engine)
    found = {(one.source, one.to): one.n for one in moves(trial)}
    assert found == {(None, "first"): 2, ("first", "second"): 1, ("second", "done"): 1, ("first", "failed"): 1}
    assert [one.n for one in moves(trial)] == sorted(found.values(), reverse=True), "the most frequent first"


def test_only_the_hours_of_the_window_count_also_of_a_long_one(trial: Trial) -> None:
    state = f"a{SEPARATOR}b > c"
    add(
        trial,
        *(
            {"at": hour(trial, ago), "measure": "moved", "state": state, "n": n}
            for ago, n in ((0, 1), (23, 2), (25, 4), (24 * 20, 8), (24 * 31, 16))
        ),
    )
    assert moves(trial) == [Move("a", "b > c", 3)]
    assert moves(trial, timedelta(days=7)) == [Move("a", "b > c", 7)]
    assert moves(trial, timedelta(days=30)) == [Move("a", "b > c", 15)]


def test_only_the_readers_workspaces_count(trial: Trial) -> None:
    for workspace, n in (("north", 1), ("south", 2)):
        add(trial, {"at": hour(trial, 0), "measure": "created", "state": "a", "n": n, "workspace": workspace})
    assert moves(trial, workspaces=["south"]) == [Move(None, "a", 2)]
    assert moves(trial, workspaces=[]) == []


def test_times_in_states_are_joined_over_the_whole_window(trial: Trial) -> None:
    add(
        trial,
        *(
            {
                "at": hour(trial, ago),
                "measure": "dwell",
                "state": "a",
                "size": MINUTE,
                "n": n,
                "total": n * worst,
                "worst": worst,
            }
            for ago, n, worst in ((1, 1, 40_000_000), (24 * 10, 2, 50_000_000), (24 * 29, 1, 45_000_000))
        ),
    )
    now = trial.clock.now()
    found = trial.engine.read(lambda conn: flow.stays(conn, "job", now, timedelta(days=30)))
    assert found == {"a": {MINUTE: Bucket(4, 185_000_000, 50_000_000)}}
    assert trial.engine.read(lambda conn: flow.stays(conn, "job", now, timedelta(days=1))) == {
        "a": {MINUTE: Bucket(1, 40_000_000, 40_000_000)}
    }


def test_the_time_within_which_99_of_100_leave() -> None:
    buckets = {MINUTE: Bucket(98, 98 * MINUTE, MINUTE), HOUR: Bucket(2, 2 * HOUR, HOUR)}
    found = summarize(buckets)
    assert found.p90 <= MINUTE < found.p99 <= found.worst == HOUR
