"""Nothing that takes time runs on the event loop: one slow answer there is a stop for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import argon2
import jinja2
import pytest
import sqlalchemy as sa

from interlock.engine import secrets
from interlock.http import request_check
from interlock.http.asgi import SMALL
from interlock.store import open_store
from tests.attack.test_caching import every_path
from tests.support.api import APPLICATIONS, Api, open_api
from tests.support.contracts import close_reader
from tests.support.site import Site

NOBODY = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was entered on the thread of a running loop, with where it was asked for."""
    seen: list[str] = []

    def guard(of: Any, name: str, what: str, small: Callable[..., bool] = lambda *_: False) -> None:
        original = getattr(of, name)

        def entered(*args: Any, **kwargs: Any) -> Any:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                if not small(*args):
                    seen.append(what)
            return original(*args, **kwargs)

        monkeypatch.setattr(of, name, entered)

    guard(jinja2.Template, "render", "a page is rendered")
    guard(sa.Connection, "execute", "SQL is run")
    guard(sa.Connection, "exec_driver_sql", "SQL is run")
    guard(argon2.PasswordHasher, "hash", "a password is hashed")
    guard(argon2.PasswordHasher, "verify", "a password is checked")
    guard(secrets, "shown", "data is searched for secrets")
    guard(secrets, "hide", "a text is searched for secrets", lambda text: len(text) <= 10_000)
    guard(request_check, "body", "a body is searched", lambda kind, content: len(content) <= SMALL)
    return seen


@pytest.fixture
def site(sqlite_url: str) -> Iterator[Site]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, applications=APPLICATIONS) as api,
    ):
        yield Site(api)
    close_reader()


def things(api: Api) -> list[str]:
    """One of each, so that the pages about it have something to show."""
    asked = api.asked({"item": "tea", "note": "a note"})
    api.dead()
    return [str(asked.id)]


def test_looking_at_everything_blocks_nobody(site: Site, found: list[str]) -> None:
    [one] = things(site.api)
    bad = {}
    for path in every_path():
        for wanted in {path, path.replace(NOBODY, one)}:
            found.clear()
            (site.get if wanted.startswith("/ui") else site.api.get)(wanted)
            if found:
                bad[wanted] = sorted(set(found))
    assert bad == {}


def test_neither_does_logging_in_nor_writing(site: Site, found: list[str]) -> None:
    api = site.api
    api.post("/api/login", {"name": "ann", "password": "wrong password"}, who=None)
    site.browser().post("/ui/login", data={"name": "ann", "password": "wrong password"})
    made = api.post("/api/instances", {"machine": "order", "data": {"item": "tea"}})
    assert made.status_code == 201
    api.post("/api/instances", {"machine": "order", "data": {"note": "a" * 500_000, "item": "[{" * 1000}})
    it = api.asked()
    api.post(f"/api/instances/{it.id}/events", {"event": "approve", "data": {"note": "n"}})
    api.post("/api/instances", {"machine": "order", "data": {"item": "tea"}}, headers={"Idempotency-Key": "k"})
    assert found == []


def test_a_stranger_may_not_send_much_to_the_login(site: Site) -> None:
    long = {"name": "a" * 20_000, "password": "b"}
    assert site.api.post("/api/login", long, who=None).status_code == 413
    assert site.browser().post("/ui/login", data=long).status_code == 413
