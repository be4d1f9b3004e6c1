"""Queueing: what a rule takes, what keeps a posting out, and that one opening is applied for once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from interlock.apps.jobs.autoapply.exchange import importing
from interlock.apps.jobs.autoapply.exchange.reading_csv import read_past
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.queueing.rule_changes import preview_of
from interlock.apps.jobs.autoapply.records import applications, decisions, logs, seekers
from interlock.apps.jobs.autoapply.rules import check_rule
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import job
from interlock.apps.jobs.finder.identity.keys import group_key
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.steps.listings import claim_name
from interlock.engine import CreatedElsewhere
from interlock.engine.application import Unit, create
from interlock.machine import AGENT, Actor
from interlock.store import moment
from tests.apps.jobs.autoapply.applicant import ANN, HERE, Applicant, blocked

ROBOT = Actor(AGENT, "robot")


def undecided(applicant: Applicant, rule: object) -> list[object]:
    return applicant.engine.read(lambda conn: decisions.undecided(conn, rule, applicant.engine.clock.now(), 100))  # type: ignore[arg-type]


def test_a_match_that_a_rule_takes_is_queued_with_its_record_and_its_log(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule(max_applications_per_week=20)
    queued = applicant.take(rule, posting)
    assert queued.application is not None
    data = queued.application.data
    assert (queued.application.state, data["posting_id"], data["rule_id"]) == ("queued", str(posting), str(rule.id))
    assert (data["seeker"], data["daily_limit"], data["rule_daily_limit"], data["weekly_limit"]) == (HERE, 10, 3, 20)
    assert data["require_user_approval"] is True
    row = applicant.row(queued.application.id)
    assert (row.status, row.origin, row.posting_id, row.company, row.attempt_count) == (
        "queued",
        "rule",
        posting,
        "Kind Boats 0",
        0,
    )
    [logged] = applicant.engine.read(lambda conn: logs.page(conn, HERE, application=row.id))
    assert (logged.event, logged.to_status, logged.actor, logged.trace_id) == (
        "enqueue",
        "queued",
        "system:rules",
        queued.application.trace_id,
    )


def test_every_check_is_logged_also_where_a_posting_was_not_taken(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule(titles=["Gardener"], keywords=["orchids"])
    queued = applicant.take(rule, posting)
    assert queued.application is None
    [row] = applicant.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id))
    assert (row.taken, row.posting_id) == (False, posting)
    levels = {one["name"]: one["level"] for one in row.all_checks}
    assert levels["titles"] == levels["keywords"] == "block"
    assert {"open", "already_applied", "one_live", "seeker_day", "company_cooldown", "paused"} <= set(levels)
    assert applicant.engine.read(lambda conn: decisions.blocked_counts(conn, rule.id)) == {"keywords": 1, "titles": 1}


def test_a_rule_decides_once_until_rule_or_posting_change(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule(titles=["Gardener"])
    assert undecided(applicant, rule) == [posting]
    applicant.take(rule, posting)
    assert undecided(applicant, rule) == []
    applicant.finder.set(posting, score=99)
    assert undecided(applicant, rule) == [posting]
    applicant.take(rule, posting)
    other = applicant.rule(name="other")
    assert undecided(applicant, other) == [posting]
    applicant.take(other, posting)
    applicant.finder.set(posting, score=98)
    assert undecided(applicant, other) == [], "what was taken is not taken a second time"


def test_what_only_the_moment_keeps_out_is_decided_about_again(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule()
    applicant.engine.write(lambda unit: seekers.stop(unit, HERE, "ann"))
    assert blocked(applicant.take(rule, posting)) == ["stopped"]
    assert undecided(applicant, rule) == []
    applicant.trial.clock.advance(timedelta(minutes=15))
    assert undecided(applicant, rule) == [posting]


def test_one_live_application_for_an_opening_under_all_its_sightings(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule()
    twin = applicant.finder.posting("https://other.example/9", company="Kind Boats 0")
    applicant.finder.set(twin, outcome="matched", score=90, opening_id=posting)
    assert applicant.take(rule, posting).application is not None
    assert "one_live" in blocked(applicant.take(rule, twin))
    with pytest.raises(NotPossible, match="for this opening is queued"):
        applicant.choose(twin)


def test_what_was_declined_is_not_taken_by_another_rule_but_by_a_person(applicant: Applicant) -> None:
    posting = applicant.match()
    first = applicant.take(applicant.rule(), posting).application
    assert first is not None
    applicant.engine.fire(first.id, "withdraw", actor=ANN)
    assert blocked(applicant.take(applicant.rule(name="second"), posting)) == ["declined"]
    assert applicant.choose(posting)


def submitted(applicant: Applicant, posting: object, company: str = "Kind Boats 0") -> None:
    """An application elsewhere, as an import makes it."""
    now = applicant.engine.clock.now()
    applicant.engine.write(
        lambda unit: applications.add(
            unit,
            id=posting,
            workspace=HERE,
            user_id="ann",
            posting_id=posting,
            opening_id=posting,
            origin="import",
            board="",
            job_id="",
            title="",
            company=company,
            company_key="kind boats 0",
            status="submitted",
            submitted_at=now,
        )
    )


def test_an_opening_that_was_applied_for_is_never_queued_again_unless_a_person_says_why(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule()
    submitted(applicant, posting)
    applicant.trial.clock.advance(timedelta(days=60))
    assert blocked(applicant.take(rule, posting)) == ["already_applied"]
    with pytest.raises(NotPossible, match="applied for it already"):
        applicant.choose(posting)
    with pytest.raises(NotPossible, match="applied for it already"):
        applicant.engine.write(
            lambda unit: enqueueing.enqueue_by_person(unit, HERE, posting, ROBOT, again="I was asked to")
        )
    again = applicant.choose(posting, again="they asked me to")
    assert applicant.trial.data(again)["again"] == "they asked me to"


def test_what_an_agent_applied_for_is_applied_for(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule()

    def report(unit: Unit) -> None:
        row = applicant.finder.read(lambda conn: enqueueing.posting_in(unit, HERE, posting))
        board, job_id = claim_name(row.posting)
        key = claims.job_key(board, job_id)
        create(unit, job, {"board": board, "job_id": job_id}, ROBOT, key=key, by_application=True)
        claims.claim(unit, HERE, claims.ClaimRequest("r1", board, job_id), ROBOT)

    applicant.engine.write(report)
    assert blocked(applicant.take(rule, posting)) == ["claimed"]
    applicant.engine.write(lambda unit: claims.report(unit, HERE, "r1", ROBOT, status="success"))
    assert blocked(applicant.take(rule, posting)) == ["already_applied"]
    with pytest.raises(NotPossible, match="run r1 reported job"):
        applicant.choose(posting)


def test_the_editor_shows_what_was_applied_for_by_whatever_door(applicant: Applicant) -> None:
    by_agent, imported, sighting, sent, free = (applicant.match(number) for number in range(5))
    row = applicant.finder.read(lambda conn: postings.find(conn, HERE, by_agent))
    assert row is not None
    board, job_id = claim_name(row.posting)

    def report(unit: Unit) -> None:
        key = claims.job_key(board, job_id)
        create(unit, job, {"board": board, "job_id": job_id}, ROBOT, key=key, by_application=True)
        claims.claim(unit, HERE, claims.ClaimRequest("r1", board, job_id), ROBOT)
        claims.report(unit, HERE, "r1", ROBOT, status="success")

    applicant.engine.write(report)
    now = moment(applicant.engine.clock.now())
    past = read_past(f"company,title,date\nKind Boats 1,Backend Engineer,{now:%Y-%m-%d}".encode(), now)
    applicant.finder.set(imported, group_key=group_key("Kind Boats 1", "Backend Engineer"))
    applicant.engine.write(lambda unit: importing.carry_out(unit, HERE, past, "ann"))
    submitted(applicant, sent)
    applicant.finder.set(sighting, opening_id=sent)
    found = applicant.engine.read(lambda conn: preview_of(conn, HERE, check_rule({"name": "all"})))
    assert [one["posting_id"] for one in found["taken"]] == [str(free)]
    assert found["only_by"] == {"already_applied": 4}


def test_a_company_is_left_alone_for_seven_days_whatever_its_legal_form(applicant: Applicant) -> None:
    first, rule = applicant.match(), applicant.rule()
    second = applicant.finder.settled(
        "https://jobs.kind.example/b", company="Kind Boats 0 GmbH", title="Backend Engineer"
    )
    submitted(applicant, first)
    assert blocked(applicant.take(rule, second)) == ["company_cooldown"]
    applicant.trial.clock.advance(timedelta(days=7))
    assert applicant.take(rule, second).application is not None


def test_open_applications_count_so_that_not_a_hundred_are_prepared(applicant: Applicant) -> None:
    rule = applicant.rule(max_applications_per_week=14)
    postings = [applicant.match(number) for number in range(3)]
    taken = [applicant.take(rule, posting) for posting in postings]
    assert [one.application is not None for one in taken] == [True, True, False]
    assert blocked(taken[2]) == ["rule_day"]


def test_ten_a_day_for_the_seeker_over_all_rules_and_people(applicant: Applicant) -> None:
    rules = [applicant.rule(name=str(number), max_applications_per_week=28) for number in range(4)]
    for number in range(10):
        assert applicant.take(rules[number % 4], applicant.match(number)).application is not None
    late = applicant.match(11)
    assert blocked(applicant.take(rules[0], late)) == ["seeker_day"]
    with pytest.raises(NotPossible, match="10 of 10 applications in 24 hours"):
        applicant.choose(late)


def test_a_model_s_score_far_from_the_rules_needs_a_person(applicant: Applicant) -> None:
    posting, rule = applicant.match(), applicant.rule(require_user_approval=False)
    applicant.finder.set(posting, score=95, match_result={"match_score": 95, "threshold": 60, "rule_score": 60})
    queued = applicant.take(rule, posting)
    assert queued.application is not None
    assert queued.application.data["require_user_approval"] is True


def test_limits_hold_for_many_workers_that_queue_at_once(applicant: Applicant) -> None:
    rule = applicant.rule(max_applications_per_week=21)
    postings = [applicant.match(number) for number in range(32)]
    barrier = Barrier(32)

    def take(posting: object) -> bool:
        barrier.wait(30)
        return applicant.take(rule, posting).application is not None  # type: ignore[arg-type]

    with ThreadPoolExecutor(32) as threads:
        taken = list(threads.map(take, postings))
    assert sum(taken) == 3
    assert len(applicant.rows()) == 3


def test_applications_are_created_through_the_application_only(applicant: Applicant) -> None:
    with pytest.raises(CreatedElsewhere, match="POST /auto-apply/enqueue"):
        applicant.engine.create("application", {})
