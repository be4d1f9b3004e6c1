"""Queueing: a match becomes an application, by a rule or because a person says so.

What is checked and what is written happen in one transaction, and one transaction at a time does it for a workspace.
So limits hold when many workers queue at once. They are checked again, and used up, when the application is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from interlock.apps.jobs.autoapply.machine import GLOBAL_HOUR, application
from interlock.apps.jobs.autoapply.records import already_applied, applications, decisions, logs, rules, seekers
from interlock.apps.jobs.autoapply.records.already_applied import Sightings
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.rules import (
    ApplyRule,
    Candidate,
    Check,
    Decision,
    Level,
    Usage,
    Use,
    daily_limit,
    judge,
    limit_checks,
    usage_of,
)
from interlock.apps.jobs.autoapply.rules.limits import SEEKER_A_DAY, WEEK
from interlock.apps.jobs.finder.intake import NotPossible, posting_in
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.records import companies, profiles
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.steps.listings import claim_name
from interlock.engine import Instance, KeyTaken, NotFound
from interlock.engine.application import Unit, count_uses, create
from interlock.machine import SYSTEM, Actor
from interlock.machine.transitions import PEOPLE
from interlock.store import moment, span

BY_RULE = Actor(SYSTEM, "rules")
BY_THE_MOMENT = frozenset(
    {
        "stopped",
        "paused",
        "active_days",
        "seeker_day",
        "rule_day",
        "rule_week",
        "company_cooldown",
        "all_hour",
        "one_live",
    }
)
"""Checks that block now and may pass later, though rule and posting stay as they are."""
AGAIN = span(timedelta(minutes=15))
"""When a posting that is excluded only for now is decided about again."""
BY_HAND = ApplyRule(name="by hand")
"""The limits of an application that no rule made."""
DECLINED = ("user", "rejected_in_review")


class Queued(NamedTuple):
    """What became of a posting: a decision, and the application if it was taken."""

    decision: Decision
    application: Instance | None


@dataclass(frozen=True, slots=True)
class _Case:
    """A posting with what its decision needs."""

    row: PostingRow
    read: ReadPosting
    seen: Sightings
    earlier: list[ApplicationRow]
    usage: Usage
    zone: str
    company: str


def enqueue_by_rule(unit: Unit, workspace: str, rule_id: UUID, posting_id: UUID) -> Queued | None:
    """Let a rule decide about a match, and queue it if it is taken. None if rule or match are gone."""
    already_applied.lock_seeker(unit, workspace)
    rule = rules.find(unit.conn, workspace, rule_id)
    row = _posting(unit, workspace, posting_id)
    if rule is None or row is None or row.outcome != "matched":
        return None
    case = _case(unit, row, rule)
    candidate = _candidate(case, already_applied.applied_before(unit, case.seen) is not None)
    now = moment(unit.now)
    made = judge(rule.rule, candidate, now, zone=case.zone, usage=case.usage)
    decision = Decision(made.key, (*made.checks, *_standing(unit, case, by_rule=True)), made.needs_approval)
    item = _create(unit, case, rule, decision.needs_approval, rule.created_by, BY_RULE) if decision.taken else None
    again = unit.now + AGAIN if {one.name for one in decision.blocked_by} <= BY_THE_MOMENT else None
    decisions.put(
        unit,
        rule,
        row,
        decision,
        again_at=None if decision.taken else again,
        application_id=item.id if item else None,
    )
    return Queued(decision, item)


def enqueue_by_person(
    unit: Unit,
    workspace: str,
    posting_id: UUID,
    actor: Actor,
    *,
    again: str = "",
    require_approval: bool = True,
) -> Queued:
    """Queue a posting that a person chose. Criteria do not count, but limits do.

    `again` is the reason for which the person applies for an opening that was applied for before. An agent's token has
    no such reason.
    """
    again = again if actor.kind in PEOPLE else ""
    already_applied.lock_seeker(unit, workspace)
    row = posting_in(unit, workspace, posting_id)
    case = _case(unit, row, None)
    before = already_applied.applied_before(unit, case.seen)
    now = moment(unit.now)
    said = before or "not applied for before"
    level: Level = "info" if before is None else "warn" if again else "block"
    checks: list[Check] = [Check("already_applied", level, f"{said}; again: {again}" if before and again else said)]
    if row.state == "closed":
        checks.append(Check("open", "block", "the posting is closed"))
    if profiles.digest_of(unit.conn, workspace) is None:
        checks.append(Check("profile", "block", "there is no profile; `interlock jobs init` writes one"))
    checks += _standing(unit, case, by_rule=False)
    checks += limit_checks(BY_HAND, case.usage, now)
    decision = Decision(row.posting_key, tuple(checks), True)
    if not decision.taken:
        raise NotPossible(f"posting {posting_id} was not queued: {decision.summary}")
    item = _create(unit, case, None, require_approval, actor.name, actor, again=again if before else "")
    return Queued(decision, item)


# -- what a decision needs


def _posting(unit: Unit, workspace: str, posting_id: UUID) -> PostingRow | None:
    try:
        return posting_in(unit, workspace, posting_id)
    except NotFound:
        return None


def _case(unit: Unit, row: PostingRow, rule: RuleRow | None) -> _Case:
    seen = already_applied.sightings_of(unit.conn, row)
    found = profiles.find(unit.conn, row.workspace)
    earlier = applications.of_openings(unit.conn, row.workspace, seen.ids, seen.url_keys)
    counted = applications.that_count(unit.conn, row.workspace, unit.now - span(WEEK))
    company = next(iter(sorted(seen.companies)), "")
    usage = _usage(unit, counted, rule, seen.companies)
    zone = found.profile.time_zone if found is not None and found.profile.time_zone else "UTC"
    return _Case(row, ReadPosting(row.posting), seen, earlier, usage, zone, seen.master.company_key or company)


def _usage(unit: Unit, counted: list[ApplicationRow], rule: RuleRow | None, companies: set[str]) -> Usage:
    """The counts of all limits. An open application counts as one that is sent now."""
    now = moment(unit.now)
    uses = [
        Use(
            now if one.is_open and one.sent_at is None else moment(one.submitted_at or one.sent_at or unit.now),
            str(one.rule_id) if one.rule_id else None,
            "same" if one.company_key in companies else one.company_key,
        )
        for one in counted
    ]
    all_hour = count_uses(unit.conn, application, GLOBAL_HOUR, {}, unit.now)
    rule_id = str(rule.id) if rule is not None else None
    return usage_of(uses, rule_id=rule_id, company="same" if companies else None, now=now, all_hour=all_hour)


def _candidate(case: _Case, applied: bool) -> Candidate:
    result = case.row.match_result or {}
    threshold, ruled = result.get("threshold"), result.get("rule_score")
    return Candidate(
        case.read,
        case.row.score,
        threshold if isinstance(threshold, int) else None,
        ruled if isinstance(ruled, int) else None,
        already_applied=applied,
    )


def _standing(unit: Unit, case: _Case, *, by_rule: bool) -> list[Check]:
    """Checks of what there is already: stopped, under way, declined."""
    stopped = seekers.stopped(unit.conn, case.row.workspace)
    checks = [
        Check("stopped", "block", f"{stopped.by} has stopped all applications")
        if stopped is not None and by_rule
        else Check("stopped", "info", "applications are not stopped")
    ]
    live = next((one for one in case.earlier if one.instance_id is not None and one.is_open), None)
    checks.append(
        Check("one_live", "block", f"application {live.id} for this opening is {live.status}")
        if live is not None
        else Check("one_live", "info", "no application for this opening is under way")
    )
    taken = already_applied.claimed_now(unit, case.seen)
    checks.append(Check("claimed", "block" if taken else "info", taken or "nobody else is applying for it"))
    over = already_applied.not_claimable(unit, case.row)
    checks.append(Check("claimable", "block" if over else "info", over or "its job can be claimed"))
    if by_rule:
        gone = next((one for one in case.earlier if one.withdraw_reason in DECLINED), None)
        checks.append(
            Check("declined", "block", f"you withdrew application {gone.id} for this opening")
            if gone is not None
            else Check("declined", "info", "you have not declined this opening")
        )
    return checks


# -- the application


def _create(
    unit: Unit,
    case: _Case,
    rule: RuleRow | None,
    needs_approval: bool,
    user: str,
    actor: Actor,
    *,
    again: str = "",
) -> Instance:
    row, posting = case.row, case.row.posting
    board, job_id = claim_name(posting)
    limits = rule.rule if rule is not None else BY_HAND
    data = {
        "user_id": user,
        "seeker": row.workspace,
        "rule_id": str(rule.id) if rule else None,
        "posting_id": str(row.id),
        "board": board,
        "job_id": job_id,
        "job_url": posting.apply_url or posting.url or "",
        "title": posting.title or "",
        "company": posting.company_name_raw or "",
        "company_key": case.company,
        "again": again,
        "require_user_approval": needs_approval,
        "daily_limit": SEEKER_A_DAY,
        "rule_daily_limit": daily_limit(limits.max_applications_per_week),
        "weekly_limit": limits.max_applications_per_week,
    }
    owner = companies.find(unit.conn, row.workspace, row.company_id) if row.company_id else None
    try:
        item = create(
            unit,
            application,
            data,
            actor,
            key=str(case.seen.master.id),
            workspace=row.workspace,
            labels={"company": (posting.company_name_raw or "")[:100]} if posting.company_name_raw else {},
            by_application=True,
        )
    except KeyTaken as taken:
        raise NotPossible(f"posting {row.id} was not queued: application {taken.existing} is under way") from None
    applications.add(
        unit,
        id=item.id,
        instance_id=item.id,
        workspace=row.workspace,
        user_id=user,
        rule_id=rule.id if rule else None,
        posting_id=row.id,
        opening_id=case.seen.master.id,
        origin=applications.BY_RULE if rule else applications.BY_PERSON,
        board=board,
        job_id=job_id,
        title=posting.title or "",
        company=posting.company_name_raw or "",
        company_key=case.company or None,
        url=posting.url,
        url_key=row.url_key,
        source=posting.ats,
        tier=owner.tier if owner else None,
        score=row.score,
        status=item.state,
        trace_id=item.trace_id,
    )
    logs.write(
        unit,
        row.workspace,
        "enqueue",
        str(actor),
        status=item.state,
        instance_id=item.id,
        rule_id=rule.id if rule else None,
        user_id=user,
        trace_id=item.trace_id,
        to_status=item.state,
        reason=f"taken by rule {rule.name!r}" if rule else again or "chosen by hand",
    )
    return item
