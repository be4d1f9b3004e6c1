"""What the page of the day says about applications: what waits for a decision, what is due, what is left of limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board import cards, dates
from interlock.apps.jobs.autoapply.machine import (
    FAILED,
    PREPARING,
    QUEUED,
    READY_TO_SUBMIT,
    REQUIRES_REVIEW,
    application,
)
from interlock.apps.jobs.autoapply.models import ReviewReason
from interlock.apps.jobs.autoapply.pages import wording
from interlock.apps.jobs.autoapply.planned import VALIDATING
from interlock.apps.jobs.autoapply.records import applications, rules, seekers
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.review import by_hand
from interlock.apps.jobs.autoapply.rules import Use, daily_limit, usage_of
from interlock.apps.jobs.autoapply.rules.limits import SEEKER_A_DAY, WEEK
from interlock.apps.jobs.finder.pages.frame import JobsFrame
from interlock.engine import Instance
from interlock.engine.application import instances
from interlock.store import Micros, moment, span

MOST_WAITING = 500
"""Applications that are looked at to find those that have waited longest."""
SHOWN = 8
STUCK_AFTER = span(timedelta(hours=24))
GIVEN_UP_FOR = span(timedelta(days=7))
"""How long an application that was given up stays on the page."""
BUSY = (QUEUED, VALIDATING, PREPARING, READY_TO_SUBMIT, FAILED)
"""States in which nobody is waited for."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An application that waits for its person."""

    row: ApplicationRow
    needed: str
    can: frozenset[str]
    """What can be decided without opening it: approve, later, reject."""


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of a limit is used."""

    name: str
    used: int
    most: int

    @property
    def left(self) -> int:
        return max(0, self.most - self.used)


def today(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
    now = jobs.v.now
    found = waiting(conn, jobs.workspace)
    due = dates.due(conn, jobs.workspace, now + span(timedelta(days=1)), limit=SHOWN)
    known = {
        card.application.id: card for card in cards.some(conn, jobs.workspace, [one.application_id for one in due])
    }
    return {
        "apply_waiting": found[:SHOWN],
        "apply_count": applications.counts(conn, jobs.workspace).get(REQUIRES_REVIEW, 0),
        "apply_due": [(one, known[one.application_id]) for one in due if one.application_id in known],
        "apply_left": left(conn, jobs.workspace, now),
        "apply_stuck": stuck(conn, jobs.workspace, now)[:SHOWN],
        "apply_given_up": applications.given_up(conn, jobs.workspace, now - GIVEN_UP_FOR, SHOWN),
        "apply_stopped": seekers.stopped(conn, jobs.workspace),
        "kind_of_status": wording.kind_of,
    }


def waiting(conn: sa.Connection, workspace: str) -> list[Waiting]:
    """What waits for the person, that which has waited longest first."""
    rows = applications.page(conn, workspace, statuses=[REQUIRES_REVIEW], limit=MOST_WAITING)
    ids = [row.instance_id for row in rows if row.instance_id is not None]
    items = {one.id: one for one in instances(conn, application.name, workspace=workspace, ids=ids)} if ids else {}
    return [_waiting(row, items.get(row.instance_id or row.id)) for row in sorted(rows, key=lambda row: row.status_at)]


def _waiting(row: ApplicationRow, item: Instance | None) -> Waiting:
    if item is None or item.erased or item.state != REQUIRES_REVIEW:
        return Waiting(row, "", frozenset())
    data = item.data
    needed = wording.needed(data)
    if data.get("review_reason") == ReviewReason.VERIFY_SUBMISSION:
        return Waiting(row, needed, frozenset())
    can = {"later", "reject"}
    if row.packet_hash and not data.get("open_questions") and not by_hand.is_by_hand(item):
        can.add("approve")
    return Waiting(row, needed, frozenset(can))


def left(conn: sa.Connection, workspace: str, now: Micros) -> list[LimitUse]:
    """The limits of the day, and each active rule's of the week. Applications that are open count."""
    at = moment(now)
    counted = applications.that_count(conn, workspace, now - span(WEEK))
    uses = [Use(_counted_at(one, now), str(one.rule_id) if one.rule_id else None) for one in counted]
    mine = usage_of(uses, rule_id=None, company=None, now=at)
    found = [LimitUse("Today", mine.seeker_day, SEEKER_A_DAY)]
    for row in rules.of(conn, workspace):
        if not row.paused:
            used = usage_of(uses, rule_id=str(row.id), company=None, now=at)
            a_week = row.rule.max_applications_per_week
            found.append(LimitUse(f"{row.name}, today", used.rule_day, daily_limit(a_week)))
            found.append(LimitUse(f"{row.name}, this week", used.rule_week, a_week))
    return found


def _counted_at(row: ApplicationRow, now: Micros) -> Any:
    if row.is_open and row.sent_at is None:
        return moment(now)
    return moment(row.submitted_at or row.sent_at or now)


def stuck(conn: sa.Connection, workspace: str, now: Micros) -> list[ApplicationRow]:
    """Applications that have rested for a day where nobody is waited for."""
    rows = applications.page(conn, workspace, statuses=list(BUSY), limit=MOST_WAITING)
    late = [row for row in rows if row.status_at < now - STUCK_AFTER]
    return sorted(late, key=lambda row: row.status_at)


def next_waiting(conn: sa.Connection, workspace: str, but: UUID) -> ApplicationRow | None:
    """What waits longest, without the application that is looked at."""
    return next((one.row for one in waiting(conn, workspace) if one.row.id != but), None)
