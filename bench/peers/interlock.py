"""Interlock: a real worker; each finished item is a claim, a state change and a chained history row."""

from __future__ import annotations

from collections.abc import Callable

from bench.items import machine
from interlock.engine import Engine
from interlock.machine import Machine
from interlock.worker import Worker, gc_tuning

PACKAGE = "interlock"
CONCURRENCY = 1000
SETTINGS = f"concurrency {CONCURRENCY}, a chained history row for each, its other defaults"
FINISHED = "SELECT count(*) FROM instance WHERE machine = 'trivial' AND state = 'done'"


def setup(url: str) -> None:
    with Engine(url, [machine(lambda: None)]):
        pass


def enqueue(url: str, count: int) -> None:
    with Engine(url, [machine(lambda: None)]) as engine:
        for start in range(0, count, 1000):
            engine.create_many("trivial", [{"n": n} for n in range(start, min(start + 1000, count))])


def sender(url: str) -> Callable[[], None]:
    engine = Engine(url, [machine(lambda: None)])

    def send() -> None:
        engine.create("trivial", {"n": 0})

    return send


def verify(url: str) -> None:
    """Speed counts for nothing where a chain is broken."""
    verify_as(url, machine(lambda: None))


def verify_as(url: str, declared: Machine) -> None:
    with Engine(url, [declared]) as engine:
        problems = engine.verify().problems
        assert problems == (), problems[:3]


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    work_as(url, machine(tick), go)


def work_as(url: str, declared: Machine, go: Callable[[], None]) -> None:
    worker = Worker(Engine(url, [declared]), concurrency=CONCURRENCY)
    gc_tuning.settle()  # as `interlock worker` does
    go()
    worker.start()
