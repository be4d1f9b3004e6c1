"""Dates as a calendar: one as a file, or all of a workspace at a secret address."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board.dates import BoardDate, DateKind
from interlock.apps.jobs.board_tables import date as D
from interlock.apps.jobs.board_tables import feed as F
from interlock.apps.jobs.tables import applied as T
from interlock.engine.application import Unit
from interlock.http.calendar_file import CalendarEvent, calendar_file
from interlock.store import Micros, span
from interlock.store.sql import upsert

SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
MOST = 1000
PAST = span(timedelta(days=60))
"""How long dates stay in the feed."""
SCHEDULED = "scheduled"
"""The planned state of an application that is sent at a chosen time."""
NAMES = {
    DateKind.FOLLOW_UP: "Follow up",
    DateKind.INTERVIEW: "Interview",
    DateKind.DEADLINE: "Deadline",
    DateKind.OTHER: "Date",
}


def calendar_of(events: Iterable[CalendarEvent]) -> str:
    """The calendar as a file."""
    return calendar_file("Applications", events)


def event_of(date: BoardDate, title: str, company: str, url: str | None) -> CalendarEvent:
    """A date as an entry."""
    about = ": ".join(part for part in (title, company) if part)
    text = "\n".join(part for part in (date.what, url or "") if part)
    name = f"{NAMES[date.kind]}: {company or title}" if (company or title) else NAMES[date.kind]
    return CalendarEvent(
        f"{date.id}@interlock",
        name,
        date.at,
        date.made_at,
        end=date.until,
        place=date.place or "",
        text=f"{about}\n{text}".strip(),
        cancelled=date.done_at is not None,
    )


def events(conn: sa.Connection, workspace: str, now: Micros) -> list[CalendarEvent]:
    """Open dates of a workspace, and when applications are sent that wait for their time."""
    query = (
        sa.select(D, T.c.title, T.c.company, T.c.url)
        .join(T, T.c.id == D.c.application_id)
        .where(D.c.workspace == workspace, D.c.done_at.is_(None), D.c.at > now - PAST)
        .order_by(D.c.at, D.c.id)
        .limit(MOST)
    )
    names = BoardDate.__dataclass_fields__
    found = []
    for row in conn.execute(query).mappings():
        date = BoardDate(**{**{name: row[name] for name in names}, "kind": DateKind(row["kind"])})
        found.append(event_of(date, row["title"], row["company"], row["url"]))
    waiting = sa.select(T).where(T.c.workspace == workspace, T.c.status == SCHEDULED, T.c.scheduled_for.is_not(None))
    for one in conn.execute(waiting.order_by(T.c.scheduled_for).limit(MOST)):
        title = f"Application is sent: {one.company or one.title}"
        found.append(CalendarEvent(f"{one.id}-sent@interlock", title, one.scheduled_for, one.status_at, text=one.title))
    return found


# -- the secret address


def make_feed(unit: Unit, workspace: str, actor: str) -> str:
    """A new secret for the calendar's address; an older one is no longer valid. Only its hash is stored."""
    secret = secrets.token_urlsafe(32)
    row = {"secret_hash": _digest(secret), "made_by": actor, "made_at": unit.now}
    unit.conn.execute(
        upsert(F).values(workspace=workspace, **row).on_conflict_do_update(index_elements=[F.c.workspace], set_=row)
    )
    return secret


def remove_feed(unit: Unit, workspace: str) -> bool:
    """Close the address. False if there was none."""
    return unit.conn.execute(sa.delete(F).where(F.c.workspace == workspace)).rowcount > 0


def feed_since(conn: sa.Connection, workspace: str) -> Micros | None:
    """When the address was made; None if there is none."""
    return conn.execute(sa.select(F.c.made_at).where(F.c.workspace == workspace)).scalar_one_or_none()


def workspace_of_feed(conn: sa.Connection, secret: str) -> str | None:
    """Whose calendar a secret opens. The look-up is by hash, so its time says nothing about a secret."""
    if not SECRET.fullmatch(secret):
        return None
    return conn.execute(sa.select(F.c.workspace).where(F.c.secret_hash == _digest(secret))).scalar_one_or_none()


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
