"""What the machines say beside their tables: retries, pauses, limits, timers, reviews and guards."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.machine import contract
from interlock.apps.jobs.autoapply import errors
from interlock.apps.jobs.autoapply.machine import SUBMIT_BY_HAND, VERIFY_SUBMISSION, application
from interlock.apps.jobs.autoapply.models import Application
from interlock.apps.jobs.claims.machine import run
from interlock.apps.jobs.finder.machine import company, listing, source
from interlock.apps.sessions.machine import loan, session
from interlock.machine import (
    AGENT,
    SYSTEM,
    USER,
    WORKER,
    Actor,
    EffectUnknown,
    Facts,
    LimitReached,
    Machine,
    Reminder,
    Rule,
    Timer,
)

pytestmark = pytest.mark.soak("postgresql")

HOUR = timedelta(hours=1)


def rule(machine: Machine, error: Exception, state: str) -> Rule:
    found = machine.failures.rule_for(error, state)
    assert found is not None
    return found


def waits(rule: Rule) -> list[float]:
    assert rule.retries is not None
    return [rule.backoff.delay(n).total_seconds() for n in range(1, rule.retries + 1)]


def facts(state: str, **changes: Any) -> Facts:
    given: dict[str, Any] = {"previous": None, "failed_step": None, "data": {}, "actor": Actor(USER, "ann")}
    return Facts(state, **{**given, **changes})


@pytest.mark.parametrize("machine", [company, source, listing], ids=lambda machine: machine.name)
def test_an_item_of_the_finder_is_retried_three_times_per_stage_and_rests_as_failed(machine: Machine) -> None:
    found = rule(machine, KeyError(), "PROCESSING")
    assert (machine.failures.state, found.retries, found.then, found.dead_letter) == ("FAILED", 3, None, True)
    assert machine.stage == "stage"
    assert machine.max_depth == 10


@pytest.mark.parametrize(
    ("machine", "stages"),
    [
        (company, ["FETCH", "EXTRACT", "ANALYZE", "SAVE"]),
        (source, ["DISCOVER", "VALIDATE", "CONFIGURE", "TEST", "CRAWL"]),
        (listing, ["SCRAPE", "FILTER", "ANALYZE", "SAVE"]),
    ],
    ids=["company", "source", "listing"],
)
def test_the_stages_of_the_finder(machine: Machine, stages: list[str]) -> None:
    assert machine.data is not None
    field = machine.data.model_fields["stage"]
    assert field.annotation is not None
    assert [str(stage) for stage in field.annotation] == stages
    assert field.default == stages[0]


def test_a_run_that_reported_a_submission_is_not_lost_with_its_agent() -> None:
    assert run.edge("pending", "lost") is not None
    assert run.edge("submitted", "lost") is None
    assert not any(SYSTEM in edge.by for edge in run.edges_from("submitted"))


@pytest.mark.parametrize(
    "pair",
    [
        ("pending", "submitted"),
        ("pending", "success"),
        ("pending", "failed"),
        ("submitted", "success"),
        ("submitted", "failed"),
    ],
)
def test_an_agent_reports_for_its_own_run_alone(pair: tuple[str, str]) -> None:
    edge = run.edge(*pair)
    assert edge is not None
    assert edge.guard is not None
    about = {"agent": "robot"}
    assert edge.guard(facts(pair[0], data=about, actor=Actor(AGENT, "robot"))) is True
    assert isinstance(edge.guard(facts(pair[0], data=about, actor=Actor(AGENT, "other"))), str)
    for kind in (USER, WORKER):
        assert edge.guard(facts(pair[0], data=about, actor=Actor(kind, "ann"))) is True


@pytest.mark.parametrize("error", [errors.GenerationTimeout(), errors.SiteUnreachable(), KeyError()])
def test_an_application_is_retried_after_15_30_and_60_minutes_then_withdrawn(error: Exception) -> None:
    found = rule(application, error, "preparing")
    assert waits(found) == [15 * 60, 30 * 60, 60 * 60]
    assert (found.then, found.sets, found.dead_letter, found.pause) == (
        "withdrawn",
        {"withdraw_reason": "retries_exhausted"},
        True,
        None,
    )


def test_two_kinds_of_errors_are_counted_apart() -> None:
    found = [rule(application, e, "preparing") for e in (errors.GenerationTimeout(), errors.SiteUnreachable())]
    assert found[0].name != found[1].name


def test_the_quota_of_the_model_pauses_for_an_hour_five_times() -> None:
    found = rule(application, errors.ModelQuotaExceeded(), "preparing")
    assert found.pause is not None
    assert (found.pause.state, found.pause.resume, found.pause.wait, found.retries) == ("paused", "resume", HOUR, 5)
    assert (found.then, found.sets, found.dead_letter) == (
        "withdrawn",
        {"withdraw_reason": "retries_exhausted"},
        True,
    )


@pytest.mark.parametrize(
    ("error", "reason"), [(errors.InvalidJobUrl(), "invalid_url"), (errors.JobClosed(), "job_closed")]
)
def test_what_no_retry_can_help_is_withdrawn_at_once(error: Exception, reason: str) -> None:
    found = rule(application, error, "ready_to_submit")
    assert (found.retries, found.then, found.sets, found.dead_letter) == (
        0,
        "withdrawn",
        {"withdraw_reason": reason},
        False,
    )


def test_the_quota_of_the_user_pauses_until_it_resets() -> None:
    found = rule(application, LimitReached(), "ready_to_submit")
    assert found.pause is not None
    assert (found.pause.state, found.pause.resume, found.pause.wait, found.retries) == ("paused", "resume", None, None)


@pytest.mark.parametrize("state", ["ready_to_submit", "requires_review"])
def test_an_unknown_submission_is_verified_by_a_person_and_not_repeated(state: str) -> None:
    found = rule(application, EffectUnknown(), state)
    assert (found.retries, found.then, found.sets) == (0, "requires_review", {"review_reason": "verify_submission"})
    assert [ask.review for ask in found.asks] == [VERIFY_SUBMISSION]


def test_the_limits_of_an_application() -> None:
    data = Application(user_id="ann", company="acme").model_dump()
    windows = {name: application.window(name) for name in application.limits}
    assert {name: (w.key_for(data), w.size_for(data), w.per) for name, w in windows.items()} == {
        "user_day": ("user_day/ann", 10, timedelta(days=1)),
        "rule_day": ("rule_day/ann/None", 10, timedelta(days=1)),
        "rule_week": ("rule_week/ann/None", 70, timedelta(days=7)),
        "company_cooldown": ("company_cooldown/ann/acme", 1, timedelta(days=7)),
        "global_hour": ("global_hour/all", 1000, HOUR),
    }
    assert application.window("user_day").size_for({**data, "daily_limit": 3}) == 3
    assert application.window("rule_week").size_for({**data, "weekly_limit": 5}) == 5


def test_an_application_that_tries_again_counts_once_except_for_the_breaker() -> None:
    assert {name: application.window(name).once for name in application.limits} == {
        "user_day": True,
        "rule_day": True,
        "rule_week": True,
        "company_cooldown": True,
        "global_hour": False,
    }


def test_approval_is_on_unless_turned_off() -> None:
    assert Application().require_user_approval is True


def test_the_decisions_about_an_application() -> None:
    review = application.states["requires_review"].review
    assert review is not None
    assert review.decisions == {"approve": "approve", "reject": "reject", "later": "pause"}
    targets = {event: [e.to for e in application.edges_on("requires_review", event)] for event in ("reject", "pause")}
    assert targets == {"reject": ["withdrawn"], "pause": ["paused"]}


def test_what_may_have_arrived_is_verified_and_not_approved_again() -> None:
    approve = application.arm("requires_review", "approve")
    submit, fail = application.edge("requires_review", "submitted"), application.edge("requires_review", "failed")
    assert approve is not None
    assert approve.guard is not None
    assert submit is not None
    assert fail is not None
    assert submit.guard is not None
    assert fail.guard is not None

    asked = facts("requires_review", data={"review_reason": "approve_packet"})
    assert approve.guard(asked) is True
    assert isinstance(submit.guard(asked), str)
    assert isinstance(fail.guard(asked), str)

    by_hand = facts("requires_review", data={"review_reason": "submit_by_hand"})
    assert isinstance(approve.guard(by_hand), str)
    assert submit.guard(by_hand) is True
    assert fail.guard(by_hand) is True
    assert SUBMIT_BY_HAND.decisions == {"submitted": submit.on, "failed": fail.on, "later": "pause", "reject": "reject"}

    unknown = facts("requires_review", data={"review_reason": "verify_submission"})
    assert isinstance(approve.guard(unknown), str)
    assert submit.guard(unknown) is True
    assert fail.guard(unknown) is True
    assert VERIFY_SUBMISSION.decisions == {"arrived": submit.on, "not_arrived": fail.on}

    # The worker that submits after an approval is not asked to verify anything.
    for kind in (WORKER, SYSTEM):
        assert submit.guard(facts("requires_review", actor=Actor(kind))) is True


def test_a_session_whose_worker_is_lost_is_pending_again() -> None:
    assert session.states["in_progress"].lost == "pending"


@pytest.mark.parametrize("state", ["pending", "in_progress", "needs_review", "needs_review_ip_returned"])
def test_a_session_is_unarchived_to_where_it_was(state: str) -> None:
    edges = session.edges_on("archived", "unarchive")
    back = "needs_review" if state == "in_progress" else state  # the run was cancelled
    assert [e.to for e in edges if e.guard is not None and e.guard(facts("archived", previous=state))] == [back]


def test_an_agent_that_failed_is_looked_at_by_a_person() -> None:
    for error, result in ((KeyError(), "failed"), (EffectUnknown(), "unknown")):
        found = rule(session, error, "in_progress")
        assert (found.retries, found.then, found.sets) == (0, "needs_review", {"result": result})


def test_a_session_that_gets_no_sandbox_rests_in_pending_as_a_dead_letter() -> None:
    found = rule(session, KeyError(), "pending")
    assert (session.failures.state, found.then, found.dead_letter) == (None, None, True)


def test_a_loan_is_stuck_after_five_attempts_to_return_it() -> None:
    found = rule(loan, ConnectionError(), "returning")
    assert found.retries == 4, "the first attempt and four retries"
    assert waits(found) == [15, 30, 60, 120]
    assert (loan.failures.state, found.then, found.dead_letter) == (None, "stuck", True)


def test_a_loan_of_which_nobody_knows_whether_it_was_lent_is_stuck_at_once() -> None:
    found = rule(loan, EffectUnknown(), "borrowing")
    assert (found.retries, found.then, found.dead_letter) == (0, "stuck", True)


def test_a_return_whose_answer_was_lost_is_looked_up_as_often_as_one_that_failed_is_tried() -> None:
    found = rule(loan, EffectUnknown(), "returning")
    assert (waits(found), found.then, found.dead_letter) == ([15, 30, 60, 120], "stuck", True)


def test_a_contract_is_retried_three_times_per_step_then_rejected() -> None:
    found = rule(contract, TimeoutError(), "extracting")
    assert (contract.failures.state, found.retries, found.then) == ("failed", 3, "rejected")
    assert found.sets == {"reject_reason": "retries_exhausted"}


def test_a_contract_that_no_retry_can_help_is_rejected_at_once() -> None:
    found = rule(contract, NotRetryable(), "parsing_pdf")
    assert (found.retries, found.then, found.sets) == (0, "rejected", {"reject_reason": "not_retryable"})


@pytest.mark.parametrize("step", ["parsing_pdf", "extracting", "validating", "comparing"])
def test_a_contract_is_retried_at_the_step_that_failed(step: str) -> None:
    edges = contract.edges_on("failed", "retry")
    assert [e.to for e in edges if e.guard is not None and e.guard(facts("failed", failed_step=step))] == [step]


def test_a_review_of_a_contract_times_out_after_24_hours_with_a_reminder_before() -> None:
    waiting = contract.states["review_required"]
    *reminders, last = waiting.ordered_timers
    assert last == Timer(24 * HOUR, fire="time_out")
    assert reminders
    assert all(isinstance(timer, Reminder) for timer in reminders)
    assert [(e.to, e.by) for e in contract.edges_on("review_required", "time_out")] == [
        ("timed_out", frozenset({SYSTEM}))
    ]


@pytest.mark.parametrize(
    ("machine", "state", "field"),
    [(application, "requires_review", "withdraw_reason"), (contract, "review_required", "reject_reason")],
    ids=["application", "contract"],
)
def test_a_rejection_in_review_leaves_its_reason(machine: Machine, state: str, field: str) -> None:
    review = machine.states[state].review
    assert review is not None
    edge = next(e for e in machine.edges_from(state) if e.on == review.decisions["reject"])
    assert edge.sets == {field: "rejected_in_review"}


def test_what_is_asked_says_what_it_is_about() -> None:
    ask = application.edge("ready_to_submit", "requires_review")
    assert ask is not None
    assert ask.sets == {"review_reason": "approve_packet"}


def test_a_contract_that_a_person_gives_up_says_so() -> None:
    edge = contract.edge("failed", "rejected")
    assert edge is not None
    assert edge.sets == {"reject_reason": "given_up"}


def test_an_application_is_cancelled_by_withdrawing_it() -> None:
    assert application.cancel == "withdrawn"


def test_the_decisions_about_a_contract() -> None:
    review = contract.states["review_required"].review
    assert review is not None
    assert review.form is not None
    events = {d: [e.to for e in contract.edges_on("review_required", on)] for d, on in review.decisions.items()}
    assert events == {"approve": ["validated"], "correct": ["validated"], "reject": ["rejected"]}
