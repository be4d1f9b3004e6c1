"""People: whose they are, who they seem to be, and how often somebody may guess."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.people import NameTaken, Role, WrongName
from tests.support.api import BY, Api
from tests.support.site import Site

pytestmark = pytest.mark.soak("postgresql")

LONG = "correct horse battery"


# -- whose person it is


def ways(site: Site, who: str, person: str, role: str | None, workspace: str) -> list[Any]:
    """A role change as the API and as the page take it."""
    me, id_ = site.browser(who), site.api.people.find(person).id
    csrf = me.get("/api/me").json()["csrf"]
    body = {"role": role, "workspace": workspace}
    return [
        me.post(f"/api/users/{id_}/role", json=body, headers={"X-CSRF-Token": csrf}),
        me.post(f"/ui/people/{id_}/role", data={"csrf": csrf, "role": role or "", "workspace": workspace}),
    ]


@pytest.mark.parametrize("role", ["owner", "viewer", None])
@pytest.mark.parametrize("workspace", ["north", "default"])
def test_an_owner_of_one_workspace_changes_nobody_of_another(site: Site, role: str | None, workspace: str) -> None:
    before = site.api.people.find("member").roles
    for answer in ways(site, "north-owner", "member", role, workspace):
        assert answer.status_code == 404
        assert "member" not in answer.text.replace("/member", "")
    assert site.api.people.find("member").roles == before


def test_who_only_sees_somebody_does_not_pull_them_into_a_workspace_of_theirs(site: Site) -> None:
    person = site.api.people.add("both", role=Role.VIEWER, by=BY)
    site.api.people.set_role(person.id, Role.OWNER, by=BY, workspace="north")
    for answer in ways(site, "both", "owner", "viewer", "north"):
        assert answer.status_code == 403
    for answer in ways(site, "both", "north-viewer", "member", "north"):
        assert answer.status_code == 200


def test_nobody_raises_themselves(site: Site) -> None:
    for who in ("viewer", "reviewer", "member"):
        for answer in ways(site, who, who, "owner", "default"):
            assert answer.status_code == 403
    for answer in ways(site, "north-owner", "north-owner", "owner", "default"):
        assert answer.status_code == 404
    assert site.api.people.find("north-owner").roles == {"north": Role.OWNER}


@pytest.mark.parametrize("role", ["member", None])
def test_the_last_owner_stays(site: Site, role: str | None) -> None:
    for answer in ways(site, "owner", "owner", role, "default"):
        assert answer.status_code == 403
    assert site.api.people.find("owner").roles == {"default": Role.OWNER}


# -- who they seem to be


def test_an_agent_is_not_called_like_a_person_nor_a_person_like_an_agent(both: Api) -> None:
    for name in ("owner", "OWNER", "north-viewer"):
        refused = both.post("/api/tokens", {"name": name, "scopes": ["read"]})
        assert (refused.status_code, refused.json()["type"]) == (409, "name-taken")
    for name in ("agent", "AGENT"):
        refused = both.post("/api/users", {"name": name})
        assert (refused.status_code, refused.json()["type"]) == (409, "name-taken")
    made = both.post("/api/tokens", {"name": "gone", "scopes": ["read"]}).json()
    both.post(f"/api/tokens/{made['id']}/revoke")
    with pytest.raises(NameTaken):  # histories still name it
        both.people.add("gone", role=Role.VIEWER, by=BY)


@pytest.mark.parametrize(
    "name",
    [
        "user:ann",
        "owner:ann",
        "ann/laptop",
        " ann",
        "ann ",
        "a nn",
        "ann\u200b",
        "\u202eann",
        "\u0430nn",
        "\uff41nn",
        "ann\n",
        "ann\x00",
        "",
        "a" * 65,
        "\u00e1nn",
        "ann\ufeff",
    ],
    ids=ascii,
)
def test_a_name_that_looks_like_anothers_is_no_name(api: Api, name: str) -> None:
    assert api.post("/api/tokens", {"name": name, "scopes": ["read"]}).status_code == 422
    assert api.post("/api/users", {"name": name}).status_code == 422
    with pytest.raises(WrongName):
        api.people.create_token("default", name, kind="agent", scopes=["read"], by=BY)


def test_histories_tell_a_person_their_tokens_and_agents_apart(api: Api) -> None:
    site = Site(api)
    me = site.browser("member")
    csrf = {"X-CSRF-Token": me.get("/api/me").json()["csrf"]}
    made = me.post("/api/instances", json={"machine": "order"}, headers=csrf).json()["id"]
    by_token = api.post("/api/instances", {"machine": "order"}, "member").json()["id"]
    by_agent = api.post("/api/instances", {"machine": "order"}, "agent").json()["id"]
    actors = [api.engine.history(UUID(one))[0].actor for one in (made, by_token, by_agent)]
    assert actors == ["user:member", "user:member/t", "agent:agent"]


# -- guessing


def test_old_passwords_are_guessed_no_more_often_than_at_the_login(site: Site) -> None:
    api = site.api
    person = api.people.find("viewer")
    api.people.set_password(person.id, LONG, by=BY)
    me = site.browser("viewer")
    csrf = me.get("/api/me").json()["csrf"]

    def guess(old: str, way: int) -> int:
        if way % 2:
            fields = {"csrf": csrf, "old": old, "password": LONG + LONG}
            return int(me.post("/ui/me/password", data=fields).status_code)
        body = {"old": old, "password": LONG + LONG}
        answer = me.post(f"/api/users/{person.id}/password", json=body, headers={"X-CSRF-Token": csrf})
        return int(answer.status_code)

    assert [guess(f"wrong {n}", n) for n in range(5)] == [403] * 5
    assert [guess(LONG, n) for n in range(2)] == [429, 429], "not even looked at"
    login = api.client.post("/api/login", json={"name": "viewer", "password": LONG})
    assert login.status_code == 429, "both count together"
    api.clock.advance(timedelta(minutes=15))
    assert guess(LONG, 0) == 200
