"""Dead letters over HTTP: found, grouped, and dealt with by a person."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from interlock.machine import Fail
from tests.support.api import Api, Broken


def fail(api: Api, wanted: UUID, error: Exception) -> UUID:
    """Let an instance fail until it is given up; its dead letter."""
    while not (found := [d for d in api.engine.dead_letters.find() if d.instance_id == wanted]):
        api._work(wanted, Fail(error))
        api.clock.advance(timedelta(days=1))
        api.engine.tick()
    return found[0].id


def listed(api: Api, query: str = "") -> list[str]:
    return [d["id"] for d in api.get(f"/api/dead-letters?{query}").json()["dead_letters"]]


def test_a_dead_letter_says_what_failed_where_and_with_which_data(both: Api) -> None:
    letter = both.dead()
    body = both.get(f"/api/dead-letters/{letter}", "viewer").json()
    assert (body["machine"], body["step"], body["error_type"], body["status"], body["workspace"]) == (
        "order",
        "new",
        "Broken",
        "open",
        "default",
    )
    assert body["error"]["message"] == f"order {body['instance_id']} is broken"
    assert body["data"]["item"] == "tea"
    assert body["attempts"] > 1
    assert (body["closed_at"], body["closed_by"], body["note"], body["retried_as"]) == (None, None, None, None)
    assert both.get("/api/dead-letters").json() == {"dead_letters": [body], "next": None}


def test_the_newest_come_first_in_pages(both: Api) -> None:
    letters = [str(both.dead()) for _ in range(3)]
    first = both.get("/api/dead-letters?limit=2").json()
    assert [d["id"] for d in first["dead_letters"]] == letters[:0:-1]
    rest = both.get(f"/api/dead-letters?limit=2&after={first['next']}").json()
    assert ([d["id"] for d in rest["dead_letters"]], rest["next"]) == (letters[:1], None)


def test_each_filter_finds_its_own(api: Api) -> None:
    letter = str(api.dead())
    found = api.get(f"/api/dead-letters/{letter}").json()
    for name, value in (
        ("machine", "order"),
        ("step", "new"),
        ("error", "Broken"),
        ("fingerprint", found["fingerprint"]),
        ("workspace", "default"),
        ("status", "open"),
    ):
        assert listed(api, f"{name}={value}") == [letter], name
        if name != "status":
            assert listed(api, f"{name}=other") == [], name
    assert listed(api, "status=resolved") == []


@pytest.mark.parametrize(
    ("query", "said"),
    [("status=lost", "query.status"), ("limit=0", "query.limit"), ("limit=501", "query.limit"), ("after=x", "after")],
)
def test_what_a_list_cannot_be_asked_for_is_refused_with_its_place(shared: Api, query: str, said: str) -> None:
    refused = shared.get(f"/api/dead-letters?{query}")
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")
    assert said in refused.json()["detail"]


def test_groups_count_what_is_the_same_but_for_its_ids(both: Api) -> None:
    same = [both.dead(), both.dead()]
    odd = fail(both, both.new(), ValueError("another thing"))
    groups = both.get("/api/dead-letters/groups").json()["groups"]
    assert [(g["count"], g["error_type"], g["newest"]) for g in groups] == [
        (2, "Broken", str(same[1])),
        (1, "ValueError", str(odd)),
    ]
    assert groups[0]["first_at"] < groups[0]["last_at"]
    assert both.get("/api/dead-letters/groups?machine=other").json()["groups"] == []
    assert both.get("/api/dead-letters/groups?status=resolved").json()["groups"] == []
    assert both.get("/api/dead-letters/groups", "north-owner").json()["groups"] == []


def test_a_group_has_only_those_of_ones_own_workspaces(api: Api) -> None:
    mine, theirs = api.dead(), api.dead(workspace="north")
    for who, letter in (("owner", mine), ("north-viewer", theirs)):
        [group] = api.get("/api/dead-letters/groups", who).json()["groups"]
        assert (group["count"], group["newest"]) == (1, str(letter))


def test_retry_starts_the_failed_step_again_and_closes_the_letter(both: Api) -> None:
    letter = both.dead()
    again = both.post(f"/api/dead-letters/{letter}/retry", {"note": "mended"}, "member")
    assert (again.status_code, again.json()["state"], again.json()["waits_for"]) == (200, "new", "work")
    body = both.get(f"/api/dead-letters/{letter}").json()
    assert (body["status"], body["closed_by"], body["note"]) == ("retried", "user:member/t", "mended")
    assert listed(both) == []
    assert listed(both, "status=retried") == [str(letter)]
    assert len(both.engine.claim(uuid4(), ["order"], 9)) == 1


def test_a_letter_of_what_ended_meanwhile_is_retried_as_a_new_instance(api: Api) -> None:
    letter = api.dead()
    old = api.get(f"/api/dead-letters/{letter}").json()["instance_id"]
    assert api.post(f"/api/instances/{old}/cancel").status_code == 200
    again = api.post(f"/api/dead-letters/{letter}/retry").json()
    assert (again["id"] != old, again["parent"], again["state"]) == (True, old, "new")
    assert api.get(f"/api/dead-letters/{letter}").json()["retried_as"] == again["id"]


@pytest.mark.parametrize(("action", "status"), [("resolve", "resolved"), ("discard", "discarded")])
def test_resolve_and_discard_close_it_with_a_note_and_leave_the_instance(api: Api, action: str, status: str) -> None:
    letter = api.dead()
    before = api.engine.get(UUID(api.get(f"/api/dead-letters/{letter}").json()["instance_id"]))
    closed = api.post(f"/api/dead-letters/{letter}/{action}", {"note": "by hand"}, "member").json()
    assert (closed["status"], closed["note"], closed["closed_by"]) == (status, "by hand", "user:member/t")
    after = api.engine.get(before.id)
    assert (after.state, after.wake) == (before.state, before.wake)
    last = api.get(f"/api/instances/{before.id}/history").json()["rows"][-1]
    assert (last["kind"], last["payload"]["as"], last["payload"]["note"]) == ("dead_letter_closed", status, "by hand")


def test_what_is_closed_stays_closed(api: Api) -> None:
    letter = api.dead()
    assert api.post(f"/api/dead-letters/{letter}/resolve").status_code == 200
    for action in ("retry", "resolve", "discard"):
        refused = api.post(f"/api/dead-letters/{letter}/{action}")
        assert (refused.status_code, refused.json()["type"]) == (409, "refused")
        assert "was resolved by owner:owner/setup" in refused.json()["detail"]


def test_a_note_that_is_too_long_or_another_field_is_refused(api: Api) -> None:
    letter = api.dead()
    for body, said in (({"note": "x" * 2001}, "body.note"), ({"reason": "x"}, "body.reason")):
        refused = api.post(f"/api/dead-letters/{letter}/discard", body)
        assert refused.status_code == 422
        assert said in refused.json()["detail"]
    assert listed(api) == [str(letter)]


def test_what_is_not_there_answers_404_with_its_id(shared: Api) -> None:
    missing = uuid4()
    for answer in (
        shared.get(f"/api/dead-letters/{missing}"),
        *(shared.post(f"/api/dead-letters/{missing}/{action}") for action in ("retry", "resolve", "discard")),
    ):
        assert (answer.status_code, str(missing) in answer.json()["detail"]) == (404, True)


def test_a_secret_in_the_data_of_a_failed_step_is_hidden(api: Api) -> None:
    made = api.new({"item": "tea", "api_key": "sesame-sesame"})
    letter = fail(api, made, Broken("password=sesame-sesame was refused"))
    response = api.get(f"/api/dead-letters/{letter}")
    assert "sesame" not in response.text
    assert response.json()["data"]["item"] == "tea"
