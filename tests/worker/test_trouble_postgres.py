"""Trouble with a PostgreSQL server: gone, restarted, out of connections. Loops come back by themselves."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.machine import Go
from interlock.store import StoreGone, open_store
from interlock.worker import Task
from tests.support.servers import Postgres
from tests.support.waiting import eventually, took
from tests.worker.live_engine import LiveEngine, errand, live_engine_on

pytestmark = pytest.mark.slow


@pytest.fixture
def own_postgres(server_folder: Path) -> Iterator[Postgres]:
    """A server of this test's own, that it may stop."""
    with Postgres(Path(tempfile.mkdtemp(prefix="pg-", dir=server_folder)), options="-c fsync=off") as server:
        yield server


def test_without_its_server_everything_says_that_it_is_gone(own_postgres: Postgres) -> None:
    store = open_store(own_postgres.url(), wakeup="poll")
    with live_engine_on(store, errand()) as live:
        it = live.create()
        own_postgres.stop("immediate")
        with pytest.raises(StoreGone) as error:
            live.create()
        assert error.value.retryable
        with pytest.raises(StoreGone):
            live.get(it)
        own_postgres.start()
        assert live.get(it).id == it


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_worker_goes_on_after_its_server_was_restarted(own_postgres: Postgres, mode: str) -> None:
    begun, end = threading.Event(), threading.Event()
    runs: list[str] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.key or "")
        if task.key == "before":
            begun.set()
            end.wait(20)
        return Go("done")

    store = open_store(own_postgres.url())
    with live_engine_on(store, errand(todo=work)) as live:
        worker = live.start_worker()
        it = live.create(key="before")
        assert begun.wait(10)
        own_postgres.stop(mode)
        end.set()
        for loop in (worker.claimer, worker.sweeper, worker.watcher):
            eventually(lambda loop=loop: loop.troubles >= 1, what=loop.name)
        own_postgres.start()
        live.reaches(it, "done")
        live.reaches(live.create(key="after"), "done")
        assert runs == ["before", "after"]
        for loop in (worker.claimer, worker.sweeper, worker.watcher):
            eventually(lambda loop=loop: loop.troubles == 0, what=loop.name)


def test_the_answer_of_an_effect_outlives_a_restart_of_the_server(own_postgres: Postgres) -> None:
    """What was learnt is never thrown away: it is written as soon as there is a database again."""
    sending, answered = threading.Event(), threading.Event()

    def send(_: Any) -> str:
        sending.set()
        answered.wait(20)
        return "it arrived"

    store = open_store(own_postgres.url())
    with live_engine_on(store, errand(todo=lambda task: Go("done", {"answer": task.once("post", {}, send)}))) as live:
        live.start_worker()
        it = live.create()
        assert sending.wait(10)
        own_postgres.stop("immediate")
        answered.set()
        eventually(lambda: live.workers[0].claimer.troubles + live.workers[0].watcher.troubles >= 2)
        own_postgres.start()
        assert live.reaches(it, "done").data == {"answer": "it arrived"}
        assert [(one.status, one.sends) for one in live.engine.effects(it)] == [("confirmed", 1)]


def test_a_worker_that_stops_while_its_server_is_away_ends_in_time(own_postgres: Postgres) -> None:
    store = open_store(own_postgres.url(), wakeup="poll")
    live = LiveEngine(store, errand())
    worker = live.start_worker()
    own_postgres.stop("immediate")
    assert took(lambda: worker.stop(timeout=1)) < 15
    own_postgres.start()
    store.close()


def test_handlers_that_use_up_every_connection_do_not_make_the_worker_miss_a_beat(postgres_url: str) -> None:
    held, release = threading.Semaphore(0), threading.Event()

    def hog(_: Any) -> None:
        held.release()
        release.wait(30)

    def work(task: Task[Any]) -> Go:
        live.engine.read(hog)
        return Go("done")

    with live_engine_on(open_store(postgres_url, wakeup="poll"), errand(todo=work)) as live:
        ids = live.engine.create_many("errand", [None] * 32)
        worker = live.start_worker(concurrency=32, lease=timedelta(seconds=2))
        for _ in ids:
            assert held.acquire(timeout=20)
        beats = worker.heartbeat.rounds
        eventually(lambda: worker.heartbeat.rounds >= beats + 5)
        assert worker.heartbeat.trusted()
        release.set()
        for it in ids:
            live.reaches(it, "done")
