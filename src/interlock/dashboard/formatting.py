"""Formatting for pages: times, durations, numbers, names."""

from __future__ import annotations

import json
import re
from typing import Any

from interlock.store import SECOND, Micros, moment


def duration(micros: Micros | None) -> str:
    """A length of time in its two biggest units: 21 h 50 min, 3 d 4 h, 0.4 s."""
    if micros is None:
        return ""
    seconds = abs(micros) / SECOND
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    for size, name, small, little in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            big, rest = divmod(int(seconds), size)
            more = f" {rest // small} {little}" if rest >= small and big < 10 * (size > 60) + 5 else ""
            return f"{big} {name}{more}"
    return f"{seconds:.0f} s"


def ago(at: Micros | None, now: Micros) -> str:
    """A time relative to now: 5 min ago, in 2 h."""
    if at is None:
        return ""
    gap = at - now
    if abs(gap) < SECOND:
        return "now"
    return f"in {duration(gap)}" if gap > 0 else f"{duration(gap)} ago"


def exact(at: Micros | None) -> str:
    return "" if at is None else f"{moment(at):%Y-%m-%d %H:%M:%S} UTC"


def iso(at: Micros | None) -> str:
    return "" if at is None else moment(at).isoformat()


def clock(at: Micros) -> str:
    return f"{moment(at):%H:%M:%S}"


def day(at: Micros, now: Micros) -> str:
    """The heading of a day in a timeline."""
    then, today = moment(at).date(), moment(now).date()
    if then == today:
        return "Today"
    if (today - then).days == 1:
        return "Yesterday"
    return f"{then:%A, %d %B}" + ("" if then.year == today.year else f" {then.year}")


_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/(\d+)"),
    ("Opera", r"OPR/(\d+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/(\d+)"),
    ("Chrome", r"(?:HeadlessChrome|Chrome|CriOS)/(\d+)"),
    ("Safari", r"Version/(\d+)[\d.]* (?:Mobile/\S+ )?Safari/"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iOS", "iPhone|iPad"),
    ("Windows", "Windows"),
    ("macOS", "Macintosh"),
    ("ChromeOS", "CrOS"),
    ("Linux", "Linux"),
)


def browser(agent: str) -> str:
    """The browser and system that a User-Agent header names: Firefox 140 on Windows. Others are left as they are."""
    name = next((f"{word} {found[1]}" for word, part in _BROWSERS if (found := re.search(part, agent))), "")
    system = next((word for word, part in _SYSTEMS if re.search(part, agent)), "")
    return " on ".join(part for part in (name, system) if part) if name else agent


def number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def percent(part: float | None) -> str:
    """A ratio in percent, or a dash without data."""
    if part is None:
        return "—"
    return f"{part * 100:.0f} %" if part in (0, 1) or 0.1 <= part <= 0.9 else f"{part * 100:.1f} %"


def dollars(nano: int) -> str:
    """Billionths of a dollar: $12.30, with four digits below a dollar, as single calls cost less than a cent."""
    whole = nano / 1_000_000_000
    if nano and whole < 0.0001:
        return "<$0.0001"
    return f"${whole:,.2f}" if whole >= 1 or not nano else f"${whole:.4f}"


def title(name: str) -> str:
    """A state's or an event's name as words."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words.lower() if words.isupper() else words


def short_id(value: object) -> str:
    """The end of an id: its beginning is the time, which is similar for all new ones."""
    text = str(value)
    return text[-8:]


def person(actor: str) -> str:
    """An actor for people: ann, worker, system."""
    kind, _, name = actor.partition(":")
    if kind == "worker":
        return "a worker"
    if kind == "system":
        return name or "the system"
    return name.partition("/")[0] or kind


def compact(value: Any) -> str:
    """A JSON value on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)
