"""One row of an answer, read field by field. A value of the wrong kind is unknown and counted; it never raises."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.postings.posting import Precision
from interlock.apps.jobs.finder.sources.cleaning import LINE, line, sanitised
from interlock.apps.jobs.finder.sources.dates import read_date

MOST_ITEMS = 200
"""Items of a list inside one row: places, questions, tiers."""
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?")
GROUPED = re.compile(r"(\d{1,3}(?:([., '])\d{3})(?:\2\d{3})*)(?:[.,](\d{1,2}))?")
"""An amount with separators of thousands: "60,000", "60.000,50", "60 000"."""


class Row:
    """A row with dotted paths: `row.text("location.name")`. A number in a path is an index of a list."""

    __slots__ = ("value", "wrong")

    def __init__(self, value: Mapping[str, Any], wrong: Counter[str] | None = None) -> None:
        self.value = value
        self.wrong: Counter[str] = Counter() if wrong is None else wrong

    def get(self, path: str) -> Any:
        """The value as it is; None where the path ends early."""
        value: Any = self.value
        for name in path.split("."):
            if isinstance(value, Mapping):
                value = value.get(name)
            elif isinstance(value, list) and name.isdecimal() and len(name) < 7 and int(name) < len(value):
                value = value[int(name)]
            else:
                return None
        return value

    def _wrong(self, path: str, value: object) -> None:
        if value is not None and value != "" and value != [] and value != {}:
            self.wrong[path] += 1

    def text(self, path: str, most: int = LINE) -> str | None:
        """One line of plain text."""
        value = self.get(path)
        if not isinstance(value, str):
            self._wrong(path, value)
        return line(value, most)

    def ident(self, path: str) -> str | None:
        """An id, which may be a number or a text."""
        value = self.get(path)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if abs(value) < 10**30 else None
        found = line(value, 200)
        if found is None or "…" in found:
            self._wrong(path, self.get(path))
            return None
        return found

    def html(self, path: str) -> str | None:
        """Sanitised HTML."""
        value = self.get(path)
        if not isinstance(value, str):
            self._wrong(path, value)
        return sanitised(value)

    def flag(self, path: str) -> bool | None:
        value = self.get(path)
        if isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in ("true", "false", "1", "0", "yes", "no"):
            return value.strip().lower() in ("true", "1", "yes")
        self._wrong(path, value)
        return None

    def number(self, path: str) -> int | float | None:
        """A number, which may be written as a text."""
        value = self.get(path)
        if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and abs(value) < 1e15:
            return int(value) if float(value).is_integer() else value
        self._wrong(path, value)
        return None

    def amount(self, path: str) -> int | float | None:
        """An amount of money, which may be written as a text with separators of thousands."""
        value = self.get(path)
        grouped = (
            GROUPED.fullmatch(value.strip().replace("\xa0", " ").replace("\u2019", "'"))
            if isinstance(value, str)
            else None
        )
        if grouped is None:
            return self.number(path)
        whole, cents = re.sub(r"\D", "", grouped[1]), grouped[3]
        return float(f"{whole}.{cents}") if cents else int(whole)

    def count(self, path: str) -> int | None:
        """A whole number that is not negative."""
        found = self.number(path)
        if found is not None and (found < 0 or int(found) != found):
            self._wrong(path, found)
            return None
        return None if found is None else int(found)

    def date(self, path: str) -> tuple[datetime | None, Precision]:
        found = read_date(self.get(path))
        if found[0] is None:
            self._wrong(path, self.get(path))
        return found

    def url(self, path: str, base: str | None = None) -> str | None:
        value = self.get(path)
        found = web_url(value, base)
        if found is None:
            self._wrong(path, value)
        return found

    def rows(self, path: str) -> list[Row]:
        """The objects of a list; other items of it are counted as wrong."""
        value = self.get(path)
        if not isinstance(value, list):
            self._wrong(path, value)
            return []
        found = [Row(item, self.wrong) for item in value[:MOST_ITEMS] if isinstance(item, Mapping)]
        if len(found) < len(value[:MOST_ITEMS]):
            self.wrong[path] += 1
        return found

    def lines(self, path: str) -> list[str]:
        """The texts of a list, or one text alone."""
        value = self.get(path)
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            self._wrong(path, value)
            return []
        found = [line(item) for item in value[:MOST_ITEMS]]
        if None in found:
            self.wrong[path] += 1
        return [one for one in found if one]
