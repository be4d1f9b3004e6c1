"""The workflow endpoints as a caller meets them: the envelope, each step when called early, once and again."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.settings import ContractSettings
from interlock.store.tables import outbox
from tests.support.contracts import CLEAR, DOUBTFUL, ENERGY, OPENING, Contracts, served
from tests.support.files import pdf, word

FIELD = {"value", "normalised", "quote", "page", "start", "end", "boxes", "confidence", "signals"}


def error_of(answer: Any) -> dict[str, Any]:
    """The error of a refusal, after the envelope was looked at."""
    body = answer.json()
    assert (body["success"], answer.headers["content-type"]) == (False, "application/json")
    assert set(body["error"]) == {"code", "message", "details", "retryable"}
    error: dict[str, Any] = body["error"]
    assert error["message"]
    return error


# -- the whole way


def test_the_worker_goes_all_the_way_by_itself(both: Contracts) -> None:
    with both.working():
        made = both.upload(pdf(CLEAR), vertical="commercial")
        assert made.status_code == 201
        body = made.json()
        assert (body["success"], body["error"]) == (True, None)
        it = body["data"]["workflowId"]
        read = both.call(it, "extract").json()["data"]
        assert (read["needsReview"], read["vertical"], read["pages"]) == (False, "commercial", 2)
        compared = both.call(it, "compare").json()["data"]
    assert (compared["state"], compared["comparisonKind"]) == ("completed", "template")
    assert compared["comparison"]["kind"] == "template"
    assert both.path(it) == [
        "pending",
        "parsing_pdf",
        "extracting",
        "validating",
        "validated",
        "comparing",
        "completed",
    ]
    assert both.engine.verify().problems == ()


def test_a_field_has_its_value_its_evidence_and_how_sure_it_is(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    body = contracts.look(it)
    assert (body["finalConfidence"] >= 90, body["calibrationVersion"]) == (True, "commercial-4")
    law = body["fields"]["governing_law"]
    assert set(law) >= FIELD
    assert (law["value"], law["normalised"], law["page"]) == ("New York", "New York", 2)
    text = contracts.api.get(f"/workflows/{it}/pages/2/text").json()["data"]["text"]
    assert text[law["start"] : law["end"]] == law["quote"]
    assert "New York" in law["quote"]
    assert 0 < law["confidence"] <= 1
    for left, top, right, bottom in law["boxes"]:
        assert 72 <= left < right <= 612
        assert 92 <= top < bottom <= 792
    assert "reviewTaskId" not in body


def test_named_people_are_notified_when_one_waits_for_a_review(both: Contracts) -> None:
    both.engine.core.settings["contracts"] = ContractSettings(notify=["mail:ann@example.org"], blind_share=0.0)
    query = sa.select(outbox.c.channel, outbox.c.recipient, outbox.c.subject, outbox.c.instance_id)
    both.taken(CLEAR, filename="sure.pdf")
    assert both.engine.read(lambda conn: conn.execute(query).all()) == []
    it = both.in_review(filename="unsure.pdf")
    title = "unsure.pdf · Nordwind Tools, Inc., Harbor Retail LLC and 1 more waits for a review"
    values = both.engine.read(lambda conn: [tuple(row) for row in conn.execute(query)])
    assert values == [("mail", "ann@example.org", title, it)]


def test_what_waits_for_a_person_says_so_and_names_the_task(contracts: Contracts) -> None:
    it = contracts.in_review()
    body = contracts.look(it)
    assert (body["needsReview"], body["finalConfidence"] < 80) == (True, True)
    (task,) = contracts.engine.reviews.waiting(instance_id=it)
    assert body["reviewTaskId"] == str(task.id)
    assert body["reviewDueAt"] == "2026-01-06T09:00:00+00:00"


def test_a_workflow_shows_only_what_exists_by_then(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR, read=False)
    body = contracts.look(it)
    assert (body["state"], body["vertical"], body["filename"]) == ("pending", "commercial", "contract.pdf")
    assert not {"fields", "needsReview", "finalConfidence", "reviewTaskId", "comparison", "pages"} & set(body)


def test_the_log_has_each_move_with_who_and_when(contracts: Contracts) -> None:
    it = contracts.in_review()
    contracts.review(it, "reject", notes="not ours")
    log = contracts.api.get(f"/workflows/{it}/log").json()["data"]["log"]
    assert [row["seq"] for row in log] == list(range(1, len(log) + 1))
    last = next(row for row in log if row["to"] == "rejected")
    assert (last["from"], last["event"], last["actor"]) == ("review_required", "reject", "user:reviewer/t")
    assert last["at"].startswith("2026-01-05T09:00")
    assert last["metadata"]["reason"] == "not ours"


# -- taking files in


def test_a_file_comes_as_json_too(contracts: Contracts) -> None:
    made = contracts.send(pdf(CLEAR), query="?wait=0", filename="lease.pdf", vertical="energy")
    assert made.json()["data"]["filename"] == "lease.pdf"
    assert made.json()["data"]["vertical"] == "energy"


def test_the_same_file_is_the_same_workflow_and_another_vertical_is_another(both: Contracts) -> None:
    with both.working():
        first = both.upload(pdf(CLEAR))
        again = both.upload(pdf(CLEAR), filename="other-name.pdf")
        other = both.upload(pdf(CLEAR), vertical="energy")
    assert [one.status_code for one in (first, again, other)] == [201, 200, 201]
    ids = [one.json()["data"]["workflowId"] for one in (first, again, other)]
    assert (ids[0] == ids[1], ids[0] == ids[2]) == (True, False)


def test_the_same_file_in_another_workspace_is_another_workflow(contracts: Contracts) -> None:
    mine = contracts.taken(CLEAR)
    theirs = contracts.send(pdf(CLEAR), who="north-owner", query="?wait=0").json()["data"]["workflowId"]
    assert str(mine) != theirs
    assert contracts.api.get(f"/workflows/{mine}", "north-owner").status_code == 404


def test_the_same_file_twice_at_once_is_one_workflow(both: Contracts) -> None:
    content = pdf(CLEAR)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: both.send(content, query="?wait=0"), range(2)))
    assert len({one.json()["data"]["workflowId"] for one in made}) == 1
    both.trial.run_until_idle()


@pytest.mark.parametrize(
    ("content", "filename"),
    [
        (word("SUPPLY AGREEMENT", "governed by the laws of the State of New York."), "a.docx"),
        (b"SUPPLY AGREEMENT\n\nThis is governed by the laws of the State of New York.\n", "a.txt"),
    ],
    ids=["docx", "text"],
)
def test_word_and_plain_text_are_read_too(contracts: Contracts, content: bytes, filename: str) -> None:
    it = contracts.upload(content, filename, query="?wait=0").json()["data"]["workflowId"]
    contracts.trial.run_until_idle()
    law = contracts.look(it)["fields"]["governing_law"]
    assert (law["normalised"], law["page"], law["boxes"]) == ("New York", 1, [])
    assert contracts.api.get(f"/workflows/{it}/pages/1").status_code == 404, "no picture of it"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"\x89PNG\r\n\x1a\n0000", "UNSUPPORTED_TYPE"),
        (b"\x7fELF\x02\x01\x01", "NOT_A_DOCUMENT"),
        (b"%PDF-1.7\n" + b"0" * 50_000_001, "TOO_LARGE"),
    ],
    ids=["empty", "image", "program", "too large"],
)
def test_what_can_be_no_contract_is_refused_at_once(contracts: Contracts, content: bytes, code: str) -> None:
    refused = contracts.upload(content)
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["retryable"]) == (422, code, False)
    assert contracts.api.get("/api/instances?machine=contract").json()["instances"] == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"%PDF-1.7\nthis is no PDF at all", "CORRUPT_PDF"),
        (pdf([["secret"]], password="x"), "ENCRYPTED_PDF"),
        (b"PK\x03\x04 not a word file", "CORRUPT_DOCUMENT"),
    ],
    ids=["corrupt", "encrypted", "bad docx"],
)
def test_what_cannot_be_read_is_rejected_and_says_that_no_retry_helps(
    both: Contracts, content: bytes, code: str
) -> None:
    with both.working():
        name = "a.docx" if content.startswith(b"PK") else "a.pdf"
        refused = both.upload(content, name)
        again = both.upload(content, name)
    for answer in (refused, again):
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["retryable"]) == (422, code, False)
        assert error["details"]["step"] == "parsing_pdf"
    data = refused.json()["data"]
    assert (data["state"], data["rejectReason"], data["failedAtStep"]) == ("rejected", "not_retryable", "parsing_pdf")
    assert data["lastError"]["code"] == code
    assert both.path(data["workflowId"])[-2:] == ["failed", "rejected"]


PROSE = base64.b64encode("\n".join(OPENING).encode()).decode()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"pdfBase64": "not base64!"}, "pdfBase64: it is not base64"),
        ({"pdfBase64": ""}, "pdfBase64: String should have at least 1 character"),
        ({}, "pdfBase64: Field required"),
        ({"pdfBase64": "aGk=", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"pdfBase64": "aGk=", "drive": "perhaps"}, "drive: Input should be a valid boolean"),
        ({"pdfBase64": "aGk=", "vertical": "poems"}, "there is no vertical 'poems'; there are commercial, energy"),
        ({"pdfBase64": PROSE, "compareWith": "a poem"}, "'a poem' is not a workflow's id"),
        ({"pdfBase64": PROSE, "compareWith": str(UUID(int=7))}, "there is no workflow"),
        ({"pdfBase64": PROSE, "compareWith": "template:../x"}, "there is no file '../x' among the templates"),
    ],
    ids=["not base64", "empty", "no file", "extra", "drive", "vertical", "no id", "unknown", "outside"],
)
def test_a_wrong_request_is_refused_and_the_error_names_what_is_wrong(
    contracts: Contracts, body: Any, said: str
) -> None:
    refused = contracts.api.post("/workflows/ingest", body)
    error = error_of(refused)
    assert (refused.status_code, error["retryable"]) == (422, False)
    assert said in error["message"]
    assert contracts.api.get("/api/instances?machine=contract").json()["instances"] == []


def test_a_form_without_a_file_is_refused(contracts: Contracts) -> None:
    refused = contracts.api.call("owner", "POST", "/workflows/ingest", files={"paper": ("a.pdf", b"x")})
    assert (refused.status_code, "no file" in error_of(refused)["message"]) == (422, True)


def test_a_form_that_is_none_is_refused_in_the_envelope(contracts: Contracts) -> None:
    kind = {"content-type": "multipart/form-data; boundary=x"}
    refused = contracts.api.call("owner", "POST", "/workflows/ingest", content=b"nothing of the kind", headers=kind)
    assert (refused.status_code, error_of(refused)["retryable"]) == (400, False)


def test_a_file_longer_than_other_requests_may_be_is_taken(contracts: Contracts) -> None:
    """Of base64 too, which is a third longer."""
    content = pdf(CLEAR) + b"\n%" + b"x" * 5_000_000
    assert contracts.upload(content, query="?wait=0").status_code == 202
    assert contracts.send(content, query="?wait=0").status_code == 202


# -- driving it


def test_with_drive_off_each_step_waits_for_its_endpoint(both: Contracts) -> None:
    it = both.taken(CLEAR, drive=False)
    assert both.state(it) == "extracting"
    both.trial.advance(hours=2)
    assert both.state(it) == "extracting", "nobody called"
    read = both.done(it, "extract")
    assert (read.status_code, read.json()["data"]["state"], read.json()["data"]["needsReview"]) == (
        200,
        "validated",
        False,
    )
    both.trial.advance(hours=2)
    assert both.state(it) == "validated"
    assert both.done(it, "compare").json()["data"]["state"] == "completed"


def test_after_a_review_whoever_drives_it_says_when_it_goes_on(both: Contracts) -> None:
    it = both.taken(DOUBTFUL, drive=False)
    assert both.done(it, "extract").json()["data"]["needsReview"] is True
    assert both.review(it, "approve").json()["data"]["state"] == "validated"
    both.trial.advance(hours=2)
    assert both.state(it) == "validated"
    assert both.done(it, "compare").json()["data"]["state"] == "completed"


@pytest.mark.parametrize(
    ("pages", "step"), [(None, "extract"), (None, "compare"), (DOUBTFUL, "compare")], ids=["early", "earlier", "review"]
)
def test_a_step_that_comes_later_is_refused_with_409(contracts: Contracts, pages: Any, step: str) -> None:
    it = contracts.taken(pages or CLEAR, read=pages is not None)
    refused = contracts.call(it, step)
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["retryable"]) == (409, "WRONG_STATE", False)


@pytest.mark.parametrize("end", ["reject", "time"])
def test_what_was_rejected_or_timed_out_in_review_cannot_be_compared(contracts: Contracts, end: str) -> None:
    it = contracts.in_review()
    if end == "reject":
        contracts.review(it, "reject")
    else:
        contracts.trial.advance(hours=24)
    assert contracts.call(it, "compare").status_code == 409
    read = contracts.call(it, "extract")
    assert (read.status_code, read.json()["data"]["needsReview"]) == (200, False), "that step was done"


def test_a_step_that_is_done_gives_its_stored_answer(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    seq = contracts.engine.get(it).seq
    first, second = contracts.call(it, "extract"), contracts.call(it, "compare")
    assert (first.status_code, second.status_code) == (200, 200)
    assert contracts.call(it, "compare").json() == second.json()
    assert contracts.engine.get(it).seq == seq, "nothing was done for it"


def test_a_call_waits_for_the_step_that_runs(both: Contracts) -> None:
    it = both.taken(CLEAR, drive=False)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(both.call, it, "extract") for _ in range(2)]
        while both.engine.get(it).wake != "work":
            assert not any(call.done() for call in calls)
        with both.working():
            answers = [call.result(30) for call in calls]
    assert [answer.json()["data"]["state"] for answer in answers] == ["validated"] * 2
    assert both.path(it).count("validating") == 1


def test_without_waiting_it_says_202_and_what_is_known(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR, drive=False)
    first = contracts.call(it, "extract", query="?wait=0")
    assert (first.status_code, first.json()["success"], first.json()["data"]["state"]) == (202, True, "extracting")
    again = contracts.call(it, "extract", query="?wait=0.05")
    assert again.status_code == 202
    assert [row.kind for row in contracts.engine.history(it)].count("armed") == 1


def test_how_long_a_call_waits_is_a_setting(contracts: Contracts) -> None:
    from interlock.apps.contracts.settings import ContractSettings

    contracts.engine.core.settings["contracts"] = ContractSettings(wait=0)
    assert contracts.upload(pdf(CLEAR)).status_code == 202


def test_a_caller_who_hangs_up_cancels_nothing(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR, drive=False)
    with served(contracts) as base:
        asked = Request(
            f"{base}/workflows/{it}/extract", b"{}", {"Authorization": f"Bearer {contracts.api.tokens['owner']}"}
        )
        with pytest.raises(TimeoutError):
            urlopen(asked, timeout=1)
        assert contracts.engine.get(it).wake == "work"
        contracts.trial.run_until_idle()
    assert contracts.state(it) == "validated"


@pytest.mark.parametrize("scopes", [["fire", "create"], ["read"]], ids=["cannot see it", "can only look"])
def test_a_token_needs_both_to_see_the_workflow_and_to_do_the_step(contracts: Contracts, scopes: list[str]) -> None:
    it = contracts.taken(CLEAR, drive=False)
    made = contracts.api.post("/api/tokens", {"name": "half", "scopes": scopes}).json()
    headers = {"Authorization": f"Bearer {made['secret']}"}
    for path, body in ((f"/workflows/{it}/extract?wait=0", {}), ("/workflows/ingest?wait=0", {"pdfBase64": "YQ=="})):
        refused = contracts.api.client.post(path, json=body, headers=headers)
        assert refused.status_code == 403, (path, refused.text)
    assert contracts.state(it) == "extracting"


def test_an_agent_drives_it_all_but_the_review(both: Contracts) -> None:
    it = both.taken(DOUBTFUL, drive=False, who="agent")
    assert both.done(it, "extract", who="agent").json()["data"]["needsReview"] is True
    assert both.call(it, "review", {"action": "approve"}, "agent").status_code == 403
    assert both.api.get(f"/workflows/{it}/resume-link", "agent").status_code == 403
    both.review(it, "approve")
    assert both.done(it, "compare", who="agent").json()["data"]["state"] == "completed"


@pytest.mark.parametrize("step", ["extract", "compare", "retry", "reprocess", "review"])
def test_what_is_no_workflow_is_404(contracts: Contracts, step: str) -> None:
    order = contracts.api.asked().id
    for it in (uuid4(), order):
        refused = contracts.call(it, step, {"action": "approve"} if step == "review" else {})
        error = error_of(refused)
        assert (refused.status_code, error["code"], "workflow" in error["message"]) == (404, "NOT_FOUND", True)


def test_an_error_of_ours_comes_in_the_envelope_too(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR, read=False)

    def written(data: str) -> Any:
        statement = f"UPDATE instance SET data = '{data}' WHERE machine = 'contract'"
        contracts.engine.store.write(lambda conn: conn.exec_driver_sql(statement))
        return contracts.api.get(f"/workflows/{it}")

    broken = written('{"vertical": 1}')
    error = error_of(broken)
    assert (broken.status_code, error["code"], error["retryable"]) == (500, "INTERNAL", True)
    assert error["details"]["trace"]
    unreadable = written('{"vertical": 1')
    assert (unreadable.status_code, error_of(unreadable)["code"]) == (409, "UNREADABLE")


# -- pages


def test_a_page_is_shown_as_an_image(contracts: Contracts) -> None:
    it = contracts.taken(ENERGY, vertical="energy")
    image = contracts.api.get(f"/workflows/{it}/pages/1?scale=1")
    assert (image.headers["content-type"], image.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    assert contracts.api.get(f"/workflows/{it}/pages/2").status_code == 404
    assert contracts.api.get(f"/workflows/{it}/pages/2/text").status_code == 404
    assert contracts.api.get(f"/workflows/{it}/pages/1", "north-owner").status_code == 404


# -- the same request again


def test_under_one_key_a_request_is_done_once(both: Contracts) -> None:
    it = both.in_review()

    def approve(key: str) -> Any:
        return both.api.call(
            "reviewer", "POST", f"/workflows/{it}/review", {"action": "approve"}, headers={"Idempotency-Key": key}
        )

    assert [approve(key).status_code for key in ("k1", "k1", "k2")] == [200, 200, 409]
    assert both.path(it).count("validated") == 1
    refused = both.api.call(
        "reviewer", "POST", f"/workflows/{it}/review", {"action": "reject"}, headers={"Idempotency-Key": "k1"}
    )
    assert (refused.status_code, error_of(refused)["code"]) == (422, "KEY_REUSED")
