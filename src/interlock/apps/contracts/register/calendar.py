"""The calendar: ends and notice dates of contracts, as rows of a page and as a calendar file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import COMPARING, COMPLETED, REVIEW_REQUIRED, VALIDATED, contract
from interlock.apps.contracts.register.term import Deadline, deadlines
from interlock.apps.contracts.tables import contract_record as R
from interlock.engine.application import instances
from interlock.http.calendar_file import CalendarEvent, calendar_file

SHOWN = (VALIDATED, COMPARING, COMPLETED, REVIEW_REQUIRED)
MOST = 5_000
"""Contracts in a calendar, the newest."""
AT_ONCE = 250
PAST = timedelta(days=30)
"""How long a past day stays in the calendar."""
WORDS = {"end": "Ends", "notice": "Last day for notice"}


@dataclass(frozen=True, slots=True)
class Event:
    """A deadline of a contract."""

    id: UUID
    called: str
    deadline: Deadline
    checked: bool
    """Whether its fields are approved; a contract in review may be read wrongly."""
    at: int
    """When it was last changed, in microseconds."""

    @property
    def day(self) -> date:
        return self.deadline.day

    @property
    def words(self) -> str:
        return WORDS[self.deadline.kind]


def events(
    conn: sa.Connection,
    workspace: str,
    today: date,
    *,
    since: date,
    until: date | None = None,
    limit: int | None = None,
) -> list[Event]:
    """The deadlines from `since` to `until`, the first first; with `limit` at least so many, if there are."""
    coming = _coming(conn, workspace, today, since, until)
    found: list[Event] = []
    for at in range(0, len(coming), AT_ONCE):
        if limit is not None and len(found) >= limit:
            break
        some = coming[at : at + AT_ONCE]
        ids = list({row.instance_id for _, row in some})
        known = {
            one.id: one
            for one in instances(conn, contract.name, workspace=workspace, states=SHOWN, ids=ids, limit=AT_ONCE)
        }
        found += [
            Event(one.id, naming.called(one.data), deadline, one.state != REVIEW_REQUIRED, row.at)
            for deadline, row in some
            if (one := known.get(row.instance_id)) is not None and not one.erased
        ]
    return sorted(found, key=lambda one: (one.day, one.called, one.deadline.kind))


def _coming(
    conn: sa.Connection, workspace: str, today: date, since: date, until: date | None
) -> list[tuple[Deadline, Any]]:
    """The deadlines of all records by day, whatever became of their contracts."""
    columns = (R.c.instance_id, R.c.ends, R.c.notice, R.c.renewal, R.c.basis, R.c.at)
    query = sa.select(*columns).where(R.c.workspace == workspace, R.c.ends.is_not(None))
    found = [
        (deadline, row)
        for row in conn.execute(query.order_by(R.c.instance_id.desc()).limit(MOST))
        for deadline in _deadlines_of(row, today)
        if deadline.day >= since and (until is None or deadline.day <= until)
    ]
    return sorted(found, key=lambda one: (one[0].day, one[1].instance_id))


def _deadlines_of(row: Any, today: date) -> Sequence[Deadline]:
    """The deadlines of a record; none if it cannot be read, so that it harms no other."""
    try:
        return deadlines(date.fromisoformat(row.ends), row.notice, row.renewal, row.basis, today)
    except (ValueError, TypeError, OverflowError):
        return ()


def as_file(found: Sequence[Event], *, address: str, name: str, remind_before: Sequence[int] = ()) -> str:
    """The events as an iCalendar file."""
    return calendar_file(name, [_entry(one, address, remind_before) for one in found])


def _entry(one: Event, address: str, remind_before: Sequence[int]) -> CalendarEvent:
    basis = one.deadline.basis or "as the contract states"
    return CalendarEvent(
        f"{one.id}-{one.deadline.kind}-{one.day:%Y%m%d}@interlock",
        f"{one.words}: {one.called}" + ("" if one.checked else " (not reviewed yet)"),
        one.day,
        one.at,
        text=basis[:1].upper() + basis[1:],
        url=f"{address}/ui/contracts/{one.id}/review",
        remind_days_before=remind_before,
    )
