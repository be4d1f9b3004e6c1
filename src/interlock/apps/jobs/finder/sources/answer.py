"""Requests and answers as plain values, and what parsing an answer gives.

Nothing here talks to a network: a client sends the requests and brings the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from interlock.apps.jobs.finder.postings.posting import Posting

JSON_HEADERS = {"Accept": "application/json"}
GONE = (404, 410)
MOST_BYTES = 20_000_000
"""A board with 1,000 long descriptions is about 10 MB."""
MOST_ROWS = 10_000
"""Rows of one answer that are read; the largest boards in one answer have about 2,000."""


class Verdict(StrEnum):
    """How much of a board was read. Only a complete crawl may close postings that it did not see."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    CAPPED = "capped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to make. A body is sent as JSON."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_HEADERS)
    body: Mapping[str, Any] | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    """What the parser of the answer must know, which is not sent: `before`, the rows of earlier pages; `total`, which
    only the first page tells; `part`, the list that a page belongs to where a board must be read in several."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, or what was recorded."""

    body: bytes
    url: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    request: Request | None = None

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of an answer, counted."""

    listed: int = 0
    """Rows in the answer."""
    parsed: int = 0
    """Postings that were read from them."""
    duplicates: int = 0
    """Rows that repeat a posting of the same answer, as for a second location."""
    hidden: int = 0
    """Rows that the employer does not list."""
    unreadable: int = 0
    """Rows without an id and an address, or of a wrong shape."""
    total: int | None = None
    """How many postings the source says there are."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The postings of one answer, how complete they are, and what to fetch next."""

    verdict: Verdict
    postings: tuple[Posting, ...] = ()
    counts: Counts = Counts()
    reasons: tuple[str, ...] = ()
    """Why the verdict is not `complete`."""
    follow: tuple[Request, ...] = ()
    """Further pages, or the parts that a list must be split into."""
    wrong_fields: Mapping[str, int] = field(default_factory=dict)
    """Fields of the answer with a value of the wrong kind → how often."""
    company: str | None = None
    """The board's own company name, which proves that a guessed board is the right one."""


def failed(reason: str) -> Parsed:
    return Parsed(Verdict.FAILED, reasons=(reason,))
