"""The review of a contract: what a person says of each field, who may, how long there is, what is learnt."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.fields import calibration_store
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.tables import contract_calibration as C
from interlock.apps.contracts.tables import contract_label as L
from tests.support.contracts import DOUBTFUL, Contracts
from tests.support.files import word

BARE = 'This Supply Agreement is made between Nordwind Tools, Inc. ("Supplier") and Harbor Retail LLC ("Buyer").'
"""No date, and no law."""


def correct(field: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"field": field, "action": "correct", "value": value, **more}


def labels(contracts: Contracts, it: UUID) -> dict[str, int]:
    query = sa.select(L.c.field, L.c.was_right).where(L.c.instance_id == it)
    return {row.field: row.was_right for row in contracts.engine.read(lambda conn: conn.execute(query).all())}


def test_to_approve_is_to_accept_what_is_required(both: Contracts) -> None:
    it = both.in_review(drive=False)
    body = both.review(it, "approve", notes="fine").json()["data"]
    assert (body["state"], body["needsReview"], body["notes"]) == ("validated", False, "fine")
    assert labels(both, it) == {"parties": 1, "agreement_date": 1, "governing_law": 1}
    assert both.engine.verify().problems == ()


def test_a_correction_is_put_beside_what_the_machine_had_read(both: Contracts) -> None:
    it = both.in_review(drive=False)
    before = both.look(it)["fields"]["governing_law"]
    body = both.review(it, "correct", correct("governing_law", "Delaware")).json()["data"]
    law = body["fields"]["governing_law"]
    assert (body["state"], law["value"], law["normalised"], law["verified"]) == (
        "validated",
        "Delaware",
        "Delaware",
        True,
    )
    assert (law["machine"]["value"], law["machine"]["quote"]) == (before["value"], before["quote"])
    assert (law["human"]["action"], law["human"]["by"]) == ("correct", "user:reviewer/t")
    assert law["human"]["at"].startswith("2026-01-05T09:00")
    assert both.engine.get(it).data["values"]["governing_law"] == "Delaware"
    assert labels(both, it)["governing_law"] == 0
    moved = next(row for row in both.engine.history(it) if row.to_state == "validated")
    assert (moved.actor, moved.payload["decision"]) == ("user:reviewer/t", "correct")
    assert moved.payload["answer"]["decisions"][0]["value"] == "Delaware"


def test_a_correction_that_says_the_same_counts_as_right(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    contracts.review(it, "correct", correct("agreement_date", "5 March 2024"))
    assert (labels(contracts, it)["agreement_date"], contracts.look(it)["fields"]["agreement_date"]["normalised"]) == (
        1,
        "2024-03-05",
    )


def test_parties_are_corrected_as_a_list(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    response = contracts.review(it, "correct", correct("parties", ["Nordwind Tools, Inc.", "Harbour Retail LLC"]))
    parties = response.json()["data"]["fields"]["parties"]
    assert parties["normalised"] == ["harbourretail", "nordwindtools"]


@pytest.mark.parametrize("action", ["clear", "absent"])
def test_what_is_cleared_or_absent_has_no_value_and_no_evidence(contracts: Contracts, action: str) -> None:
    it = contracts.in_review(drive=False)
    body = contracts.review(it, "correct", {"field": "renewal_term", "action": action}).json()["data"]
    field = body["fields"]["renewal_term"]
    assert [field[name] for name in ("value", "normalised", "quote", "page", "boxes")] == [None, None, None, None, []]
    assert (field["machine"]["normalised"], field["human"]["action"]) == ("P1Y", action)
    assert labels(contracts, it)["renewal_term"] == 0


def test_a_required_field_that_is_absent_is_no_problem_any_more(contracts: Contracts) -> None:
    made = contracts.upload(word(BARE), query="?wait=0")
    it = UUID(made.json()["data"]["workflowId"])
    contracts.trial.run_until_idle()
    assert any("Governing law" in problem for problem in contracts.look(it)["problems"])
    law, day = ({"field": name, "action": "absent"} for name in ("governing_law", "agreement_date"))
    body = contracts.review(it, "correct", law, day).json()["data"]
    assert not any("Governing law" in problem for problem in body["problems"])


@pytest.mark.parametrize("action", ["approve", "correct"])
def test_a_required_field_without_a_value_needs_a_word(both: Contracts, action: str) -> None:
    made = both.upload(word(BARE), query="?wait=0")
    it = UUID(made.json()["data"]["workflowId"])
    both.trial.run_until_idle()
    refused = both.review(it, action, {"field": "renewal_term", "action": "absent"})
    assert refused.status_code == 422
    said = refused.json()["error"]
    assert "governing_law" in said["message"]
    assert "agreement_date" in said["message"]
    assert "parties" not in said["message"]
    assert (both.state(it), labels(both, it)) == ("review_required", {})


def test_approval_of_the_whole_is_distinguished_from_a_decision_on_the_field(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    fields = contracts.review(it, "approve", {"field": "parties", "action": "accept"}).json()["data"]["fields"]
    for name, implied in (("parties", None), ("agreement_date", True), ("governing_law", True)):
        human = fields[name]["human"]
        assert (human["action"], human["by"], human.get("implied")) == ("accept", "user:reviewer/t", implied)
        assert fields[name]["verified"] is True
    assert "human" not in fields["renewal_term"]


def test_the_reader_is_not_asked_while_the_decision_is_written(
    contracts: Contracts, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = contracts.in_review(drive=False)
    box = contracts.look(it)["fields"]["governing_law"]["boxes"][-1]
    asked: list[str] = []
    real = stored.reader()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            asked.append(threading.current_thread().name)
            return getattr(real, name)

    monkeypatch.setattr(stored, "reader", Watched)
    writers: set[str] = set()
    contracts.engine.write(lambda unit: writers.add(threading.current_thread().name), name="who")
    seen = {"page": 2, "box": box}
    assert contracts.review(it, "correct", correct("governing_law", "New York", evidence=seen)).status_code == 200
    assert len(asked) >= 2
    assert writers.isdisjoint(asked)


def test_the_general_review_endpoint_takes_characters_and_no_rectangles(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    task = contracts.look(it)["reviewTaskId"]
    law = correct("governing_law", "New York", evidence={"page": 2, "box": [72, 90, 300, 200]})
    body = {"decision": "correct", "answer": {"decisions": [law]}}
    refused = contracts.api.post(f"/api/reviews/{task}/decide", body, "reviewer")
    assert refused.status_code == 422
    assert "use start and end" in refused.text
    law["evidence"] = {"page": 2, "start": 0, "end": 13}
    assert contracts.api.post(f"/api/reviews/{task}/decide", body, "reviewer").status_code == 200
    field = contracts.look(it)["fields"]["governing_law"]
    assert (field["quote"], field["boxes"]) == ("4. Assignment", [])


def test_what_was_read_is_validated_again_after_a_correction(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    body = contracts.review(it, "correct", correct("expiration_date", "March 5, 2020")).json()["data"]
    assert body["state"] == "validated"
    assert any("2020-03-05" in problem for problem in body["problems"]), "it ends before it begins; a person said so"


def test_evidence_is_given_as_characters_of_a_page(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    text = contracts.api.get(f"/workflows/{it}/pages/1/text").json()["data"]["text"]
    start = text.index("Delaware")
    seen = {"page": 1, "start": start, "end": start + len("Delaware")}
    body = contracts.review(it, "correct", correct("governing_law", "Delaware", evidence=seen)).json()["data"]
    law = body["fields"]["governing_law"]
    assert (law["quote"], law["page"], law["start"]) == ("Delaware", 1, start)
    assert law["machine"]["page"] == 2
    ((left, top, right, bottom),) = law["boxes"]
    assert 72 < left < right
    assert 110 < top < bottom < 150


def test_evidence_is_given_as_a_rectangle_that_was_dragged(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    box = contracts.look(it)["fields"]["governing_law"]["boxes"][-1]
    wider = [box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1]
    response = contracts.review(it, "correct", correct("governing_law", "New York", evidence={"page": 2, "box": wider}))
    law = response.json()["data"]["fields"]["governing_law"]
    assert "New York" in law["quote"]
    assert law["page"] == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([correct("agreement_date", "soon")], "'soon' is not a date"),
        ([correct("agreement_date", None)], "'' is not a date"),
        ([correct("governing_law", "  ")], "is not a law"),
        ([correct("colour", "red")], "'colour' is not a field of commercial"),
        ([{"field": "price_restrictions", "action": "accept"}], "there is no value to accept"),
        ([correct("agreement_date", "1 May 2024"), correct("agreement_date", "2 May 2024")], "named twice"),
        ([correct("governing_law", "Delaware", evidence={"page": 9, "start": 0, "end": 1})], "page 9 is not in the"),
        ([correct("governing_law", "Delaware", evidence={"page": 1, "start": 5, "end": 5})], "characters 5 to 5"),
        ([correct("governing_law", "Delaware", evidence={"page": 1, "box": [0, 0, 5, 5]})], "no text under the"),
        ([{"field": "parties", "action": "bless"}], "'accept', 'correct', 'clear' or 'absent'"),
    ],
    ids=["date", "nothing", "blank", "field", "accept", "twice", "page", "span", "box", "action"],
)
def test_a_wrong_word_on_a_field_changes_nothing(contracts: Contracts, fields: list[Any], said: str) -> None:
    it = contracts.in_review(drive=False)
    before = contracts.look(it)
    refused = contracts.review(it, "correct", *fields)
    assert (refused.status_code, refused.json()["error"]["retryable"]) == (422, False), refused.text
    assert said in refused.json()["error"]["message"]
    assert contracts.look(it) == before
    assert labels(contracts, it) == {}


def test_a_rejected_contract_keeps_why_and_learns_only_what_was_said(both: Contracts) -> None:
    it = both.in_review()
    body = both.review(it, "reject", {"field": "parties", "action": "clear"}, notes="not ours").json()["data"]
    assert (body["state"], body["rejectReason"], body["notes"]) == ("rejected", "rejected_in_review", "not ours")
    assert "lastError" not in body
    assert labels(both, it) == {"parties": 0}


@pytest.mark.parametrize("action", ["timeout", "time_out", "", "APPROVE"])
def test_no_client_can_time_a_review_out(contracts: Contracts, action: str) -> None:
    it = contracts.in_review()
    refused = contracts.review(it, action)
    assert (refused.status_code, "not one of approve, correct, reject" in refused.text) == (422, True)
    assert contracts.api.post(f"/api/instances/{it}/events", {"event": "time_out"}).status_code == 403
    assert contracts.state(it) == "review_required"


def test_to_correct_nothing_is_refused(contracts: Contracts) -> None:
    it = contracts.in_review()
    assert contracts.review(it, "correct").status_code == 422


def test_a_decision_on_what_was_seen_before_is_refused(contracts: Contracts) -> None:
    it = contracts.in_review()
    seq = contracts.look(it)["seq"]
    refused = contracts.review(it, "approve", expected_seq=seq - 1)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "OUT_OF_DATE")
    assert refused.json()["error"]["details"]["found_seq"] == seq
    assert contracts.review(it, "approve", expected_seq=seq).status_code == 200


def test_a_second_decision_is_refused(both: Contracts) -> None:
    it = both.in_review()
    assert both.review(it, "approve").status_code == 200
    for again in ("approve", "reject"):
        refused = both.review(it, again)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ALREADY_DECIDED")


def test_of_two_reviewers_at_once_exactly_one_wins(both: Contracts) -> None:
    it = both.in_review(drive=False)
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(both.review, it, "correct", correct("governing_law", law), who=who)
            for who, law in (("reviewer", "Delaware"), ("member", "Texas"))
        ]
        answers = [call.result(30) for call in calls]
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    won = next(answer for answer in answers if answer.status_code == 200).json()["data"]
    assert both.look(it)["fields"] == won["fields"]
    assert both.path(it).count("validated") == 1


def test_one_that_somebody_else_is_at_is_held(contracts: Contracts) -> None:
    it = contracts.in_review()
    task = contracts.look(it)["reviewTaskId"]
    assert contracts.api.post(f"/api/reviews/{task}/claim", {}, "member").status_code == 200
    refused = contracts.review(it, "approve")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "REVIEW_CLAIMED")


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("agent", 403), ("north-owner", 404), ("reviewer", 200)])
def test_who_may_decide(contracts: Contracts, who: str, status: int) -> None:
    assert contracts.review(contracts.in_review(), "approve", who=who).status_code == status


def test_after_24_hours_it_times_out_with_reminders_at_12_and_22(both: Contracts) -> None:
    it = both.in_review()
    both.trial.advance(hours=23, minutes=59)
    assert both.state(it) == "review_required"
    both.trial.advance(minutes=1)
    assert both.look(it)["state"] == "timed_out"
    began = next(row.at for row in both.engine.history(it) if row.to_state == "review_required")
    hours = [(row.at - began) / 3_600_000_000 for row in both.engine.history(it) if row.kind == "reminded"]
    assert hours == [12, 22]
    last = both.engine.history(it)[-1]
    assert (last.event, last.actor.partition(":")[0]) == ("time_out", "system")
    assert both.review(it, "approve").status_code == 409


def test_the_general_review_endpoint_does_the_same(contracts: Contracts) -> None:
    it = contracts.in_review(drive=False)
    body = {
        "decision": "correct",
        "answer": {"decisions": [correct("governing_law", "Delaware")], "review_note": "seen on page 1"},
    }
    made = contracts.api.post(f"/api/reviews/{contracts.look(it)['reviewTaskId']}/decide", body, "reviewer")
    assert made.status_code == 200, made.text
    assert contracts.look(it)["fields"]["governing_law"]["machine"]["value"] == "New York"


# -- what is learnt


def decide_ten(contracts: Contracts, start: int = 0) -> None:
    for number in range(start, start + 4):  # each decides on three required fields
        pages = (*DOUBTFUL, (f"Schedule {number}",))
        it = contracts.taken(pages, drive=False)
        contracts.done(it, "extract")
        assert contracts.review(it, "correct", correct("governing_law", "Texas")).status_code == 200


def versions(contracts: Contracts) -> list[str]:
    query = sa.select(C.c.version).where(C.c.vertical == "commercial").order_by(C.c.at)
    return list(contracts.engine.read(lambda conn: conn.execute(query).scalars().all()))


def test_the_counts_are_made_anew_from_what_reviewers_decided(both: Contracts) -> None:
    assert calibration_store.recount(both.engine) is False
    assert versions(both) == []
    decide_ten(both)
    calibration_store.recount(both.engine)
    (first,) = versions(both)
    it = both.taken((*DOUBTFUL, ("Schedule Z",)))
    body = both.look(it)
    assert body["calibrationVersion"] == first
    assert body["fields"]["governing_law"]["confidence"] < 0.9902, "four of them were wrong"

    decide_ten(both, 10)
    calibration_store.recount(both.engine)
    assert versions(both) == [first], "once a day"
    both.api.clock.advance(timedelta(days=1))
    calibration_store.recount(both.engine)
    assert len(versions(both)) == 2
    both.api.clock.advance(timedelta(days=1))
    calibration_store.recount(both.engine)
    assert len(versions(both)) == 2, "nothing was decided since"


def test_two_processes_that_count_at_once_make_one_version(both: Contracts) -> None:
    decide_ten(both)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: calibration_store.recount(both.engine), range(2)))
    assert len(versions(both)) == 1


def test_the_machine_asks_with_the_form_that_the_endpoint_takes() -> None:
    review = contract.states["review_required"].review
    assert review is not None
    assert review.form is not None
    assert json.dumps(review.form.model_json_schema()).count("FieldDecision") > 0
