"""The filters of an instance list: parsed from a URL, written to a URL, described, and passed to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from interlock.dashboard import formatting
from interlock.engine.listing import Where
from interlock.http.problems import BadRequest

LONGEST = 1000
AGES = {
    "": "any length",
    "60": "a minute",
    "600": "10 minutes",
    "3600": "an hour",
    "21600": "6 hours",
    "86400": "a day",
    "604800": "a week",
}
SHOWS = {"": "all", "live": "unfinished", "finished": "finished", "paused": "paused"}
SORTS = {"": "newest first", "oldest": "oldest first", "longest": "longest in state"}


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of an instance list. An empty field does not filter."""

    machine: str = ""
    state: str = ""
    workspace: str = ""
    label: str = ""
    error: str = ""
    age: str = ""
    text: str = ""
    show: str = ""
    root: str = ""
    sort: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Filters:
        """Parse URL parameters or form fields. An invalid value is refused by name."""
        found = cls(**{f.name: str(given.get(f.name, "")).strip()[:LONGEST] for f in fields(cls)})
        if found.show not in SHOWS or found.sort not in SORTS:
            raise BadRequest(f"the list has no status or order {found.show or found.sort!r}; load the page again")
        if found.age and not (found.age.isdecimal() and len(found.age) < 10):
            raise BadRequest(f"the age {found.age[:40]!r} is not a number of seconds")
        if found.label and not found.label.partition("=")[0]:
            raise BadRequest(f"the label {found.label[:80]!r} must be written as name=value")
        return found

    @property
    def given(self) -> dict[str, str]:
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}

    @property
    def chosen(self) -> dict[str, str]:
        """The filters without the sort order."""
        return {name: value for name, value in self.given.items() if name != "sort"}

    def url(self, path: str = "/ui/instances", **changes: Any) -> str:
        merged = {**self.given, **{k: str(v) for k, v in changes.items() if v is not None}}
        kept = {name: value for name, value in merged.items() if value != ""}
        return path + ("?" + urlencode(kept, quote_via=quote) if kept else "")

    def where(self, workspaces: frozenset[str] | None = None) -> Where:
        """The filters in the engine's form."""
        name, _, value = self.label.partition("=")
        try:
            root = UUID(self.root) if self.root else None
        except ValueError:
            raise BadRequest(f"{self.root[:40]!r} is not an instance id") from None
        return Where(
            machine=self.machine or None,
            state=self.state or None,
            workspace=self.workspace or None,
            label=(name, value) if self.label else None,
            error=self.error or None,
            text=self.text or None,
            finished={"live": False, "finished": True}.get(self.show),
            paused=True if self.show == "paused" else None,
            in_state_for=timedelta(seconds=int(self.age)) if self.age else None,
            root=root,
            workspaces=workspaces,
        )

    @property
    def words(self) -> list[str]:
        """Each filter in words."""
        return in_words(self.where())


NAMES = tuple(one.name for one in fields(Filters))
"""The URL parameters of an instance list."""


def in_words(where: Where) -> list[str]:
    """Describe each part of a filter."""
    parts = []
    if where.machine:
        parts.append(f"machine {formatting.title(where.machine)}")
    if where.state:
        parts.append(f"in {formatting.title(where.state)}")
    if where.workspace:
        parts.append(f"workspace {where.workspace}")
    if where.key:
        parts.append(f"key {where.key}")
    if where.label:
        parts.append(f"label {where.label[0]} = {where.label[1]}")
    if where.error:
        parts.append(f"last error {where.error}")
    if where.in_state_for is not None:
        parts.append(f"at least {formatting.duration(where.in_state_for // timedelta(microseconds=1))} in its state")
    if where.text:
        parts.append(f"with “{where.text}”")
    if where.finished is not None:
        parts.append("finished" if where.finished else "unfinished")
    if where.paused is not None:
        parts.append("paused" if where.paused else "not paused")
    if where.root:
        parts.append(f"related to {formatting.short_id(where.root)}")
    return parts


def cursor_of(after: str) -> UUID | None:
    """The position of a page of a list, from its URL."""
    try:
        return UUID(after) if after else None
    except ValueError:
        raise BadRequest(f"{after[:60]!r} is not a valid position; start from the first page") from None
