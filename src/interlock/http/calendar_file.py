"""Calendars as iCalendar files (RFC 5545), whose texts may come from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta

from interlock.store import Micros, moment

MEDIA_TYPE = "text/calendar; charset=utf-8"
LONGEST_TEXT = 2_000
LONGEST_LINE = 75
"""Bytes of a line, as the format has it."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An entry of a calendar: a whole day, or a time with its end."""

    uid: str
    """The same for the same entry in every file."""
    title: str
    start: date | Micros
    changed_at: Micros
    end: Micros | None = None
    """Half an hour after the start unless set; a day has no end."""
    place: str = ""
    text: str = ""
    url: str = ""
    cancelled: bool = False
    remind_days_before: Sequence[int] = ()


def calendar_file(name: str, events: Iterable[CalendarEvent]) -> str:
    """The text of the file."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//Interlock//{_escaped(name)}//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(name)}"]
    for one in events:
        lines += ["BEGIN:VEVENT", f"UID:{_escaped(one.uid)}", f"DTSTAMP:{_time(one.changed_at)}", *_when(one)]
        lines += [f"SUMMARY:{_escaped(one.title)}"]
        lines += [f"LOCATION:{_escaped(one.place)}"] if one.place else []
        lines += [f"DESCRIPTION:{_escaped(one.text)}"] if one.text else []
        lines += [f"URL:{_one_line(one.url)}"] if one.url else []
        lines += ["STATUS:CANCELLED" if one.cancelled else "STATUS:CONFIRMED", "TRANSP:TRANSPARENT"]
        for days in one.remind_days_before:
            lines += ["BEGIN:VALARM", "ACTION:DISPLAY", f"DESCRIPTION:{_escaped(one.title)}"]
            lines += [f"TRIGGER:-P{days}D", "END:VALARM"]
        lines += ["END:VEVENT"]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])


def _when(event: CalendarEvent) -> Iterator[str]:
    if isinstance(event.start, date):
        yield f"DTSTART;VALUE=DATE:{event.start:%Y%m%d}"
        yield f"DTEND;VALUE=DATE:{event.start + DAY if event.start < date.max else event.start:%Y%m%d}"
    else:
        yield f"DTSTART:{_time(event.start)}"
        yield f"DTEND:{_time(event.end or event.start + 30 * 60_000_000)}"


def _time(at: Micros) -> str:
    return f"{moment(at).astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _escaped(text: str) -> str:
    """A text value: backslash, comma, semicolon and line breaks have a meaning."""
    lines = map(_one_line, text.replace("\r\n", "\n").replace("\r", "\n")[:LONGEST_TEXT].split("\n"))
    return "\\n".join(line.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,") for line in lines)


def _one_line(text: str) -> str:
    """Without control characters and those that hide or reverse text."""
    return "".join(one if one.isprintable() else " " for one in text)


def _folded(line: str) -> str:
    """Lines of at most 75 bytes; a further one begins with a space, and no character is cut."""
    parts: list[str] = []
    current, size = "", 0
    for one in line:
        width = len(one.encode("utf-8", "replace"))
        if size + width > (LONGEST_LINE if not parts else LONGEST_LINE - 1):
            parts.append(current)
            current, size = "", 0
        current += one
        size += width
    return "\r\n ".join([*parts, current])
