"""Every page of the dashboard with a million instances: how long the server takes to answer."""

from __future__ import annotations

import json
import statistics
import time
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from starlette.testclient import TestClient

from interlock.apps.sample import parcel
from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.dashboard.site import forget_frames
from interlock.engine import Engine
from interlock.engine.instance import COLUMNS
from interlock.engine.unit import HISTORY
from interlock.http.app import create_app
from interlock.http.service import Service
from interlock.store import tables as t
from interlock.watch import rollups

STATES = (("shipped", 80), ("returned", 8), ("customs", 5), ("labelling", 4), ("weighing", 3))
BATCH = 20_000
REVIEWS, LETTERS = 5_000, 2_000


def fill(engine: Engine, count: int) -> None:
    """So many instances of the last thirty days, each with its first history row; the newest are under way."""
    store, now = engine.store, engine.clock.now()
    step = 30 * 86_400_000_000 // count
    wheel = [name for name, part in STATES for _ in range(part)]
    final = {"shipped", "returned"}

    def batch(conn: sa.Connection, start: int) -> None:
        instances, rows = [], []
        for n in range(start, min(start + BATCH, count)):
            at = now - (count - n) * step
            made = UUID(int=((at // 1000) << 80) | (7 << 76) | ((n & 0xFFF) << 64) | (2 << 62) | n)
            state = wheel[n % 100]
            data = json.dumps({"content": f"thing {n}", "grams": n % 9000, "label": f"IL-{n}"})
            values: dict[str, Any] = {
                "id": made,
                "machine": "parcel",
                "version": 1,
                "workspace": "default",
                "key": f"k{n}",
                "state": state,
                "seq": 1,
                "head": b"\0" * 32,
                "data": data,
                "labels": '{"shop":"north"}',
                "queue": "parcel",
                "priority": 2,
                "timer_no": 0,
                "fence": 0,
                "root": made,
                "depth": 0,
                "trace_id": made.hex,
                "created_at": at,
                "entered_at": at,
                "updated_at": at,
                "finished_at": at if state in final else None,
                "wake": "work" if state in {"weighing", "labelling"} else None,
                "due_at": now + 10**12 if state in {"weighing", "labelling"} else None,
            }
            instances.append(tuple(values.get(name) for name in COLUMNS))
            rows.append((made, 1, "created", None, state, None, "user:bench", at, None, None, b"\0" * 32, None, None))
        store.insert_many(conn, t.instance, COLUMNS, instances)
        store.insert_many(conn, t.history, HISTORY, rows)

    for start in range(0, count, BATCH):
        store.write(lambda conn, first=start: batch(conn, first))
    store.write(lambda conn: beside(conn, now, "parcel", waiting="customs", failed="weighing"))
    while engine.write(lambda unit: rollups.roll(unit, 100_000)):
        pass
    store.write(lambda conn: conn.exec_driver_sql("ANALYZE"))


def beside(conn: sa.Connection, now: int, machine: str, *, waiting: str, failed: str) -> None:
    """Open reviews and dead letters of some."""

    def some(state: str, most: int) -> list[UUID]:
        query = sa.select(t.instance.c.id).where(t.instance.c.machine == machine, t.instance.c.state == state)
        return list(conn.execute(query.limit(most)).scalars())

    common = {"workspace": "default", "machine": machine}
    conn.execute(
        sa.insert(t.review),
        [
            {
                **common,
                "id": i,
                "instance_id": i,
                "name": waiting,
                "title": "Clear it?",
                "state": waiting,
                "role": "reviewer",
                "decisions": '{"clear":"clear"}',
                "status": "open",
                "opened_at": now,
                "due_at": now + 10**10,
            }
            for i in some(waiting, REVIEWS)
        ],
    )
    conn.execute(
        sa.insert(t.dead_letter),
        [
            {
                **common,
                "id": i,
                "instance_id": i,
                "state": failed,
                "step": failed,
                "error_type": "ScaleBusy",
                "error": '{"type":"ScaleBusy","message":"the scale is in use"}',
                "fingerprint": f"f{n % 7}",
                "attempts": 6,
                "data": "{}",
                "status": "open",
                "at": now,
            }
            for n, i in enumerate(some(failed, LETTERS))
        ],
    )


def measure(url: str, count: int) -> dict[str, float]:
    """Every page with so many parcels."""
    with Engine(url, [parcel]) as engine:
        fill(engine, count)
        return visit(engine, "parcel", "customs")


def visit(engine: Engine, machine: str, state: str, *, rounds: int = 5) -> dict[str, float]:
    """Milliseconds to answer, the median of a few, for each page; the numbers around a page are not remembered."""
    service = Service(engine, Settings())
    owner = service.people.setup()
    one = engine.read(lambda conn: conn.execute(sa.select(t.instance.c.id).limit(1).offset(500)).scalar_one())
    paths = [
        "/ui",
        f"/ui/machines/{machine}",
        f"/ui/machines/{machine}/flow?span=30d",
        "/ui/instances",
        f"/ui/instances?machine={machine}&state={state}",
        "/ui/instances?text=thing+77777",
        "/ui/instances?show=live",
        f"/ui/instances/{one}",
        f"/ui/instances/{one}?tab=data",
        f"/ui/instances/{one}?tab=family",
        "/ui/reviews",
        "/ui/dead-letters",
        "/ui/workers",
        "/ui/schedules",
        "/ui/outbox",
        "/ui/alerts",
        "/ui/costs",
        "/ui/bulk",
        "/ui/audit",
        "/ui/settings",
        "/ui/halt",
    ]
    found = {}
    with TestClient(create_app(service, pages=dashboard()), base_url="http://localhost") as client:
        client.get(f"/login?link={service.people.login_link(owner.id)}")
        for path in paths:
            took = []
            for _ in range(rounds):
                forget_frames()
                begun = time.perf_counter()
                answer = client.get(path)
                took.append((time.perf_counter() - begun) * 1000)
                assert answer.status_code == 200, (path, answer.status_code)
                assert "log out" in answer.text, "a page of somebody who is logged in"
            found[path.replace(str(one), "ID")] = statistics.median(took)
    service.close()
    return found
