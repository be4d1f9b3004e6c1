"""Absurd: tasks are claimed in batches and run as coroutines; the end of each is a call of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import absurd_sdk
import absurdctl
import psycopg

PACKAGE = "absurd-sdk"
CLIENTS, CONCURRENCY = 8, 25
SETTINGS = (
    f"{CLIENTS} clients a process with a connection each, {CONCURRENCY} coroutines each, looks every 10 ms, "
    "a task without steps, its other defaults"
)
FINISHED = "SELECT count(*) FROM absurd.t_bench WHERE state = 'completed'"


def setup(url: str) -> None:
    """Its schema is in its command line tool, which would need psql."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(absurdctl.BUNDLED_SCHEMA_SQL.encode())
    app = absurd_sdk.Absurd(url, queue_name="bench")
    app.create_queue()
    app.close()


def enqueue(url: str, count: int) -> None:
    with psycopg.connect(url) as conn:  # one transaction
        app = absurd_sdk.Absurd(conn, queue_name="bench")
        for n in range(count):
            app.spawn("nothing", {"n": n}, queue="bench")


def sender(url: str) -> Callable[[], None]:
    app = absurd_sdk.Absurd(url, queue_name="bench")

    def send() -> None:
        app.spawn("nothing", {"n": 0}, queue="bench")

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    async def nothing(params: Any, ctx: Any) -> None:
        tick()

    async def run() -> None:
        clients = []
        for _ in range(CLIENTS):
            app = absurd_sdk.AsyncAbsurd(url, queue_name="bench")
            app.register_task("nothing")(nothing)
            assert await app.list_queues() == ["bench"]  # which connects
            clients.append(app)
        go()
        started = (app.start_worker(concurrency=CONCURRENCY, poll_interval=0.01) for app in clients)
        await asyncio.gather(*started)

    asyncio.run(run())
