"""awa-pg: its Rust core claims and finishes, handlers are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import awa

PACKAGE = "awa-pg"
CONCURRENCY = 500
SETTINGS = f"queue storage, {CONCURRENCY} workers on one queue, coroutines, its other defaults"
# Its view awa.jobs says the same, and takes seconds for it.
FINISHED = (
    "SELECT (SELECT coalesce(sum(completed_count), 0) FROM awa.receipt_completion_batches) + "
    "(SELECT count(*) FROM awa.done_entries WHERE state = 'completed')"
)


@dataclass
class Nothing:
    n: int


def setup(url: str) -> None:
    with awa.Client(url) as client:
        client.migrate()
        client.install_queue_storage()


def enqueue(url: str, count: int) -> None:
    with awa.Client(url) as client:
        for start in range(0, count, 5000):
            jobs = [Nothing(n) for n in range(start, min(start + 5000, count))]
            client.enqueue_many_copy(jobs, queue="bench")


def sender(url: str) -> Callable[[], None]:
    client = awa.Client(url)

    def send() -> None:
        client.insert(Nothing(0), queue="bench")

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    async def run() -> None:
        client = awa.AsyncClient(url, max_connections=20)

        @client.task(Nothing, queue="bench")
        async def nothing(job: object) -> None:
            tick()

        go()
        await client.start([("bench", CONCURRENCY)])
        await asyncio.Event().wait()

    asyncio.run(run())
