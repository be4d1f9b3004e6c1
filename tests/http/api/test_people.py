"""People, workspaces and tokens over HTTP."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from interlock.http.caller import COOKIE
from interlock.people import Person, Role
from interlock.store.service_tables import idempotency
from tests.support.api import BY, Api

LONG = "correct horse battery"


def person(api: Api, name: str) -> Person:
    return api.people.find(name)


def token(api: Api, who: str = "owner", **wanted: Any) -> Any:
    return api.post("/api/tokens", {"name": "robot", "kind": "person", **wanted}, who)


# -- people


def test_a_person_is_added_with_a_role_and_comes_in_with_their_password(both: Api) -> None:
    body = {"name": "Ann", "role": "reviewer", "workspace": "north", "email": "ann@example.org", "password": LONG}
    made = both.post("/api/users", body, None, headers=both.logged_in("owner"))
    assert made.status_code == 201
    answer = made.json()
    assert (answer["name"], answer["email"], answer["roles"], answer["has_password"], answer["disabled_at"]) == (
        "Ann",
        "ann@example.org",
        {"north": "reviewer"},
        True,
        None,
    )
    assert LONG not in made.text
    assert both.client.post("/api/login", json={"name": "ann", "password": LONG}).status_code == 200


def test_without_a_word_on_it_a_person_is_a_viewer_without_a_password(api: Api) -> None:
    body = api.post("/api/users", {"name": "ann"}).json()
    assert (body["roles"], body["has_password"]) == ({"default": "viewer"}, False)


def test_a_name_that_is_taken_is_refused_whatever_its_case(api: Api) -> None:
    refused = api.post("/api/users", {"name": "VIEWER"})
    assert (refused.status_code, refused.json()["type"]) == (409, "name-taken")
    assert "there is a person 'viewer' already" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"name": "a b"}, 422, "'a b'"),
        ({"name": ""}, 422, "body.name"),
        ({"name": "x" * 65}, 422, "body.name"),
        ({"name": "ann", "password": "short"}, 422, "body.password"),
        ({"name": "ann", "email": "nowhere"}, 422, "'nowhere' is not a mail address"),
        ({"name": "ann", "role": "king"}, 422, "body.role"),
        ({"name": "ann", "workspace": "south"}, 404, "there is no workspace 'south'"),
        ({"name": "ann", "admin": True}, 422, "body.admin"),
    ],
)
def test_who_cannot_be_added_is_refused_with_the_place(
    shared: Api, body: dict[str, Any], status: int, said: str
) -> None:
    refused = shared.post("/api/users", body)
    assert refused.status_code == status
    assert said in refused.json()["detail"]
    assert "short" not in refused.text
    assert "ann" not in [p["name"] for p in shared.get("/api/users").json()["people"]]


def test_each_sees_the_people_of_their_workspaces_and_only_those_roles(shared: Api) -> None:
    names = [p["name"] for p in shared.get("/api/users").json()["people"]]
    assert names == sorted(names)
    assert {"owner", "viewer", "north-owner", "north-viewer"} <= set(names)
    theirs = shared.get("/api/users", "north-viewer").json()["people"]
    assert {p["name"] for p in theirs} == {f"north-{role.value}" for role in Role}
    named = shared.get("/api/users?workspace=default", "viewer").json()["people"]
    assert "north-owner" not in {p["name"] for p in named}
    assert shared.get("/api/users?workspace=default", "north-owner").status_code == 404


def test_a_role_in_another_workspace_is_not_shown_to_those_who_are_not_there(api: Api) -> None:
    api.people.set_role(person(api, "member").id, Role.VIEWER, workspace="north", by=BY)
    [seen] = [p for p in api.get("/api/users", "north-owner").json()["people"] if p["name"] == "member"]
    assert seen["roles"] == {"north": "viewer"}


def test_a_role_is_given_changed_and_taken_and_counts_at_once(both: Api) -> None:
    path = f"/api/users/{person(both, 'viewer').id}/role"
    body = {"machine": "order"}
    assert both.post("/api/instances", body, "viewer").status_code == 403
    assert both.post(path, {"role": "member"}).json()["roles"] == {"default": "member"}
    assert both.post("/api/instances", body, "viewer").status_code == 201
    assert both.post(path, {"role": "owner", "workspace": "north"}).json()["roles"]["north"] == "owner"
    assert both.post(path, {"role": None, "workspace": "north"}).json()["roles"] == {"default": "member"}
    assert both.post(path, {"role": None}).json()["roles"] == {}
    assert both.get("/api/me", "viewer").status_code == 401


def test_the_last_owner_stays_an_owner(api: Api) -> None:
    path = f"/api/users/{person(api, 'owner').id}"
    for rest, body in (("/role", {"role": "member"}), ("/role", {"role": None}), ("/disable", {})):
        refused = api.post(path + rest, body)
        assert refused.status_code == 403, (rest, body)
        assert "is the last owner" in refused.json()["detail"]
    api.post(f"/api/users/{person(api, 'member').id}/role", {"role": "owner"})
    assert api.post(f"{path}/role", {"role": "member"}).status_code == 200


def test_an_owner_of_a_workspace_decides_who_is_in_it_and_nothing_else(api: Api) -> None:
    theirs = f"/api/users/{person(api, 'north-viewer').id}/role"
    assert api.post(theirs, {"role": "member", "workspace": "north"}, "north-owner").status_code == 200
    assert api.post(theirs, {"role": "member", "workspace": "default"}, "north-owner").status_code == 404
    assert api.post(theirs, {"role": "owner", "workspace": "north"}, "north-member").status_code == 403
    stranger = f"/api/users/{person(api, 'viewer').id}/role"
    assert api.post(stranger, {"role": "viewer", "workspace": "north"}, "north-owner").status_code == 404


def test_what_is_no_role_nobody_or_nowhere_is_refused(shared: Api) -> None:
    path = f"/api/users/{person(shared, 'viewer').id}/role"
    for body, status in (({"role": "king"}, 422), ({}, 422), ({"role": "member", "workspace": "south"}, 404)):
        assert shared.post(path, body).status_code == status, body
    assert shared.post(path, {"role": None, "workspace": "north"}).status_code == 404
    me = shared.logged_in("owner")
    for action, body in (("role", {"role": "member"}), ("password", {"password": LONG}), ("disable", {})):
        assert shared.post(f"/api/users/{uuid4()}/{action}", body, None, headers=me).status_code == 404, action


def test_who_is_disabled_is_out_and_let_in_again_without_the_old_tokens(api: Api) -> None:
    path = f"/api/users/{person(api, 'member').id}"
    assert api.get("/api/me", "member").status_code == 200
    assert api.post(f"{path}/disable").json()["disabled_at"] is not None
    assert api.get("/api/me", "member").status_code == 401
    again = api.post(f"{path}/enable", {}, None, headers=api.logged_in("owner"))
    assert again.json()["disabled_at"] is None
    assert api.get("/api/me", "member").status_code == 401


def test_a_password_is_changed_in_a_login_not_through_a_token(api: Api) -> None:
    refused = api.post(f"/api/users/{person(api, 'owner').id}/password", {"password": LONG})
    assert (refused.status_code, "a token cannot do it" in refused.json()["detail"]) == (403, True)


def test_who_came_by_a_link_sets_their_first_password_without_an_old_one(api: Api) -> None:
    ann = api.people.add("ann", role=Role.VIEWER, by=BY)
    made = api.people.login_by_link(api.people.login_link(ann.id), address="", browser="")
    headers = {"Cookie": f"{COOKIE}={made.secret}", "X-CSRF-Token": made.csrf}
    answer = api.client.post(f"/api/users/{ann.id}/password", json={"password": LONG}, headers=headers)
    assert (answer.status_code, answer.json()["has_password"]) == (200, True)


def test_with_a_key_a_password_is_set_once_and_cannot_be_guessed_from_what_is_kept(api: Api) -> None:
    path = f"/api/users/{person(api, 'viewer').id}/password"
    headers = {"Idempotency-Key": "k", **api.logged_in("owner")}
    assert api.post(path, {"password": LONG}, None, headers=headers).status_code == 200
    again = api.post(path, {"password": LONG}, None, headers=headers)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert api.post(path, {"password": "another long one"}, None, headers=headers).json()["type"] == "key-reused"
    [kept] = api.engine.read(lambda conn: conn.execute(sa.select(idempotency)).all())
    sent = again.request
    plain = f"POST {path}?\n".encode() + sent.content
    assert LONG.encode() in sent.content
    assert kept.request != hashlib.sha256(plain).hexdigest()


# -- workspaces


def test_a_workspace_is_made_by_the_first_workspaces_owner(both: Api) -> None:
    made = both.post("/api/workspaces", {"name": "south", "title": "The south"})
    assert (made.status_code, made.json()["name"], made.json()["title"]) == (201, "south", "The south")
    assert both.post("/api/workspaces", {"name": "east"}).json()["title"] == "east"
    assert [w["name"] for w in both.get("/api/workspaces").json()["workspaces"]] == [
        "default",
        "east",
        "north",
        "south",
    ]
    assert [w["name"] for w in both.get("/api/workspaces", "north-viewer").json()["workspaces"]] == ["north"]
    taken = both.post("/api/workspaces", {"name": "SOUTH"})
    assert (taken.status_code, taken.json()["type"]) == (409, "name-taken")
    assert both.post("/api/workspaces", {"name": "a b"}).status_code == 422


# -- tokens


def test_a_token_is_shown_once_and_does_what_its_scopes_say(both: Api) -> None:
    made = both.post("/api/tokens", {"name": "crawler", "scopes": ["read", "fire:order"]})
    assert made.status_code == 201
    body = made.json()
    assert (body["kind"], body["workspace"], body["scopes"], body["created_by"]) == (
        "agent",
        "default",
        ["fire:order", "read"],
        "owner:owner/setup",
    )
    both.tokens["crawler"] = body["secret"]
    assert body["secret"].endswith(body["hint"])
    assert both.get("/api/me", "crawler").json()["workspaces"] == {"default": "fire:order, read"}
    assert both.post("/api/instances", {"machine": "order"}, "crawler").status_code == 403
    assert body["secret"] not in both.get("/api/tokens").text


def test_everybody_may_have_a_token_that_acts_as_them(api: Api) -> None:
    made = token(api, "viewer").json()
    api.tokens["mine"] = made["secret"]
    assert (made["person_id"], made["scopes"]) == (str(person(api, "viewer").id), [])
    assert api.get("/api/me", "mine").json() == {
        "kind": "person",
        "name": "viewer",
        "workspaces": {"default": "viewer"},
        "csrf": None,
    }
    assert {t["name"] for t in api.get("/api/tokens", "viewer").json()["tokens"]} == {"t", "robot"}


def test_only_an_owner_makes_tokens_for_agents_and_for_others(api: Api) -> None:
    for wanted in ({"kind": "agent", "scopes": ["read"]}, {"person": "viewer"}):
        assert token(api, "member", **wanted).status_code == 403
    assert token(api, kind="agent", scopes=["read"]).status_code == 201
    api.client.get(f"/login?link={api.people.login_link(person(api, 'owner').id)}", follow_redirects=False)
    headers = {"X-CSRF-Token": api.get("/api/me", None).json()["csrf"]}
    for name, status in (("viewer", 201), ("north-viewer", 403)):  # in a login: a token does nothing in another's name
        body = {"name": "theirs", "kind": "person", "person": name}
        assert api.post("/api/tokens", body, None, headers=headers).status_code == status
    refused = token(api, "agent")
    assert (refused.status_code, "an agent has no person" in refused.json()["detail"]) == (422, True)


def test_a_token_ends_when_it_was_said_to(api: Api) -> None:
    until = (api.clock.time + timedelta(hours=1)).isoformat()
    api.tokens["short"] = token(api, until=until).json()["secret"]
    assert api.get("/api/me", "short").status_code == 200
    api.clock.advance(timedelta(hours=2))
    api.service.callers.forget()
    assert api.get("/api/me", "short").status_code == 401


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"kind": "agent"}, 422, "has no scopes"),
        ({"kind": "agent", "scopes": ["rule"]}, 422, "'rule' is not a scope; there are read"),
        ({"kind": "agent", "scopes": ["fire:"]}, 422, "'fire:' is not a scope"),
        ({"kind": "agent", "scopes": ["read"], "person": "viewer"}, 422, "belongs to no person"),
        ({"scopes": ["read"]}, 422, "takes no scopes"),
        ({"person": "nobody"}, 404, "there is nobody called 'nobody'"),
        ({"person": "viewer"}, 403, "cannot create a token for another person"),
        ({"workspace": "north"}, 404, "workspace 'north'"),
        ({"until": "2020-01-01T00:00:00Z"}, 422, "would already be expired"),
        ({"until": "2030-01-01T00:00:00"}, 422, "has no time zone"),
        ({"kind": "robot"}, 422, "body.kind"),
        ({"name": "a b"}, 422, "'a b'"),
        ({"name": ""}, 422, "body.name"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused_with_why(
    shared: Api, wanted: dict[str, Any], status: int, said: str
) -> None:
    refused = token(shared, **wanted)
    assert refused.status_code == status
    assert said in refused.json()["detail"]
    assert "robot" not in [t["name"] for t in shared.get("/api/tokens").json()["tokens"]]


def test_a_tokens_name_is_free_again_when_it_is_revoked(api: Api) -> None:
    made = token(api).json()
    taken = token(api, name="ROBOT")
    assert (taken.status_code, taken.json()["type"]) == (409, "name-taken")
    assert made["id"] in taken.json()["detail"]
    api.post(f"/api/tokens/{made['id']}/revoke")
    assert token(api).status_code == 201


def test_ones_own_token_is_revoked_by_oneself_even_with_itself(api: Api) -> None:
    made = token(api, "viewer").json()
    api.tokens["mine"] = made["secret"]
    gone = api.post(f"/api/tokens/{made['id']}/revoke", who="mine")
    assert (gone.status_code, gone.json()["revoked_by"]) == (200, "user:viewer/robot")
    assert gone.json()["secret"] is None
    assert api.get("/api/me", "mine").status_code == 401
    again = api.post(f"/api/tokens/{made['id']}/revoke")
    assert again.json()["revoked_by"] == "user:viewer/robot"
    assert api.post(f"/api/tokens/{uuid4()}/revoke").status_code == 404


def test_owners_see_and_revoke_the_tokens_of_their_workspace_and_others_their_own(shared: Api) -> None:
    mine = shared.get("/api/tokens").json()["tokens"]
    assert {t["workspace"] for t in mine} == {"default"}
    assert {t["kind"] for t in mine} == {"person", "agent"}
    assert [t["id"] for t in mine] == sorted((t["id"] for t in mine), reverse=True)
    theirs = shared.get("/api/tokens", "north-owner").json()["tokens"]
    assert {t["workspace"] for t in theirs} == {"north"}
    assert shared.get("/api/tokens?workspace=north").json()["tokens"] == []
    own = shared.get("/api/tokens", "viewer").json()["tokens"]
    assert {t["person_id"] for t in own} == {str(person(shared, "viewer").id)}
    assert shared.get("/api/tokens", "agent").json()["tokens"] == []
    assert shared.post(f"/api/tokens/{theirs[0]['id']}/revoke").status_code == 404
    assert shared.post(f"/api/tokens/{mine[0]['id']}/revoke", who="viewer").status_code == 403


# -- the log of it


def test_actions_are_found_by_actor_kind_and_workspace_in_pages(api: Api) -> None:
    api.post("/api/users", {"name": "ann", "workspace": "north"})
    api.post("/api/users", {"name": "ben"})
    added = api.get("/api/actions?what=user_added&actor=owner:owner/setup").json()["actions"]
    assert [(a["target"], a["workspace"]) for a in added] == [("ben", "default"), ("ann", "north")]
    first = api.get("/api/actions?what=user_added&actor=owner:owner/setup&limit=1").json()
    rest = api.get(f"/api/actions?what=user_added&actor=owner:owner/setup&after={first['next']}").json()
    assert ([a["target"] for a in rest["actions"]], rest["next"]) == (["ann"], None)
    north = api.get("/api/actions?workspace=north", "north-owner").json()["actions"]
    assert {a["workspace"] for a in north} == {"north"}
    assert api.get("/api/actions", "north-owner").status_code == 403
    assert api.get("/api/actions?workspace=default", "north-owner").status_code == 404
    assert api.get("/api/actions?workspace=north", "north-member").status_code == 403
