"""DBOS: a job is a workflow in a queue, without steps of its own, which is the least that it can write."""

from __future__ import annotations

import os
from collections.abc import Callable

import dbos

PACKAGE = "dbos"
CONCURRENCY = 100
SETTINGS = f"a workflow without steps, {CONCURRENCY} at once a process, looks every 10 ms, a pool of 20 connections"
FINISHED = "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'"


def _start(url: str, tick: Callable[[], None]) -> Callable[[int], None]:
    dbos.DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "executor_id": str(os.getpid()),
            "log_level": "ERROR",
            "application_version": "1",
            "sys_db_pool_size": 20,
        }
    )

    @dbos.DBOS.workflow(name="nothing")
    def nothing(n: int) -> None:
        tick()

    return nothing


def setup(url: str) -> None:
    """It makes its tables when it starts."""
    _start(url, lambda: None)
    dbos.DBOS.launch()
    dbos.DBOS.destroy(destroy_registry=True)


def enqueue(url: str, count: int) -> None:
    send = sender(url)
    for _ in range(count):
        send()


def sender(url: str) -> Callable[[], None]:
    client = dbos.DBOSClient(system_database_url=url)
    options: dbos.EnqueueOptions = {"queue_name": "bench", "workflow_name": "nothing", "app_version": "1"}

    def send() -> None:
        client.enqueue(options, 0)

    return send


def work(url: str, go: Callable[[], None], tick: Callable[[], None]) -> None:
    _start(url, tick)
    dbos.DBOS.launch()
    go()  # it begins with the queue, and not before it knows it
    dbos.DBOS.register_queue("bench", worker_concurrency=CONCURRENCY, polling_interval_sec=0.01)
