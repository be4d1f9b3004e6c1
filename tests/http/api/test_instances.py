"""Instances over HTTP: create, list, look at, move."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.support.api import Api


def test_an_instance_is_created_and_given_back_as_it_is_kept(both: Api) -> None:
    wanted = {"machine": "order", "data": {"item": "seeds"}, "key": "k", "labels": {"a": "b"}}
    made = both.post("/api/instances", wanted)
    assert made.status_code == 201
    body = made.json()
    assert (body["state"], body["seq"], body["data"]["item"], body["key"], body["labels"]) == (
        "new",
        1,
        "seeds",
        "k",
        {"a": "b"},
    )
    assert both.get(f"/api/instances/{body['id']}").json() == body
    [row] = both.get(f"/api/instances/{body['id']}/history").json()["rows"]
    assert (row["kind"], row["actor"]) == ("created", "owner:owner/setup")


def test_a_key_that_is_taken_names_the_instance_that_has_it(api: Api) -> None:
    first = api.post("/api/instances", {"machine": "order", "key": "k"}).json()["id"]
    refused = api.post("/api/instances", {"machine": "order", "key": "k"})
    assert (refused.status_code, refused.json()["type"], refused.json()["existing"]) == (409, "key-taken", first)
    given = api.post("/api/instances", {"machine": "order", "key": "k", "on_taken": "return"})
    assert (given.status_code, given.json()["id"]) == (201, first)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"machine": "nothing"}, 404, "no machine 'nothing'"),
        ({"machine": "order", "data": {"item": 7}}, 422, "item"),
        ({"machine": "order", "priority": 9}, 422, "body.priority"),
        ({"machine": "order", "colour": "red"}, 422, "body.colour"),
        ({"machine": "order", "at": "2026-01-01T00:00:00"}, 422, "no time zone"),
        ({"machine": "order", "workspace": "south"}, 404, "workspace 'south'"),
        ({"machine": "order", "key": "\x00"}, 422, "has a NUL character"),
        ({"machine": "order", "unstarted": True}, 422, "cannot be entered unstarted"),
        ({}, 422, "body.machine"),
    ],
)
def test_what_cannot_be_created_is_refused_with_the_place_and_the_value(
    api: Api, body: dict[str, object], status: int, said: str
) -> None:
    refused = api.post("/api/instances", body)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    assert said in refused.text
    assert api.get("/api/instances").json()["instances"] == []


def test_a_body_that_is_no_json_is_refused(api: Api) -> None:
    refused = api.call("owner", "POST", "/api/instances", content=b"{", headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["type"]) == (422, "invalid")


def test_a_body_that_is_too_long_is_refused_and_nothing_is_done(api: Api) -> None:
    refused = api.post("/api/instances", {"machine": "order", "data": {"note": "x" * 1_100_000}})
    assert (refused.status_code, refused.json()["type"]) == (413, "too-large")
    assert "1,048,576" in refused.json()["detail"]


def test_a_body_without_a_length_is_counted_while_it_comes(api: Api) -> None:
    def endless() -> object:
        for _ in range(20):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    refused = api.call("owner", "POST", "/api/instances", content=endless(), headers=headers)
    assert refused.status_code == 413


def test_an_event_moves_it_and_the_history_keeps_who_and_why(both: Api) -> None:
    it = both.asked()
    event = {"event": "approve", "reason": "fine", "data": {"note": "n"}, "expected_seq": 2}
    moved = both.post(f"/api/instances/{it.id}/events", event)
    assert (moved.status_code, moved.json()["state"], moved.json()["data"]["note"]) == (200, "sent", "n")
    last = both.get(f"/api/instances/{it.id}/history").json()["rows"][-1]
    assert (last["event"], last["actor"], last["payload"]["reason"]) == ("approve", "owner:owner/setup", "fine")


def test_an_event_that_does_not_fit_is_answered_with_what_is_allowed(api: Api) -> None:
    it = api.asked()
    refused = api.post(f"/api/instances/{it.id}/events", {"event": "checked"})
    assert (refused.status_code, refused.json()["type"]) == (409, "refused")
    assert {a["event"] for a in refused.json()["allowed"]} == {"approve", "refuse", "report", "destroy", "cancel"}


def test_an_event_for_somebody_else_is_forbidden(api: Api) -> None:
    it = api.asked()
    for who, event in (("member", "destroy"), ("member", "report"), ("agent", "approve")):
        refused = api.post(f"/api/instances/{it.id}/events", {"event": event}, who)
        assert (refused.status_code, refused.json()["type"]) == (403, "forbidden"), (who, event)
    assert api.post(f"/api/instances/{it.id}/events", {"event": "report"}, "agent").status_code == 200


def test_an_event_for_what_moved_on_is_refused_with_both_numbers(api: Api) -> None:
    it = api.asked()
    refused = api.post(f"/api/instances/{it.id}/events", {"event": "approve", "expected_seq": 1})
    assert refused.status_code == 409
    assert (refused.json()["type"], refused.json()["expected_seq"], refused.json()["found_seq"]) == (
        "out-of-date",
        1,
        2,
    )
    assert api.engine.get(it.id).state == "asked"


def test_an_event_with_fields_that_it_does_not_accept_is_refused(api: Api) -> None:
    it = api.asked()
    refused = api.post(f"/api/instances/{it.id}/events", {"event": "approve", "data": {"item": "gold"}})
    assert refused.status_code == 422
    assert "item" in refused.json()["detail"]


def test_what_is_not_there_answers_404(api: Api) -> None:
    for path in ("", "/history", "/explain", "/lineage", "/artifacts", "/effects", "/verify", "/artifacts/a"):
        assert api.get(f"/api/instances/{uuid4()}{path}").status_code == 404, path
    assert api.post(f"/api/instances/{uuid4()}/events", {"event": "x"}).status_code == 404


def test_pause_resume_cancel_and_force(api: Api) -> None:
    it = api.new()
    paused = api.post(f"/api/instances/{it}/pause", {"reason": "wait"}).json()
    assert paused["paused"]
    assert api.engine.claim(uuid4(), ["order"], 1) == []
    assert not api.post(f"/api/instances/{it}/resume").json()["paused"]
    assert api.post(f"/api/instances/{it}/cancel").json()["state"] == "cancelled"
    other = api.asked()
    forced = api.post(f"/api/instances/{other.id}/force", {"to": "sent", "reason": "by hand"})
    assert (forced.status_code, forced.json()["state"]) == (200, "sent")
    assert api.get(f"/api/instances/{other.id}/history").json()["rows"][-1]["kind"] == "forced"
    assert api.post(f"/api/instances/{other.id}/force", {"to": "sent"}).status_code == 422


def test_an_owner_erases_what_has_ended(api: Api) -> None:
    it = api.asked()
    early = api.post(f"/api/instances/{it.id}/erase", {"reason": "asked to"})
    assert (early.status_code, early.json()["type"]) == (409, "not-finished")
    api.post(f"/api/instances/{it.id}/force", {"to": "sent", "reason": "by hand"})
    assert api.post(f"/api/instances/{it.id}/erase", {"reason": ""}).status_code == 422
    erased = api.post(f"/api/instances/{it.id}/erase", {"reason": "asked to"})
    assert (erased.status_code, list(erased.json()["data"])) == (200, ["erased"])
    rows = api.get(f"/api/instances/{it.id}/history").json()["rows"]
    assert (rows[-1]["kind"], rows[-1]["payload"]["reason"]) == ("erased", "asked to")
    assert all(row["erased"] for row in rows[:-1])
    assert api.get(f"/api/instances/{it.id}/verify").json()["problems"] == []


def test_explain_says_what_this_caller_may_do(api: Api) -> None:
    it = api.asked()

    def mine(who: str) -> list[str]:
        found: list[str] = api.get(f"/api/instances/{it.id}/explain", who).json()["mine"]
        return found

    assert mine("owner") == ["approve", "cancel", "destroy", "refuse"]
    assert mine("member") == ["approve", "cancel", "refuse"]
    assert mine("agent") == ["report"]
    assert mine("viewer") == []
    body = api.get(f"/api/instances/{it.id}/explain").json()
    assert "waits for a person to approve it" in body["sentence"]
    assert body["upcoming"][0]["what"] == "the system fires 'refuse', to 'refused'"


def test_lists_filter_page_and_count(api: Api) -> None:
    red = [str(api.new({"item": "anvil"}, labels={"colour": "red"})) for _ in range(3)]
    asked = str(api.asked({"item": "teapot"}).id)
    page = api.get("/api/instances?label=colour=red&limit=2&count=true").json()
    assert ([i["id"] for i in page["instances"]], page["count"], page["exact"]) == (red[:0:-1], 3, True)
    rest = api.get(f"/api/instances?label=colour=red&after={page['next']}").json()
    assert ([i["id"] for i in rest["instances"]], rest["next"]) == (red[:1], None)
    assert [i["id"] for i in api.get("/api/instances?state=asked").json()["instances"]] == [asked]
    assert [i["id"] for i in api.get("/api/instances?text=TEAPOT").json()["instances"]] == [asked]
    assert api.get("/api/instances?machine=other").json()["instances"] == []
    assert api.get("/api/instances?label=colour").status_code == 422
    assert api.get("/api/instances?limit=501").status_code == 422


def test_an_artifact_is_kept_and_what_could_be_run_is_only_saved(api: Api) -> None:
    it = api.new()
    kept = api.call(
        "owner",
        "PUT",
        f"/api/instances/{it}/artifacts/page.html",
        content=b"<script>x</script>",
        headers={"Content-Type": "text/html"},
    )
    assert (kept.status_code, kept.json()["size"], kept.json()["media_type"]) == (200, 18, "text/html")
    given = api.get(f"/api/instances/{it}/artifacts/page.html")
    assert given.content == b"<script>x</script>"
    assert given.headers["content-type"] == "application/octet-stream"
    assert given.headers["content-disposition"].startswith("attachment")
    assert given.headers["x-content-type-options"] == "nosniff"
    plain = {"Content-Type": "text/plain"}
    api.call("owner", "PUT", f"/api/instances/{it}/artifacts/a.txt", content=b"a", headers=plain)
    assert api.get(f"/api/instances/{it}/artifacts/a.txt").headers["content-disposition"].startswith("inline")
    assert [a["name"] for a in api.get(f"/api/instances/{it}/artifacts").json()["artifacts"]] == ["page.html", "a.txt"]
    assert api.call("owner", "PUT", f"/api/instances/{it}/artifacts/b", content=b"").status_code == 422


def test_secrets_in_the_data_are_not_shown(api: Api) -> None:
    it = api.new({"item": "Bearer abcdefghijklmnop", "api_key": "very-secret"})
    text = api.get(f"/api/instances/{it}").text + api.get(f"/api/instances/{it}/history").text
    assert "very-secret" not in text
    assert "abcdefghijklmnop" not in text
    assert "[hidden]" in text


def test_lineage_has_the_parents_before_the_children(api: Api) -> None:
    it = api.new()
    body = api.get(f"/api/instances/{it}/lineage").json()
    assert ([i["id"] for i in body["instances"]], body["complete"]) == ([str(it)], True)


def test_the_chain_can_be_verified(api: Api) -> None:
    it = api.asked()
    assert api.get(f"/api/instances/{it.id}/verify").json() == {"instance_id": str(it.id), "rows": 2, "problems": []}
