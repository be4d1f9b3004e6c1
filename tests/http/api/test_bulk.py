"""Bulk actions over HTTP: a preview, the work in batches, and only in workspaces where the person may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.http.caller import COOKIE
from interlock.people import Role
from tests.support.api import BY, Api

PAUSE = {"action": "pause", "filter": {"machine": "order"}}


def work(api: Api) -> None:
    """Do all that is begun."""
    while api.engine.bulk.step() is not None:
        pass


def paused(api: Api, *ids: UUID) -> list[bool]:
    return [api.engine.get(one).paused_at is not None for one in ids]


@contextmanager
def logged_in(api: Api, name: str, roles: dict[str, Role]) -> Iterator[Any]:
    """Somebody with a role in each of several workspaces, in a browser."""
    person = api.people.add(name, role=Role.VIEWER, by=BY)
    for workspace, role in roles.items():
        api.people.set_role(person.id, role, workspace=workspace, by=BY)
    made = api.people.login_by_link(api.people.login_link(person.id), address="", browser="")

    def call(method: str, path: str, body: Any = None) -> Any:
        headers = {"X-CSRF-Token": made.csrf, "Cookie": f"{COOKIE}={made.secret}"}
        return api.client.request(method, path, json=body, headers=headers)

    yield call
    api.client.cookies.clear()


def test_a_preview_counts_and_samples_and_changes_nothing(both: Api) -> None:
    made = [both.new() for _ in range(7)]
    both.asked()
    response = both.post("/api/bulk/preview", {"action": "pause", "filter": {"machine": "order", "state": "new"}})
    assert response.json() == {"count": 7, "exact": True, "sample": [str(one) for one in made[:5]]}
    assert not any(paused(both, *made))
    assert both.get("/api/bulk").json() == {"bulks": [], "next": None}


def test_it_is_done_in_batches_with_progress_and_then_it_is_over(both: Api) -> None:
    made = [both.new() for _ in range(5)]
    begun = both.post("/api/bulk", {**PAUSE, "reason": "stock-taking"})
    assert begun.status_code == 202
    body = begun.json()
    assert (body["status"], body["total"], body["done"], body["actor"], body["filter"]) == (
        "running",
        5,
        0,
        "owner:owner/setup",
        {"machine": "order"},
    )
    later = both.new()
    both.engine.bulk.step(2)
    half = both.get(f"/api/bulk/{body['id']}").json()
    assert (half["status"], half["done"], half["refused"], half["finished_at"]) == ("running", 2, 0, None)
    assert paused(both, *made) == [True, True, False, False, False]
    work(both)
    over = both.get(f"/api/bulk/{body['id']}").json()
    assert (over["status"], over["done"], over["finished_at"] is not None) == ("done", 5, True)
    assert paused(both, *made, later) == [True] * 5 + [False]
    last = both.get(f"/api/instances/{made[0]}/history").json()["rows"][-1]
    assert last["payload"]["reason"] == f"stock-taking (bulk action {body['id']})"


def test_what_is_stopped_goes_no_further_and_what_is_done_stays_done(api: Api) -> None:
    made = [api.new() for _ in range(3)]
    path = f"/api/bulk/{api.post('/api/bulk', PAUSE).json()['id']}"
    api.engine.bulk.step(1)
    stopped = api.post(f"{path}/stop", who="member").json()
    assert (stopped["status"], stopped["done"]) == ("stopped", 1)
    work(api)
    assert paused(api, *made) == [True, False, False]
    assert api.post(f"{path}/stop").json() == stopped


def test_what_is_done_cannot_be_stopped(api: Api) -> None:
    api.new()
    path = f"/api/bulk/{api.post('/api/bulk', PAUSE).json()['id']}"
    work(api)
    refused = api.post(f"{path}/stop")
    assert (refused.status_code, refused.json()["type"]) == (409, "refused")
    assert "is done already" in refused.json()["detail"]


def test_refused_items_are_counted_by_their_reason_with_an_example(api: Api) -> None:
    new, asked = api.new(), api.asked().id
    body = {"action": "fire", "filter": {"machine": "order"}, "arguments": {"event": "approve", "data": {"note": "n"}}}
    path = f"/api/bulk/{api.post('/api/bulk', body).json()['id']}"
    work(api)
    answer = api.get(path).json()
    assert (answer["done"], answer["refused"]) == (1, 1)
    [problem] = answer["problems"]
    assert (problem["count"], problem["example"]) == (1, str(new))
    assert "'approve'" in problem["problem"]
    assert str(new) not in problem["problem"]
    assert api.engine.get(asked).state == "sent"


@pytest.mark.parametrize(
    ("action", "status"), [("retry", "retried"), ("resolve", "resolved"), ("discard", "discarded")]
)
def test_dead_letters_are_dealt_with_by_their_fingerprint(api: Api, action: str, status: str) -> None:
    letters = [api.dead(), api.dead()]
    fingerprint = api.get(f"/api/dead-letters/{letters[0]}").json()["fingerprint"]
    body = {"target": "dead_letters", "action": action, "filter": {"fingerprint": fingerprint}, "reason": "known"}
    assert api.post("/api/bulk/preview", body).json()["count"] == 2
    begun = api.post("/api/bulk", body).json()
    work(api)
    assert api.get(f"/api/bulk/{begun['id']}").json()["done"] == 2
    assert {api.get(f"/api/dead-letters/{one}").json()["status"] for one in letters} == {status}


def test_nothing_that_matches_is_over_at_once(api: Api) -> None:
    body = api.post("/api/bulk", {"action": "pause", "filter": {"machine": "order", "state": "asked"}}).json()
    assert (body["status"], body["total"], body["done"]) == ("done", 0, 0)


@pytest.mark.parametrize("path", ["/api/bulk", "/api/bulk/preview"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"action": "pause", "filter": {}}, "an empty filter would select all instances"),
        ({"action": "pause", "filter": {"workspace": "default"}}, "an empty filter would select all instances"),
        ({"action": "pause", "filter": {"machine": None}}, "an empty filter would select all instances"),
        ({"action": "pause", "filter": {"text": ""}}, "the filter's text is empty"),
        ({"action": "retry", "target": "dead_letters", "filter": {}}, "an empty filter would select all dead letters"),
        ({"action": "pause", "filter": {"colour": "red"}}, "the filter has no field 'colour'; it takes machine"),
        ({"action": "pause", "filter": {"finished": "perhaps"}}, "finished: "),
        ({"action": "pause", "filter": {"machine": ["order"]}}, "machine: "),
        ({"action": "pause", "filter": {"machine": "order", "workspace": ["x"]}}, "workspace: "),
        ({"action": "explode", "filter": {"machine": "order"}}, "no bulk action 'explode' for instances; there are"),
        ({"action": "resolve", "filter": {"machine": "order"}}, "no bulk action 'resolve' for instances"),
        ({"action": "fire", "filter": {"machine": "order"}}, "needs the event's name as its argument `event`"),
        ({**PAUSE, "arguments": {"event": "x"}}, "the action 'pause' does not take 'event'"),
        ({**PAUSE, "target": "workers"}, "body.target"),
        ({**PAUSE, "dry": True}, "body.dry"),
        ({**PAUSE, "reason": "x" * 501}, "body.reason"),
        ({"filter": {"machine": "order"}}, "body.action"),
        ({"action": "pause"}, "body.filter"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_name(shared: Api, path: str, body: dict[str, Any], said: str) -> None:
    made = shared.new()
    refused = shared.post(path, body)
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")
    assert said in refused.json()["detail"]
    work(shared)
    assert paused(shared, made) == [False]


def test_only_ones_own_workspaces_are_touched(both: Api) -> None:
    mine, theirs = both.new(), both.new(workspace="north")
    assert both.post("/api/bulk/preview", PAUSE).json()["count"] == 1
    body = both.post("/api/bulk", PAUSE).json()
    work(both)
    assert paused(both, mine, theirs) == [True, False]
    for who in ("north-owner", "north-viewer"):
        assert both.get("/api/bulk", who).json()["bulks"] == []
        assert both.get(f"/api/bulk/{body['id']}", who).status_code == 404
    named = {"action": "pause", "filter": {"machine": "order", "workspace": "north"}}
    assert both.post("/api/bulk", named).json()["total"] == 0
    assert both.post("/api/bulk", named, "north-member").json()["total"] == 1


def test_somebody_with_several_workspaces_touches_those_where_they_may(api: Api) -> None:
    here, there = api.new(), api.new(workspace="north")
    with logged_in(api, "both", {"default": Role.VIEWER, "north": Role.MEMBER}) as call:
        body = call("POST", "/api/bulk", PAUSE).json()
        assert body["total"] == 1
    work(api)
    assert paused(api, here, there) == [False, True]


def test_an_owner_of_one_workspace_is_no_owner_of_another_in_a_bulk_action(api: Api) -> None:
    here, there = api.asked().id, api.asked(workspace="north").id
    body = {"action": "fire", "filter": {"machine": "order"}, "arguments": {"event": "destroy"}}
    with logged_in(api, "both", {"default": Role.OWNER, "north": Role.MEMBER}) as call:
        answer = call("POST", "/api/bulk", body).json()
        work(api)
        assert (answer["actor"], call("GET", f"/api/bulk/{answer['id']}").json()["refused"]) == ("user:both", 2)
        assert [api.engine.get(one).state for one in (here, there)] == ["asked", "asked"]
        named = {**body, "filter": {"machine": "order", "workspace": "default"}}
        assert call("POST", "/api/bulk", named).json()["actor"] == "owner:both"
        work(api)
    assert [api.engine.get(one).state for one in (here, there)] == ["cancelled", "asked"]


def test_a_bulk_action_over_two_workspaces_is_seen_only_by_those_in_both(api: Api) -> None:
    api.new()
    api.new(workspace="north")
    with logged_in(api, "both", {"default": Role.MEMBER, "north": Role.MEMBER}) as call:
        path = f"/api/bulk/{call('POST', '/api/bulk', PAUSE).json()['id']}"
        assert len(call("GET", "/api/bulk").json()["bulks"]) == 1
        for who in ("owner", "north-owner"):
            assert api.get(path, who).status_code == 404
            assert api.post(f"{path}/stop", who=who).status_code == 404
            assert api.get("/api/bulk", who).json()["bulks"] == []
        with logged_in(api, "looker", {"default": Role.VIEWER, "north": Role.MEMBER}) as look:
            assert look("GET", path).status_code == 200
            assert look("POST", f"{path}/stop").status_code == 403
        assert call("POST", f"{path}/stop").json()["status"] == "stopped"


def test_the_newest_come_first_in_pages(api: Api) -> None:
    ids = [api.post("/api/bulk", PAUSE).json()["id"] for _ in range(3)]
    first = api.get("/api/bulk?limit=2").json()
    assert [b["id"] for b in first["bulks"]] == ids[:0:-1]
    rest = api.get(f"/api/bulk?limit=2&after={first['next']}").json()
    assert ([b["id"] for b in rest["bulks"]], rest["next"]) == (ids[:1], None)
    assert api.get("/api/bulk?limit=0").status_code == 422


def test_a_bulk_action_that_is_not_there_answers_404(shared: Api) -> None:
    assert shared.get(f"/api/bulk/{uuid4()}").status_code == 404
    assert shared.post(f"/api/bulk/{uuid4()}/stop").status_code == 404


def test_who_began_and_who_stopped_is_written_down(api: Api) -> None:
    api.new()
    begun = api.post("/api/bulk", PAUSE).json()["id"]
    api.post(f"/api/bulk/{begun}/stop", who="member")
    body = api.get("/api/actions").json()["actions"][:2]
    assert [(a["what"], a["target"], a["actor"]) for a in body] == [
        ("bulk.stop", begun, "user:member/t"),
        ("bulk.start", begun, "owner:owner/setup"),
    ]
