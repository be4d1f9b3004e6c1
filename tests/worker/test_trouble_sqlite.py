"""Trouble with a SQLite file: locked, full, gone. Loops wait it out and come back by themselves."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.machine import Go
from interlock.store import StoreBusy, StoreError, StoreFull, StoreGone, tables
from interlock.store.sqlite import SqliteStore
from interlock.worker import Task
from tests.support.waiting import eventually, took
from tests.worker.live_engine import LiveEngine, errand, live_engine_on


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else, with a connection of their own, holds the write lock."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.fixture
def path(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


def count(path: Path, table: str = "instance") -> int:
    with sqlite3.connect(path) as conn:
        found: int = conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    conn.close()
    return found


# -- locked


def test_a_short_lock_by_another_process_is_ridden_out(path: Path) -> None:
    with live_engine_on(SqliteStore(path, patience=20), errand()) as live:
        done = threading.Event()
        with locked(path):
            thread = threading.Thread(target=lambda: (live.create(), done.set()))
            thread.start()
            assert not done.wait(0.3)
        assert done.wait(10)
        thread.join()
        assert count(path) == 1


def test_a_lock_that_lasts_too_long_is_an_error_that_says_to_try_again(path: Path) -> None:
    with live_engine_on(SqliteStore(path, patience=0.2), errand()) as live, locked(path):
        with pytest.raises(StoreBusy) as error:
            live.create()
        assert error.value.retryable
        assert count(path) == 0


def test_reading_goes_on_while_another_process_writes(path: Path) -> None:
    with live_engine_on(SqliteStore(path, patience=5), errand()) as live:
        it = live.create()
        with locked(path):
            assert took(lambda: live.get(it)) < 1


def test_a_worker_waits_out_a_long_lock_and_loses_no_result(path: Path) -> None:
    begun, end = threading.Event(), threading.Event()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.attempt)
        begun.set()
        end.wait(20)
        return Go("done")

    with live_engine_on(SqliteStore(path, patience=0.1), errand(todo=work)) as live:
        worker = live.start_worker()
        it = live.create()
        assert begun.wait(10)
        with locked(path):
            end.set()
            eventually(lambda: worker.claimer.troubles >= 2)
            assert live.get(it).state == "todo"
        live.reaches(it, "done")
        assert runs == [1]
        eventually(lambda: worker.claimer.troubles == 0)


# -- full


def fill(live: LiveEngine, spare: int) -> None:
    """Leave only so many pages."""

    def limit(conn: sa.Connection) -> None:
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        conn.exec_driver_sql(f"PRAGMA max_page_count = {pages + spare}")

    live.store.write(limit)


def make_room(live: LiveEngine) -> None:
    live.store.write(lambda conn: conn.exec_driver_sql("PRAGMA max_page_count = 1000000"))


def test_when_the_disk_is_full_nothing_is_written_and_the_error_says_so(path: Path) -> None:
    with live_engine_on(SqliteStore(path), errand()) as live:
        fill(live, spare=2)
        with pytest.raises(StoreFull, match="free some space") as error:
            live.create({"much": "x" * 100_000})
        assert error.value.retryable
        assert count(path) == count(path, "history") == 0
        make_room(live)
        live.create({"much": "x" * 100_000})
        assert count(path) == 1


def test_what_fits_beside_what_does_not_is_still_written(path: Path) -> None:
    """Both are in one commit; only the one without room is undone."""
    with live_engine_on(SqliteStore(path), errand()) as live:
        fill(live, spare=3)
        gate = threading.Event()
        live.store.submit(lambda conn: gate.wait(20))  # the rest queues up behind it, and is committed as one group
        big = live.store.submit(lambda conn: conn.execute(sa.insert(tables.artifact).values(**artifact(200_000))))
        small = live.store.submit(lambda conn: conn.execute(sa.insert(tables.artifact).values(**artifact(10))))
        gate.set()
        with pytest.raises(StoreFull):
            big.result(20)
        small.result(20)
        assert count(path, "artifact") == 1
        make_room(live)


def artifact(size: int) -> dict[str, Any]:
    content = b"x" * size
    return {"hash": hashlib.sha256(content).hexdigest(), "size": size, "content": content, "at": 0}


def test_a_worker_whose_disk_is_full_goes_on_when_there_is_room(path: Path) -> None:
    begun, end = threading.Event(), threading.Event()
    runs: list[int] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.attempt)
        begun.set()
        end.wait(20)
        return Go("done", {"much": "x" * 100_000})

    with live_engine_on(SqliteStore(path), errand(todo=work)) as live:
        worker = live.start_worker()
        it = live.create()
        assert begun.wait(10)
        fill(live, spare=2)
        end.set()
        eventually(lambda: worker.claimer.troubles >= 2)
        assert live.get(it).state == "todo"
        make_room(live)
        live.reaches(it, "done")
        assert runs == [1]


# -- gone


@contextmanager
def moved_away(path: Path) -> Iterator[None]:
    files = [path, *path.parent.glob(path.name + "-wal"), *path.parent.glob(path.name + "-shm")]
    for file in files:
        file.rename(file.with_name("away-" + file.name))
    try:
        yield
    finally:
        for file in files:
            file.with_name("away-" + file.name).rename(file)


def test_a_file_that_is_gone_is_an_error_and_never_an_empty_new_file(path: Path) -> None:
    with live_engine_on(SqliteStore(path), errand()) as live:
        it = live.create()
        with moved_away(path):
            with pytest.raises(StoreGone, match="gone") as error:
                live.create()
            assert error.value.retryable
            with pytest.raises(StoreGone, match="gone"):
                live.get(it)
            assert not path.exists()
        assert live.get(it).id == it
        live.create()
        assert count(path) == 2


def test_a_worker_whose_file_was_gone_comes_back_by_itself(path: Path) -> None:
    with live_engine_on(SqliteStore(path), errand()) as live:
        worker = live.start_worker(lease=timedelta(seconds=1))
        live.reaches(live.create(), "done")
        with moved_away(path):
            for loop in (worker.claimer, worker.sweeper, worker.watcher, worker.heartbeat):
                eventually(lambda loop=loop: loop.troubles >= 1, what=loop.name)
        live.reaches(live.create(), "done")
        for loop in (worker.claimer, worker.sweeper, worker.watcher, worker.heartbeat):
            eventually(lambda loop=loop: loop.troubles == 0, what=loop.name)


def test_an_address_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot be created"):
        Engine(f"sqlite:///{tmp_path / 'file' / 'db'}", [errand()])


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("this is a letter, not a database, and long enough to look at " * 100)
    store = SqliteStore(tmp_path / "db", patience=0.2)
    with store, pytest.raises(StoreError, match="is not an SQLite database"):
        Engine(store, [errand()])
