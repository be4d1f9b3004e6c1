"""Sending: what is approved and nothing else, at most once, through a claim, and only while the posting is open."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.autoapply import deciding
from interlock.apps.jobs.autoapply.records import answers, artifacts
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import job, run
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.engine.application import create, instances
from interlock.machine import AGENT, Actor
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.office import ANN, HERE

from .sending import Desk

ROBOT = Actor(AGENT, "robot")


def test_a_rule_that_asks_for_no_approval_sends_by_itself(desk: Desk) -> None:
    queued = desk.take(desk.rule(require_user_approval=False), desk.opening())
    assert queued.application is not None
    desk.trial.run_until_idle()
    it = queued.application.id
    assert desk.trial.path(it) == ["queued", "preparing", "ready_to_submit", "submitted"]
    assert len(desk.arrived) == 1
    [held] = desk.engine.read(lambda conn: instances(conn, run.name))
    [claimed] = desk.engine.read(lambda conn: instances(conn, job.name))
    assert (held.state, claimed.state, held.data["agent"]) == ("success", "applied", f"application:{it}")
    assert desk.trial.data(it)["reference"]


def test_an_approval_is_for_one_packet(desk: Desk) -> None:
    it = desk.apply()
    with pytest.raises(NotPossible, match="look at it again"):
        desk.engine.write(lambda unit: deciding.approve(unit, HERE, it, "0" * 64, ANN))
    desk.decide(it, "requires_review", "approve", approved_packet="0" * 64)
    assert (desk.trial.state(it), desk.arrived) == ("requires_review", [])
    digest = desk.trial.data(it)["packet_hash"]
    desk.engine.write(lambda unit: deciding.approve(unit, HERE, it, digest, ANN))
    desk.trial.run_until_idle()
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_a_packet_is_used_again_until_the_profile_or_the_posting_changes(desk: Desk) -> None:
    it = desk.apply()
    first = desk.trial.data(it)["packet_hash"]
    for _ in range(2):
        desk.engine.fire(it, "pause", actor=ANN)
        desk.engine.fire(it, "resume", actor=ANN)
        desk.trial.run_until_idle()
    assert desk.trial.data(it)["packet_hash"] == first
    assert len(desk.engine.read(lambda conn: artifacts.of(conn, it))) == 6, "nothing was made a second time"
    desk.profile(**{"identity": {"name": "Mika Strand", "email": "mika@sand.example"}, "work_authorisation": ["US"]})
    desk.engine.write(lambda unit: deciding.prepare_again(unit, HERE, it, ANN))
    desk.trial.run_until_idle()
    assert desk.trial.data(it)["packet_hash"] != first
    with pytest.raises(NotPossible, match="look at it again"):
        desk.engine.write(lambda unit: deciding.approve(unit, HERE, it, first, ANN))


def test_a_question_that_nothing_answers_is_asked_remembered_and_counted(desk: Desk) -> None:
    desk.profile(**{"identity": {"name": "Mika Sand", "email": "mika@sand.example"}})
    it = desk.apply()
    assert desk.trial.data(it)["open_questions"] == 1
    digest = desk.trial.data(it)["packet_hash"]
    with pytest.raises(NotPossible, match="1 questions that need your answer"):
        desk.engine.write(lambda unit: deciding.approve(unit, HERE, it, digest, ANN))
    given = [deciding.Given("authorised", "Yes")]
    desk.engine.write(lambda unit: deciding.answer(unit, HERE, it, given, ANN))
    desk.trial.run_until_idle()
    assert (desk.trial.state(it), desk.trial.data(it)["open_questions"]) == ("requires_review", 0)
    desk.approve(it)
    assert desk.arrived[0]["fields"]["authorised"] == "Yes"
    other = desk.apply(desk.opening("customs-fullstack", company="tidewater"))
    assert desk.trial.data(other)["open_questions"] == 0
    [saved] = desk.engine.read(lambda conn: answers.page(conn, HERE))
    assert (saved.answer.value, saved.answer.scope, saved.answer.uses) == ("Yes", "everywhere", 2)


def test_what_may_reject_is_known_before_the_packet_and_needs_a_person(desk: Desk) -> None:
    desk.profile(
        **{
            "identity": {"name": "Mika Sand", "email": "mika@sand.example"},
            "work_authorisation": [{"country": "US", "authorised": False}],
        }
    )
    queued = desk.take(desk.rule(require_user_approval=False), desk.opening())
    assert queued.application is not None
    desk.trial.run_until_idle()
    data = desk.trial.data(queued.application.id)
    assert (desk.trial.state(queued.application.id), desk.arrived) == ("requires_review", [])
    assert data["knockouts"] >= 1
    assert any("may reject you" in one for one in data["doubts"])


def test_a_posting_that_is_gone_is_withdrawn_and_not_sent(desk: Desk) -> None:
    it = desk.apply()
    desk.world.faults.add("not_found", "/tidewater/jobs/")
    desk.approve(it)
    assert (desk.trial.state(it), desk.trial.data(it)["withdraw_reason"]) == ("withdrawn", "job_closed")
    assert (desk.arrived, desk.row(it).withdraw_reason, desk.row(it).sent_at) == ([], "job_closed", None)


def test_a_lost_answer_waits_for_a_person_and_is_never_sent_again(desk: Desk) -> None:
    it = desk.apply()
    desk.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    desk.approve(it)
    assert (desk.trial.state(it), len(desk.arrived)) == ("requires_review", 1)
    assert desk.trial.data(it)["review_reason"] == "verify_submission"
    assert desk.row(it).sent_at is not None
    desk.trial.advance(days=3)
    desk.trial.look_after()
    assert len(desk.arrived) == 1
    desk.engine.write(lambda unit: deciding.later(unit, HERE, it, ANN))
    desk.engine.write(lambda unit: deciding.resume(unit, HERE, it, ANN))
    desk.trial.run_until_idle()
    assert (desk.trial.state(it), len(desk.arrived)) == ("requires_review", 1)
    desk.engine.write(lambda unit: deciding.verify(unit, HERE, it, True, ANN))
    desk.trial.run_until_idle()
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)
    assert {one.state for one in desk.engine.read(lambda conn: instances(conn, run.name))} == {"success"}
    assert {one.state for one in desk.engine.read(lambda conn: instances(conn, job.name))} == {"applied"}
    assert broken_laws(desk.engine) == []


def test_what_did_not_arrive_is_sent_again_when_a_person_says_so(desk: Desk) -> None:
    it = desk.apply()
    desk.world.faults.add("lost_answer", "/apply/", method="POST", times=1)
    desk.approve(it)
    desk.world.received.clear()
    desk.engine.write(lambda unit: deciding.verify(unit, HERE, it, False, ANN))
    assert desk.trial.state(it) == "failed"
    desk.trial.advance(minutes=15)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_what_an_agent_has_applied_for_meanwhile_is_withdrawn(desk: Desk) -> None:
    it = desk.apply()
    data = desk.trial.data(it)
    key = claims.job_key(data["board"], data["job_id"])

    def others(unit: object) -> None:
        create(unit, job, {"board": data["board"], "job_id": data["job_id"]}, ROBOT, key=key, by_application=True)  # type: ignore[arg-type]
        claims.claim(unit, HERE, claims.ClaimRequest("r1", data["board"], data["job_id"]), ROBOT)  # type: ignore[arg-type]

    desk.engine.write(others)
    desk.approve(it)
    assert (desk.trial.state(it), desk.arrived) == ("failed", []), "somebody else has the claim; it is tried again"
    assert desk.row(it).sent_at is None
    desk.engine.write(lambda unit: claims.report(unit, HERE, "r1", ROBOT, status="success"))
    desk.trial.advance(minutes=15)
    assert (desk.trial.state(it), desk.trial.data(it)["withdraw_reason"]) == ("withdrawn", "already_applied")
    assert desk.arrived == []


def test_two_sightings_of_one_opening_that_were_queued_apart_are_sent_once(desk: Desk) -> None:
    first, second = desk.opening(), desk.opening("customs-fullstack")
    one, other = desk.apply(first), desk.apply(second)
    desk.finder.set(second, opening_id=first)
    desk.approve(one)
    desk.approve(other)
    assert (desk.trial.state(one), desk.trial.state(other)) == ("submitted", "withdrawn")
    assert desk.trial.data(other)["withdraw_reason"] == "already_applied"
    assert len(desk.arrived) == 1
