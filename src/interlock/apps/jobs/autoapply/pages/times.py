"""Times that a person types, in their own time zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from interlock.apps.jobs.finder.pages.frame import JobsFrame
from interlock.apps.jobs.finder.records import profiles
from interlock.engine import Unreadable
from interlock.http.problems import BadRequest
from interlock.store import Micros, micros, moment


def zone_of(jobs: JobsFrame) -> str:
    """The name of the zone that the reader's times are in."""
    return jobs.stored.profile.time_zone or "UTC" if jobs.stored is not None else "UTC"


def asked_time(conn: sa.Connection, workspace: str, text: str) -> Micros:
    """A moment as a field of a form gives it, in the seeker's time zone."""
    try:
        given = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadRequest(f"{text[:40]!r} is not a time; write it as 2026-05-20T14:30") from None
    if not 2000 <= given.year <= 2200:
        raise BadRequest(f"the year {given.year} is none that a date may have; write it as 2026-05-20T14:30")
    if given.tzinfo is None:
        given = given.replace(tzinfo=_zone(conn, workspace))
    return micros(given)


def field_of(at: Micros, zone: str) -> str:
    """The moment as such a field shows it."""
    return f"{moment(at).astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def _zone(conn: sa.Connection, workspace: str) -> ZoneInfo:
    try:
        stored = profiles.find(conn, workspace)
    except Unreadable:
        stored = None
    return ZoneInfo(stored.profile.time_zone or "UTC" if stored is not None else "UTC")
