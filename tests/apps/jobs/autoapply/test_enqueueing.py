"""Queueing: what a rule takes, what keeps a posting out, and that one opening is applied for once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from interlock.apps.jobs.autoapply import enqueueing
from interlock.apps.jobs.autoapply.records import applications, decisions, logs, seekers
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import job
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.finder.steps.listings import claim_name
from interlock.engine import CreatedElsewhere
from interlock.engine.application import Unit, create
from interlock.machine import AGENT, Actor

from .office import ANN, HERE, Office, blocked

ROBOT = Actor(AGENT, "robot")


def undecided(office: Office, rule: object) -> list[object]:
    return office.engine.read(lambda conn: decisions.undecided(conn, rule, office.engine.clock.now(), 100))  # type: ignore[arg-type]


def test_a_match_that_a_rule_takes_is_queued_with_its_record_and_its_log(office: Office) -> None:
    posting, rule = office.match(), office.rule(max_applications_per_week=20)
    queued = office.take(rule, posting)
    assert queued.application is not None
    data = queued.application.data
    assert (queued.application.state, data["posting_id"], data["rule_id"]) == ("queued", str(posting), str(rule.id))
    assert (data["seeker"], data["daily_limit"], data["rule_daily_limit"], data["weekly_limit"]) == (HERE, 10, 3, 20)
    assert data["require_user_approval"] is True
    row = office.row(queued.application.id)
    assert (row.status, row.origin, row.posting_id, row.company, row.attempt_count) == (
        "queued",
        "rule",
        posting,
        "Kind Boats 0",
        0,
    )
    [logged] = office.engine.read(lambda conn: logs.page(conn, HERE, application=row.id))
    assert (logged.event, logged.to_status, logged.actor, logged.trace_id) == (
        "enqueue",
        "queued",
        "system:rules",
        queued.application.trace_id,
    )


def test_every_check_is_logged_also_where_a_posting_was_not_taken(office: Office) -> None:
    posting, rule = office.match(), office.rule(titles=["Gardener"], keywords=["orchids"])
    queued = office.take(rule, posting)
    assert queued.application is None
    [row] = office.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id))
    assert (row.taken, row.posting_id) == (False, posting)
    levels = {one["name"]: one["level"] for one in row.all_checks}
    assert levels["titles"] == levels["keywords"] == "block"
    assert {"open", "already_applied", "one_live", "seeker_day", "company_cooldown", "paused"} <= set(levels)
    assert office.engine.read(lambda conn: decisions.blocked_counts(conn, rule.id)) == {"keywords": 1, "titles": 1}


def test_a_rule_decides_once_until_rule_or_posting_change(office: Office) -> None:
    posting, rule = office.match(), office.rule(titles=["Gardener"])
    assert undecided(office, rule) == [posting]
    office.take(rule, posting)
    assert undecided(office, rule) == []
    office.finder.set(posting, score=99)
    assert undecided(office, rule) == [posting]
    office.take(rule, posting)
    other = office.rule(name="other")
    assert undecided(office, other) == [posting]
    office.take(other, posting)
    office.finder.set(posting, score=98)
    assert undecided(office, other) == [], "what was taken is not taken a second time"


def test_what_only_the_moment_keeps_out_is_decided_about_again(office: Office) -> None:
    posting, rule = office.match(), office.rule()
    office.engine.write(lambda unit: seekers.stop(unit, HERE, "ann"))
    assert blocked(office.take(rule, posting)) == ["stopped"]
    assert undecided(office, rule) == []
    office.trial.clock.advance(timedelta(minutes=15))
    assert undecided(office, rule) == [posting]


def test_one_live_application_for_an_opening_under_all_its_sightings(office: Office) -> None:
    posting, rule = office.match(), office.rule()
    twin = office.finder.posting("https://other.example/9", company="Kind Boats 0")
    office.finder.set(twin, outcome="matched", score=90, opening_id=posting)
    assert office.take(rule, posting).application is not None
    assert "one_live" in blocked(office.take(rule, twin))
    with pytest.raises(NotPossible, match="for this opening is queued"):
        office.choose(twin)


def test_what_was_declined_is_not_taken_by_another_rule_but_by_a_person(office: Office) -> None:
    posting = office.match()
    first = office.take(office.rule(), posting).application
    assert first is not None
    office.engine.fire(first.id, "withdraw", actor=ANN)
    assert blocked(office.take(office.rule(name="second"), posting)) == ["declined"]
    assert office.choose(posting)


def submitted(office: Office, posting: object, company: str = "Kind Boats 0") -> None:
    """An application elsewhere, as an import makes it."""
    now = office.engine.clock.now()
    office.engine.write(
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


def test_an_opening_that_was_applied_for_is_never_queued_again_unless_a_person_says_why(office: Office) -> None:
    posting, rule = office.match(), office.rule()
    submitted(office, posting)
    office.trial.clock.advance(timedelta(days=60))
    assert blocked(office.take(rule, posting)) == ["already_applied"]
    with pytest.raises(NotPossible, match="applied for it already"):
        office.choose(posting)
    again = office.choose(posting, again="they asked me to")
    assert office.trial.data(again)["again"] == "they asked me to"


def test_what_an_agent_applied_for_is_applied_for(office: Office) -> None:
    posting, rule = office.match(), office.rule()

    def report(unit: Unit) -> None:
        row = office.finder.read(lambda conn: enqueueing.posting_in(unit, HERE, posting))
        board, job_id = claim_name(row.posting)
        key = claims.job_key(board, job_id)
        create(unit, job, {"board": board, "job_id": job_id}, ROBOT, key=key, by_application=True)
        claims.claim(unit, HERE, claims.ClaimRequest("r1", board, job_id), ROBOT)

    office.engine.write(report)
    assert blocked(office.take(rule, posting)) == ["claimed"]
    office.engine.write(lambda unit: claims.report(unit, HERE, "r1", ROBOT, status="success"))
    assert blocked(office.take(rule, posting)) == ["already_applied"]
    with pytest.raises(NotPossible, match="run r1 reported job"):
        office.choose(posting)


def test_a_company_is_left_alone_for_seven_days_whatever_its_legal_form(office: Office) -> None:
    first, rule = office.match(), office.rule()
    second = office.finder.settled("https://jobs.kind.example/b", company="Kind Boats 0 GmbH", title="Backend Engineer")
    submitted(office, first)
    assert blocked(office.take(rule, second)) == ["company_cooldown"]
    office.trial.clock.advance(timedelta(days=7))
    assert office.take(rule, second).application is not None


def test_open_applications_count_so_that_not_a_hundred_are_prepared(office: Office) -> None:
    rule = office.rule(max_applications_per_week=14)
    postings = [office.match(number) for number in range(3)]
    taken = [office.take(rule, posting) for posting in postings]
    assert [one.application is not None for one in taken] == [True, True, False]
    assert blocked(taken[2]) == ["rule_day"]


def test_ten_a_day_for_the_seeker_over_all_rules_and_people(office: Office) -> None:
    rules = [office.rule(name=str(number), max_applications_per_week=28) for number in range(4)]
    for number in range(10):
        assert office.take(rules[number % 4], office.match(number)).application is not None
    late = office.match(11)
    assert blocked(office.take(rules[0], late)) == ["seeker_day"]
    with pytest.raises(NotPossible, match="10 of 10 applications in 24 hours"):
        office.choose(late)


def test_a_model_s_score_far_from_the_rules_needs_a_person(office: Office) -> None:
    posting, rule = office.match(), office.rule(require_user_approval=False)
    office.finder.set(posting, score=95, match_result={"match_score": 95, "threshold": 60, "rule_score": 60})
    queued = office.take(rule, posting)
    assert queued.application is not None
    assert queued.application.data["require_user_approval"] is True


def test_limits_hold_for_many_workers_that_queue_at_once(office: Office) -> None:
    rule = office.rule(max_applications_per_week=21)
    postings = [office.match(number) for number in range(32)]
    barrier = Barrier(32)

    def take(posting: object) -> bool:
        barrier.wait(30)
        return office.take(rule, posting).application is not None  # type: ignore[arg-type]

    with ThreadPoolExecutor(32) as threads:
        taken = list(threads.map(take, postings))
    assert sum(taken) == 3
    assert len(office.rows()) == 3


def test_applications_are_created_through_the_application_only(office: Office) -> None:
    with pytest.raises(CreatedElsewhere, match="POST /auto-apply/enqueue"):
        office.engine.create("application", {})
