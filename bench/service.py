"""The service: events fired over HTTP against a bare endpoint, and how soon a handler starts after its event."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI
from pydantic import BaseModel

from interlock.config import Settings
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.machine import FINAL, USER, WAITING, Go, Machine, Outcome, Registry, State, Transition
from interlock.store import open_store
from interlock.worker import Task, gc_tuning

TOKEN = "il_bench_token_0123456789abcdef"
CLIENTS = 32

switch = Machine(
    "switch",
    initial="off",
    states=[
        State("off", WAITING, waits_for="a person"),
        State("on", WAITING, waits_for="a person"),
        State("gone", FINAL),
    ],
    transitions=[
        Transition("off", "on", on="flip", by=USER),
        Transition("on", "off", on="flip", by=USER),
        Transition("on", "gone", on="remove", by=USER),
    ],
)
bell = Machine(
    "bell",
    initial="idle",
    states=[State("idle", WAITING, waits_for="a person"), State("ringing"), State("rung", FINAL)],
    transitions=[Transition("idle", "ringing", on="press", by=USER), Transition("ringing", "rung", on="ring")],
)
registry = Registry([switch, bell])


@bell.work("ringing")
def ring(task: Task[dict[str, Any]]) -> Outcome:
    return Go("rung", data={"rung_at": time.time()})


class Row(BaseModel):
    """What the bare endpoint takes."""

    event: str
    reason: str = ""


def serve(kind: str, url: str, port: int, ready: Any) -> None:
    """A server process: the bare endpoint, or ours."""
    if kind == "bare":
        _bare(url, port, ready)
    else:
        engine = Engine(url, registry)
        service = Service(engine, Settings(http={"port": port}))
        service.people.setup(token=TOKEN)
        gc_tuning.settle()  # as `interlock server` does
        with InThread(create_app(service), service, port=port):
            ready.set()
            time.sleep(3600)


def _bare(url: str, port: int, ready: Any) -> None:
    """FastAPI, and one row committed through the same store with the same durability; nothing else."""
    import uvicorn

    store = open_store(url)
    bare = sa.Table("bare", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("event", sa.Text))
    store.schema(lambda conn: bare.create(conn, checkfirst=True))
    app = FastAPI()

    @app.post("/row/{id}")
    async def row(id: int, body: Row) -> dict[str, int]:
        def insert(conn: sa.Connection) -> int:
            made = conn.execute(sa.insert(bare).values(event=body.event).returning(bare.c.id)).scalar_one()
            return int(made)

        return {"id": await asyncio.wrap_future(store.submit(insert))}

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False))
    ready.set()
    server.run()


async def _client(port: int, path: str, until: float, counts: list[int], waits: list[float]) -> None:
    """One keep-alive connection that posts as fast as it is answered."""
    reader, writer = await _connect(port)
    body = b'{"event":"flip","reason":"bench"}'
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(head + body)
        status, _ = await _answer(reader)
        assert status == 200, status
        waits.append(time.perf_counter() - begun)
        counts[0] += 1
    writer.close()


async def _connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    deadline = time.monotonic() + 20
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return int(head[9:12]), await reader.readexactly(length)


async def _load(port: int, paths: list[str], seconds: float) -> tuple[float, list[float]]:
    counts, waits = [0], []
    begun = time.perf_counter()
    await asyncio.gather(*(_client(port, path, begun + seconds, counts, waits) for path in paths))
    return counts[0] / (time.perf_counter() - begun), waits


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fire(urls: tuple[str, str], seconds: float, rounds: int) -> dict[str, Any]:
    """Events a second through our API and rows a second through the bare endpoint, in turns."""
    context = multiprocessing.get_context("spawn")
    ports = {"bare": free_port(), "interlock": free_port()}
    processes = []
    for kind, url in zip(ports, urls, strict=True):
        ready = context.Event()
        process = context.Process(target=serve, args=(kind, url, ports[kind], ready), daemon=True)
        process.start()
        processes.append(process)
        assert ready.wait(60), kind
    with Engine(urls[1], registry) as engine:
        ids = engine.create_many("switch", [{} for _ in range(CLIENTS)])
    paths = {
        "bare": [f"/row/{n}" for n in range(CLIENTS)],
        "interlock": [f"/api/instances/{i}/events" for i in ids],
    }
    rates: dict[str, list[float]] = {"bare": [], "interlock": []}
    waits: dict[str, list[float]] = {"bare": [], "interlock": []}
    try:
        for _ in range(rounds):
            for kind in rates:
                rate, took = asyncio.run(_load(ports[kind], paths[kind], seconds))
                rates[kind].append(rate)
                waits[kind] += took
    finally:
        for process in processes:
            process.kill()
            process.join()
    figures: dict[str, Any] = {}
    for kind in rates:
        cuts = statistics.quantiles(waits[kind], n=100)
        figures[kind] = {"rate": statistics.median(rates[kind]), "p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3}
    figures["ratio"] = figures["interlock"]["rate"] / figures["bare"]["rate"]
    return figures


def latency(url: str, *, apart: bool, count: int) -> dict[str, float]:
    """From the answered event to the start of its handler: in one process, or server and worker apart."""
    port = free_port()
    env = {**os.environ, "INTERLOCK_TOKEN": TOKEN, "INTERLOCK_DATABASE": url, "INTERLOCK_LOG__LEVEL": "error"}
    base = [sys.executable, "-m", "interlock"]
    extra = ["--app", "bench.service:registry"]
    commands = (
        [[*base, "server", "--port", str(port), *extra], [*base, "worker", *extra]]
        if apart
        else [[*base, "up", "--no-demo", "--port", str(port), *extra]]
    )
    running = [
        subprocess.Popen(c, env=env, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent.parent) for c in commands
    ]
    try:
        return asyncio.run(_presses(port, count))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


async def _presses(port: int, count: int) -> dict[str, float]:
    reader, writer = await _connect(port)

    async def call(method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        data = json.dumps(body).encode() if body is not None else b""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        status, answer = await _answer(reader)
        return status, json.loads(answer)

    deadline = time.monotonic() + 60
    while not any(w["alive"] for w in (await call("GET", "/api/workers"))[1].get("workers", [])):
        assert time.monotonic() < deadline, "no worker came up"
        await asyncio.sleep(0.1)
    waits: list[float] = []
    for _ in range(count):
        _, made = await call("POST", "/api/instances", {"machine": "bell"})
        status, _ = await call("POST", f"/api/instances/{made['id']}/events", {"event": "press"})
        assert status == 200
        while True:
            _, now = await call("GET", f"/api/instances/{made['id']}")
            if now["state"] == "rung":
                break
            await asyncio.sleep(0.002)
        # Both clocks are this machine's: the event's moment of record, and the handler's own.
        _, history = await call("GET", f"/api/instances/{made['id']}/history")
        pressed = next(r["at"] for r in history["rows"] if r["event"] == "press")
        waits.append(now["data"]["rung_at"] - _seconds(pressed))
    cuts = statistics.quantiles(waits, n=100)
    writer.close()
    return {"p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3, "worst_ms": max(waits) * 1e3}


def _seconds(iso: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(iso).timestamp()
