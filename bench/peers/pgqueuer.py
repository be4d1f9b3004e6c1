"""pgqueuer, with asyncpg and uvloop: the driver and the loop that are its fastest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

PACKAGE = "pgqueuer"
BATCH = 1000
SETTINGS = f"asyncpg, uvloop, batch {BATCH}, its settings for autovacuum, durable tables (its default)"
FINISHED = "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"


def setup(url: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(url)
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        await queries.optimize_autovacuum()
        await connection.close()

    asyncio.run(run())


def enqueue(url: str, count: int) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(url)
        queries = Queries(AsyncpgDriver(connection))
        for start in range(0, count, 5000):
            some = range(start, min(start + 5000, count))
            await queries.enqueue(["bench"] * len(some), [str(n).encode() for n in some], [0] * len(some))
        await connection.close()

    asyncio.run(run())


def sender(url: str) -> Callable[[], None]:
    loop = uvloop.new_event_loop()
    queries = Queries(AsyncpgDriver(loop.run_until_complete(asyncpg.connect(url))))

    def send() -> None:
        loop.run_until_complete(queries.enqueue("bench", b"0"))

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    async def run() -> None:
        queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

        @queuer.entrypoint("bench")
        async def nothing(job: Job) -> None:
            tick()

        go()
        await queuer.run(batch_size=BATCH)

    uvloop.run(run())
