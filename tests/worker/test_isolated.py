"""Handlers with a memory limit: whatever they do to their own process, the worker's stays whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.machine import USER, Actor, Fail, Failures, Go, Rule, Work, WorkError
from interlock.store import Store, open_store
from interlock.testing import VirtualClock
from interlock.worker import Task
from tests.support.waiting import eventually
from tests.worker.conftest import Opener
from tests.worker.live_engine import LiveEngine, errand

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)
MB = 1024 * 1024
ADA = Actor(USER, "ada")


class Picky(WorkError):
    """An error that cannot be put together again on the other side of a pipe."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"picky about {first} and {second}")


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    """These tests look at processes, and do the same on every database."""
    with open_store(sqlite_url, durability="normal") as opened:
        yield opened


def too_much(task: Task[Any]) -> Go:
    hoard = [bytearray(16 * MB) for _ in range(200)]
    return Go("done", {"hoarded": len(hoard)})


def enough(task: Task[Any]) -> Go:
    return Go("done", {"hoarded": len(bytearray(16 * MB))})


def leave(task: Task[Any]) -> Go:
    os._exit(7)


def be_killed(task: Task[Any]) -> Go:
    os.kill(os.getpid(), signal.SIGKILL)
    return Go("done")


def exit_politely(task: Task[Any]) -> Go:
    raise SystemExit(3)


def return_lambda(task: Task[Any]) -> Any:
    return lambda: 1


def carry_lambda(task: Task[Any]) -> Go:
    return Go("done", {"f": lambda: 1})


def raise_picky(task: Task[Any]) -> Go:
    raise Picky(1, 2)


def return_nothing(task: Task[Any]) -> None:
    return None


def ask_nonsense(task: Task[Any]) -> Go:
    """What is refused is refused to the handler, which may deal with it."""
    answers = []
    for nonsense in (
        lambda: task.move("nowhere"),
        lambda: task.save({"x": object()}),
        lambda: task.intend("x", {1, 2}),
    ):
        try:
            nonsense()
        except Exception as error:
            answers.append(type(error).__name__)
    return Go("done", {"answers": answers})


def return_picky(task: Task[Any]) -> Fail:
    return Fail(Picky(1, 2))


def ignore_everything(task: Task[dict[str, Any]]) -> Go:
    started = Path(task.data["file"])
    started.with_suffix(".new").write_text(str(os.getpid()))
    started.with_suffix(".new").rename(started)
    while True:
        time.sleep(1)


BAD: dict[str, tuple[Callable[..., Any], set[str], str]] = {
    "uses more than its memory": (too_much, {"HandlerOutOfMemory"}, "64 MB"),
    "leaves without a word": (leave, {"HandlerDied"}, "code 7"),
    "is killed": (be_killed, {"HandlerOutOfMemory", "HandlerDied"}, "killed"),
    "exits politely": (exit_politely, {"SystemExit"}, "3"),
    "returns what cannot leave its process": (return_lambda, {"InvalidOutcome"}, "cannot be pickled"),
    "returns data that cannot leave its process": (carry_lambda, {"InvalidOutcome"}, "cannot be pickled"),
    "raises what cannot be put together again": (raise_picky, {"Picky"}, "picky about 1 and 2"),
    "returns nothing": (return_nothing, {"InvalidOutcome"}, "returned nothing"),
}


@pytest.mark.soak("exits politely", "returns data that cannot leave its process", "returns nothing")
@pytest.mark.parametrize("name", BAD)
def test_a_bounded_handler_cannot_hurt_the_worker(live_engine: Opener, name: str) -> None:
    handler, types, message = BAD[name]
    live = live_engine(errand(todo=Work(handler, MINUTE, memory_mb=64)))
    live.start_worker()
    it = live.create()
    letter = live.fails(it)
    assert letter.error_type in types
    assert message in letter.error["message"]
    assert live.get(it).state == "todo"


def test_a_bounded_handler_may_use_what_was_set_for_it(live_engine: Opener) -> None:
    live = live_engine(errand(todo=Work(enough, MINUTE, memory_mb=64)))
    live.start_worker()
    assert live.reaches(live.create(), "done").data == {"hoarded": 16 * MB}


def test_a_bounded_handler_learns_what_was_refused(live_engine: Opener) -> None:
    live = live_engine(errand(todo=Work(ask_nonsense, MINUTE, memory_mb=256)))
    live.start_worker()
    assert live.reaches(live.create(), "done").data["answers"] == ["InvalidData", "InvalidData", "InvalidData"]


def test_a_bounded_handler_must_be_a_function_that_its_process_can_find(live_engine: Opener) -> None:
    live = live_engine(errand(todo=Work(lambda task: Go("done"), MINUTE, memory_mb=64)))
    live.start_worker()
    assert "module-level function" in live.fails(live.create()).error["message"]


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
    except (ProcessLookupError, FileNotFoundError):  # it may go between the two
        return True


def test_a_rule_for_a_class_holds_for_an_error_from_another_process(live_engine: Opener) -> None:
    rules = Failures(rules=(Rule((Picky,), then="done", dead_letter=False),), otherwise=Rule((Exception,), retries=0))
    live = live_engine(errand(todo=Work(return_picky, MINUTE, memory_mb=64), failures=rules))
    live.start_worker()
    it = live.create()
    live.reaches(it, "done")
    assert live.rows(it, "moved")[0].payload["error"]["message"] == "picky about 1 and 2"


def process_in(started: Path) -> int:
    eventually(started.exists)
    return int(started.read_text())


def test_a_bounded_handler_that_does_not_listen_is_ended_when_it_is_withdrawn(
    live_engine: Opener, tmp_path: Path
) -> None:
    live = live_engine(errand(todo=Work(ignore_everything, MINUTE, memory_mb=64)))
    live.start_worker(concurrency=1)
    it = live.create({"file": str(tmp_path / "started")})
    process = process_in(tmp_path / "started")
    live.engine.fire(it, "withdraw", actor=ADA)
    eventually(lambda: gone(process), within=10)
    assert live.get(it).state == "withdrawn"


def test_a_bounded_handler_is_ended_at_its_time_limit(live_engine: Opener, tmp_path: Path) -> None:
    clock = VirtualClock()
    live = live_engine(errand(todo=Work(ignore_everything, MINUTE, memory_mb=64)), clock=clock)
    live.start_worker(concurrency=1, lease=timedelta(hours=1))
    it = live.create({"file": str(tmp_path / "started")})
    process = process_in(tmp_path / "started")
    clock.advance(MINUTE)
    assert live.fails(it).error_type == "HandlerTimeout"
    eventually(lambda: gone(process), within=10)


def test_a_bounded_handler_ends_with_the_worker_that_started_it(store: Store, tmp_path: Path) -> None:
    """A process that outlives its killed worker would go on working on what is others' by then."""
    live = LiveEngine(store, errand(todo=Work(ignore_everything, MINUTE, memory_mb=64)))
    worker = subprocess.Popen([sys.executable, "-c", WORKER, store.url], cwd=Path(__file__).parents[2])
    try:
        live.create({"file": str(tmp_path / "started")})
        process = process_in(tmp_path / "started")
        assert not gone(process)
    finally:
        worker.kill()
        worker.wait()
    try:
        eventually(lambda: gone(process), within=10)
    finally:
        if not gone(process):
            os.kill(process, signal.SIGKILL)


WORKER = """
import sys, threading
from datetime import timedelta
from interlock.engine import Engine
from interlock.machine import Work
from interlock.worker import Worker
from tests.worker.test_isolated import ignore_everything
from tests.worker.live_engine import errand
if __name__ == "__main__":
    machine = errand(todo=Work(ignore_everything, timedelta(minutes=1), memory_mb=64))
    Worker(Engine(sys.argv[1], [machine])).start()
    threading.Event().wait()
"""
