"""From the match to the confirmation, on the demo world over HTTP."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.records import artifacts, logs
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.applicant import HERE

from .sending import WorldApplicant


def test_an_application_is_prepared_approved_and_sent_once(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    assert applicant.trial.path(it) == ["queued", "preparing", "ready_to_submit", "requires_review"]
    assert applicant.arrived == []
    data = applicant.trial.data(it)
    assert (data["review_reason"], data["open_questions"], data["adapter"]) == ("approve_packet", 0, "demo_world")
    applicant.approve(it)
    assert applicant.trial.state(it) == "submitted", applicant.engine.explain(it).sentence
    [arrived] = applicant.arrived
    assert arrived["fields"]["name"] == "Mika Sand"
    assert arrived["fields"]["authorised"] == "Yes"
    assert "Co booking-backend" in arrived["fields"]["cover_letter"]
    [resume] = arrived["files"]
    kept = {one.name: one for one in applicant.engine.read(lambda conn: artifacts.of(conn, it))}
    assert resume["sha256"] == kept["resume.pdf"].hash == data["resume"]
    assert set(kept) == {
        "resume.pdf",
        "resume.docx",
        "letter.pdf",
        "letter.docx",
        "packet.json",
        "claim_check.json",
    }
    row = applicant.row(it)
    assert (row.status, row.attempt_count, row.packet_hash) == ("submitted", 1, data["packet_hash"])
    assert row.submitted_at is not None
    moves = [(one.from_status, one.to_status) for one in applicant.engine.read(lambda conn: logs.page(conn, HERE))][
        ::-1
    ]
    assert moves == [
        (None, "queued"),
        ("queued", "preparing"),
        ("preparing", "ready_to_submit"),
        ("ready_to_submit", "requires_review"),
        ("requires_review", "submitted"),
    ]
    assert broken_laws(applicant.engine) == []
