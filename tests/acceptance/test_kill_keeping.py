"""Whoever looks after a database is killed at each point of each commit, and does it again: nothing is lost or half."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, actions
from interlock.engine.retention import archive
from interlock.engine.unit import Unit
from interlock.machine import Ask, Go, Message, Review
from interlock.store import Store, micros, open_store, partitions, retention_tables, span
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.ai import ai_answer
from interlock.testing import Trial
from interlock.watch import rollups
from tests.acceptance import keepers
from tests.acceptance.keepers import AGE, ANN, CHIEF, DUTIES, NEW, OLD, PAGE, Orders
from tests.support.databases import all_tables
from tests.support.forking import PROCESSES
from tests.support.machines import ask_a_model, do

H, I, P = t.history, t.instance, t.purge  # noqa: E741
SOAK = bool(os.environ.get("INTERLOCK_SOAK"))
BY_AGE = (s.delivery, t.outbox, s.alert, s.action, ai_answer)


@pytest.fixture
def opened(url: str) -> Iterator[Store]:
    """Without a second of waiting for the disk: a killed process loses nothing that it had written."""
    with open_store(url, durability="normal", wakeup="poll") as store:
        yield store


@pytest.fixture
def trial(opened: Store) -> Iterator[Trial]:
    with Trial([PAGE, NEW], store=opened) as trial:
        yield trial


def killed(orders: Orders) -> list[str]:
    """The points that it reached; it died at the last, unless there are none."""
    process = PROCESSES.Process(target=keepers.run, args=(orders,), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode in (-signal.SIGKILL, 0), process.exitcode
    reached = orders.last_words.read_text().split()
    return reached if process.exitcode else []


def at_each_point(
    duty: str,
    url: str,
    folder: Path,
    clock: Any,
    made: Callable[[int], None],
    seen: Callable[[int, str], None],
    well: Callable[[int], None],
    engine: Engine,
    *,
    every: int = 1,
) -> Counter[str]:
    """For each point that there is: something to do, a process that dies there, a look, the same again, a look."""
    died: Counter[str] = Counter()
    for step in range(1, 200, every):
        made(step)
        orders = Orders(url, folder, duty, clock.now(), f"w{step}", step)
        reached = killed(orders)
        if reached:
            seen(step, reached[-1])
        clock.advance(timedelta(minutes=6))  # the lease of the dead runs out
        DUTIES[duty](engine, Orders(url, folder, duty, clock.now(), f"w{step}"))
        well(step)
        if not reached:
            return died
        died[reached[-1]] += 1
    raise AssertionError("it never came to an end")


def rows(trial: Trial, query: sa.Select[Any]) -> list[Any]:
    return list(trial.engine.read(lambda conn: conn.execute(query).all()))


def count(trial: Trial, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    return int(rows(trial, sa.select(sa.func.count()).select_from(table).where(*where))[0][0])


# -- the retention


def old_things(trial: Trial, number: int) -> set[str]:
    """Three pages that were read long ago, and a row of each table that is kept by its age alone; their names."""
    for n in range(3):
        it = trial.create("page", {"title": f"{number} {n}"}, key=f"{number}/{n}")
        trial.engine.keep_artifact(it, "scan", f"scan {number} {n}".encode(), media_type="text/plain")
        do(trial, Go("read", messages=(Message("mail", "bob", "read"),)))

    def fill(unit: Unit) -> None:
        settled = sa.update(t.outbox).where(t.outbox.c.status == "waiting")
        unit.conn.execute(settled.values(status="delivered", settled_at=unit.now))
        sent = unit.insert(
            t.outbox,
            channel="mail",
            recipient="ann",
            subject="",
            body="",
            status="delivered",
            at=unit.now,
            settled_at=unit.now,
        )
        unit.insert(s.delivery, outbox_id=sent, at=unit.now, took=1, outcome="delivered", detail="")
        actions.record(unit, CHIEF, "look", str(number))
        unit.insert(
            s.alert,
            rule="r",
            status="closed",
            sentence="",
            value=1.0,
            threshold=1.0,
            opened_at=unit.now,
            seen_at=unit.now,
            closed_at=unit.now,
        )
        unit.insert(
            ai_answer, workspace="default", hash=str(number), task="t", model="m", output="", call_id=sent, at=unit.now
        )

    trial.write(fill)
    while trial.write(rollups.roll):
        pass
    trial.clock.advance(AGE + timedelta(days=1))
    return here(trial)


def here(trial: Trial) -> set[str]:
    """What is in the database of all that the retention may archive."""
    found = {str(row.id) for row in rows(trial, sa.select(I.c.id))}
    for table in BY_AGE[:-1]:
        own = table.c.instance_id.is_(None) if table is t.outbox else sa.true()
        found |= {f"{table.name} {row.id}" for row in rows(trial, sa.select(table.c.id).where(own))}
    return found


def archived(folder: Path) -> Counter[str]:
    """What is in the archives, and in how many lines."""
    found: Counter[str] = Counter()
    for path in folder.iterdir() if folder.is_dir() else ():
        for line in archive.lines(path):
            assert not line.problem
            entry = json.loads(line.text)
            found[entry["instance"]["id"] if "instance" in entry else f"{entry['table']} {entry['row']['id']}"] += 1
    return found


def proven(trial: Trial, folder: Path, made: set[str]) -> None:
    """Chains verify, archives prove themselves, and what the database remembers of the removed is in them."""
    assert trial.engine.verify().problems == ()
    digests: set[bytes] = set()
    for path in folder.iterdir() if folder.is_dir() else ():
        assert [one.problems for one in archive.verify(path, trial.engine.store) if one.problems] == []
        digests |= {hashlib.sha256(line.text).digest() for line in archive.lines(path)}
    removed = rows(trial, sa.select(P.c.instance_id, P.c.export_digest).where(P.c.kind == "rows"))
    assert {bytes(row.export_digest) for row in removed if str(row.instance_id) in made} <= digests
    counts = rows(trial, sa.select(s.state_count.c.state, s.state_count.c.n).where(s.state_count.c.n != 0))
    assert Counter({row.state: row.n for row in counts}) == Counter(
        row.state for row in rows(trial, sa.select(I.c.state))
    )


@pytest.mark.soak("postgresql")
def test_a_retention_that_is_killed_at_any_point_loses_nothing(url: str, tmp_path: Path, trial: Trial) -> None:
    made: dict[int, set[str]] = {}

    def make(step: int) -> None:
        made[step] = old_things(trial, step)

    def seen(step: int, point: str) -> None:
        folder = tmp_path / "archive" / f"w{step}"
        gone = made[step] - here(trial)
        assert gone <= set(archived(folder)), f"removed and not archived, at {point}"
        proven(trial, folder, made[step])

    def well(step: int) -> None:
        folder = tmp_path / "archive" / f"w{step}"
        found = archived(folder)
        assert set(found) == made[step]
        assert max(found.values()) <= 2
        assert here(trial) == set()
        assert [count(trial, table) for table in (H, t.artifact, t.artifact_ref, *BY_AGE)] == [0] * 8
        assert count(trial, retention_tables.kept_key) == 3 * len(made)
        proven(trial, folder, made[step])

    every = 1 if SOAK else 4  # all points are for the long run
    died = at_each_point("retain", url, tmp_path, trial.clock, make, seen, well, trial.engine, every=every)
    if every > 1:
        assert set(died) == {"retain:archived", "retain:before", "retain:after"}
        return
    batches = 2 + len(BY_AGE)
    assert died["retain:archived"] == batches
    assert died["retain:before"] == died["retain:after"] == batches + 3, "contents, none left, and what was done"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_month_that_was_to_go_as_a_whole_goes_after_any_crash(url: str, tmp_path: Path, opened: Store) -> None:
    now = datetime.now(UTC)
    partitions.apply(opened, micros(now) - span(timedelta(days=45)))
    partitions.look_ahead(opened, micros(now))
    folder = tmp_path / "archive" / "w"
    with Trial([PAGE, NEW], store=opened, start=now) as trial:
        made = old_things(trial, 1)
        going = opened.read(lambda conn: partitions.ended(conn, lambda _: span(AGE), trial.clock.now()))
        for point in ("archived", "before", "after", "archived", "before", "after"):
            orders = Orders(url, tmp_path, "retain", trial.clock.now(), point=f"retain:{point}")
            assert killed(orders)
            assert made - here(trial) <= set(archived(folder))
            proven(trial, folder, made)
            trial.clock.advance(timedelta(minutes=6))
        for point in ("before", "after"):  # of the month's end
            killed(Orders(url, tmp_path, "retain", trial.clock.now(), point=f"write:{point}"))
            proven(trial, folder, made)
            trial.clock.advance(timedelta(minutes=6))
        keepers.retain(trial.engine, Orders(url, tmp_path, "retain", trial.clock.now()))
        assert set(archived(folder)) == made
        assert (here(trial), count(trial, H)) == (set(), 0)
        left = {month.name for month in opened.read(partitions.months)}
        assert going
        assert left.isdisjoint(month.name for month in going)
        proven(trial, folder, made)


# -- an erasure


def anns(trial: Trial) -> UUID:
    """A page with Ann's address in many places, that has ended."""
    it = trial.create("page", {"from": ANN, "text": "x" * 2000}, labels={"for": ANN})
    trial.engine.keep_artifact(it, "letter", f"Dear {ANN} {it}".encode(), media_type="text/plain")
    asks = (Ask("odd", Review("Odd?", {"noted": ""}), {"who": ANN}),)
    do(trial, Go("read", data={"who": ANN}, messages=(Message("mail", ANN, "hello", {"to": ANN}),), asks=asks))

    trial.write(partial(ask_a_model, it=it, about=ANN))
    return it


def places(trial: Trial, it: UUID) -> set[str]:
    """Where Ann's address is, in rows that belong to this instance or have its id in them."""

    def read(conn: sa.Connection) -> set[str]:
        found = set()
        hashes = set(conn.execute(sa.select(t.artifact_ref.c.hash).where(t.artifact_ref.c.instance_id == it)).scalars())
        for table in all_tables():
            for row in conn.execute(sa.select(table)):
                columns = row._mapping
                mine = it in (columns.get("instance_id"), columns.get("id")) or columns.get("hash") in {
                    *hashes,
                    str(it),
                }
                if mine and any(ANN in _text(value) for value in row):
                    found.add(table.name)
        return found

    return trial.engine.read(read)


def _text(value: Any) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)


EVERYWHERE = {
    "instance",
    "instance_data",
    "history",
    "review",
    "outbox",
    "artifact",
    "ai_call",
    "ai_answer",
}


def erased(trial: Trial, it: UUID) -> bool:
    """Whether it is shown as erased: everywhere, or nowhere."""
    recorded = {
        "erased" in trial.get(it).data,
        trial.engine.history(it)[-1].kind == "erased",
        count(trial, P, P.c.instance_id == it) == 1,
        count(trial, s.action, s.action.c.what == "erase", s.action.c.target == str(it)) == 1,
    }
    assert len(recorded) == 1
    return recorded.pop()


@pytest.mark.soak("postgresql")
def test_an_erasure_that_is_killed_at_any_point_leaves_nothing_half_erased(
    url: str, tmp_path: Path, trial: Trial
) -> None:
    made: list[UUID] = []

    def make(step: int) -> None:
        made[:] = [anns(trial) for _ in range(3)]
        assert all(places(trial, it) | {"instance"} == EVERYWHERE for it in made)

    def seen(step: int, point: str) -> None:
        for it in made:
            left = places(trial, it)
            assert not left if erased(trial, it) else left | {"instance"} == EVERYWHERE
        assert trial.engine.verify().problems == ()

    def well(step: int) -> None:
        assert all(erased(trial, it) and not places(trial, it) for it in made)
        assert count(trial, ai_answer) == 0
        assert trial.engine.verify().problems == ()

    died = at_each_point("erase", url, tmp_path, trial.clock, make, seen, well, trial.engine)
    assert died == {"erase:before": 4, "erase:after": 4}


# -- a migration


def migrations(trial: Trial, it: UUID) -> tuple[int, int]:
    """The version of an instance, and how many rows of its history are of a migration."""
    return trial.get(it).version, sum(row.kind == "migrated" for row in trial.engine.history(it))


@pytest.mark.soak("postgresql-back", "back-postgresql")
@pytest.mark.parametrize("duty", ["migrate", "back"])
def test_a_migration_that_is_killed_at_any_point_moves_each_instance_once(
    url: str, tmp_path: Path, opened: Store, duty: str
) -> None:
    with Trial([OLD], store=opened) as old, Trial([PAGE, NEW], store=opened) as new:
        made: list[UUID] = []
        start, end = ((1, 0), (2, 1)) if duty == "migrate" else ((2, 1), (1, 2))

        def make(step: int) -> None:
            made[:] = [old.create("errand", {"name": f"errand {n}"}, workspace=f"w{step}") for n in range(5)]
            if duty == "back":
                keepers.migrate(new.engine, Orders(url, tmp_path, "migrate", 0, f"w{step}"))
            assert {migrations(new, it) for it in made} == {start}

        def seen(step: int, point: str) -> None:
            assert {migrations(new, it) for it in made} <= {start, end}
            assert new.engine.verify().problems == ()

        def well(step: int) -> None:
            assert {migrations(new, it) for it in made} == {end}
            assert {"place" in new.get(it).data for it in made} == {duty == "migrate"}
            assert new.engine.verify().problems == ()

        died = at_each_point(duty, url, tmp_path, new.clock, make, seen, well, new.engine)
        assert set(died) == {"migrate:before", "migrate:after"}
        assert died["migrate:before"] == died["migrate:after"] >= 3
