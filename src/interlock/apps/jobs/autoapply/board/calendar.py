"""Dates as a calendar (RFC 5545): one as a file, or all of a workspace at an address that is secret."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, timedelta
from hashlib import sha256

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board.dates import BoardDate, DateKind
from interlock.apps.jobs.board_tables import date as D
from interlock.apps.jobs.board_tables import feed as F
from interlock.apps.jobs.tables import applied as T
from interlock.engine.application import Unit
from interlock.store import Micros, moment, span
from interlock.store.sql import upsert

MEDIA_TYPE = "text/calendar; charset=utf-8"
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
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of the calendar."""

    uid: str
    title: str
    at: Micros
    until: Micros | None
    made_at: Micros
    place: str = ""
    text: str = ""
    done: bool = False


def calendar_of(events: Iterable[Event], name: str = "Applications") -> str:
    """The calendar as text."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Interlock//Applications//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(name)}"]
    for one in events:
        lines += ["BEGIN:VEVENT", f"UID:{_escaped(one.uid)}", f"DTSTAMP:{_time(one.made_at)}"]
        lines += [f"DTSTART:{_time(one.at)}", f"DTEND:{_time(one.until or one.at + span(timedelta(minutes=30)))}"]
        lines += [f"SUMMARY:{_escaped(one.title)}"]
        lines += [f"LOCATION:{_escaped(one.place)}"] if one.place else []
        lines += [f"DESCRIPTION:{_escaped(one.text)}"] if one.text else []
        lines += ["STATUS:CANCELLED"] if one.done else ["STATUS:CONFIRMED"]
        lines += ["TRANSP:TRANSPARENT", "END:VEVENT"]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])


def event_of(date: BoardDate, title: str, company: str, url: str | None) -> Event:
    """A date as an entry."""
    about = ": ".join(part for part in (title, company) if part)
    text = "\n".join(part for part in (date.what, url or "") if part)
    name = f"{NAMES[date.kind]}: {company or title}" if (company or title) else NAMES[date.kind]
    ident = f"{date.id}@interlock"
    return Event(
        ident, name, date.at, date.until, date.made_at, date.place or "", f"{about}\n{text}".strip(), bool(date.done_at)
    )


def events(conn: sa.Connection, workspace: str, now: Micros) -> list[Event]:
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
        found.append(Event(f"{one.id}-sent@interlock", title, one.scheduled_for, None, one.status_at, "", one.title))
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


# -- the format


def _time(at: Micros) -> str:
    return f"{moment(at).astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _escaped(text: str) -> str:
    clean = _UNSEEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))[:2000]
    return clean.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def _folded(line: str) -> str:
    """Lines of at most 75 bytes; no character is cut."""
    parts: list[str] = []
    current, size = "", 0
    for one in line:
        width = len(one.encode("utf-8", "replace"))
        if size + width > (75 if not parts else 74):
            parts.append(current)
            current, size = "", 0
        current += one
        size += width
    return "\r\n ".join([*parts, current])
