"""A token opens what its scopes say: what it may not read is in no answer, no count and no cursor."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import listing
from interlock.store import moment
from interlock.store.tables import instance as I
from tests.support.api import BY, Api

pytestmark = pytest.mark.soak("postgresql")

NEEDLE = "wolframite"


def agent(api: Api, *scopes: str) -> str:
    name = "a-" + "-".join(scopes).replace(":", ".")
    _, api.tokens[name] = api.people.create_token("default", name, kind="agent", scopes=list(scopes), by=BY)
    return name


def test_who_may_only_create_learns_the_id_and_nothing_else(both: Api) -> None:
    maker = agent(both, "create")
    body = {"machine": "order", "data": {"item": NEEDLE}, "key": "k", "on_taken": "return"}
    made = both.post("/api/instances", body, maker)
    assert (made.status_code, set(made.json())) == (201, {"id", "machine", "workspace"})
    both.asked({"note": NEEDLE}, key="theirs")
    found = both.post("/api/instances", {**body, "data": {}, "key": "theirs"}, maker)
    assert (found.status_code, NEEDLE in found.text, set(found.json())) == (
        201,
        False,
        {"id", "machine", "workspace"},
    )


def test_who_may_only_fire_learns_nothing_of_what_it_moved(both: Api) -> None:
    firer = agent(both, "fire")
    it = both.asked({"note": NEEDLE})
    moved = both.post(f"/api/instances/{it.id}/events", {"event": "report"}, firer)
    assert (moved.status_code, set(moved.json())) == (200, {"id", "machine", "workspace"})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"event": "nonsense"}, 409),
        ({"event": "approve"}, 403),
        ({"event": "report", "expected_seq": 1}, 409),
        ({"event": "report", "data": {"note": "n"}}, 422),
    ],
)
def test_who_may_only_fire_does_not_learn_why_it_was_refused(api: Api, body: dict[str, Any], status: int) -> None:
    it = api.asked({"note": NEEDLE})
    refused = api.post(f"/api/instances/{it.id}/events", body, agent(api, "fire"))
    assert refused.status_code == status
    answer = refused.json()
    assert "asked" not in refused.text
    assert not {"allowed", "found_seq", "expected_seq"} & set(answer)


def test_a_repeated_request_shows_no_more_than_the_first(api: Api) -> None:
    maker = agent(api, "create")
    for _ in range(2):
        made = api.post("/api/instances", {"machine": "order"}, maker, headers={"Idempotency-Key": "one"})
        assert set(made.json()) == {"id", "machine", "workspace"}


@pytest.mark.parametrize("scope", ["read:contract", "create", "fire"])
def test_a_search_finds_and_counts_only_what_the_token_may_read(both: Api, scope: str) -> None:
    for _ in range(3):
        both.new({"note": NEEDLE})
    who = agent(both, scope)
    for query in (f"text={NEEDLE}", "machine=order", "state=new", ""):
        body = both.get(f"/api/instances?count=true&limit=1&{query}", who).json()
        assert body == {"instances": [], "next": None, "count": 0, "exact": True}, query


@pytest.mark.parametrize("scope", ["read:contract", "create"])
def test_lists_beside_it_have_neither_rows_nor_cursors_of_what_it_may_not_read(both: Api, scope: str) -> None:
    for _ in range(3):
        both.asked()
        both.dead()
    who = agent(both, scope)
    for path, key in (
        ("/api/reviews?limit=1", "reviews"),
        ("/api/reviews?limit=1&status=decided", "reviews"),
        ("/api/dead-letters?limit=1", "dead_letters"),
    ):
        body = both.get(path, who).json()
        assert (body[key], body["next"]) == ([], None), path
    assert both.get("/api/dead-letters/groups", who).json() == {"groups": []}
    assert both.get("/api/events?limit=1000", who).json().get("events", []) == []


def test_relatives_of_other_machines_are_not_shown(both: Api) -> None:
    it, second = both.asked().id, both.new()
    reader = agent(both, "read:order")
    both.engine.write(
        lambda unit: unit.conn.execute(
            I.update().where(I.c.id == second).values(machine="secret", parent=it, root=it, depth=1)
        )
    )
    shown = both.get(f"/api/instances/{it}/lineage", reader).json()["instances"]
    assert [one["id"] for one in shown] == [str(it)]
    assert len(both.get(f"/api/instances/{it}/lineage").json()["instances"]) == 2


# -- what is not theirs to know of


def test_to_an_agent_of_another_machine_an_instance_is_not_there(both: Api) -> None:
    it = both.asked()
    for who in (agent(both, "read:contract"), agent(both, "fire:contract", "create:contract")):
        for path in ("", "/history", "/explain"):
            hidden = both.get(f"/api/instances/{it.id}{path}", who)
            assert (hidden.status_code, "order" in hidden.text) == (404, False), path
        fired = both.post(f"/api/instances/{it.id}/events", {"event": "report"}, who)
        assert (fired.status_code, "order" in fired.text) == (404, False)


def test_who_may_not_read_an_instance_does_not_learn_its_machine(both: Api) -> None:
    it = both.asked()
    refused = both.get(f"/api/instances/{it.id}", agent(both, "create"))
    assert (refused.status_code, "order" in refused.text) == (403, False)


def test_a_key_that_is_taken_is_all_that_a_creator_learns(both: Api) -> None:
    it = both.asked(key=NEEDLE)
    body = {"machine": "order", "key": NEEDLE}
    refused = both.post("/api/instances", body, agent(both, "create"))
    assert (refused.status_code, refused.json()["type"]) == (409, "key-taken")
    assert NEEDLE not in refused.text
    assert str(it.id) not in refused.text
    assert both.post("/api/instances", body).json()["existing"] == str(it.id)


def test_who_may_read_nothing_has_no_feed(both: Api) -> None:
    both.asked()
    who = agent(both, "create", "fire")
    for path in ("/api/events", "/api/events?after=0-0", "/api/events/stream"):
        assert both.get(path, who).status_code == 403, path
    assert both.get("/api/events", agent(both, "read:order")).status_code == 200


def test_a_cursor_names_no_instance_that_they_may_not_read(both: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_SCANNED", 3)
    ids = {str(both.new()) for _ in range(7)}
    who, after, looks = agent(both, "read:job", "read:contract"), "", 0
    while True:
        body = both.get(f"/api/instances?limit=2{after}", who).json()
        assert body["instances"] == []
        if body["next"] is None:
            break
        assert body["next"] not in ids
        after, looks = f"&after={body['next']}", looks + 1
    assert looks == 2
    seen, after = [], ""
    while True:
        body = both.get(f"/api/instances?limit=2&text=tea{after}").json()
        seen += [one["id"] for one in body["instances"]]
        if body["next"] is None:
            break
        after = f"&after={body['next']}"
    assert (len(seen), set(seen)) == (7, ids), "each once"


# -- tokens that make tokens


def short(api: Api, hours: int = 1) -> str:
    """A token of the owner that ends soon."""
    end = moment(api.clock.now()) + timedelta(hours=hours)
    owner = api.people.find("owner")
    _, api.tokens["short"] = api.people.create_token(
        "default", "short", kind="person", person_id=owner.id, until=end, by=BY
    )
    return "short"


@pytest.mark.parametrize("body", [{"name": "x", "kind": "person"}, {"name": "x", "scopes": ["read"]}])
def test_a_token_makes_none_that_outlives_it(both: Api, body: dict[str, Any]) -> None:
    who = short(both)
    later = (moment(both.clock.now()) + timedelta(hours=2)).isoformat()
    refused = both.post("/api/tokens", {**body, "until": later}, who)
    assert (refused.status_code, "outlives" in refused.json()["detail"]) == (403, True)
    made = both.post("/api/tokens", body, who)
    assert made.status_code == 201
    ends = next(t.until for t in both.people.tokens("default") if t.name == "short")
    assert ends is not None
    assert made.json()["until"] == moment(ends).isoformat().replace("+00:00", "Z")
    sooner = (moment(both.clock.now()) + timedelta(minutes=5)).isoformat()
    assert both.post("/api/tokens", {**body, "name": "y", "until": sooner}, who).status_code == 201


def test_what_a_token_made_is_revoked_with_it_and_what_that_made_too(both: Api) -> None:
    first = both.post("/api/tokens", {"name": "first", "kind": "person"}).json()
    both.tokens["first"] = first["secret"]
    second = both.post("/api/tokens", {"name": "second", "kind": "person"}, "first").json()
    both.tokens["second"] = second["secret"]
    third = both.post("/api/tokens", {"name": "third", "scopes": ["read"]}, "second").json()
    beside = both.post("/api/tokens", {"name": "beside", "scopes": ["read"]}).json()
    assert both.post(f"/api/tokens/{first['id']}/revoke").status_code == 200
    gone = {t.id for t in both.people.tokens("default") if t.revoked_at is not None}
    assert gone == {UUID(one["id"]) for one in (first, second, third)}
    assert UUID(beside["id"]) not in gone
    assert both.get("/api/me", "second").status_code == 401


def test_a_token_makes_no_token_in_another_persons_name(api: Api) -> None:
    refused = api.post("/api/tokens", {"name": "x", "kind": "person", "person": "member"})
    assert (refused.status_code, "for another person" in refused.json()["detail"]) == (403, True)


def test_a_token_makes_none_for_another_workspace_or_role(api: Api) -> None:
    for who in ("member", "reviewer", "viewer", "agent", "north-owner"):
        body = {"name": "x", "scopes": ["read"], "workspace": "default"}
        assert api.post("/api/tokens", body, who).status_code in {403, 404}, who
    mine = api.post("/api/tokens", {"name": "mine", "kind": "person"}, "viewer").json()
    api.tokens["mine"] = mine["secret"]
    assert api.get("/api/me", "mine").json()["workspaces"] == {"default": "viewer"}
