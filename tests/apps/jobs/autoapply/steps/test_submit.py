"""Sending: what is approved and nothing else, at most once, through a claim, and only while the posting is open."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.autoapply.records import answers, artifacts, logs
from interlock.apps.jobs.autoapply.review import deciding
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import job, run
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.engine import leases
from interlock.engine.application import Unit, create, fire, instances
from interlock.machine import AGENT, Actor
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.applicant import ANN, HERE

from .sending import WorldApplicant

ROBOT = Actor(AGENT, "robot")


def test_a_rule_that_asks_for_no_approval_sends_by_itself(applicant: WorldApplicant) -> None:
    queued = applicant.take(applicant.rule(require_user_approval=False), applicant.opening())
    assert queued.application is not None
    applicant.trial.run_until_idle()
    it = queued.application.id
    assert applicant.trial.path(it) == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert len(applicant.arrived) == 1
    [held] = applicant.engine.read(lambda conn: instances(conn, run.name))
    [claimed] = applicant.engine.read(lambda conn: instances(conn, job.name))
    assert (held.state, claimed.state, held.data["agent"]) == ("success", "applied", f"application:{it}")
    assert applicant.trial.data(it)["reference"]


def test_an_approval_is_for_one_packet(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    with pytest.raises(NotPossible, match="look at it again"):
        applicant.engine.write(lambda unit: deciding.approve(unit, HERE, it, "0" * 64, ANN))
    applicant.decide(it, "requires_review", "approve", approved_packet="0" * 64)
    assert (applicant.trial.state(it), applicant.arrived) == ("requires_review", [])
    digest = applicant.trial.data(it)["packet_hash"]
    applicant.engine.write(lambda unit: deciding.approve(unit, HERE, it, digest, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_a_pause_of_everything_stops_what_is_approved_and_leaves_what_waits(applicant: WorldApplicant) -> None:
    it, waiting = applicant.apply(), applicant.apply(applicant.opening("customs-fullstack"))
    packet = applicant.trial.data(it)["packet_hash"]
    applicant.engine.write(lambda unit: deciding.approve(unit, HERE, it, packet, ANN))
    changed = applicant.engine.write(lambda unit: deciding.pause_all(unit, HERE, ANN))
    assert changed == deciding.Changed(1, 0)
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), applicant.trial.state(waiting)) == ("paused", "requires_review")
    assert applicant.arrived == []
    applicant.engine.write(lambda unit: deciding.resume_all(unit, HERE, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1), "the same packet is approved"


def test_a_packet_is_used_again_until_the_profile_or_the_posting_changes(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    first = applicant.trial.data(it)["packet_hash"]
    for _ in range(2):
        applicant.engine.fire(it, "pause", actor=ANN)
        applicant.engine.fire(it, "resume", actor=ANN)
        applicant.trial.run_until_idle()
    assert applicant.trial.data(it)["packet_hash"] == first
    assert len(applicant.engine.read(lambda conn: artifacts.of(conn, it))) == 6, "nothing was made a second time"
    applicant.profile(
        **{"identity": {"name": "Mika Strand", "email": "mika@sand.example"}, "work_authorisation": ["US"]}
    )
    applicant.engine.write(lambda unit: deciding.prepare_again(unit, HERE, it, ANN))
    applicant.trial.run_until_idle()
    assert applicant.trial.data(it)["packet_hash"] != first
    with pytest.raises(NotPossible, match="look at it again"):
        applicant.engine.write(lambda unit: deciding.approve(unit, HERE, it, first, ANN))


def test_a_question_that_nothing_answers_is_asked_remembered_and_counted(applicant: WorldApplicant) -> None:
    applicant.profile(**{"identity": {"name": "Mika Sand", "email": "mika@sand.example"}})
    it = applicant.apply()
    assert applicant.trial.data(it)["open_questions"] == 1
    digest = applicant.trial.data(it)["packet_hash"]
    with pytest.raises(NotPossible, match="1 questions that need your answer"):
        applicant.engine.write(lambda unit: deciding.approve(unit, HERE, it, digest, ANN))
    given = [deciding.Given("authorised", "Yes")]
    applicant.engine.write(lambda unit: deciding.answer(unit, HERE, it, given, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), applicant.trial.data(it)["open_questions"]) == ("requires_review", 0)
    applicant.approve(it)
    assert applicant.arrived[0]["fields"]["authorised"] == "Yes"
    other = applicant.apply(applicant.opening("customs-fullstack", company="tidewater"))
    assert applicant.trial.data(other)["open_questions"] == 0
    [saved] = applicant.engine.read(lambda conn: answers.page(conn, HERE))
    assert (saved.answer.value, saved.answer.scope, saved.answer.uses) == ("Yes", "everywhere", 2)


def test_what_may_reject_is_known_before_the_packet_and_needs_a_person(applicant: WorldApplicant) -> None:
    applicant.profile(
        **{
            "identity": {"name": "Mika Sand", "email": "mika@sand.example"},
            "work_authorisation": [{"country": "US", "authorised": False}],
        }
    )
    queued = applicant.take(applicant.rule(require_user_approval=False), applicant.opening())
    assert queued.application is not None
    applicant.trial.run_until_idle()
    data = applicant.trial.data(queued.application.id)
    assert (applicant.trial.state(queued.application.id), applicant.arrived) == ("requires_review", [])
    assert data["knockouts"] >= 1
    assert any("may reject you" in one for one in data["doubts"])


def test_a_posting_that_is_gone_is_withdrawn_and_not_sent(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    applicant.world.faults.add("not_found", "/tidewater/jobs/")
    applicant.approve(it)
    assert (applicant.trial.state(it), applicant.trial.data(it)["withdraw_reason"]) == ("withdrawn", "job_closed")
    assert (applicant.arrived, applicant.row(it).withdraw_reason, applicant.row(it).sent_at) == ([], "job_closed", None)


def test_a_lost_answer_waits_for_a_person_and_is_never_sent_again(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    applicant.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    applicant.approve(it)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("requires_review", 1)
    assert applicant.trial.data(it)["review_reason"] == "verify_submission"
    row = applicant.row(it)
    assert (row.review_reason, row.sent_at is not None) == ("verify_submission", True)
    assert "its answer is unknown" in str(row.last_error)
    [entry, *_] = applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it))
    assert (entry.to_status, entry.reason, entry.error) == ("requires_review", "verify_submission", row.last_error)
    applicant.trial.advance(days=3)
    applicant.trial.look_after()
    assert len(applicant.arrived) == 1
    applicant.engine.write(lambda unit: deciding.later(unit, HERE, it, ANN))
    applicant.engine.write(lambda unit: deciding.resume(unit, HERE, it, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("requires_review", 1)
    applicant.engine.write(lambda unit: deciding.verify(unit, HERE, it, True, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)
    assert {one.state for one in applicant.engine.read(lambda conn: instances(conn, run.name))} == {"success"}
    assert {one.state for one in applicant.engine.read(lambda conn: instances(conn, job.name))} == {"applied"}
    assert broken_laws(applicant.engine) == []


def test_what_wants_an_account_by_now_is_sent_by_hand_under_a_claim_that_lasts(
    applicant: WorldApplicant,
) -> None:
    it = applicant.apply()
    applicant.world.faults.add("html", "/tidewater/jobs/")
    applicant.approve(it)
    row = applicant.row(it)
    assert (row.status, row.review_reason, applicant.arrived) == ("requires_review", "submit_by_hand", [])
    [entry, *_] = applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it))
    assert entry.reason == "submit_by_hand: the page has no form; it wants an account"
    applicant.engine.write(lambda unit: deciding.open_form(unit, HERE, it, ANN))
    lock = f"lock:apply:{applicant.trial.data(it)['board']}:{applicant.trial.data(it)['job_id']}"
    for _ in range(4):
        applicant.trial.advance(hours=20)
        applicant.trial.look_after()
    held = applicant.engine.read(lambda conn: leases.find(conn, applicant.engine.clock.now(), lock))
    assert held is not None, "it is the person's until they answer"
    applicant.engine.write(lambda unit: deciding.report(unit, HERE, it, "submitted", ANN, proof="by mail"))
    assert applicant.trial.state(it) == "submitted"


def test_what_did_not_arrive_is_sent_again_when_a_person_says_so(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    applicant.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    applicant.approve(it)
    applicant.world.received.clear()
    applicant.engine.write(lambda unit: deciding.verify(unit, HERE, it, False, ANN))
    assert applicant.trial.state(it) == "failed"
    applicant.trial.advance(minutes=15)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_what_an_agent_has_applied_for_meanwhile_is_withdrawn(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    data = applicant.trial.data(it)
    key = claims.job_key(data["board"], data["job_id"])

    def others(unit: object) -> None:
        create(unit, job, {"board": data["board"], "job_id": data["job_id"]}, ROBOT, key=key, by_application=True)  # type: ignore[arg-type]
        claims.claim(unit, HERE, claims.ClaimRequest("r1", data["board"], data["job_id"]), ROBOT)  # type: ignore[arg-type]

    applicant.engine.write(others)
    applicant.approve(it)
    assert (applicant.trial.state(it), applicant.arrived) == ("failed", []), (
        "somebody else has the claim; it is tried again"
    )
    assert applicant.row(it).sent_at is None
    applicant.engine.write(lambda unit: claims.report(unit, HERE, "r1", ROBOT, status="success"))
    applicant.trial.advance(minutes=15)
    assert (applicant.trial.state(it), applicant.trial.data(it)["withdraw_reason"]) == ("withdrawn", "already_applied")
    assert applicant.arrived == []


def test_what_nobody_can_claim_any_more_is_withdrawn_at_once_and_not_queued_again(applicant: WorldApplicant) -> None:
    posting = applicant.opening()
    it = applicant.apply(posting)
    data = applicant.trial.data(it)
    key = claims.job_key(data["board"], data["job_id"])

    def reject(unit: Unit) -> None:
        made = create(
            unit, job, {"board": data["board"], "job_id": data["job_id"]}, ROBOT, key=key, by_application=True
        )
        fire(unit, made.id, "reject", ANN)

    applicant.engine.write(reject)
    applicant.approve(it)
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "job_closed")
    assert (applicant.arrived, "was rejected on" in str(applicant.row(it).last_error)) == ([], True)
    with pytest.raises(NotPossible, match="so nobody can claim it"):
        applicant.choose(posting)


def test_two_sightings_of_one_opening_that_were_queued_apart_are_sent_once(applicant: WorldApplicant) -> None:
    first, second = applicant.opening(), applicant.opening("customs-fullstack")
    one, other = applicant.apply(first), applicant.apply(second)
    applicant.finder.set(second, opening_id=first)
    applicant.approve(one)
    applicant.approve(other)
    assert (applicant.trial.state(one), applicant.trial.state(other)) == ("submitted", "withdrawn")
    assert applicant.trial.data(other)["withdraw_reason"] == "already_applied"
    assert len(applicant.arrived) == 1
