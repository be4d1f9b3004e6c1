"""Reviews over HTTP: what waits for a person, who may take it, and what a decision does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.store import moment, span
from interlock.store.tables import review as R
from tests.support.api import Api

YES = {"decision": "yes", "answer": {"note": "fine"}}


def place(api: Api, rest: str = "", **options: Any) -> str:
    """The address of a new review."""
    it = api.asked(**options)
    return f"/api/reviews/{api.engine.reviews.waiting(instance_id=it.id)[0].id}{rest}"


def wanted_by(api: Api, path: str, role: str) -> None:
    """Another role may decide it from now on."""
    review = UUID(path.split("/")[3])
    api.engine.write(lambda unit: unit.conn.execute(sa.update(R).where(R.c.id == review).values(role=role)))


def test_a_review_says_what_is_asked_of_whom_with_its_form_and_until_when(both: Api) -> None:
    path = place(both)
    body = both.get(path, "viewer").json()
    assert (body["machine"], body["state"], body["title"], body["role"], body["status"]) == (
        "order",
        "asked",
        "Send it?",
        "reviewer",
        "open",
    )
    assert sorted(body["decisions"]) == ["no", "yes"]
    assert body["form"]["required"] == ["note"]
    assert (body["claimed_by"], body["decision"], body["decided_at"]) == (None, None, None)
    assert both.get("/api/reviews").json() == {"reviews": [body], "next": None}


def test_the_most_urgent_come_first_in_pages_and_those_without_a_due_time_last(both: Api) -> None:
    opened = [UUID(place(both).split("/")[3]) for _ in range(5)]
    hours = {opened[0]: 9, opened[1]: None, opened[2]: 3, opened[3]: 9, opened[4]: None}
    for review, due in hours.items():
        values = {"due_at": None if due is None else both.clock.now() + due}
        both.engine.write(
            lambda unit, r=review, v=values: unit.conn.execute(sa.update(R).where(R.c.id == r).values(**v))
        )
    seen, cursor = [], None
    for _ in range(3):
        page = both.get("/api/reviews", params={"limit": 2} | ({"after": cursor} if cursor else {})).json()
        seen += [r["id"] for r in page["reviews"]]
        cursor = page["next"]
    assert cursor is None
    assert seen == [str(opened[n]) for n in (2, 0, 3, 1, 4)]


def test_decided_ones_and_those_closed_without_a_decision_are_a_list_of_their_own(both: Api) -> None:
    decided, closed, still = place(both), place(both), place(both)
    both.post(f"{decided}/decide", YES)
    both.post(f"/api/instances/{both.get(closed).json()['instance_id']}/cancel")
    first = both.get("/api/reviews?status=decided&limit=1").json()
    second = both.get(f"/api/reviews?status=decided&limit=1&after={first['next']}").json()
    assert [r["id"] for r in first["reviews"] + second["reviews"]] == [closed.split("/")[3], decided.split("/")[3]]
    assert second["next"] is None
    assert first["reviews"][0]["decision"] is None
    assert first["reviews"][0]["status"] != "open"
    assert [r["id"] for r in both.get("/api/reviews").json()["reviews"]] == [still.split("/")[3]]


def test_reviews_are_found_by_machine_instance_name_and_workspace(api: Api) -> None:
    path = place(api)
    place(api)
    body = api.get(path).json()
    assert len(api.get("/api/reviews?machine=order").json()["reviews"]) == 2
    assert api.get("/api/reviews?machine=other").json()["reviews"] == []
    assert api.get(f"/api/reviews?instance={body['instance_id']}").json()["reviews"] == [body]
    assert len(api.get(f"/api/reviews?name={body['name']}").json()["reviews"]) == 2
    assert api.get("/api/reviews?name=nothing").json()["reviews"] == []
    assert len(api.get("/api/reviews?workspace=default").json()["reviews"]) == 2
    assert api.get("/api/reviews?workspace=north").json()["reviews"] == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("after=nonsense", "'nonsense' is not a cursor of this list"),
        ("after=12_nonsense", "'nonsense' is not a cursor of this list"),
        ("after=-1_x", "is not a cursor of this list"),
        ("status=decided&after=12_x", "'12_x' is not a cursor of this list"),
        ("status=late", "query.status"),
        ("limit=0", "query.limit"),
        ("limit=501", "query.limit"),
        ("instance=7", "query.instance"),
    ],
)
def test_what_a_list_cannot_be_asked_for_is_refused_with_its_place(shared: Api, query: str, said: str) -> None:
    refused = shared.get(f"/api/reviews?{query}")
    assert refused.status_code == 422
    assert said in refused.json()["detail"]


def test_who_claims_a_review_holds_it_for_half_an_hour(both: Api) -> None:
    path = place(both)
    claimed = both.post(f"{path}/claim", who="reviewer").json()
    assert claimed["claimed_by"] == "user:reviewer/t"
    for action, body in (("claim", {}), ("release", {}), ("decide", YES)):
        refused = both.post(f"{path}/{action}", body, "member")
        assert (refused.status_code, refused.json()["type"]) == (409, "review-claimed"), action
        assert "user:reviewer/t until 09:30 UTC" in refused.json()["detail"]
    assert both.post(f"{path}/claim", who="reviewer").status_code == 200
    both.clock.advance(timedelta(minutes=31))
    assert both.post(f"{path}/claim", who="member").json()["claimed_by"] == "user:member/t"


def test_what_is_released_is_free_for_others(api: Api) -> None:
    path = place(api)
    api.post(f"{path}/claim", who="reviewer")
    released = api.post(f"{path}/release", who="reviewer").json()
    assert (released["claimed_by"], released["claimed_until"]) == (None, None)
    assert api.post(f"{path}/decide", YES, "member").status_code == 200


def test_a_review_is_assigned_and_snoozed_without_taking_it_from_others(both: Api) -> None:
    path = place(both)
    assert both.post(f"{path}/assign", {"to": "REVIEWER"}, "member").json()["assigned_to"] == "reviewer"
    assert len(both.get("/api/reviews?person=reviewer").json()["reviews"]) == 1
    assert both.get("/api/reviews?unassigned=true").json()["reviews"] == []
    assert both.post(f"{path}/assign", {"to": "viewer"}).status_code == 422
    assert both.post(f"{path}/assign", {"to": "nobody-here"}).status_code == 404
    until = moment(both.clock.now() + span(timedelta(hours=1))).isoformat()
    assert both.post(f"{path}/snooze", {"until": until}).json()["snoozed_until"] is not None
    assert both.post(f"{path}/snooze", {"until": None}).json()["snoozed_until"] is None
    past = moment(both.clock.now()).isoformat()
    assert both.post(f"{path}/snooze", {"until": past}).status_code == 422
    assert both.post(f"{path}/decide", YES, "member").status_code == 200
    assert both.post(f"{path}/assign", {"to": None}).json()["type"] == "already-decided"


def test_a_decision_moves_the_instance_with_the_form_and_is_kept_with_its_person(both: Api) -> None:
    path = place(both)
    done = both.post(f"{path}/decide", {**YES, "reason": "as agreed"}, "reviewer").json()
    assert (done["status"], done["decision"], done["answer"], done["decided_by"]) == (
        "decided",
        "yes",
        {"note": "fine"},
        "user:reviewer/t",
    )
    it = both.get(f"/api/instances/{done['instance_id']}").json()
    assert (it["state"], it["data"]["note"]) == ("sent", "fine")
    last = both.get(f"/api/instances/{it['id']}/history").json()["rows"][-1]
    assert (last["event"], last["actor"], last["payload"]["reason"]) == ("approve", "user:reviewer/t", "as agreed")
    assert both.get(path).json() == done


def test_whoever_is_first_decides_and_the_same_again_is_answered_alike(api: Api) -> None:
    path = place(api)
    done = api.post(f"{path}/decide", YES, "reviewer")
    assert api.post(f"{path}/decide", YES, "reviewer").json() == done.json()
    for who, body in (("member", YES), ("reviewer", {"decision": "no", "answer": {"note": "fine"}})):
        refused = api.post(f"{path}/decide", body, who)
        assert (refused.status_code, refused.json()["type"]) == (409, "already-decided")
        assert "was decided: yes by user:reviewer/t" in refused.json()["detail"]
    for action in ("claim", "release"):
        assert api.post(f"{path}/{action}", who="member").json()["type"] == "already-decided"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"decision": "yes"}, "note: Field required"),
        ({"decision": "yes", "answer": {"note": 7}}, "note: Input should be a valid string"),
        ({"decision": "maybe", "answer": {"note": "n"}}, "'maybe' is not a decision of this review; it takes no, yes"),
        ({"answer": {"note": "n"}}, "body.decision: Field required"),
        ({**YES, "answer": ["n"]}, "body.answer"),
        ({**YES, "expected_seq": -1}, "body.expected_seq"),
        ({**YES, "comment": "x"}, "body.comment"),
        ({**YES, "reason": "x" * 2001}, "body.reason"),
    ],
)
def test_a_form_that_is_filled_in_wrongly_is_refused_with_the_field_and_nothing_is_decided(
    shared: Api, body: dict[str, Any], said: str
) -> None:
    path = place(shared)
    refused = shared.post(f"{path}/decide", body)
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")
    assert said in refused.json()["detail"]
    assert shared.get(path).json()["status"] == "open"


def test_a_decision_on_what_moved_on_meanwhile_is_refused_with_both_numbers(api: Api) -> None:
    path = place(api)
    refused = api.post(f"{path}/decide", {**YES, "expected_seq": 1})
    assert (refused.status_code, refused.json()["type"]) == (409, "out-of-date")
    assert (refused.json()["expected_seq"], refused.json()["found_seq"]) == (1, 2)
    assert api.post(f"{path}/decide", {**YES, "expected_seq": 2}).status_code == 200


@pytest.mark.parametrize(("role", "enough"), [("member", ("member", "owner")), ("owner", ("owner",))])
def test_a_review_for_a_higher_role_is_only_for_that_role(api: Api, role: str, enough: tuple[str, ...]) -> None:
    path = place(api)
    wanted_by(api, path, role)
    for who in ("reviewer", "member"):
        if who in enough:
            continue
        for action, body in (("claim", {}), ("release", {}), ("decide", YES)):
            refused = api.post(f"{path}/{action}", body, who)
            assert refused.status_code == 403, (who, action)
            assert f"is for the role {role}; {who} has {who}" in refused.json()["detail"]
    assert api.get(path).json()["claimed_by"] is None
    assert api.post(f"{path}/decide", YES, enough[0]).status_code == 200


def test_a_role_that_people_do_not_have_is_left_to_an_owner(api: Api) -> None:
    path = place(api)
    wanted_by(api, path, "lawyer")
    assert api.post(f"{path}/decide", YES, "member").status_code == 403
    assert api.post(f"{path}/decide", YES, "owner").status_code == 200


def test_a_review_of_another_workspace_or_none_at_all_is_not_there(shared: Api) -> None:
    theirs = place(shared, workspace="north")
    for path in (theirs, f"/api/reviews/{uuid4()}"):
        assert shared.get(path).status_code == 404
        for action, body in (("claim", {}), ("release", {}), ("decide", YES)):
            assert shared.post(f"{path}/{action}", body).status_code == 404
    assert shared.post(f"{theirs}/decide", YES, "north-reviewer").status_code == 200
