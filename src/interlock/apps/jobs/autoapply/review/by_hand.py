"""Submission by hand: the person opens the form, sends the packet, and says how it ended.

The claim is taken when the form is opened. It belongs to the application, not to a worker: a duty renews it until the
person has answered. Whoever says that they submitted an application without having opened its form here is believed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.jobs.autoapply.machine import (
    COMPANY_COOLDOWN,
    FAILED,
    GLOBAL_HOUR,
    PAUSED,
    REQUIRES_REVIEW,
    RULE_DAY,
    RULE_WEEK,
    SUBMITTED,
    USER_DAY,
    WITHDRAWN,
    application,
)
from interlock.apps.jobs.autoapply.models import ByHandForm, FailureKind, ReviewReason, WithdrawReason
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.versions import decided, entering
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import PENDING, job, run
from interlock.engine import EngineError, Instance, OpenReview, leases
from interlock.engine.application import Unit, change, create, find_by_key, fire, use_limits
from interlock.machine import SYSTEM, USER, WORKER, Actor, Edge, LimitReached, WorkError

CLAIM_LASTS = timedelta(days=2)
"""How long the claim lasts without being renewed: longer than a restart of the service takes."""


def is_by_hand(instance: Instance) -> bool:
    """Whether the application waits for its user to send it."""
    return instance.state == REQUIRES_REVIEW and instance.data.get("review_reason") == ReviewReason.SUBMIT_BY_HAND


def agent_of(instance: Instance) -> Actor:
    """The agent that the application is for claims."""
    return Actor(WORKER, f"{application.name}:{instance.id}")


def limits_of(data: Any) -> tuple[str, ...]:
    """The limits that an application with this data counts against when it is sent."""
    rule = (RULE_DAY, RULE_WEEK) if data.get("rule_id") else ()
    company = (COMPANY_COOLDOWN,) if data.get("company_key") else ()
    return (USER_DAY, *rule, *company, GLOBAL_HOUR)


def claimed_as(application_id: UUID, data: Any) -> str:
    """The number of the job in the claim. Who applies once more, on purpose, claims a number of its own."""
    number = str(data.get("job_id"))
    return f"{number}~{str(application_id)[:13]}" if data.get("again") else number


def take_claim(unit: Unit, instance: Instance, actor: Actor) -> Instance:
    """Claim the job for the application, count its limits, and note that the person has the form open.

    Asked again it renews the claim. Raises LimitReached, or Conflict when somebody else has the job.
    """
    claimed_run = open_run(unit, instance)
    if claimed_run is not None:
        renew_claim(unit, claimed_run)
        return claimed_run
    use_limits(unit, instance, limits_of(instance.data))
    made = _claim(unit, instance)
    change(unit, instance, {"run_id": made.key}, actor, payload={"reason": "the form was opened"})
    applications.update(unit, instance.id, sent_at=unit.now)
    return made


def open_run(unit: Unit, instance: Instance) -> Instance | None:
    """The open run of the application, if there is one."""
    run_id = instance.data.get("run_id")
    found = find_by_key(unit, instance.workspace, run.name, run_id) if run_id else None
    return found if found is not None and found.state == PENDING else None


def renew_claim(unit: Unit, claimed_run: Instance) -> bool:
    """Renew the claim. False if it is over."""
    return leases.prolong(unit.conn, unit.now, claims.lock_of(claimed_run), str(claimed_run.key), CLAIM_LASTS)


def _claim(unit: Unit, instance: Instance) -> Instance:
    data, agent = instance.data, agent_of(instance)
    name = claimed_as(instance.id, data)
    key = claims.job_key(data["board"], name)
    if find_by_key(unit, instance.workspace, job.name, key) is None:
        known = {"board": data["board"], "job_id": name, "title": data["title"], "company": data["company"]}
        create(
            unit,
            job,
            {**known, "url": data["job_url"]},
            agent,
            key=key,
            workspace=instance.workspace,
            labels={"board": data["board"]},
            by_application=True,
        )
    request = claims.ClaimRequest(f"{application.name}-{instance.id}-hand-{instance.seq}", data["board"], name)
    made = claims.claim(unit, instance.workspace, request, agent)
    renew_claim(unit, made)
    return made


# -- how it ended


@entering(SUBMITTED, FAILED, PAUSED, WITHDRAWN)
def end_claim(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """End the run as the person answered. The answer counts even if the claim is over."""
    if edge.source != REQUIRES_REVIEW or instance.data.get("review_reason") != ReviewReason.SUBMIT_BY_HAND:
        return
    claimed_run = open_run(unit, instance)
    if claimed_run is None and edge.to == SUBMITTED:
        claimed_run = _late_claim(unit, instance)
    if claimed_run is None:
        return
    event = "succeed" if edge.to == SUBMITTED else "fail"
    data = None if edge.to == SUBMITTED else {"error": f"sent by hand: {edge.on}"}
    try:
        with unit.attempt(claimed_run):
            unit.lock(claimed_run.id)
            renew_claim(unit, claimed_run)
            fire(unit, claimed_run.id, event, agent_of(instance), data=data, reason=f"{actor} said so: {edge.on}")
    except (EngineError, WorkError):
        return  # the lease was over, and the sweep of claims has ended the run, or will


def _late_claim(unit: Unit, instance: Instance) -> Instance | None:
    """Claim the job for a person who sent the application without opening its form here."""
    try:
        with unit.attempt(instance):
            use_limits(unit, instance, limits_of(instance.data))
    except LimitReached:
        pass  # it was sent, whatever the limits say
    try:
        with unit.attempt(instance):
            return _claim(unit, instance)
    except (EngineError, WorkError):
        return None  # somebody else has the job; that it was sent twice is known now, and logged


@decided("submit_by_hand")
def after_decision(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> None:
    """Keep the proof of what was sent; give up what failed for good."""
    said = ByHandForm.model_validate(review.answer or {})
    if review.decision == "submitted" and said.proof:
        kept = "confirmation_url" if said.proof.startswith(("http://", "https://")) else "reference"
        change(unit, instance, {kept: said.proof}, actor)
    if review.decision != "failed":
        return
    closed = said.kind is FailureKind.JOB_CLOSED
    error = f"by hand: {said.kind.value if said.kind else 'failed'}{': ' + said.proof if said.proof else ''}"
    applications.update(unit, instance.id, last_error=error[:500])
    if closed or not said.retry:
        fire(unit, instance.id, "withdraw", actor, reason=error[:500])
        if closed:
            change(unit, instance, {"withdraw_reason": WithdrawReason.JOB_CLOSED}, Actor(SYSTEM, USER))
            applications.update(unit, instance.id, withdraw_reason=WithdrawReason.JOB_CLOSED.value)
