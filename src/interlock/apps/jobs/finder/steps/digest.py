"""The daily digest: new matches by mail, once a day, for those who want it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.records import postings, profiles
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.tables import posting as P
from interlock.engine import Engine
from interlock.engine.application import Unit, notify
from interlock.machine import Message
from interlock.people import OPERATORS
from interlock.store import moment

MOST = 50
"""Matches in one mail; the best come first, and the rest is counted."""


def send_digest(engine: Engine) -> bool:
    """Send what is new since the last one, if the hour has come and somebody wants it."""
    settings = settings_in(engine.setting("jobs"))
    if not settings.digest_to:
        return False

    def job(unit: Unit) -> None:
        found = profiles.find(unit.conn, OPERATORS)
        if found is None:
            return
        zone = ZoneInfo(found.profile.time_zone or "UTC")
        here = moment(unit.now).astimezone(zone)
        last = moment(found.digest_sent_at).astimezone(zone) if found.digest_sent_at else None
        if here.hour < settings.digest_hour or (last is not None and last.date() >= here.date()):
            return
        rows = _new_matches(unit.conn)
        profiles.remember_digest(unit, OPERATORS)
        if not rows:
            return
        body = {"text": written(rows, here)}
        subject = f"{len(rows)} new {'match' if len(rows) == 1 else 'matches'}"
        for address in settings.digest_to:
            notify(unit, OPERATORS, Message("mail", address, subject, body))
        for row in rows:
            postings.update(unit, row.id, digested_at=unit.now)

    engine.write(job, name="send_digest")
    return False


def written(rows: Sequence[PostingRow], now: datetime) -> str:
    """The text of the mail."""
    lines = [f"New matches up to {now:%Y-%m-%d %H:%M}:", ""]
    for row in rows[:MOST]:
        result = row.match_result or {}
        matched = ", ".join(result.get("matched_skills", [])[:5])
        lines += [f"{row.score}  {row.title or 'unknown title'}, {row.company_name or 'unknown company'}"]
        lines += [f"    {part}" for part in (row.location, matched and f"you have {matched}", row.url) if part]
        lines.append("")
    if len(rows) > MOST:
        lines.append(f"And {len(rows) - MOST} more.")
    return "\n".join(lines)


def _new_matches(conn: sa.Connection) -> list[PostingRow]:
    query = (
        sa.select(P)
        .where(
            P.c.workspace == OPERATORS,
            P.c.outcome == postings.MATCHED,
            P.c.state == postings.OPEN,
            P.c.decision.is_(None),
            P.c.opening_id.is_(None),
            P.c.digested_at.is_(None),
        )
        .order_by(P.c.score.desc(), P.c.id)
    )
    return [PostingRow(row) for row in conn.execute(query)]
