"""Lost workers: found by heartbeat, by lock, by silence; one that cannot beat stops before it is given up."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.engine import workers
from interlock.machine import Go
from interlock.store import Store, StoreGone, failpoints, open_store
from interlock.testing import VirtualClock
from interlock.worker import Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

WORKER_LEASE = timedelta(seconds=20)
HOUR = timedelta(hours=1)


def sign_up(live: LiveEngine, *, lease: timedelta = WORKER_LEASE, lock_file: str | None = None) -> UUID:
    """A worker's row and nothing behind it: a process that was killed after it had said that it lives."""
    worker = uuid4()
    live.store.write(
        lambda conn: workers.start(
            conn,
            live.engine.clock.now(),
            worker,
            host="elsewhere",
            pid=1,
            queues=["errand"],
            lock_file=lock_file,
            lease=lease,
        )
    )
    return worker


def beat(live: LiveEngine, worker: UUID) -> None:
    live.store.write(lambda conn: workers.beat(conn, live.engine.clock.now(), worker, lease=WORKER_LEASE))


def claimed_by(live: LiveEngine, worker: UUID) -> UUID:
    it = live.create()
    assert [claim.id for claim in live.engine.claim(worker, ["errand"], 1)] == [it]
    return it


def status(live: LiveEngine, worker: UUID) -> str:
    return next(row.status for row in live.engine.read(workers.every) if row.id == worker)


def crashes(live: LiveEngine, it: UUID) -> list[Any]:
    return [row.payload.get("crash") for row in live.rows(it, "lost")]


# -- the others find it


def test_a_worker_whose_heartbeat_ended_is_given_up_and_its_work_done_by_another(live_engine: Opener) -> None:
    clock = VirtualClock()
    attempts: list[int] = []

    def work(task: Task[Any]) -> Go:
        attempts.append(task.attempt)
        return Go("done")

    live = live_engine(errand(todo=work), clock=clock)
    lost = sign_up(live)
    it = claimed_by(live, lost)
    survivor = live.start_worker(lease=HOUR)
    seen = survivor.sweeper.rounds
    eventually(lambda: survivor.sweeper.rounds > seen + 2)
    assert live.get(it).holder == lost
    clock.advance(WORKER_LEASE + timedelta(seconds=1))
    live.reaches(it, "done")
    assert crashes(live, it) == [1]
    assert attempts == [1]
    eventually(lambda: status(live, lost) == "lost")


def test_a_worker_that_goes_on_beating_is_left_alone(live_engine: Opener) -> None:
    clock = VirtualClock()
    live = live_engine(errand(), clock=clock)
    other = sign_up(live)
    it = claimed_by(live, other)
    survivor = live.start_worker(lease=HOUR)
    for _ in range(5):
        clock.advance(WORKER_LEASE * 0.9)
        beat(live, other)
        seen = survivor.sweeper.rounds
        eventually(lambda seen=seen: survivor.sweeper.rounds > seen + 2)
    assert live.get(it).holder == other
    assert status(live, other) == "alive"


def test_a_silent_worker_is_found_although_the_clock_stepped_back(live_engine: Opener) -> None:
    """Its `until` lies an hour ahead now; so many seconds without a beat count as well."""
    clock = VirtualClock()
    live = live_engine(errand(), clock=clock)
    lost = sign_up(live)
    it = claimed_by(live, lost)
    survivor = live.start_worker(lease=HOUR)
    clock.step_back(HOUR)
    seen = survivor.sweeper.rounds
    eventually(lambda: survivor.sweeper.rounds > seen + 2)
    assert live.get(it).holder == lost
    clock.advance(WORKER_LEASE + timedelta(seconds=1))
    live.reaches(it, "done")
    assert crashes(live, it) == [1]


def test_a_worker_that_beats_just_before_it_is_given_up_is_spared(live_engine: Opener) -> None:
    live = live_engine(errand())
    late = sign_up(live)
    it = claimed_by(live, late)
    beat(live, late)
    assert live.engine.take_back([late], {late: 0}) == 0
    assert (status(live, late), live.get(it).holder) == ("alive", late)
    assert live.engine.take_back([late], {late: 1}) == 1
    assert (status(live, late), live.get(it).holder) == ("lost", None)


@pytest.mark.parametrize("end", ["lost", "stopped"])
def test_a_claim_that_was_under_way_when_its_worker_went_is_found(live_engine: Opener, end: str) -> None:
    """Committed after the others had given the worker up: nobody looks at that worker any more."""
    live = live_engine(errand())
    gone = sign_up(live)
    live.store.write(lambda conn: workers.mark(conn, gone, end))
    it = claimed_by(live, gone)
    live.start_worker()
    live.reaches(it, "done", within=10)


def test_a_third_lost_worker_makes_the_step_poison(live_engine: Opener) -> None:
    live = live_engine(errand())
    it = live.create()
    for _ in range(3):
        worker = sign_up(live)
        assert len(live.engine.claim(worker, ["errand"], 1)) == 1
        live.engine.take_back([worker])
    letter = live.fails(it)
    assert letter.error_type == "WorkerLost"
    assert live.engine.claim(sign_up(live), ["errand"], 1) == []


# -- on SQLite, the lock proves it


WORKER = """
import sys, threading
from datetime import timedelta
from interlock.engine import Engine
from interlock.machine import Go
from interlock.worker import Worker
from tests.worker.live_engine import errand
if __name__ == "__main__":
    def hang(task):
        threading.Event().wait()
    Worker(Engine(sys.argv[1], [errand(todo=hang)]), lease=timedelta(hours=1)).start()
    threading.Event().wait()
"""


@pytest.fixture
def sqlite(sqlite_url: str) -> Any:
    with open_store(sqlite_url, durability="normal") as store:
        yield store


def test_the_lock_proves_within_seconds_that_a_killed_process_is_dead(sqlite: Store) -> None:
    """Its heartbeat counts for an hour."""
    live = LiveEngine(sqlite, errand())
    victim = subprocess.Popen([sys.executable, "-c", WORKER, sqlite.url], cwd=Path(__file__).parents[2])
    try:
        it = live.create()
        eventually(lambda: live.get(it).holder)
        survivor = live.start_worker(lease=HOUR)
        seen = survivor.sweeper.rounds
        eventually(lambda: survivor.sweeper.rounds > seen + 2)
        assert live.get(it).state == "todo"  # it lives, so it keeps what it has
    finally:
        victim.kill()
        victim.wait()
    live.reaches(it, "done", within=5)
    assert crashes(live, it) == [1]
    live.stop()
    live.laws_hold()


def test_a_lock_file_that_cannot_be_found_proves_nothing(sqlite: Store, tmp_path: Path) -> None:
    """Another process may know the same folder under another name."""
    live = LiveEngine(sqlite, errand())
    other = sign_up(live, lock_file=str(tmp_path / "elsewhere" / "worker.lock"), lease=HOUR)
    it = claimed_by(live, other)
    survivor = live.start_worker()
    seen = survivor.sweeper.rounds
    eventually(lambda: survivor.sweeper.rounds > seen + 2)
    assert live.get(it).holder == other
    live.stop()


def test_two_workers_in_one_process_do_not_take_each_other_for_dead(sqlite: Store) -> None:
    live = LiveEngine(sqlite, errand())
    one, two = live.start_worker(), live.start_worker()
    seen = one.sweeper.rounds, two.sweeper.rounds
    eventually(lambda: one.sweeper.rounds > seen[0] + 2 and two.sweeper.rounds > seen[1] + 2)
    assert {status(live, one.id), status(live, two.id)} == {"alive"}
    live.stop()


# -- the worker itself


def test_a_worker_that_cannot_beat_stops_writing_before_it_can_be_given_up(live_engine: Opener) -> None:
    clock = VirtualClock()
    begun, end, notified = threading.Event(), threading.Event(), threading.Event()

    def work(task: Task[Any]) -> Go:
        begun.set()
        while not task.cancelled:
            end.wait(0.01)
        notified.set()
        return Go("done")

    live = live_engine(errand(todo=work), clock=clock)
    worker = live.start_worker(lease=WORKER_LEASE)
    it = live.create()
    assert begun.wait(10)
    live.refuse("worker", "NEW.beats > OLD.beats", verb="UPDATE")
    clock.advance(WORKER_LEASE * 0.95)
    until = next(row.until for row in live.engine.read(workers.every) if row.id == worker.id)
    assert clock.now() < until  # nobody may take its work away yet
    assert not worker.heartbeat.trusted()
    assert notified.wait(10)
    eventually(lambda: worker.claimer.troubles >= 2)
    assert live.kinds(it) == ["created"]
    assert live.get(it).holder == worker.id
    assert worker.claimer.finished == 0


def test_a_worker_that_can_beat_again_goes_on_by_itself(live_engine: Opener) -> None:
    """What it let go of is given back, and costs neither an attempt nor a crash."""
    clock = VirtualClock()
    attempts: list[int] = []

    def work(task: Task[Any]) -> Go:
        attempts.append(task.attempt)
        pause = threading.Event()
        while len(attempts) == 1 and not task.cancelled:
            pause.wait(0.01)
        return Go("done")

    live = live_engine(errand(todo=work), clock=clock)
    worker = live.start_worker(lease=timedelta(seconds=1))
    it = live.create()
    eventually(lambda: attempts)
    live.refuse("worker", "NEW.beats > OLD.beats", verb="UPDATE")
    clock.advance(timedelta(seconds=0.95))
    eventually(lambda: worker.claimer.troubles >= 1)
    live.allow("worker")
    live.reaches(it, "done")
    assert attempts == [1, 1]
    assert live.get(it).failures == {}
    assert "given_back" in live.kinds(it)
    assert crashes(live, it) == []


def test_a_worker_that_was_given_up_begins_anew_under_another_id(live_engine: Opener) -> None:
    live = live_engine(errand())
    worker = live.start_worker()
    old = worker.id
    live.engine.take_back([old])
    worker.heartbeat.wake()
    eventually(lambda: worker.id != old)
    live.reaches(live.create(), "done")
    assert (status(live, old), status(live, worker.id)) == ("lost", "alive")


def test_a_claim_whose_answer_was_lost_is_given_back(live_engine: Opener) -> None:
    """It was committed in the worker's name, and the worker never heard of it."""
    live = live_engine(errand())
    worker = live.start_worker(queues=["nothing", "errand"], concurrency=1)
    worker.claimer.draining = True  # so that the claim below is not its own
    rounds = worker.claimer.rounds
    worker.claimer.wake()
    eventually(lambda: worker.claimer.rounds > rounds + 1, within=10)  # the one under way may still claim
    it = claimed_by(live, worker.id)
    eventually(lambda: "given_back" in live.kinds(it), within=10)
    worker.claimer.draining = False
    live.reaches(it, "done")
    assert crashes(live, it) == []
    assert live.get(it).failures == {}


def test_a_round_whose_commit_was_never_answered_is_neither_lost_nor_done_twice(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the commit, with a result and a claim in it."""
    runs: list[str] = []

    def work(task: Task[Any]) -> Go:
        runs.append(task.state)
        return Go("doing" if task.state == "todo" else "done")

    breaks = iter([False, True])

    def lose_answer(point: str) -> None:
        if point == "finish:after" and next(breaks, False):
            raise StoreGone("the answer was lost")

    with open_store(postgres_url, wakeup="poll") as store:
        live = LiveEngine(store, errand(todo=work, doing=work))
        monkeypatch.setattr(failpoints, "hook", lose_answer)
        live.start_worker()
        it = live.create()
        live.reaches(it, "done")
        assert runs == ["todo", "doing"]
        assert [row.to_state for row in live.rows(it, "moved")] == ["doing", "done"]
        assert len(live.rows(it, "given_back")) == 1
        live.stop()
        live.laws_hold()
