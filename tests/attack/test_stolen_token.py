"""Whoever has somebody's token has no more than that token: no page, no way in that outlives it."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from interlock.engine import Engine
from interlock.http.caller import Callers
from interlock.machine import Registry
from interlock.people import People, Principal, Role
from tests.attack.addresses import EACH, filled
from tests.attack.test_scopes import agent
from tests.dashboard.site import Site
from tests.http.desk import BY, Desk, order

LONG = "correct horse battery"
OPEN = {"/ui/login", "/ui/logout", "/ui/static/{digest}/{name:path}", "/ui/static/{tag}/{name:path}"}
"""Pages that anybody may look at."""


def pages() -> list[str]:
    return sorted({path for method, path in EACH if method == "GET" and path.startswith("/ui")} - OPEN)


# -- pages


def test_no_page_answers_to_a_token(site: Site) -> None:
    assert len(pages()) > 20
    for who in (agent(site.desk, "create"), agent(site.desk, "read"), "owner", "north-owner"):
        headers = {"Authorization": f"Bearer {site.desk.tokens[who]}"}
        stranger = TestClient(site.app, raise_server_exceptions=False, follow_redirects=False)
        wrong = {path: stranger.get(filled(path), headers=headers).status_code for path in pages()}
        assert {path: status for path, status in wrong.items() if status not in {403, 404, 422}} == {}
        assert wrong["/ui"] == wrong["/ui/settings"] == wrong["/ui/outbox"] == wrong["/ui/live"] == 403


def test_a_token_beside_a_login_opens_no_page_either(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.desk.tokens['owner']}"}
    assert site.browser("viewer").get("/ui", headers=headers).status_code == 403


def test_settings_show_nobody_the_tokens_of_others(site: Site) -> None:
    agent(site.desk, "read:order")
    assert "a-read.order" in site.get("/ui/settings", "owner").text
    for who in ("viewer", "member", "north-owner"):
        assert "a-read.order" not in site.get("/ui/settings", who).text


# -- another's password


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/users", {"name": "mal", "role": "owner", "password": LONG}),
        ("/api/users/{id}/password", {"password": LONG}),
        ("/api/users/{id}/enable", {}),
    ],
)
def test_a_token_gives_nobody_a_way_to_log_in(both: Desk, path: str, body: dict[str, str]) -> None:
    person = both.people.add("ann", role=Role.OWNER, by=BY, password=LONG + LONG)
    where = path.format(id=person.id)
    if path.endswith("enable"):
        both.people.disable(person.id, by=BY)
    refused = both.post(where, body)
    assert (refused.status_code, "in a login, not through a token" in refused.json()["detail"]) == (403, True)
    for name in ("ann", "mal"):
        assert both.client.post("/api/login", json={"name": name, "password": LONG}).status_code == 401
    in_a_login = both.post(where, body, None, headers=both.logged_in("owner"))
    assert in_a_login.status_code in {200, 201}


# -- a write that was begun with rights that are gone


def elsewhere(desk: Desk) -> People:
    """The people of another process: this one hears of a change only later."""
    desk.service._leave()
    desk.service._leave = lambda: None
    return People(Engine(desk.engine.store, Registry([order]), clock=desk.clock))


WRITES = [
    ("POST", "/api/tokens", {"name": "survivor", "kind": "agent", "scopes": ["read", "create", "fire"]}),
    ("POST", "/api/tokens", {"name": "survivor", "kind": "person"}),
    ("POST", "/api/users", {"name": "mal", "role": "owner"}),
    ("POST", "/api/workspaces", {"name": "south"}),
    ("PUT", "/api/schedules/default/nightly", {"machine": "order", "cron": "0 3 * * *"}),
    ("POST", "/api/instances", {"machine": "order"}),
    ("POST", "/api/bulk", {"action": "pause", "filter": {"machine": "order"}, "reason": "x"}),
]


@pytest.mark.parametrize(("method", "path", "body", "key"), [*((*one, None) for one in WRITES), (*WRITES[0], "once")])
def test_a_token_that_is_revoked_elsewhere_writes_nothing(
    both: Desk, method: str, path: str, body: dict[str, object], key: str | None
) -> None:
    ann = both.people.add("ann", role=Role.OWNER, by=BY)
    made, both.tokens["ann"] = both.people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    other = elsewhere(both)
    headers = {"Idempotency-Key": key} if key else {}
    assert both.get("/api/me", "ann").status_code == 200
    if body.get("kind") != "person":
        other.set_role(ann.id, Role.VIEWER, by=BY)
        assert both.call("ann", method, path, body, headers=headers).status_code == 403
    other.revoke(made.id, BY)
    assert both.call("ann", method, path, body, headers=headers).status_code == 401
    assert both.get("/api/me", "ann").status_code == 401, "and it is not remembered any longer"
    names = {token.name for token in both.people.tokens()} | {person.name for person in both.people.everyone()}
    assert not {"survivor", "mal"} & names


def test_a_login_that_ended_elsewhere_writes_nothing(both: Desk) -> None:
    me = both.logged_in("owner")
    other, owner = elsewhere(both), both.people.find("owner")
    assert both.get("/api/me", None, headers=me).status_code == 200
    other.end_all(owner.id, by=BY)
    body = {"name": "survivor", "kind": "person"}
    assert both.post("/api/tokens", body, None, headers=me).status_code == 401


def test_who_was_read_before_a_change_is_not_remembered_past_it(desk: Desk) -> None:
    class Slow(People):
        def by_token(self, secret: str) -> Principal:
            found = super().by_token(secret)
            callers.forget()  # the change comes just now
            return found

    callers = Callers(Slow(desk.engine))
    callers.find("token", desk.tokens["owner"])
    assert callers.recall("token", desk.tokens["owner"]) is None
