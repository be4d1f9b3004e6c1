"""SAQ on PostgreSQL: jobs are claimed in batches, and each is then written twice by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from saq import Queue, Worker

PACKAGE = "saq"
CONCURRENCY = 20
SETTINGS = f"concurrency {CONCURRENCY}, a pool of {CONCURRENCY} connections, its other defaults"
FINISHED = "SELECT count(*) FROM saq_jobs WHERE status = 'complete'"


def _queue(url: str) -> Any:
    return Queue.from_url(url, name="bench", min_size=4, max_size=CONCURRENCY)


def setup(url: str) -> None:
    async def run() -> None:
        queue = _queue(url)
        await queue.connect()
        await queue.disconnect()

    asyncio.run(run())


def enqueue(url: str, count: int) -> None:
    async def run() -> None:
        queue = _queue(url)
        await queue.connect()
        for start in range(0, count, 100):
            some = range(start, min(start + 100, count))
            await asyncio.gather(*(queue.enqueue("nothing", n=n) for n in some))
        await queue.disconnect()

    asyncio.run(run())


def sender(url: str) -> Callable[[], None]:
    loop = asyncio.new_event_loop()
    queue = _queue(url)
    loop.run_until_complete(queue.connect())

    def send() -> None:
        loop.run_until_complete(queue.enqueue("nothing", n=0))

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    logging.getLogger("saq").setLevel(logging.WARNING)  # as `saq --quiet`

    async def nothing(ctx: Any, *, n: int) -> None:
        tick()

    async def run() -> None:
        queue = _queue(url)
        await queue.connect()
        worker: Any = Worker(queue, functions=[("nothing", nothing)], concurrency=CONCURRENCY)
        worker.SIGNALS = []
        go()
        await worker.start()

    asyncio.run(run())
