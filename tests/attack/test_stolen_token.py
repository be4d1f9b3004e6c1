"""Whoever has somebody's token has no more than that token: no page, no way in that outlives it."""

from __future__ import annotations

from uuid import UUID

import pytest
from starlette.testclient import TestClient

from interlock.engine import Engine
from interlock.http.caller import Callers
from interlock.machine import Registry
from interlock.people import People, Principal, Role
from tests.attack.addresses import EACH, filled
from tests.attack.test_scopes import agent
from tests.support.api import BY, Api, order
from tests.support.site import Site

pytestmark = pytest.mark.soak("postgresql")

LONG = "correct horse battery"
OPEN = {"/ui/login", "/ui/logout", "/ui/static/{digest}/{name:path}", "/ui/static/{tag}/{name:path}"}
"""Pages that anybody may look at."""


def pages() -> list[str]:
    return sorted({path for method, path in EACH if method == "GET" and path.startswith("/ui")} - OPEN)


# -- pages


def test_no_page_answers_to_a_token(site: Site) -> None:
    assert len(pages()) > 20
    for who in (agent(site.api, "create"), agent(site.api, "read"), "owner", "north-owner"):
        headers = {"Authorization": f"Bearer {site.api.tokens[who]}"}
        stranger = TestClient(site.app, raise_server_exceptions=False, follow_redirects=False)
        wrong = {path: stranger.get(filled(path), headers=headers).status_code for path in pages()}
        assert {path: status for path, status in wrong.items() if status not in {403, 404, 422}} == {}
        assert wrong["/ui"] == wrong["/ui/settings"] == wrong["/ui/outbox"] == wrong["/ui/live"] == 403


def test_a_token_beside_a_login_opens_no_page_either(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.api.tokens['owner']}"}
    assert site.browser("viewer").get("/ui", headers=headers).status_code == 403


def test_settings_show_nobody_the_tokens_of_others(site: Site) -> None:
    agent(site.api, "read:order")
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
def test_a_token_gives_nobody_a_way_to_log_in(both: Api, path: str, body: dict[str, str]) -> None:
    person = both.people.add("ann", role=Role.OWNER, by=BY, password=LONG + LONG)
    where = path.format(id=person.id)
    if path.endswith("enable"):
        both.people.disable(person.id, by=BY)
    refused = both.post(where, body)
    assert (refused.status_code, "needs a login; a token cannot do it" in refused.json()["detail"]) == (403, True)
    for name in ("ann", "mal"):
        assert both.client.post("/api/login", json={"name": name, "password": LONG}).status_code == 401
    in_a_login = both.post(where, body, None, headers=both.logged_in("owner"))
    assert in_a_login.status_code in {200, 201}


# -- a write that was begun with rights that are gone


def elsewhere(api: Api) -> People:
    """The people of another process: this one hears of a change only later."""
    api.service._leave()
    api.service._leave = lambda: None
    return People(Engine(api.engine.store, Registry([order]), clock=api.clock))


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
    both: Api, method: str, path: str, body: dict[str, object], key: str | None
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


def test_a_login_that_ended_elsewhere_writes_nothing(both: Api) -> None:
    me = both.logged_in("owner")
    other, owner = elsewhere(both), both.people.find("owner")
    assert both.get("/api/me", None, headers=me).status_code == 200
    other.end_all(owner.id, by=BY)
    body = {"name": "survivor", "kind": "person"}
    assert both.post("/api/tokens", body, None, headers=me).status_code == 401


def test_who_was_read_before_a_change_is_not_remembered_past_it(api: Api) -> None:
    class Slow(People):
        def by_token(self, secret: str) -> Principal:
            found = super().by_token(secret)
            callers.forget()  # the change comes just now
            return found

    callers = Callers(Slow(api.engine))
    callers.find("token", api.tokens["owner"])
    assert callers.recall("token", api.tokens["owner"]) is None


# -- what goes on after its maker


def owned(api: Api) -> UUID:
    """Another owner, with a token."""
    ann = api.people.add("ann", role=Role.OWNER, by=BY)
    _, api.tokens["ann"] = api.people.create_token("default", "laptop", kind="person", person_id=ann.id, by=BY)
    return ann.id


def test_an_agent_that_was_made_with_a_token_ends_with_its_makers_right_to_manage(both: Api) -> None:
    ann = owned(both)
    names = ("first", "second")
    made = both.post("/api/tokens", {"name": "own", "kind": "person"}, "ann").json()
    both.tokens["own"] = made["secret"]
    for name, maker in zip(names, ("ann", "own"), strict=True):
        body = {"name": name, "kind": "agent", "scopes": ["read", "create"]}
        both.tokens[name] = both.post("/api/tokens", body, maker).json()["secret"]
    both.people.set_role(ann, Role.OWNER, by=BY, workspace="north")
    assert {both.get("/api/me", name).status_code for name in names} == {200}
    both.people.set_role(ann, Role.MEMBER, by=BY)
    assert {both.get("/api/me", name).status_code for name in names} == {401}
    assert {both.get("/api/me", name).status_code for name in ("ann", "own", "agent")} == {200}


@pytest.mark.parametrize("how", ["disabled", "demoted", "left", "revoked"])
def test_a_bulk_action_stops_with_the_rights_of_whoever_started_it(both: Api, how: str) -> None:
    ann = owned(both)
    waiting = [both.asked().id for _ in range(3)]
    body = {"action": "pause", "filter": {"machine": "order", "state": "asked"}, "reason": "x"}
    begun = both.post("/api/bulk", body, "ann").json()["id"]
    assert both.engine.bulk.step(1) is not None
    match how:
        case "disabled":
            both.people.disable(ann, by=BY)
        case "demoted":
            both.people.set_role(ann, Role.VIEWER, by=BY)
        case "left":
            both.people.leave(ann, "default", by=BY)
        case _:
            token = next(one for one in both.people.tokens() if one.name == "laptop")
            both.people.revoke(token.id, BY)
    both.engine.bulk.step(1)
    answer = both.get(f"/api/bulk/{begun}").json()
    assert (answer["status"], answer["done"], len(answer["problems"])) == ("stopped", 1, 1)
    paused = both.get("/api/instances?paused=true").json()["instances"]
    assert [one["id"] for one in paused] == [str(waiting[0])]


def test_a_bulk_action_goes_on_when_its_starter_logs_out_or_rises(both: Api) -> None:
    for _ in range(2):
        both.asked()
    body = {"action": "pause", "filter": {"machine": "order", "state": "asked"}, "reason": "x"}
    begun = both.post("/api/bulk", body, None, headers=both.logged_in("member")).json()["id"]
    member = both.people.find("member").id
    both.people.set_role(member, Role.OWNER, by=BY)
    both.people.end_all(member, by=BY)
    both.engine.bulk.step(100)
    assert both.get(f"/api/bulk/{begun}").json()["done"] == 2


def test_an_answer_is_not_repeated_to_who_has_lost_the_right_to_it(both: Api) -> None:
    ann = owned(both)
    both.people.set_role(ann, Role.VIEWER, by=BY, workspace="north")
    me, body = both.logged_in("ann"), {"machine": "order", "data": {"note": "wolframite"}, "workspace": "default"}
    headers = {**me, "Idempotency-Key": "once"}
    first = both.post("/api/instances", body, None, headers=headers)
    both.people.set_role(ann, Role.MEMBER, by=BY, workspace="north")
    again = both.post("/api/instances", body, None, headers=headers)
    assert (first.status_code, again.headers["Idempotency-Replayed"], again.text) == (201, "true", first.text)
    both.people.leave(ann, "default", by=BY)
    refused = both.post("/api/instances", body, None, headers=headers)
    assert (refused.status_code, "wolframite" in refused.text) == (403, False)
