"""streaQ: jobs are messages of a stream in Valkey, which takes the place of Redis and is under the BSD licence."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable
from typing import Any

import streaq
import uvloop
from redis import Redis

PACKAGE = "streaq"
CONCURRENCY = 32
SETTINGS = (
    f"uvloop, concurrency {CONCURRENCY} as in its own benchmark, its other defaults; Valkey 9.1 with appendonly and "
    "appendfsync=always, without which a crash loses what it has answered"
)


def finished(url: str) -> Callable[[], int]:
    """Its results, which it keeps for five minutes."""
    client = Redis.from_url(url)
    return lambda: int(client.zcard("streaq:bench:index:results"))  # type: ignore[arg-type]


def verify(url: str) -> None:
    """A result may also be a failure."""
    client: Any = Redis.from_url(url)
    results = client.mget([f"streaq:bench:task:results:{one.decode()}" for one in _ids(client)])
    assert all(pickle.loads(one)["s"] for one in results), "a task has failed"


def _ids(client: Any) -> list[bytes]:
    found: list[bytes] = client.zrange("streaq:bench:index:results", 0, -1)
    return found


def _worker(url: str, tick: Callable[[], None]) -> tuple[Any, Any]:
    logging.getLogger("streaq").setLevel(logging.WARNING)
    worker: Any = streaq.Worker(redis_url=url, queue_name="bench", concurrency=CONCURRENCY, handle_signals=False)

    @worker.task(name="nothing", silent=True)
    async def nothing(n: int) -> None:
        tick()

    return worker, nothing


def setup(url: str) -> None:
    """It makes what it needs when it starts."""


def enqueue(url: str, count: int) -> None:
    async def run() -> None:
        worker, nothing = _worker(url, lambda: None)
        async with worker:
            for start in range(0, count, 1000):
                await worker.enqueue_many([nothing.enqueue(n) for n in range(start, min(start + 1000, count))])

    asyncio.run(run())


def sender(url: str) -> Callable[[], None]:
    loop = asyncio.new_event_loop()
    worker, nothing = _worker(url, lambda: None)
    loop.run_until_complete(worker.__aenter__())

    async def one() -> None:
        await nothing.enqueue(0)

    def send() -> None:
        loop.run_until_complete(one())

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    worker, _ = _worker(url, tick)
    go()
    uvloop.run(worker.run_async())
