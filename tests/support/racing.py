"""Who is first: jobs in threads that start at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
DEADLINE = 30.0
"""Seconds after which a test stops waiting for another thread."""


def together(count: int, job: Callable[[int], T]) -> list[T | Exception]:
    """What came of the job in each of so many threads that start at the same moment; an error counts as an answer."""
    barrier = threading.Barrier(count)

    def run(number: int) -> T | Exception:
        barrier.wait(DEADLINE)
        try:
            return job(number)
        except Exception as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(run, number) for number in range(count)]
        return [future.result(DEADLINE) for future in futures]


def race(count: int, job: Callable[[int], T]) -> list[T]:
    """What the job returned in each of so many threads that started together."""
    start = threading.Barrier(count)

    def run(number: int) -> T:
        start.wait(timeout=30)
        return job(number)

    with ThreadPoolExecutor(count) as pool:
        return [future.result(timeout=60) for future in [pool.submit(run, number) for number in range(count)]]
