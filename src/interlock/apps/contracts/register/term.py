"""When a contract ends and until when notice can be given, from its fields. What is computed says from what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from interlock.apps.contracts.comparison.switching import Period, Running

END = ("expiration_date", "end_date")
START = ("start_date", "effective_date", "agreement_date")
TERM = ("term",)
RENEWAL = ("renewal_term",)
NOTICE = ("notice_period",)
PERPETUAL = "perpetual"
MOST_RENEWALS = 100


@dataclass(frozen=True, slots=True)
class Term:
    """How long a contract runs."""

    ends: date | None
    notice: str = ""
    """The notice period, such as P90D; empty if the contract states none."""
    renewal: str = ""
    """By how much it is renewed, such as P1Y; empty if that is not stated."""
    basis: str = ""
    """What the end was computed from; empty if the contract states it."""
    words: str = ""
    """The term for lists."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A day in the calendar of a contract."""

    kind: str
    """`end` or `notice`."""
    day: date
    basis: str = ""
    """What it was computed from."""


def term_of(fields: Mapping[str, Mapping[str, Any]]) -> Term:
    """The term of a contract with these fields."""
    stated = _value(fields, END)
    notice, renewal = _value(fields, NOTICE), _value(fields, RENEWAL)
    length, start = _value(fields, TERM), _day(_value(fields, START))
    ends, basis = _day(stated), ""
    period = _period(length)
    if ends is None and start is not None and period is not None:
        ends = _shifted(lambda: Running(start=start, term=period).ends())
        basis = f"from its start on {start.isoformat()} and its term of {period}" if ends is not None else ""
    parts = []
    if stated == PERPETUAL:
        parts.append("without an end")
    elif ends is not None:
        parts.append(f"until {ends.isoformat()}")
    elif period is not None:
        parts.append(str(period))
    if again := _period(renewal):
        parts.append(f"renewed by {again}")
    return Term(ends, notice or "", renewal or "", basis, ", ".join(parts))


def deadlines(ends: date, notice: str, renewal: str, basis: str, today: date) -> list[Deadline]:
    """The end and the last day for notice. Once the end is past, those of its next renewal."""
    first, again, length = ends, _period(renewal), _period(notice)
    if ends < today and again is not None and again.count:
        for times in range(1, MOST_RENEWALS):
            next_end = _shifted(lambda: Period(count=again.count * times, unit=again.unit).after(first))  # noqa: B023
            if next_end is None:
                break
            ends = next_end
            if ends >= today:
                break
        basis = f"from its end on {first.isoformat()}, renewed by {again}"
    found = [Deadline("end", ends, basis)]
    if length is not None:
        how = f"{length} before its end on {ends.isoformat()}"
        by = _shifted(lambda: length.before(ends))
        if by is not None:
            found.insert(0, Deadline("notice", by, f"{how}{f', computed {basis}' if basis else ''}"))
    return found


def _value(fields: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = (fields.get(name) or {}).get("normalised")
        if value not in (None, "", []):
            return str(value)
    return None


def _day(text: str | None) -> date | None:
    """A whole date; one with blanks is none."""
    try:
        return date.fromisoformat(text) if text and len(text) == 10 else None
    except ValueError:
        return None


@lru_cache(1000)  # lists ask for thousands, and contracts write few different ones
def _period(text: str | None) -> Period | None:
    """A period; one of thousands of years is none."""
    try:
        return Period.read(text)
    except ValueError:
        return None


def _shifted(compute: Callable[[], date | None]) -> date | None:
    """A computed day; None where it is outside of the calendar."""
    try:
        return compute()
    except (ValueError, OverflowError):
        return None
