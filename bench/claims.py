"""Claims a second through the agents' endpoint, against a bare FastAPI endpoint that only does Redis `SET NX`."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import time
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from bench.service import TOKEN, _answer, _connect, free_port
from interlock.apps.jobs import registry
from interlock.config import Settings
from interlock.engine import Engine, creating
from interlock.engine.redis_mirror import RedisMirror
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.worker import gc_tuning

PATH = "/api/crawler/jobs"
CLIENTS = 64
"""As many agents as race for jobs in the long acceptance test."""


class Wanted(BaseModel):
    """What the bare endpoint takes."""

    action: str
    run_id: str
    board: str
    job_id: str
    variant_id: str | None = None
    artifacts: dict[str, Any] = {}


def serve(kind: str, url: str, redis_url: str, port: int, ready: Any) -> None:
    """A server process: the bare endpoint, or ours with or without Redis."""
    if kind == "bare":
        _bare(redis_url, port, ready)
        return
    mirror = RedisMirror(redis_url) if kind == "with redis" else None
    engine = Engine(url, registry, mirror=mirror)
    service = Service(engine, Settings(http={"port": port}))
    service.people.setup(token=TOKEN)
    with InThread(create_app(service, routers=registry.routers), service, port=port):
        gc_tuning.settle()  # as `interlock server` does
        ready.set()
        time.sleep(3600)


def _bare(redis_url: str, port: int, ready: Any) -> None:
    """FastAPI and one `SET NX EX`: no token, no status, no history, nothing durable."""
    import uvicorn
    from redis.asyncio import Redis

    client = Redis.from_url(redis_url)
    app = FastAPI()

    @app.post(PATH, status_code=201)
    async def claim(body: Wanted) -> JSONResponse:
        taken = await client.set(f"lock:apply:{body.board}:{body.job_id}", body.run_id, nx=True, ex=300)
        return JSONResponse({"run_id": body.run_id}, 201 if taken else 409)

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False))
    ready.set()
    server.run()


async def _client(port: int, numbers: list[str], until: float, waits: list[float]) -> None:
    """One keep-alive connection that claims one job after the other."""
    reader, writer = await _connect(port)
    while numbers and time.perf_counter() < until:
        wish = {
            "action": "run",
            "run_id": str(uuid4()),
            "board": "ramp",
            "job_id": numbers.pop(),
            "variant_id": "resume-v2",
            "artifacts": {"resume_url": "s3://resumes/v2.pdf"},
        }
        body = json.dumps(wish).encode()
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        begun = time.perf_counter()
        writer.write(head + body)
        status, answer = await _answer(reader)
        assert status == 201, answer
        waits.append(time.perf_counter() - begun)
    writer.close()


async def _load(port: int, numbers: list[str], seconds: float) -> tuple[float, list[float]]:
    waits: list[float] = []
    begun = time.perf_counter()
    await asyncio.gather(*(_client(port, numbers, begun + seconds, waits) for _ in range(CLIENTS)))
    return len(waits) / (time.perf_counter() - begun), waits


def _jobs(url: str, count: int) -> None:
    with Engine(url, registry) as engine:
        for first in range(0, count, 2000):
            numbers = range(first, min(first + 2000, count))
            engine.write(lambda unit, numbers=numbers: [_add(unit, n) for n in numbers])


def _add(unit: Any, number: int) -> None:
    from interlock.apps.jobs.claims import job, steps
    from interlock.engine.unit import SYSTEM_ACTOR

    data = {"board": "ramp", "job_id": str(number), "title": f"Job {number}"}
    creating.create(unit, job, data, SYSTEM_ACTOR, key=steps.job_key("ramp", str(number)), by_application=True)


def claims(url: str, redis_url: str, kind: str, seconds: float, rounds: int) -> dict[str, Any]:
    """Claims a second through our API and through the bare endpoint, in turns; `kind` is "alone" or "with redis"."""
    import redis

    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    most = int(6000 * seconds * rounds)
    _jobs(url, most)
    context = multiprocessing.get_context("spawn")
    ports = {"bare": free_port(), kind: free_port()}
    processes = []
    for name, port in ports.items():
        ready = context.Event()
        process = context.Process(target=serve, args=(name, url, redis_url, port, ready), daemon=True)
        process.start()
        processes.append(process)
        assert ready.wait(60), name
    left = {"bare": [f"b{n}" for n in range(20 * most)], kind: [str(n) for n in range(most)]}
    rates: dict[str, list[float]] = {name: [] for name in ports}
    waits: dict[str, list[float]] = {name: [] for name in ports}
    try:
        for _ in range(rounds):
            for name, port in ports.items():
                rate, took = asyncio.run(_load(port, left[name], seconds))
                rates[name].append(rate)
                waits[name] += took
    finally:
        for process in processes:
            process.kill()
            process.join()
    figures: dict[str, Any] = {}
    for name in ports:
        cuts = statistics.quantiles(waits[name], n=100)
        figures["bare" if name == "bare" else "interlock"] = {
            "rate": statistics.median(rates[name]),
            "p50_ms": cuts[49] * 1e3,
            "p99_ms": cuts[98] * 1e3,
        }
    figures["ratio"] = figures["interlock"]["rate"] / figures["bare"]["rate"]
    return figures
