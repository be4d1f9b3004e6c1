"""Months: a history in partitions behaves like one table, and a month goes as a whole once all in it is old."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine.retention import archive
from interlock.engine.retention.policies import Policy, Report, Retention
from interlock.machine import Go, KeyScope
from interlock.store import Store, StoreError, micros, open_store, partitions, span
from interlock.store import tables as t
from interlock.store.positions import START
from interlock.testing import Trial
from interlock.watch import rollups
from tests.support.machines import do, page, trial_of
from tests.support.racing import race

DAY = timedelta(days=1)
PAGE = page(key=KeyScope.FOREVER)
H, I, P = t.history, t.instance, t.purge  # noqa: E741
LONG_AGO = micros(datetime(2025, 1, 5, tzinfo=UTC))


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with open_store(postgres_url, durability="normal", wakeup="poll") as opened:
        yield opened


def at_wall_time(store: Store) -> Trial:
    """Ids are made by the machine's clock, so that is where months begin."""
    return Trial([PAGE], store=store, start=datetime.now(UTC))


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    """A trial on a history by months, the present one among them."""
    now = micros(datetime.now(UTC))
    partitions.apply(store, now - span(45 * DAY))
    partitions.look_ahead(store, now)
    with at_wall_time(store) as trial:
        yield trial


def read_page(trial: Trial, **options: str) -> UUID:
    it = trial.create("page", **options)
    do(trial, Go("read", data={"words": 12}))
    return it


def where(store: Store, it: UUID) -> set[str]:
    """The tables that the history lies in."""
    query = sa.text("SELECT DISTINCT tableoid::regclass::text FROM history WHERE instance_id = :it")
    return set(store.read(lambda conn: conn.execute(query, {"it": it}).scalars().all()))


# -- turning it into months


def test_an_existing_history_becomes_the_first_partition_and_nothing_is_lost(store: Store) -> None:
    with at_wall_time(store) as trial:
        it = read_page(trial, key="a")
        before = trial.engine.history(it)
        assert not partitions.apply(store, trial.clock.now()).strays
        assert store.read(partitions.partitioned)
        assert trial.engine.history(it) == before
        assert where(store, it) == {"history_before"}
        other = read_page(trial)
        positions = [row.pos for one in (it, other) for row in trial.engine.history(one)]
        assert positions == sorted(set(positions))
        assert trial.engine.verify().problems == ()


def test_a_plan_says_what_would_be_done_and_does_nothing(store: Store) -> None:
    plan = store.read(lambda conn: partitions.plan(conn, LONG_AGO))
    assert (plan.partitioned, plan.months, plan.missing) == (
        False,
        (),
        ("history_2025_02", "history_2025_03", "history_2025_04"),
    )
    assert not store.read(partitions.partitioned)


def test_it_can_be_done_again_and_makes_the_months_that_are_missing(store: Store) -> None:
    first = partitions.apply(store, LONG_AGO)
    assert [month.name for month in first.months] == [
        "history_before",
        "history_2025_02",
        "history_2025_03",
        "history_2025_04",
    ]
    assert partitions.apply(store, LONG_AGO) == first
    assert partitions.look_ahead(store, LONG_AGO + span(31 * DAY)) == ["history_2025_05"]
    assert partitions.look_ahead(store, LONG_AGO + span(31 * DAY)) == []


def test_several_may_do_it_at_once(store: Store) -> None:
    plans = race(4, lambda _: partitions.apply(store, LONG_AGO))
    assert all(plan.partitioned and len(plan.months) == 4 for plan in plans)


def test_months_touch_and_do_not_overlap(store: Store) -> None:
    months = list(partitions.apply(store, micros(datetime(2025, 11, 30, 23, 59, 59, tzinfo=UTC))).months)
    assert [month.name for month in months] == [
        "history_before",
        "history_2025_12",
        "history_2026_01",
        "history_2026_02",
    ]
    assert all(one.high == after.low for one, after in pairwise(months))
    begin = micros(datetime(2026, 1, 1, tzinfo=UTC))
    assert months[2].has(partitions.first_id(begin))
    assert months[1].has(partitions.first_id(begin - 1000))


def test_on_sqlite_it_is_refused(sqlite_url: str) -> None:
    with (
        open_store(sqlite_url) as store,
        pytest.raises(StoreError, match="only PostgreSQL can partition the history"),
    ):
        partitions.apply(store, LONG_AGO)


def test_a_history_that_is_not_by_months_has_nothing_to_look_ahead_for(store: Store) -> None:
    assert partitions.look_ahead(store, LONG_AGO) == []


def test_an_id_that_belongs_to_no_month_is_kept_and_its_month_is_not_made(store: Store) -> None:
    partitions.apply(store, LONG_AGO)
    with trial_of(store, PAGE) as trial:
        it = read_page(trial)
        assert where(store, it) == {"history_other"}
        made = partitions.look_ahead(store, micros(datetime.now(UTC)))
        assert partitions.month_of(partitions.begun(it)).name not in made
        assert len(made) == partitions.AHEAD
        assert store.read(lambda conn: partitions.plan(conn, LONG_AGO)).strays == 2


# -- the same as before


def test_a_history_lies_in_the_month_in_which_its_instance_began(trial: Trial) -> None:
    it = read_page(trial)
    assert where(trial.engine.store, it) == {partitions.month_of(partitions.begun(it)).name}
    trial.clock.advance(70 * DAY)
    trial.engine.keep_artifact(it, "late", b"x", media_type="text/plain")
    assert len(where(trial.engine.store, it)) == 1
    assert trial.engine.verify(it).problems == ()


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("DELETE FROM {table}", "only after a purge row allows it"),
        ("UPDATE {table} SET actor = 'x'", "a row cannot be changed"),
        ("TRUNCATE {table}", "cannot be truncated"),
    ],
)
@pytest.mark.parametrize("table", ["history", "its month"])
def test_rows_can_neither_be_changed_nor_removed(trial: Trial, statement: str, refused: str, table: str) -> None:
    [month] = where(trial.engine.store, read_page(trial))
    query = sa.text(statement.format(table=table if table == "history" else month))
    with pytest.raises(sa.exc.DBAPIError, match=refused):
        trial.engine.store.write(lambda conn: conn.execute(query))


@pytest.mark.parametrize("table", ["history_before", "history_other", "history_2025_02"])
def test_no_part_can_be_truncated(store: Store, table: str) -> None:
    partitions.apply(store, LONG_AGO)
    with pytest.raises(sa.exc.DBAPIError, match="cannot be truncated"):
        store.write(lambda conn: conn.execute(sa.text(f"TRUNCATE {table}")))


def test_a_number_in_a_history_exists_once(trial: Trial) -> None:
    it = read_page(trial)
    [row] = trial.engine.read(lambda conn: conn.execute(sa.select(H).where(H.c.instance_id == it, H.c.seq == 1)).all())
    again = {name: value for name, value in row._mapping.items() if name != "pos"}
    with pytest.raises(sa.exc.IntegrityError, match="unique"):
        trial.engine.store.write(lambda conn: conn.execute(sa.insert(H).values(again)))


def test_the_feed_and_the_sums_are_in_order_over_all_months(store: Store) -> None:
    with at_wall_time(store) as trial:
        first = read_page(trial)
        partitions.apply(store, micros(datetime.now(UTC)))
        second = read_page(trial)
        seen = trial.engine.feed(START)
        assert [one.instance_id for one in seen] == [first, first, second, second]
        assert [one.position for one in seen] == sorted(one.position for one in seen)
        assert trial.write(rollups.roll) is False
        assert not trial.engine.read(rollups.behind)


def test_reading_a_history_looks_into_one_month(trial: Trial) -> None:
    query = "EXPLAIN SELECT * FROM history WHERE instance_id = '{}' AND seq > 0 ORDER BY seq LIMIT 1000"
    text = query.format(read_page(trial))
    plan = "\n".join(trial.engine.read(lambda conn: conn.execute(sa.text(text)).scalars().all()))
    assert plan.count(" on history_") == 1, plan


# -- a month goes


def run(trial: Trial, folder: Path) -> Report:
    return Retention(trial.engine, Policy(folder, span(90 * DAY))).run()


def test_a_month_goes_as_a_whole_once_all_in_it_is_old(trial: Trial, tmp_path: Path) -> None:
    ids = [read_page(trial, key=str(n)) for n in range(3)]
    [month] = where(trial.engine.store, ids[0])
    assert month not in run(trial, tmp_path).months
    trial.clock.advance(140 * DAY)
    report = run(trial, tmp_path)
    assert (report.instances, month in report.months) == ({"page": 3}, True)
    assert month not in [one.name for one in trial.engine.read(partitions.months)]
    assert trial.engine.read(lambda conn: conn.execute(sa.select(H.c.pos)).all()) == []
    lines = [json.loads(line.text) for path in report.files for line in archive.lines(path)]
    assert {line["instance"]["id"] for line in lines} == {str(one) for one in ids}
    assert all(len(line["history"]) == 2 for line in lines)
    [path] = report.files
    verdicts = list(archive.verify(path, trial.engine.store))
    assert [one.problems for one in verdicts] == [()] * 3
    assert trial.engine.verify().problems == ()


def test_a_month_in_which_somebody_is_under_way_stays_and_the_old_go_row_by_row(trial: Trial, tmp_path: Path) -> None:
    old, alive = read_page(trial), trial.create("page")
    [month] = where(trial.engine.store, old)
    trial.clock.advance(140 * DAY)
    report = run(trial, tmp_path)
    assert (report.instances, month in report.months) == ({"page": 1}, False)
    assert where(trial.engine.store, alive) == {month}
    assert where(trial.engine.store, old) == set()
    assert trial.engine.verify().problems == ()


def test_a_month_is_not_dropped_while_a_row_in_it_has_no_leave(trial: Trial) -> None:
    it = read_page(trial)
    month = partitions.month_of(partitions.begun(it))
    store = trial.engine.store
    assert not store.schema(lambda conn: partitions.drop(conn, month))
    store.write(lambda conn: conn.execute(sa.delete(I).where(I.c.id == it)))
    assert not store.schema(lambda conn: partitions.drop(conn, month))
    assert where(store, it) == {month.name}


def test_what_was_removed_and_waits_for_its_month_does_not_trouble_the_audit(trial: Trial, tmp_path: Path) -> None:
    """A crash between the last batch and the drop: the next run drops the month."""
    it = read_page(trial)
    trial.clock.advance(140 * DAY)
    retention = Retention(trial.engine, Policy(tmp_path, span(90 * DAY)))
    retention._drop = lambda month, report: None  # type: ignore[method-assign]
    assert retention.run().instances == {"page": 1}
    assert len(where(trial.engine.store, it)) == 1
    assert trial.engine.verify().problems == ()
    assert partitions.month_of(partitions.begun(it)).name in run(trial, tmp_path).months
    assert where(trial.engine.store, it) == set()
