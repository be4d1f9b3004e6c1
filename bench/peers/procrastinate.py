"""Procrastinate: each job is fetched and finished by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import procrastinate

PACKAGE = "procrastinate"
CONCURRENCY = 20
SETTINGS = f"concurrency {CONCURRENCY}, a pool of {CONCURRENCY} connections, its other defaults"
FINISHED = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"


def _app(url: str, tick: Callable[[], None]) -> tuple[procrastinate.App, Any]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=CONCURRENCY))

    @app.task(name="nothing", queue="bench")
    async def nothing(n: int) -> None:
        tick()

    return app, nothing


def setup(url: str) -> None:
    async def run() -> None:
        app, _ = _app(url, lambda: None)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    asyncio.run(run())


def enqueue(url: str, count: int) -> None:
    async def run() -> None:
        app, nothing = _app(url, lambda: None)
        async with app.open_async():
            for start in range(0, count, 1000):
                await nothing.batch_defer_async(*({"n": n} for n in range(start, min(start + 1000, count))))

    asyncio.run(run())


def sender(url: str) -> Callable[[], None]:
    loop = asyncio.new_event_loop()
    app, nothing = _app(url, lambda: None)
    loop.run_until_complete(app.open_async())

    def send() -> None:
        loop.run_until_complete(nothing.defer_async(n=0))

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    async def run() -> None:
        app, _ = _app(url, tick)
        async with app.open_async():
            go()
            await app.run_worker_async(queues=["bench"], concurrency=CONCURRENCY, install_signal_handlers=False)

    asyncio.run(run())
