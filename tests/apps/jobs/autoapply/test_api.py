"""The endpoints of auto-apply: the specification's functions, who may call them, and what they answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from interlock.apps.jobs import registry
from interlock.store import Store, open_store
from interlock.testing import Trial, VirtualClock
from tests.apps.jobs.finder.rows import Finder
from tests.apps.jobs.finder.seekers import NOW
from tests.support.api import Api, open_api

APPLY = "/auto-apply"
STRANGERS = ("north-owner", "north-agent")


@pytest.fixture
def api(store: Store) -> Iterator[Api]:
    with open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made:
        yield made


@pytest.fixture
def plain(sqlite_url: str) -> Iterator[Api]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_api(store, clock=VirtualClock(NOW), applications=[registry]) as made,
    ):
        yield made


def match(api: Api, number: int = 0) -> UUID:
    finder = Finder(api.engine)
    finder.profile(identity={"name": "Mika Sand", "email": "mika@sand.example"})
    return finder.settled(f"https://jobs.kind{number}.example/{number}", company=f"Kind Boats {number}")


def enqueue(api: Api, number: int = 0, **said: Any) -> str:
    answer = api.post(f"{APPLY}/enqueue", {"posting_id": str(match(api, number)), **said})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["application"]["id"])


def work(api: Api) -> None:
    with Trial(api.engine) as trial:
        trial.run_until_idle()


def test_a_posting_is_queued_prepared_and_shown_with_its_files(api: Api) -> None:
    it = enqueue(api)
    work(api)
    shown = api.get(f"{APPLY}/applications/{it}").json()
    assert (shown["status"], shown["review_reason"], shown["attempt_count"]) == ("requires_review", "submit_by_hand", 0)
    assert {"last_error", "scheduled_for", "trace_id", "artifacts", "packet_hash"} <= set(shown)
    assert {one["name"] for one in shown["artifacts"]} >= {"resume.pdf", "letter.pdf", "resume.docx", "letter.docx"}
    packet = api.get(f"{APPLY}/applications/{it}/packet").json()
    assert packet["packet_hash"] == shown["packet_hash"]
    assert "Mika Sand" in packet["resume_text"]
    assert packet["claim_check"] == {}
    assert packet["hand_over"]["url"] == "https://jobs.kind0.example/0"
    pdf = api.get(f"{APPLY}/applications/{it}/artifacts/resume.pdf")
    assert pdf.content.startswith(b"%PDF")
    assert pdf.headers["content-disposition"].startswith("attachment")
    assert api.get(f"/api{APPLY}/applications/{it}").json() == shown
    listed = api.get(f"{APPLY}/applications?status=requires_review").json()
    assert [one["id"] for one in listed["applications"]] == [it]
    assert listed["counts"] == {"requires_review": 1}
    assert api.get(f"{APPLY}/applications?status=submitted").json()["applications"] == []
    assert api.get(f"{APPLY}/applications?status=lost").status_code == 422


def test_a_submission_by_hand_takes_the_claim_and_ends_with_its_proof(api: Api) -> None:
    it = enqueue(api)
    work(api)
    opened = api.post(f"{APPLY}/open-form", {"application_id": it})
    assert opened.status_code == 200
    data = api.engine.get(UUID(it)).data
    other = {"action": "run", "run_id": "r1", "board": data["board"], "job_id": data["job_id"]}
    assert api.post("/api/crawler/jobs", other, "agent").status_code in (400, 409)
    done = api.post(
        f"{APPLY}/submit", {"application_id": it, "outcome": "submitted", "proof": "https://kind.example/thanks"}
    )
    assert (done.status_code, done.json()["status"]) == (200, "submitted")
    assert done.json()["confirmation_url"] == "https://kind.example/thanks"
    again = api.post(f"{APPLY}/enqueue", {"posting_id": done.json()["posting_id"]})
    assert again.status_code == 409
    assert "applied for it already" in again.json()["detail"]
    withdrawn = api.post(f"{APPLY}/withdraw", {"application_id": it, "reason": "another offer"})
    assert (withdrawn.json()["status"], withdrawn.json()["withdraw_reason"]) == ("withdrawn", "user")


def test_a_proof_in_words_is_kept_as_the_reference(plain: Api) -> None:
    it = enqueue(plain)
    work(plain)
    done = plain.post(f"{APPLY}/submit", {"application_id": it, "outcome": "submitted", "proof": "They called: K-17"})
    assert (done.json()["confirmation_url"], done.json()["reference"]) == (None, "They called: K-17")


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        ({"kind": "site_down"}, "failed", None),
        ({"kind": "other", "retry": False}, "withdrawn", "user"),
        ({"kind": "job_closed"}, "withdrawn", "job_closed"),
    ],
)
def test_a_submission_by_hand_may_fail(plain: Api, said: dict[str, Any], status: str, reason: str | None) -> None:
    it = enqueue(plain)
    work(plain)
    plain.post(f"{APPLY}/open-form", {"application_id": it})
    done = plain.post(f"{APPLY}/submit", {"application_id": it, "outcome": "failed", **said}).json()
    assert (done["status"], done["withdraw_reason"]) == (status, reason)
    assert said["kind"] in done["last_error"]


def test_pause_and_resume_an_application_a_rule_and_everything(api: Api) -> None:
    rule = api.post(f"{APPLY}/rules", {"rule": {"name": "all"}}).json()
    match(api)
    assert api.post(f"{APPLY}/enqueue", {}).json()["queued"] == 1
    [it] = [one["id"] for one in api.get(f"{APPLY}/applications").json()["applications"]]

    def status() -> str:
        return str(api.get(f"{APPLY}/applications/{it}").json()["status"])

    assert api.post(f"{APPLY}/pause", {"application_id": it}).json()["applications"] == 1
    assert status() == "paused"
    assert api.post(f"{APPLY}/resume", {"application_id": it}).json()["applications"] == 1
    assert status() == "queued"
    assert api.post(f"{APPLY}/pause", {"rule_id": rule["id"]}).json() == {
        "applications": 1,
        "skipped": 0,
        "application": None,
    }
    assert (status(), api.get(f"{APPLY}/rules/{rule['id']}").json()["paused"]) == ("paused", True)
    assert api.post(f"{APPLY}/resume", {"rule_id": rule["id"]}).json()["applications"] == 1
    assert api.post(f"{APPLY}/pause", {"all": True}).json()["applications"] == 1
    assert api.get(f"{APPLY}/applications").json()["stopped"] is True
    match(api, 1)
    assert api.post(f"{APPLY}/enqueue", {}).json()["queued"] == 0
    assert api.post(f"{APPLY}/resume", {"all": True}).json()["applications"] == 1
    assert status() == "queued"
    assert api.post(f"{APPLY}/pause", {}).status_code == 422


def test_rules_have_the_full_set_of_verbs_and_errors_name_the_key(api: Api) -> None:
    wrong = api.post(f"{APPLY}/rules", {"rule": {"name": "x", "titels": []}})
    assert wrong.status_code == 422
    assert "did you mean titles?" in wrong.json()["detail"]
    made = api.post(f"{APPLY}/rules", {"rule": {"name": "all", "titles": ["Engineer"]}})
    assert made.status_code == 201
    where = f"{APPLY}/rules/{made.json()['id']}"
    assert made.json()["rule"]["require_user_approval"] is True
    patched = api.call("owner", "PATCH", where, {"rule": {"min_score": 70}}).json()
    assert (patched["rule"]["min_score"], patched["rule"]["titles"]) == (70, ["Engineer"])
    replaced = api.call("owner", "PUT", where, {"rule": {"name": "all"}}).json()
    assert replaced["rule"].get("titles", []) == []
    assert [one["id"] for one in api.get(f"{APPLY}/rules").json()["rules"]] == [made.json()["id"]]
    assert api.call("owner", "DELETE", where).json() == {"deleted": True}
    assert api.get(where).status_code == 404


def test_the_editor_shows_what_a_rule_would_take_and_why_not_the_others(api: Api) -> None:
    first, second = match(api), match(api, 1)
    found = api.post(f"{APPLY}/rules/preview", {"rule": {"name": "x", "companies": ["Kind Boats 1"]}}, "viewer").json()
    assert [one["posting_id"] for one in found["taken"]] == [str(second)]
    assert [one["posting_id"] for one in found["not_taken"]] == [str(first)]
    assert found["only_by"] == {"companies": 1}
    assert api.get(f"{APPLY}/rules").json()["rules"] == []


def test_decisions_and_logs_tell_everything(api: Api) -> None:
    rule = api.post(f"{APPLY}/rules", {"rule": {"name": "strict", "titles": ["Gardener"]}}).json()
    match(api)
    assert api.post(f"{APPLY}/enqueue", {"rule_id": rule["id"]}).json() == {
        "judged": 1,
        "queued": 0,
        "application": None,
    }
    [decision] = api.get(f"{APPLY}/decisions?taken=false&blocked_by=titles").json()["decisions"]
    assert {one["level"] for one in decision["checks"]} == {"info", "block"}
    it = enqueue(api, 1)
    api.post(f"{APPLY}/pause", {"application_id": it, "reason": "on holiday"})
    api.post(f"{APPLY}/withdraw", {"application_id": it, "reason": "too far away"})
    rows = api.get(f"{APPLY}/logs?application_id={it}").json()["logs"]
    assert [(one["from_status"], one["to_status"], one["actor"], one["reason"]) for one in rows] == [
        ("paused", "withdrawn", "owner:owner/setup", "user: too far away"),
        ("queued", "paused", "owner:owner/setup", "on holiday"),
        (None, "queued", "owner:owner/setup", "chosen by hand"),
    ]
    assert all(one["trace_id"] and one["user_id"] == "owner/setup" for one in rows)


def test_the_numbers_and_the_sweeps(api: Api) -> None:
    enqueue(api)
    assert api.post(f"{APPLY}/process-queue").json() == {"queued": 1, "preparing": 0, "withdrawn": 0, "waiting": 0}
    assert api.post(f"{APPLY}/retry-handler").json()["waiting"] == 0
    found = api.get(f"{APPLY}/metrics").json()
    assert (found["statuses"], found["queue_lag_seconds"], found["success_rate"]) == ({"queued": 1}, 0.0, None)


def test_answers_are_given_listed_and_forgotten(plain: Api) -> None:
    it = enqueue(plain)
    work(plain)
    wrong = plain.post(f"{APPLY}/applications/{it}/answers", {"answers": [{"key": "nothing", "value": "x"}]})
    assert wrong.status_code in (409, 422)
    assert plain.get(f"{APPLY}/answers").json() == {"answers": [], "contradictions": []}
    assert plain.call("owner", "DELETE", f"{APPLY}/answers/{uuid4()}").status_code == 404


WRITES = (
    ("prepare-application", {}),
    ("submit", {"packet_hash": "0" * 64}),
    ("schedule", {}),
    ("open-form", {}),
    ("reject", {}),
    ("later", {}),
    ("pause", {}),
    ("resume", {}),
    ("withdraw", {}),
)


def test_strangers_find_nothing_and_those_who_only_look_change_nothing(plain: Api) -> None:
    it = enqueue(plain)
    rule = plain.post(f"{APPLY}/rules", {"rule": {"name": "all"}}).json()["id"]
    work(plain)
    before = plain.get(f"{APPLY}/applications/{it}").json()
    for who in STRANGERS:
        for path in (f"applications/{it}", f"applications/{it}/packet", f"rules/{rule}"):
            assert plain.get(f"{APPLY}/{path}", who).status_code == 404
        for path, more in WRITES:
            assert plain.post(f"{APPLY}/{path}", {"application_id": it, **more}, who).status_code == 404, path
        assert plain.post(f"{APPLY}/pause", {"rule_id": rule}, who).status_code == 404
        assert plain.call(who, "DELETE", f"{APPLY}/rules/{rule}").status_code == 404
        assert plain.get(f"{APPLY}/applications?workspace=default", who).status_code == 404
    for who in ("viewer", "reviewer"):
        for path, more in WRITES:
            assert plain.post(f"{APPLY}/{path}", {"application_id": it, **more}, who).status_code == 403, path
        assert plain.get(f"{APPLY}/applications/{it}", who).status_code == 200
    assert plain.get(f"{APPLY}/applications", None).status_code == 401
    assert plain.get(f"{APPLY}/applications/{it}").json() == before


def test_an_agent_queues_but_decides_nothing_for_a_person(plain: Api) -> None:
    posting = match(plain)
    body = {"posting_id": str(posting), "require_user_approval": False}
    made = plain.post(f"{APPLY}/enqueue", body, "agent").json()["application"]
    assert made["require_user_approval"] is True
    work(plain)
    for path, more in WRITES[1:]:
        refused = plain.post(f"{APPLY}/{path}", {"application_id": made["id"], **more}, "agent")
        assert refused.status_code in (403, 409), (path, refused.text)
    shown = plain.get(f"{APPLY}/applications/{made['id']}").json()
    assert shown["status"] == "requires_review"
    loose = {"rule": {"name": "x", "require_user_approval": False}}
    assert plain.post(f"{APPLY}/rules", loose, "agent").status_code == 409


def test_a_time_is_chosen_where_the_life_cycle_has_one(plain: Api) -> None:
    it = enqueue(plain)
    at = "2036-12-01T08:30:00+01:00"
    refused = plain.post(f"{APPLY}/schedule", {"application_id": it, "at": at})
    assert (refused.status_code, "set planned in [jobs.autoapply]" in refused.text) == (409, True)
    unclear = plain.post(f"{APPLY}/schedule", {"application_id": it, "at": "2036-12-01T08:30:00"})
    assert unclear.status_code == 422


def test_a_write_is_done_once_for_a_key(plain: Api) -> None:
    posting = str(match(plain))
    key = {"Idempotency-Key": "k1"}
    first = plain.post(f"{APPLY}/enqueue", {"posting_id": posting}, headers=key)
    again = plain.post(f"{APPLY}/enqueue", {"posting_id": posting}, headers=key)
    assert (first.json(), again.headers["Idempotency-Replayed"]) == (again.json(), "true")
