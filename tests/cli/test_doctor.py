"""`interlock doctor`: what is wrong with the database and the work, in plain words, and nothing is written."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa

from interlock.engine import Engine, Result
from interlock.machine import Fail
from interlock.store import open_store, partitions
from interlock.store import tables as t
from interlock.store.health import Level, duration_text, graded, look
from tests.support.commands import Done, command
from tests.support.letters import PROGRAM, letter

DEADLINE = 20.0


def doctor(url: str, folder: Path, *arguments: str) -> Done:
    return command("doctor", *arguments, "--database", url, cwd=folder)


def report_of(url: str, folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """What was found, by its name; of several the worst."""
    done = doctor(url, folder, "--json", *arguments)
    found = json.loads(done.out)
    assert done.code == {"ok": 0, "warning": 1, "problem": 2}[found["level"]]
    order = {"ok": 0, "warning": 1, "problem": 2}
    return {one["name"]: one for one in sorted(found["findings"], key=lambda one: order[one["level"]])}


@pytest.fixture
def alive(url: str) -> str:
    """A database with a worker that lives."""
    now = time.time_ns() // 1000
    with open_store(url, wakeup="poll") as store:
        made = sa.insert(t.worker).values(
            id=uuid4(), host="here", pid=1, queues="[]", status="alive", started_at=now, beat_at=now, until=now + 10**10
        )
        store.write(lambda conn: conn.execute(made))
    return url


def test_a_healthy_database_is_reported_as_healthy(alive: str, tmp_path: Path) -> None:
    found = report_of(alive, tmp_path)
    found.pop("durability", None)  # the tests' server does not wait for its disk, and doctor says so
    found.pop("disk", None)  # whatever room this machine has
    assert [one for one in found.values() if one["level"] != "ok"] == []
    assert {"schema", "clock", "workers", "lag", "versions", "outbox", "dead letters"} <= set(found)
    assert all(one["do"] == "" for one in found.values())


def test_the_table_is_for_people_and_the_worst_comes_first(url: str, tmp_path: Path) -> None:
    done = doctor(url, tmp_path, "--fast")
    assert done.code >= 1
    lines = done.out.splitlines()
    assert lines[2].startswith(("WARNING", "PROBLEM"))
    assert "  workers: start one: interlock up, or interlock worker" in lines
    assert "name" in done.out
    assert len(doctor(url, tmp_path, "--sizes").out) > len(done.out)


def test_work_that_waits_without_a_worker_is_a_problem(url: str, tmp_path: Path) -> None:
    with Engine(url, [letter]) as engine:
        engine.create("letter")
    found = report_of(url, tmp_path, "--app", PROGRAM)
    assert (found["workers"]["level"], found["workers"]["says"]) == ("problem", "no worker is alive, and work is ready")


class Ago:
    """A clock that is behind."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> int:
        return time.time_ns() // 1000 - round(self._seconds * 1e6)

    def steady(self) -> float:
        return 0.0


@pytest.mark.parametrize(("seconds", "level"), [(30, "ok"), (600, "warning"), (7200, "problem")])
def test_work_that_waits_for_long_is_reported_with_its_queue(
    alive: str, tmp_path: Path, seconds: int, level: str
) -> None:
    with Engine(alive, [letter], clock=Ago(seconds)) as engine:
        engine.create("letter")
    found = report_of(alive, tmp_path, "--app", PROGRAM)["lag"]
    assert (found["level"], "ready in the queue letter" in found["says"]) == (level, True)


def test_dead_letters_and_versions_without_code_are_reported(alive: str, tmp_path: Path) -> None:
    with Engine(alive, [letter]) as engine:
        engine.create("letter")
        [claim] = engine.claim(UUID(int=1), ["letter"], 1)
        engine.finish([Result(claim, Fail(ValueError("no ink")))])
    found = report_of(alive, tmp_path)
    assert (found["dead letters"]["level"], found["dead letters"]["says"]) == ("warning", "1 are open")
    assert "1 instances of letter version 1 have no code here: no machine has that name" in found["versions"]["says"]
    assert report_of(alive, tmp_path, "--app", PROGRAM)["versions"]["level"] == "ok"


def test_a_missing_schema_is_a_problem_and_the_rest_is_still_reported(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").close()
    found = report_of(f"sqlite:///{tmp_path}/empty.db", tmp_path)
    assert (found["schema"]["level"], found["schema"]["do"]) == ("problem", "run: interlock db migrate")
    assert found["integrity"]["level"] == "ok"


def test_a_database_that_cannot_be_reached_is_a_problem(tmp_path: Path) -> None:
    found = report_of("postgresql://nobody@127.0.0.1:9/none", tmp_path)
    assert (found["database"]["level"], found["database"]["do"] != "") == ("problem", True)


def test_a_damaged_file_is_a_problem(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "interlock.db"
    keys = [{"key": f"{number:0100}"} for number in range(5000)]
    with open_store(sqlite_url) as store:
        store.write(lambda conn: conn.execute(sa.insert(t.limit_key), keys))
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page] = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'limit_key'").fetchone()
    conn.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 50)
    found = report_of(sqlite_url, tmp_path)
    assert found["integrity"]["level"] == "problem"
    assert "restore the last backup" in found["integrity"]["do"]


def test_looking_writes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "interlock.db"
    before = path.read_bytes()
    doctor(sqlite_url, tmp_path)
    assert path.read_bytes() == before
    assert doctor(f"sqlite:///{tmp_path}/none.db", tmp_path).code == 2
    assert not (tmp_path / "none.db").exists()


# -- PostgreSQL


def test_sizes_of_tables_and_indexes_are_reported(url: str, tmp_path: Path) -> None:
    sizes = json.loads(doctor(url, tmp_path, "--json").out)["sizes"]
    assert {("instance", "table"), ("ix_instance_ready", "index")} <= {(one["name"], one["kind"]) for one in sizes}


def findings(url: str, name: str) -> list[tuple[Level, str, str]]:
    with open_store(url, wakeup="poll") as store:
        return [(one.level, one.says, one.do) for one in look(store).findings if one.name == name]


def test_the_longest_transaction_is_reported_with_how_to_end_it(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, application_name="report") as conn:
        conn.execute("SELECT 1")
        pid = conn.info.backend_pid
        [(level, says, _)] = findings(postgres_url, "longest transaction")
    assert level is Level.OK
    assert says.startswith(f"process {pid} (report) is idle in transaction")


def test_waiting_for_a_lock_is_reported(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as first, psycopg.connect(postgres_url) as second:
        first.execute("LOCK TABLE workspace")
        pids = first.info.backend_pid, second.info.backend_pid
        waiting = threading.Thread(target=lambda: second.execute("SELECT 1 FROM workspace"))
        waiting.start()
        deadline = time.monotonic() + DEADLINE
        while not (found := [one for one in findings(postgres_url, "lock waits") if "wait for a lock;" in one[1]]):
            assert time.monotonic() < deadline
        first.rollback()
        waiting.join(DEADLINE)
    assert f"process {pids[1]}" in found[0][1]
    assert f"behind {pids[0]}" in found[0][1]


def test_dead_rows_are_reported_with_their_table(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("ALTER TABLE limit_key SET (autovacuum_enabled = off)")
        conn.execute("INSERT INTO limit_key SELECT n::text FROM generate_series(1, 30000) n")
        conn.execute("DELETE FROM limit_key WHERE key::int > 10000")
        conn.execute("SELECT pg_stat_force_next_flush()")
        deadline = time.monotonic() + DEADLINE
        while not (found := [one for one in findings(postgres_url, "dead rows") if one[0]]):
            assert time.monotonic() < deadline
    [(level, says, do)] = found
    assert level is Level.WARNING
    # An earlier test may have used the table, and the server may have looked after it.
    vacuumed = r"(never vacuumed|vacuumed [\d.]+ \w+ ago)"
    assert re.fullmatch(rf"limit_key has 20,0\d\d dead rows beside 10,000 live ones, {vacuumed}", says), says
    assert do.startswith("run: VACUUM (ANALYZE) limit_key")


def test_months_are_named(postgres_url: str) -> None:
    assert findings(postgres_url, "months") == []
    with open_store(postgres_url, wakeup="poll") as store:
        partitions.apply(store, time.time_ns() // 1000)
    [(level, says, _)] = findings(postgres_url, "months")
    assert (level, "the history lies in 4 tables" in says) == (Level.OK, True)


@pytest.mark.parametrize(("value", "level"), [(0, Level.OK), (5, Level.WARNING), (10, Level.PROBLEM)])
def test_a_finding_is_graded_by_how_far_it_has_come(value: int, level: Level) -> None:
    found = graded("x", value, 5, 10, "says", "do")
    assert (found.level, found.do) == (level, "do" if level else "")


def test_lengths_are_written_for_people() -> None:
    assert [duration_text(s) for s in (1, 119, 120, 7200, 200_000)] == [
        "1.0 seconds",
        "119.0 seconds",
        "2 minutes",
        "2 hours",
        "2 days",
    ]


def test_it_says_what_each_application_needs_of_the_host(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    with Engine(url, []):
        pass
    names = {one["name"] for one in json.loads(doctor(url, tmp_path, "--json").out)["host"]}
    assert {
        "contracts: text recognition",
        "jobs: browser",
        "sessions: Claude Code",
        "all: model",
        "jobs: keys",
    } <= names


def test_checks_that_fail_hide_nothing_of_other_applications(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from interlock import Application, Registry\n"
        'registry = Registry([Application("shop", checks="shop:checks")])\n'
        "def checks(settings):\n"
        "    return [1 / 0]\n"
    )
    done = command("doctor", "--app", "shop:registry", "--database", f"sqlite:///{tmp_path}/none.db", cwd=tmp_path)
    assert "its checks failed: ZeroDivisionError: division by zero" in done.out, done.err
    assert "sessions" in done.out
