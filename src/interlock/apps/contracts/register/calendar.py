"""The calendar: ends and notice dates of contracts, as rows of a page and as a calendar file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
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
"""Contracts in a calendar."""
AT_ONCE = 500
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


def events(conn: sa.Connection, workspace: str, today: date, *, since: date, until: date | None = None) -> list[Event]:
    """The deadlines from `since` to `until`, the first first."""
    found: list[Event] = []
    after: UUID | None = None
    for _ in range(MOST // AT_ONCE):
        query = sa.select(R).where(R.c.workspace == workspace, R.c.ends.is_not(None))
        if after is not None:
            query = query.where(R.c.instance_id > after)
        rows = conn.execute(query.order_by(R.c.instance_id).limit(AT_ONCE)).all()
        ids = [row.instance_id for row in rows]
        known = {
            one.id: one
            for one in instances(conn, contract.name, workspace=workspace, states=SHOWN, ids=ids, limit=AT_ONCE)
        }
        for row in rows:
            one = known.get(row.instance_id)
            if one is None or one.erased:
                continue
            for deadline in deadlines(date.fromisoformat(row.ends), row.notice, row.renewal, row.basis, today):
                if deadline.day >= since and (until is None or deadline.day <= until):
                    checked = one.state != REVIEW_REQUIRED
                    found.append(Event(one.id, naming.called(one.data), deadline, checked, row.at))
        if len(rows) < AT_ONCE:
            break
        after = ids[-1]
    return sorted(found, key=lambda one: (one.day, one.called, one.deadline.kind))


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
