"""What was erased: every page and every endpoint that shows such an instance says so, in all applications."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
import sqlalchemy as sa
from starlette.routing import Route
from starlette.testclient import TestClient

from interlock.apps import jobs
from interlock.apps.contracts.review import links
from interlock.apps.contracts.workflow.answers import open_review
from interlock.apps.jobs.finder import intake
from interlock.config import Settings
from interlock.dashboard.app import dashboard
from interlock.dashboard.pages.instance import TABS
from interlock.dashboard.site import forget_frames
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.engine.retention.erasing import Erasing
from interlock.engine.unit import load
from interlock.http.app import ROUTERS, create_app
from interlock.http.service import Service
from interlock.machine import OWNER, Actor, installed
from interlock.people import OPERATORS, Principal
from interlock.store import open_store
from interlock.store import tables as t
from interlock.watch import rollups
from tests.demo.test_demo import World, filled
from tests.support.api import open_api

pytestmark = pytest.mark.slow

CHIEF = Actor(OWNER, "chief")
WHY = "asked for in a letter"
D = t.dead_letter
STREAMS = {"/ui/live", "/api/events/stream", "/sessions/{id}/events"}
OTHERS = {
    "/workflows/providers/{vertical}",
    "/api/overview/series/{measure}",
    "/api/schedules/{workspace}/{name}",
    "/api/bulk/{id}",
    "/ui/bulk/{id}",
    "/ui/static/{digest}/{name:path}",
    "/login",
    "/borrow",
}
"""What has parts that vary, none of which names an instance or what belongs to one; and the way in."""

ROUTES = sorted(
    {
        route.path
        for router in (*installed().routers, *ROUTERS, *dashboard().routers)
        for route in router.routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    }
)
"""Every address that can be read, as it is declared."""
SAY_SO = {
    "/ui/instances/{id}",
    "/ui/instances",
    "/ui/reviews",
    "/ui/dead-letters",
    "/ui/outbox/{id}",
    "/ui/bulk/new",
    "/ui/contracts/{id}/review",
    "/ui/contracts/{id}/comparison",
    "/ui/contracts/{id}/text",
    "/workflows/{id}",
    "/workflows/{id}/log",
    "/workflows/{id}/pages/{number}",
    "/workflows/{id}/pages/{number}/text",
    "/api/instances",
    "/api/instances/{id}",
    "/api/instances/{id}/history",
    "/api/reviews/{id}",
    "/api/dead-letters/{id}",
    "/api/outbox/{id}",
}
"""Where an erased instance, or what belongs to one, is shown by its data."""
ENDED = ("/resume-link", "/resume", "/resume/pages/{number}", "/resume/text", "/resume/find")
ALSO = {"/ui/machines/{name}/new": (403,), **{f"/workflows/{{id}}{path}": (409,) for path in ENDED}}
"""Some machines create their instances themselves. What has ended has no review to go on with, erased or not; its
links are dead."""


ALL = ("contract", "source", "listing")
"""Machines of which nothing is left alone."""


@dataclass
class Erased:
    """A database of all applications in which much was erased, and a browser of its owner."""

    world: World
    browser: TestClient
    token: str
    instances: dict[UUID, str]
    """Of what was erased one in each state of each machine, with the name of the machine."""
    reviews: Sequence[UUID]
    letters: Sequence[sa.Row[Any]]
    messages: Sequence[UUID]
    names: dict[UUID, list[tuple[str, str]]]
    """The artifacts that there were: names and hashes."""
    resume: list[str] = field(default_factory=list)
    """Signed links to reviews of contracts."""

    @property
    def engine(self) -> Engine:
        return self.world.engine

    def get(self, path: str, **headers: str) -> Any:
        forget_frames()
        return self.browser.get(path, headers=headers)

    def ask(self, path: str) -> Any:
        return self.get(path, Authorization=f"Bearer {self.token}")


def some(engine: Engine, query: sa.Select[Any]) -> list[Any]:
    return list(engine.read(lambda conn: conn.execute(query).scalars().all()))


@pytest.fixture(scope="module")
def erased(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Erased]:
    path = tmp_path_factory.mktemp("erased") / "interlock.db"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}", durability="normal", wakeup="poll") as store:
        world = filled(store)
        engine = world.engine
        engine.write(_found)
        while engine.write(rollups.roll):
            pass
        owner, token = _owner(world)
        resume = _links(engine, world.people.by_token(token))
        for number, it in enumerate(world.all()):
            kinds = engine.registry[it.machine].states.values()
            ends = sorted(state.name for state in kinds if state.kind.value == "final")
            if it.finished_at is None and it.holder is None and (number % 2 or it.machine in ALL):
                engine.force(it.id, ends[number % len(ends)], actor=CHIEF, reason="to be erased")
        gone = [it for it in world.all() if it.finished_at is not None]
        ids = [it.id for it in gone]
        kept = t.artifact_ref
        rows = engine.read(
            lambda conn: conn.execute(
                sa.select(kept.c.instance_id, kept.c.name, kept.c.hash).where(kept.c.instance_id.in_(ids))
            ).all()
        )
        names: dict[UUID, list[tuple[str, str]]] = {}
        for row in rows:
            names.setdefault(row.instance_id, []).append((row.name, row.hash))
        for one in ids:
            Erasing(engine, CHIEF, WHY).one(one)
        one_of_each = {(it.machine, it.state): it for it in gone}.values()
        service = Service(engine, Settings(http={"hosts": ["testserver"]}))
        pages = dashboard()
        app = create_app(service, routers=engine.registry.routers, pages=pages)
        browser = TestClient(app, raise_server_exceptions=False, follow_redirects=True)
        person = world.people.find(owner)
        with browser:
            browser.get(f"/login?link={world.people.login_link(person.id)}")
            yield Erased(
                world,
                browser,
                token,
                {it.id: it.machine for it in one_of_each},
                some(engine, sa.select(t.review.c.id).where(t.review.c.instance_id.in_(ids))),
                engine.read(lambda conn: conn.execute(sa.select(D).where(D.c.instance_id.in_(ids))).all()),
                some(engine, sa.select(t.outbox.c.id).where(t.outbox.c.instance_id.in_(ids))),
                names,
                resume,
            )
        service.close()


def _found(unit: Unit) -> None:
    """Work of the finder, which has none in the past."""
    intake.add_source(unit, OPERATORS, "https://boards.greenhouse.io/acme", CHIEF)
    intake.add_listing(unit, OPERATORS, "https://acme.example/jobs/1", CHIEF, job_data={"title": "Engineer"})


def _owner(world: World) -> tuple[str, str]:
    person = world.people.find("owner")
    made = world.people.create_token(OPERATORS, "t", kind="person", person_id=person.id, by=CHIEF)
    return person.name, made[1]


def _links(engine: Engine, owner: Principal) -> list[str]:
    query = sa.select(t.instance).where(t.instance.c.machine == "contract", t.instance.c.state == "review_required")
    made = []
    for it in engine.read(lambda conn: load(conn, conn.execute(query).all())):
        review = engine.read(partial(open_review, instance=it))
        if review is not None:
            made.append(engine.write(partial(links.signed, instance=it, review=review, who=owner)))
    return made


def places(path: str, there: Erased) -> list[str]:
    """The addresses that a declared one stands for, where it has to do with what was erased."""
    box = "?page=1&box=0,0,100,100"
    if path.startswith("/workflows/{id}/resume") and path != "/workflows/{id}/resume-link":
        rest = path.removeprefix("/workflows/{id}/resume").replace("{number}", "1")
        more = {"/text": "&page=1&box=0,0,100,100", "/find": "&q=contract"}.get(rest, "")
        return [one.replace("/resume?", f"/resume{rest}?") + more for one in there.resume]
    if path.startswith("/api/reviews/{id}"):
        return [path.format(id=one) for one in there.reviews]
    if path.startswith("/api/dead-letters/{id}"):
        return [path.format(id=one.id) for one in there.letters]
    if path.startswith(("/api/outbox/{id}", "/ui/outbox/{id}")):
        return [path.format(id=one) for one in there.messages]
    if path.startswith(("/api/instances/{id}/artifacts/{name}", "/ui/instances/{id}/artifacts/{digest}")):
        return [
            path.format(id=one, name=quote(name), digest=digest)
            for one, kept in there.names.items()
            for name, digest in kept
        ]
    if path.startswith(("/workflows/{id}", "/ui/contracts/{id}")):
        mine = [one for one, machine in there.instances.items() if machine == "contract"]
        more = {"/ui/contracts/{id}/text": box, "/ui/contracts/{id}/find": "?q=contract"}.get(path, "")
        return [path.format(id=one, number=1) + more for one in mine]
    if path == "/ui/instances/{id}":
        return [f"/ui/instances/{one}?tab={tab}&verify=true" for one, tab in product(there.instances, TABS)]
    if "{id}" in path:
        return [_filled(path, one) for one in there.instances]
    for name in ("name", "machine"):
        if f"{{{name}}}" in path:
            return [path.format(**{name: machine}) for machine in sorted(set(there.instances.values()))]
    if "{kind}" in path:
        return [path.format(kind=kind) for kind in ("csv", "json")]
    if path == "/ui/contracts/export":
        return [f"{path}?format={kind}" for kind in ("csv", "xlsx")]
    if path == "/ui/contracts/compare":
        mine = [one for one, machine in there.instances.items() if machine == "contract"]
        return [f"{path}?id={mine[0]}&id={mine[1]}"]
    if path == "/ui/bulk/new":
        chosen = "&".join(f"id={one}" for one in list(there.instances)[:50])
        return [f"{path}?action=pause&{chosen}"]
    if path == "/ui/dead-letters":
        return [f"{path}?status={one.status}&group={one.fingerprint}" for one in there.letters]
    if path == "/ui/reviews":
        return [f"{path}?review={one}" for one in there.reviews]
    if path == "/api/jobs/why":
        return [f"{path}?q=engineer", f"{path}?url=https://acme.example/jobs/1"]
    if path == "/api/crawler/jobs":
        runs = {json.loads(data)["job_id"] for data in _of(there, "run") if "job_id" in data}
        return [path, *(f"{path}?runs_for={quote(one)}" for one in sorted(runs))]
    return [path]


def _filled(path: str, id: UUID) -> str:
    """The address with this id for whatever it names, and 1 for the number of a line."""
    return re.sub(r"\{(\w+)\}", lambda found: "1" if found[1] == "seq" else str(id), path)


def _of(there: Erased, machine: str) -> list[str]:
    query = sa.select(t.instance.c.data).where(t.instance.c.machine == machine, t.instance.c.data.is_not(None))
    return some(there.engine, query)


def test_every_application_has_something_that_was_erased(erased: Erased) -> None:
    assert set(erased.instances.values()) == {machine.name for machine in erased.engine.registry}
    assert erased.reviews
    assert erased.letters
    assert erased.messages
    assert erased.names
    assert erased.resume
    assert erased.engine.verify().problems == ()


@pytest.mark.parametrize("path", [path for path in ROUTES if path not in STREAMS | OTHERS])
def test_nothing_that_shows_what_was_erased_fails(erased: Erased, path: str) -> None:
    asked = places(path, erased)
    assert asked, "say in `places` what it is asked for"
    for one in asked:
        answer = erased.get(one) if one == "/" or one.startswith("/ui") or "/resume" in one else erased.ask(one)
        assert answer.status_code in {200, 404, *ALSO.get(path, ())}, f"{one}: {answer.text[:300]}"
        if path in SAY_SO:
            assert "erased" in answer.text, one


def test_whoever_meets_an_erased_job_or_run_again_changes_nothing(sqlite_url: str) -> None:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=[jobs.registry]) as api:
        known, place = {"board": "ramp", "job_id": "1"}, "/api/crawler/jobs"
        api.post(place, {"action": "add", "jobs": [{**known, "title": "A job"}]})
        api.post(place, {"action": "run", "run_id": "r1", **known})
        for status in ("submitted", "success"):
            assert api.call("owner", "PATCH", place, {"run_id": "r1", "status": status}).status_code == 200
        for it in api.engine.page(limit=10).instances:
            Erasing(api.engine, CHIEF, WHY).one(it.id)
        seen = api.post(place, {"action": "add", "jobs": [{**known, "title": "Another"}, {**known, "job_id": "2"}]})
        assert seen.json() == {"added": 1, "updated": 0, "unchanged": 1}
        for body in ({"action": "heartbeat", "run_id": "r1"}, {"action": "run", "run_id": "r1", **known}):
            assert api.post(place, body).status_code in {400, 409}
        assert api.call("owner", "PATCH", place, {"run_id": "r1", "status": "failed"}).status_code == 409
        assert [one["erased"] is None for one in api.get(place).json()["jobs"]] == [False, True]
