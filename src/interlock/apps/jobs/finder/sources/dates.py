"""Dates as sources write them: ISO, epoch, RFC 2822, day labels such as "Posted 5 Days Ago"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import isfinite

from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import Precision

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
UNKNOWN = (None, Precision.UNKNOWN)
Moment = tuple[datetime | None, Precision]

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
"""Month first, as in America; the day where the first number can be no month."""
DOTTED = re.compile(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})")
BACKWARDS = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
NAMED_DAY = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th|\.|er)? (?:de )?)?([a-z]{3,10})\.? (?:(\d{1,2})(?:st|nd|rd|th)?,? )?(?:de )?(\d{4})"
)
MONTHS_BY_NAME = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero januari",
            "february feb februar fevrier febrero februari",
            "march mar marz mars marzo maart",
            "april apr avril abril",
            "may mai mayo mei",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug aout agosto augustus",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez decembre diciembre",
        ),
        1,
    )
    for name in names.split()
}
ZONE_WORD = re.compile(r"(?:UTC|GMT|Z)$", re.IGNORECASE)
TODAY = ("today", "just posted", "heute", "aujourd", "hoy", "oggi", "vandaag", "hoje", "idag", "i dag", "dzisiaj")
YESTERDAY = ("yesterday", "gestern", "hier", "ayer", "ieri", "gisteren", "ontem", "i går", "wczoraj")
AGO = re.compile(
    r"(\d{1,3})\s*(\+)?\s*(hours?|days?|weeks?|months?|stunden?|tage?n?|wochen?|monate?n?|heures?|jours?|semaines?|mois|"
    r"horas?|d[ií]as?|semanas?|meses|ore|giorn[oi]|settiman[ae]|dagen|dag|weken|week|dias?|dagar|dni)\b(\s*\+)?"
)
HOURS = ("hour", "stund", "heure", "hora", "ore")
WEEKS = ("week", "woche", "semain", "semana", "settiman", "weken")
MONTHS = ("month", "monat", "mois", "meses")


def read_date(value: object) -> Moment:
    """A moment in UTC with its precision; unknown unless it is a plausible date."""
    if isinstance(value, bool) or value is None:
        return UNKNOWN
    if isinstance(value, int | float):
        return _epoch(value)
    if not isinstance(value, str):
        return UNKNOWN
    text = value.strip()
    if not text or len(text) > 60:
        return UNKNOWN
    if text.isdecimal() and text.isascii() and len(text) in (10, 13):
        return _epoch(int(text))
    return _plausible(*_written(text))


def read_label(value: object, now: datetime) -> Moment:
    """A day counted back from `now`. "30+ days ago" names no day and is unknown."""
    if not isinstance(value, str) or len(value) > 100:
        return UNKNOWN
    text = " ".join(value.lower().split())
    found = AGO.search(text)
    if found and not found[2] and not found[4]:
        many, unit = int(found[1]), found[3]
        if unit.startswith(HOURS):
            return _day(now - timedelta(hours=many), Precision.DAY)
        if unit.startswith(MONTHS):
            return _day(now - timedelta(days=30 * many), Precision.APPROXIMATE)
        if unit.startswith(WEEKS):
            return _day(now - timedelta(weeks=many), Precision.APPROXIMATE)
        return _day(now - timedelta(days=many), Precision.DAY)
    if found:
        return UNKNOWN
    if any(word in text for word in YESTERDAY):
        return _day(now - timedelta(days=1), Precision.DAY)
    return _day(now, Precision.DAY) if any(word in text for word in TODAY) else UNKNOWN


def _day(moment: datetime, precision: Precision) -> Moment:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0), precision


def _epoch(value: int | float) -> Moment:
    """Seconds or milliseconds: which, tells the size. One is 1970 read as the other."""
    if not isfinite(value):
        return UNKNOWN
    seconds = value / 1000 if abs(value) >= 1e11 else value
    if not EARLIEST.timestamp() < seconds < LATEST.timestamp():
        return UNKNOWN
    return datetime.fromtimestamp(seconds, UTC), Precision.EXACT


def _written(text: str) -> tuple[datetime | None, bool]:
    """The date, and whether the text names a time of day with its zone."""
    try:
        day = _numbered(text) or _named(text)
        if day:
            return datetime(*day, tzinfo=UTC), False
        if DAY.match(text):
            zone = ZONE_WORD.search(text)
            spelled = f"{text[: zone.start()].rstrip()}+00:00" if zone else text
            return _at_zone(datetime.fromisoformat(spelled), len(text) > 10)
        return _at_zone(parsedate_to_datetime(text), True)
    except (ValueError, OverflowError, TypeError):
        return None, False


def _numbered(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date in numbers."""
    if found := SLASHED.fullmatch(text):
        month, day, year = map(int, found.groups())
        return (year, day, month) if month > 12 else (year, month, day)
    if found := DOTTED.fullmatch(text):
        day, month, year = map(int, found.groups())
        return year, month, day
    found = BACKWARDS.fullmatch(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _named(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of "Aug 5, 2026" or "5. August 2026"."""
    found = NAMED_DAY.fullmatch(fold(text))
    month = MONTHS_BY_NAME.get(found[2]) if found else None
    if not found or month is None or (found[1] is None) == (found[3] is None):
        return None
    return int(found[4]), month, int(found[1] or found[3])


def _at_zone(moment: datetime, timed: bool) -> tuple[datetime, bool]:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC), False
    return moment.astimezone(UTC), timed


def _plausible(moment: datetime | None, exact: bool) -> Moment:
    if moment is None or not EARLIEST < moment < LATEST:
        return UNKNOWN
    return moment, Precision.EXACT if exact else Precision.DAY
