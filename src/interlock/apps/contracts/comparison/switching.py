"""The earliest end of a contract: its end minus the notice period; otherwise it is renewed."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from interlock.apps.contracts.comparison.result import SwitchDate

MOST_RENEWALS = 200

_ISO = re.compile(r"P(?:(?P<year>\d{1,3})Y)?(?:(?P<month>\d{1,4})M)?(?:(?P<week>\d{1,4})W)?(?:(?P<day>\d{1,5})D)?\Z")
_WORDS = re.compile(r"(?P<count>\d{1,4})\s*\)?\s*(?P<unit>day|tag|week|woche|month|monat|year|jahr)", re.IGNORECASE)
_UNITS: dict[str, Literal["day", "week", "month", "year"]] = {
    "day": "day",
    "tag": "day",
    "week": "week",
    "woche": "week",
    "month": "month",
    "monat": "month",
    "year": "year",
    "jahr": "year",
}


class Period(BaseModel):
    """A length of time as contracts have it: one month is not thirty days."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(ge=0, le=10_000)
    unit: Literal["day", "week", "month", "year"]

    @classmethod
    def read(cls, value: Any) -> Period | None:
        """Read `P3M`, `3 months`, `{"months": 3}` or a bare number of months; nothing else."""
        if isinstance(value, Period):
            return value
        if isinstance(value, Mapping):
            for unit in ("years", "months", "weeks", "days"):
                if value.get(unit) not in (None, ""):
                    return cls(count=int(value[unit]), unit=_UNITS[unit[:-1]])
            return cls.read(value.get("value"))
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int):
            return cls(count=value, unit="month") if 0 <= value <= 10_000 else None
        iso = _ISO.match(str(value).strip())
        if iso:
            for unit in ("year", "month", "week", "day"):
                if iso[unit]:
                    return cls(count=int(iso[unit]), unit=_UNITS[unit])
        words = _WORDS.search(str(value))
        return cls(count=int(words["count"]), unit=_UNITS[words["unit"].lower()]) if words else None

    def as_months(self) -> int | None:
        """Return it in months, if it is whole months."""
        return {"month": self.count, "year": self.count * 12}.get(self.unit)

    def after(self, day: date) -> date:
        """Return the day that is this much later; the 31st becomes the last of a shorter month."""
        return self._moved(day, 1)

    def before(self, day: date) -> date:
        """Return the day that is this much earlier."""
        return self._moved(day, -1)

    def _moved(self, day: date, sign: int) -> date:
        if self.unit in {"day", "week"}:
            return day + timedelta(days=sign * self.count * (7 if self.unit == "week" else 1))
        months = day.year * 12 + day.month - 1 + sign * self.count * (12 if self.unit == "year" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))

    def __str__(self) -> str:
        return f"{self.count} {self.unit}{'' if self.count == 1 else 's'}"


class Running(BaseModel):
    """How a contract runs: its end, or its start and term; the notice; how long it goes on if nobody ends it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: date | None = None
    end: date | None = None
    term: Period | None = None
    notice: Period | None = None
    renewal: Period | None = None
    """By how much it is renewed; none if that is not stated."""
    open_ended: bool = False
    """It runs on without a term and can then be ended at any time with notice."""

    def ends(self) -> date | None:
        """Return the last day of the first term."""
        if self.end:
            return self.end
        if self.start and self.term:
            return self.term.after(self.start) - timedelta(days=1)
        return None


def switch_date(running: Running, today: date) -> SwitchDate:
    """Return the earliest day on which a contract can end, and the last day to say so."""
    notice = running.notice or Period(count=1, unit="month")
    assumed = "" if running.notice else " The notice period is not stated: one month was assumed."
    end = running.ends()
    if end is None:
        soon = notice.after(today)
        if running.open_ended:
            said = f"It has no term and can end on {soon.isoformat()} if notice is given today.{assumed}"
            return SwitchDate(earliest=soon, latest=soon, notice_by=today, rolled_over=False, verdict=said)
        said = "The end of the contract is not known, so no date to switch can be given."
        return SwitchDate(earliest=None, latest=None, notice_by=None, rolled_over=False, verdict=said)
    by = notice.before(end)
    if by >= today:
        said = f"It can end on {end.isoformat()} if notice is given by {by.isoformat()}.{assumed}"
        return SwitchDate(earliest=end, latest=end, notice_by=by, rolled_over=False, verdict=said)
    if running.renewal and running.renewal.count:
        return _renewed(running.renewal, notice, end, today, assumed)
    soon = max(end, notice.after(today))
    if running.open_ended:
        said = f"The last day for notice, {by.isoformat()}, is past. It runs on and can end on {soon.isoformat()}."
        return SwitchDate(earliest=soon, latest=soon, notice_by=today, rolled_over=True, verdict=said + assumed)
    late = _renewed(Period(count=1, unit="year"), notice, end, today, "").earliest
    said = (
        f"The last day for notice, {by.isoformat()}, is past, and what follows is not stated: it can end between"
        f" {soon.isoformat()} (if it runs on without a term) and {late} (if it was renewed by a year).{assumed}"
    )
    return SwitchDate(earliest=soon, latest=late, notice_by=today, rolled_over=True, verdict=said)


def _renewed(renewal: Period, notice: Period, end: date, today: date, assumed: str) -> SwitchDate:
    first = end
    for times in range(1, MOST_RENEWALS + 1):
        # Counted from the first end each time: a month after 31 January is 28 February, but two are 31 March.
        end = Period(count=renewal.count * times, unit=renewal.unit).after(first)
        by = notice.before(end)
        if by >= today:
            said = f"It was renewed and can end on {end.isoformat()} if notice is given by {by.isoformat()}.{assumed}"
            return SwitchDate(earliest=end, latest=end, notice_by=by, rolled_over=True, verdict=said)
    soon = notice.after(today)
    said = f"Its notice is as long as its renewal; it can end on {soon.isoformat()} at the earliest.{assumed}"
    return SwitchDate(earliest=soon, latest=None, notice_by=today, rolled_over=True, verdict=said)
