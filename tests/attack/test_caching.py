"""Whoever has the browser after somebody finds nothing in it: no answer is kept but static files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from interlock.apps import contracts, jobs
from interlock.dashboard.app import dashboard
from interlock.dashboard.site import static
from interlock.http.app import ROUTERS
from interlock.store import open_store
from tests.support.api import APPLICATIONS, open_api
from tests.support.site import Site

pytestmark = pytest.mark.soak("postgresql")

STREAMS = {"/api/events/stream", "/ui/live"}
WANTED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture
def site(sqlite_url: str) -> Iterator[Site]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=APPLICATIONS) as api:
        yield Site(api)


def every_path() -> list[str]:
    """One address for each route that can be looked at; most of them about something that is not there."""
    routers = (*ROUTERS, *jobs.registry.routers, *contracts.registry.routers, *dashboard().routers)
    found = {
        route.path
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    return sorted(re.sub(r"\{(\w+)(:\w+)?\}", _sample, path) for path in found - STREAMS)


def _sample(part: re.Match[str]) -> str:
    return {"id": "01890000-0000-7000-8000-000000000000", "number": "1"}.get(part[1], "x")


def test_no_answer_may_be_kept_and_each_has_the_headers_that_protect_it(site: Site) -> None:
    paths = every_path()
    assert len(paths) > 60
    for path in paths:
        for answer in (site.get(path), site.api.get(path), TestClient(site.app).get(path)):
            assert answer.headers["cache-control"] == "no-store", (path, answer.status_code)
            assert "frame-ancestors" in answer.headers["content-security-policy"], path
            assert {name: answer.headers[name] for name in WANTED} == WANTED, path


def test_secrets_that_are_shown_once_are_not_kept(site: Site) -> None:
    made = site.api.post("/api/tokens", {"name": "t", "kind": "agent", "workspace": "default", "scopes": ["read"]})
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    person = site.api.people.find("viewer")
    link = site.send("/ui/settings", f"/ui/people/{person.id}/link", headers={"Host": "localhost"})
    assert f"{site.api.service.address}/login?link=" in link.text, "by the configuration, whatever the request says"
    assert link.headers["cache-control"] == "no-store"


def test_static_files_are_kept(site: Site) -> None:
    assert "immutable" in TestClient(site.app).get(static("app.css")).headers["cache-control"]
