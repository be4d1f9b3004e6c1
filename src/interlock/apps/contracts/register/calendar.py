"""The calendar: ends and notice dates of contracts, as rows of a page and as an iCalendar file (RFC 5545)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import COMPARING, COMPLETED, REVIEW_REQUIRED, VALIDATED, contract
from interlock.apps.contracts.register.term import Deadline, deadlines
from interlock.apps.contracts.tables import contract_record as R
from interlock.engine.application import instances

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


def as_ics(found: Sequence[Event], *, address: str, name: str, remind_before: Sequence[int] = ()) -> str:
    """The events as an iCalendar file."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Interlock//Contracts//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(name)}"]
    for one in found:
        stamp = datetime.fromtimestamp(one.at / 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
        unsure = "" if one.checked else " (not reviewed yet)"
        summary = f"{one.words}: {one.called}{unsure}"
        description = (
            one.deadline.basis[:1].upper() + one.deadline.basis[1:] if one.deadline.basis else "As the contract states"
        )
        lines += [
            "BEGIN:VEVENT",
            f"UID:{one.id}-{one.deadline.kind}-{one.day:%Y%m%d}@interlock",
            f"DTSTAMP:{stamp}",
            f"DTSTART;VALUE=DATE:{one.day:%Y%m%d}",
            f"DTEND;VALUE=DATE:{_next(one.day):%Y%m%d}",
            f"SUMMARY:{_escaped(summary)}",
            f"DESCRIPTION:{_escaped(description)}",
            f"URL:{address}/ui/contracts/{one.id}/review",
            "TRANSP:TRANSPARENT",
        ]
        for days in remind_before:
            lines += ["BEGIN:VALARM", "ACTION:DISPLAY", f"DESCRIPTION:{_escaped(summary)}", f"TRIGGER:-P{days}D"]
            lines += ["END:VALARM"]
        lines.append("END:VEVENT")
    lines.append("END:VCALENDAR")
    return "".join(f"{_fold(line)}\r\n" for line in lines)


def _next(day: date) -> date:
    return day + timedelta(days=1) if day < date.max else day


def _escaped(text: str) -> str:
    """A text value: backslash, comma, semicolon and line breaks have a meaning, and controls may not occur."""
    text = text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    text = text.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n")
    return "".join(c for c in text if c.isprintable() or c == " ")


def _fold(line: str) -> str:
    """Lines of at most 75 bytes; a further one begins with a space, and no character is cut in half."""
    out, size = [], 0
    for char in line:
        length = len(char.encode("utf-8", "replace"))
        if size + length > 75:
            out.append("\r\n ")
            size = 1
        out.append(char)
        size += length
    return "".join(out)
