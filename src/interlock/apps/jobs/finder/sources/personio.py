"""Personio: an XML feed that the employer must switch on, else the list on the careers page.

The feed has no addresses; they are built from the host. Without `language` it is in German, and so are with it the
postings that the employer has in German only: the text tells the language.
"""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Sections
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given, union
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.documents import load
from interlock.apps.jobs.finder.sources.headings import section_of
from interlock.apps.jobs.finder.sources.row import MOST_ITEMS, Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, seniority

FEED = {"Accept": "application/xml, text/xml"}


class Personio(Adapter):
    kind = "personio"
    format = "xml"

    def first(self, board: Address) -> Request:
        return Request(f"{self._origin(board)}/xml?language=en", headers=FEED)

    def instead(self, board: Address, answer: Answer) -> Request | None:
        """The careers page, where the feed is switched off, which is a 404."""
        if answer.status not in GONE or answer.request is None or "/xml?" not in answer.request.url:
            return None
        return Request(f"{self._origin(board)}/?language=en", headers={"Accept": "text/html"})

    def _origin(self, board: Address) -> str:
        host = board.options.get("host", f"{board.board}.jobs.personio.de")
        return board.options.get("origin", f"https://{host}")

    def load(self, answer: Answer) -> Any:
        if answer.body[:1000].lstrip().lower().startswith((b"<!doctype html", b"<html")):
            return load("html", answer)
        return super().load(answer)

    def listing(self, document: Any, page: Page) -> Listing | None:
        if isinstance(document, str):
            return _boxes(document)
        if document.tag != "workzag-jobs":
            return None
        return Listing([_position(one) for one in document.iterfind("position")])

    def read(self, row: Row, page: Page) -> Posting | None:
        key = row.ident("id")
        posted, precision = row.date("createdAt")
        kind, schedule = row.text("employmentType"), row.text("schedule")
        # An internship is one at any number of hours; "permanent" says nothing about them.
        special = employment_type(kind)
        field, said = ("employmentType", kind) if special != "unknown" else ("schedule", schedule)
        level = row.text("seniority")
        where = self._locations(row)
        parts = [(one.text("name"), one.html("value")) for one in row.rows("jobDescriptions")]
        found: dict[str, list[str]] = {}
        for heading, body in parts:
            text = text_of(body)
            if text:
                found.setdefault(section_of(heading), []).append(f"{heading}\n{text}" if heading else text)
        return self.posting(
            page,
            external_id=key,
            url=f"{self._origin(page.board)}/job/{key}" if key and key.isdecimal() and page.board else None,
            company_name_raw=row.text("subcompany"),
            title=row.text("name"),
            department=row.text("department"),
            team=row.text("recruitingCategory"),
            locations=where,
            employment_type=employment_type(said),
            seniority=seniority(level),
            posted_at=posted,
            posted_precision=precision,
            description=joined(f"<h3>{escape(name or '')}</h3>{body}" for name, body in parts if body),
            sections=Sections(**{name: "\n\n".join(texts) for name, texts in found.items()}),
            evidence={
                "employment_type": given(field, said),
                "seniority": given("seniority", level),
                "locations": given("office", "; ".join(one.raw for one in where)),
            },
        )

    def _locations(self, row: Row) -> tuple[Location, ...]:
        found = (place(name) for name in [*row.lines("office"), *row.lines("offices")])
        return union([one for one in found if one], ())


def _position(element: Any) -> dict[str, Any]:
    """A position as a row. `jobDescriptions` has elements called `name` as well, which are headings."""
    row: dict[str, Any] = {child.tag: child.text for child in element if not len(child)}
    row["offices"] = [one.text for one in element.iterfind("additionalOffices/office") if one.text][:MOST_ITEMS]
    row["jobDescriptions"] = [
        {"name": one.findtext("name"), "value": one.findtext("value")}
        for one in element.iterfind("jobDescriptions/jobDescription")
    ]
    return row


def _boxes(html: str) -> Listing | None:
    """The list of a careers page: boxes that link to `/job/ID`."""
    from selectolax.lexbor import LexborHTMLParser

    rows = []
    for link in LexborHTMLParser(html).css('a[class*="job-box"]')[:MOST_ROWS_OF_A_PAGE]:
        path = urlsplit(link.attributes.get("href") or "").path.rstrip("/")
        title = link.css_first("h3")
        rows.append({"id": path.rpartition("/job/")[2], "name": title.text() if title else None})
    return Listing(rows) if rows else None


MOST_ROWS_OF_A_PAGE = 2000
