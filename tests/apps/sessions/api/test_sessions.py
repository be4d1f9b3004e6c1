"""The endpoints of sessions as a caller meets them."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.sessions.api.bodies import text_of
from tests.support.sessions import REPO, Sessions

# -- starting


pytestmark = pytest.mark.soak("postgresql")


def test_a_session_without_a_prompt_rests_in_pending(both: Sessions) -> None:
    made = both.start(title="Tidy up")
    assert (made["success"], made["id"], made["session"]["ui_status"]) == (True, made["sessionId"], "pending")
    assert both.trial.run_until_idle() == 0
    assert both.look(made["id"])["prompts"] == 0


def test_a_session_and_its_prompt_are_made_together(both: Sessions) -> None:
    made = both.start("Add pagination to the invoices list. And more.")
    assert made["session"]["title"] == "Add pagination to the invoices list"
    assert made["session"]["branch"] == f"claude/add-pagination-to-the-invoices-list-{made['id'].replace('-', '')[:24]}"
    (prompt,) = both.prompts(made["id"])
    assert (prompt["id"], prompt["inbox_status"], prompt["number"]) == (made["promptId"], "pending", 1)
    assert made["session"]["sbx_config"] is None


def test_names_of_other_clients_are_accepted_and_answered(sessions: Sessions) -> None:
    body = {"repo": REPO, "targetBranch": "main", "messages": [{"role": "user", "content": "Say hello"}]}
    made = sessions.api.post("/sessions/with-prompt", body, "member").json()
    assert set(made) >= {"success", "message", "sessionId", "promptId", "session_id", "prompt_id"}
    shown = sessions.look(made["sessionId"])
    for snake, camel in {"ui_status": "uiStatus", "target_branch": "targetBranch", "sbx_config": "sbxConfig"}.items():
        assert shown[snake] == shown[camel]
    assert sessions.prompts(made["id"])[0]["text"] == "Say hello"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("Do it", "Do it"),
        ({"content": "Do it"}, "Do it"),
        ({"prompt": {"text": "Do it"}}, "Do it"),
        ({"message": [{"type": "text", "text": "Do"}, {"type": "text", "text": "it"}]}, "Do\n\nit"),
        ([{"role": "user", "content": "Do it"}, {"role": "assistant", "content": "Done"}], "Do it"),
        ({"todo": 1}, '{"todo": 1}'),
        ([1, 2], "[1, 2]"),
    ],
)
def test_the_text_of_a_prompt_is_found_in_every_form(given: Any, text: str) -> None:
    assert text_of(given) == text


def test_a_prompt_that_is_nested_without_end_is_its_json() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"content": deep}
    assert "content" in text_of(deep)


def test_an_unknown_repository_is_refused_with_the_known_ones(sessions: Sessions) -> None:
    answer = sessions.api.post("/sessions", {"repo": "harbour/nothing"}, "member")
    assert answer.status_code == 422
    assert "harbour/nothing" in answer.json()["detail"]
    assert REPO in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"agent": "nobody"}, "nobody"),
        ({"target_branch": "--upload-pack=x"}, "branch"),
        ({"target_branch": "../main"}, "branch"),
        ({"sbx_config": {}}, "sbx_config"),
        ({"parent": str(uuid4())}, "no session"),
    ],
)
def test_a_session_that_cannot_be_is_refused(sessions: Sessions, body: dict[str, Any], said: str) -> None:
    answer = sessions.api.post("/sessions", {"repo": REPO, **body}, "member")
    assert answer.status_code in {404, 422}
    assert said in answer.text


@pytest.mark.parametrize("body", [{}, {"content": "a", "text": "b"}, {"content": "   "}])
def test_a_prompt_needs_one_text(sessions: Sessions, body: dict[str, Any]) -> None:
    made = sessions.start()
    answer = sessions.api.post("/prompts", {"session_id": made["id"], **body}, "member")
    assert answer.status_code == 422, answer.text
    assert sessions.prompts(made["id"]) == []


def test_a_repeated_request_makes_one_session(sessions: Sessions) -> None:
    key = {"Idempotency-Key": "once"}
    first, second = (
        sessions.api.post("/sessions/with-prompt", {"repo": REPO, "prompt": "x"}, "member", headers=key) for _ in "ab"
    )
    assert first.json() == second.json()
    assert len(sessions.api.get("/sessions", "member").json()["sessions"]) == 1


# -- who


def test_others_get_404_and_viewers_403(sessions: Sessions) -> None:
    made = sessions.start("Look around")
    it, prompt = made["id"], made["prompt_id"]
    reads = [f"/sessions/{it}", f"/sessions/{it}/prompts", f"/prompts/{prompt}", f"/prompts/{prompt}/messages"]
    reads += [f"/sessions/{it}/events", f"/sessions/{it}/diff", f"/sessions/{it}/patch"]
    for path in reads:
        assert sessions.api.get(path, None).status_code == 401
        assert sessions.api.get(path, "north-owner").status_code == 404, path
    writes = [("POST", f"/sessions/{it}/{do}") for do in ("cancel", "archive", "unarchive", "fork", "push", "merge")]
    writes += [("DELETE", f"/sessions/{it}"), ("POST", f"/prompts/{prompt}/cancel"), ("PUT", f"/sessions/{it}")]
    for method, path in writes:
        assert sessions.api.call(None, method, path, {}).status_code == 401, path
        assert sessions.api.call("north-owner", method, path, {}).status_code == 404, path
        assert sessions.api.call("viewer", method, path, {}).status_code == 403, path
        assert sessions.api.call("reviewer", method, path, {}).status_code == 403, path
    asked = {"session_id": it, "content": "x"}
    assert sessions.api.post("/prompts", asked, "north-owner").status_code == 404
    assert sessions.api.post("/prompts", asked, "viewer").status_code == 403
    assert sessions.api.post("/sessions", {"repo": REPO}, "viewer").status_code == 403
    assert sessions.api.get("/sessions", "north-owner").json()["sessions"] == []
    assert [one["id"] for one in sessions.api.get("/sessions", "viewer").json()["sessions"]] == [it]


# -- listing


def test_sessions_are_listed_by_status_newest_first_in_pages(sessions: Sessions) -> None:
    made = [sessions.start(f"Task {n}")["id"] for n in range(3)]
    sessions.api.post(f"/sessions/{made[1]}/archive", who="member")
    page = sessions.api.get("/sessions?limit=2", "member").json()
    assert [one["id"] for one in page["sessions"]] == [made[2], made[1]]
    rest = sessions.api.get(f"/sessions?limit=2&after={page['next']}", "member").json()
    assert ([one["id"] for one in rest["sessions"]], rest["next"]) == ([made[0]], None)
    archived = sessions.api.get("/sessions?ui_status=archived", "member").json()["sessions"]
    assert [one["id"] for one in archived] == [made[1]]
    assert sessions.api.get("/sessions?ui_status=asleep", "member").status_code == 422


# -- by hand


def test_a_status_that_the_machine_does_not_allow_is_409_with_what_is(both: Sessions) -> None:
    made = both.start()
    answer = both.api.call("member", "PUT", f"/sessions/{made['id']}", {"ui_status": "needs_review"})
    assert answer.status_code == 409
    assert {one["event"] for one in answer.json()["allowed"]} == {"archive", "prompt"}
    assert both.state(made["id"]) == "pending"
    assert both.api.call("member", "PUT", f"/sessions/{made['id']}", {"status": "archived"}).status_code == 200
    assert both.path(made["id"]) == ["pending", "archived"]


def test_only_an_owner_forces_a_status_and_gives_a_reason(sessions: Sessions) -> None:
    made = sessions.start()
    path, body = f"/sessions/{made['id']}", {"ui_status": "needs_review", "force": True}
    assert sessions.api.call("member", "PUT", path, {**body, "reason": "because"}).status_code == 403
    assert sessions.api.call("owner", "PUT", path, body).status_code == 422
    assert sessions.api.call("owner", "PUT", path, {**body, "reason": "the worker is gone"}).status_code == 200
    last = sessions.engine.history(UUID(made["id"]))[-1]
    assert (last.kind, last.to_state, last.payload["reason"]) == ("forced", "needs_review", "the worker is gone")


def test_title_and_target_branch_can_be_changed(sessions: Sessions) -> None:
    made = sessions.start()
    change = {"title": "Another name", "targetBranch": "next"}
    shown = sessions.api.call("member", "PUT", f"/sessions/{made['id']}", change).json()["session"]
    assert (shown["title"], shown["target_branch"]) == ("Another name", "next")
    bad = sessions.api.call("member", "PUT", f"/sessions/{made['id']}", {"target_branch": "-x"})
    assert bad.status_code == 422


def test_a_session_is_archived_and_comes_back_to_where_it_was(both: Sessions) -> None:
    it = both.start()["id"]
    both.api.post(f"/sessions/{it}/archive", {"reason": "not now"}, "member")
    refused = both.api.post("/prompts", {"session_id": it, "content": "x"}, "member")
    assert (refused.status_code, refused.json()["allowed"][0]["event"]) == (409, "unarchive")
    assert both.api.post(f"/sessions/{it}/unarchive", who="member").status_code == 200
    assert both.path(it) == ["pending", "archived", "pending"]
    assert both.trial.run_until_idle() == 0, "it rests until its first prompt"
    both.prompt(it, "Now")
    assert both.engine.get(UUID(it)).wake == "work"


def test_a_deleted_session_is_hidden_and_its_history_stays(both: Sessions) -> None:
    made = both.start("Do it")
    it = made["id"]
    assert both.api.call("member", "DELETE", f"/sessions/{it}").json()["success"]
    assert both.api.get(f"/sessions/{it}", "member").status_code == 404
    assert both.api.get(f"/prompts/{made['prompt_id']}", "member").status_code == 404
    assert both.api.post(f"/sessions/{it}/cancel", who="member").status_code == 404
    assert both.api.get("/sessions", "member").json()["sessions"] == []
    assert both.path(it) == ["pending", "archived"]


# -- prompts


def test_prompts_wait_in_their_order_and_can_be_cancelled_one_by_one(sessions: Sessions) -> None:
    made = sessions.start("One")
    second = sessions.prompt(made["id"], "Two")
    sessions.prompt(made["id"], "Three")
    gone = sessions.api.post(f"/prompts/{second['prompt_id']}/cancel", who="member").json()
    assert gone["prompt"]["inbox_status"] == "cancelled"
    assert [one["inbox_status"] for one in sessions.prompts(made["id"])] == ["pending", "cancelled", "pending"]
    said = sessions.api.post(f"/sessions/{made['id']}/cancel", {"reason": "not  now"}, "member").json()
    assert said["message"] == "2 waiting prompts cancelled"
    last = sessions.prompts(made["id"])[-1]["sentence"]
    assert last == "It was cancelled before it began. Reason: not now"
    again = sessions.api.post(f"/sessions/{made['id']}/cancel", who="member").json()
    assert again["message"] == "Nothing was running or waiting"


def test_a_prompt_takes_files(sessions: Sessions) -> None:
    made = sessions.start()
    files = [
        {"name": "notes.txt", "text": "tea"},
        {"name": "a.png", "mediaType": "image/png", "contentBase64": "iVBORw0KGgo="},
    ]
    shown = sessions.prompt(made["id"], "Read them", attachments=files)["prompt"]["attachments"]
    assert shown == [
        {"name": "notes.txt", "media_type": "text/plain", "size": 3},
        {"name": "a.png", "media_type": "image/png", "size": 8},
    ]


@pytest.mark.parametrize(
    "file",
    [
        {"name": "a", "content_base64": "!!"},
        {"name": "a"},
        {"name": "a", "text": "x", "content_base64": "eA=="},
        {"name": "a", "text": "x", "media_type": "no type\r\nX: y"},
    ],
)
def test_a_file_that_cannot_be_is_refused(sessions: Sessions, file: dict[str, str]) -> None:
    made = sessions.start()
    body = {"session_id": made["id"], "content": "x", "attachments": [file]}
    assert sessions.api.post("/prompts", body, "member").status_code == 422


def test_too_many_waiting_prompts_are_refused(sessions: Sessions) -> None:
    made = sessions.start()
    for n in range(100):
        sessions.prompt(made["id"], f"{n}")
    answer = sessions.api.post("/prompts", {"session_id": made["id"], "content": "x"}, "member")
    assert (answer.status_code, "wait" in answer.json()["detail"]) == (422, True)


def test_the_answer_is_json_that_any_client_reads(sessions: Sessions) -> None:
    made = sessions.start("Sürprise ☕")
    assert json.loads(sessions.api.get(f"/sessions/{made['id']}", "member").content)["title"] == "Sürprise ☕"
