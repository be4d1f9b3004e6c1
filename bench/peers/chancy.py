"""Chancy: jobs are claimed in batches and run as coroutines; what they became is written in batches, a moment later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import chancy

PACKAGE = "chancy"
CONCURRENCY, INTERVAL = 400, 0.1
SETTINGS = (
    f"asynchronous executor, concurrency {CONCURRENCY}, eager polling, results written every {INTERVAL:g} s (a crash "
    "before that runs the jobs again), its other defaults"
)
FINISHED = "SELECT count(*) FROM chancy_jobs WHERE state = 'succeeded'"
_ticks: list[Callable[[], None]] = []


async def nothing() -> None:
    """Found by its name."""
    _ticks[0]()


JOB = chancy.Job(func=f"{__name__}.nothing", kwargs={})
"""For the queue `default`, which every worker serves: with its default executor it would start a pool of processes."""


def _app(url: str) -> chancy.Chancy:
    quiet = logging.getLogger("bench.chancy")
    quiet.setLevel(logging.WARNING)
    return chancy.Chancy(url, log=quiet)


def setup(url: str) -> None:
    async def run() -> None:
        async with _app(url) as app:
            await app.migrate()
            queue = chancy.Queue(
                "default",
                concurrency=CONCURRENCY,
                executor="chancy.executors.asyncex.AsyncExecutor",
                eager_polling=True,
                polling_interval=1,
            )
            await app.declare(queue)

    asyncio.run(run())


def enqueue(url: str, count: int) -> None:
    with _app(url) as app:
        for _ in app.sync_push_many([JOB] * count):
            pass


def sender(url: str) -> Callable[[], None]:
    app = _app(url)
    app.sync_pool.open()

    def send() -> None:
        app.sync_push(JOB)

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    _ticks.append(tick)

    async def run() -> None:
        async with _app(url) as app:
            worker = chancy.Worker(app, register_signal_handlers=False)
            worker.send_outgoing_interval = INTERVAL
            go()
            await worker.start()
            await worker.wait_for_shutdown()

    asyncio.run(run())
