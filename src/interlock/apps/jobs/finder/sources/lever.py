"""Lever: a bare array, in pages by `skip`. The requirements are in `lists`, and times are in milliseconds."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlencode

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Salary, Sections
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.finder.sources.cleaning import joined, text_of
from interlock.apps.jobs.finder.sources.headings import section_of
from interlock.apps.jobs.finder.sources.pay import money
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, period, workplace

PAGE = 100


class Lever(Adapter):
    kind = "lever"
    gone = False  # A confidential posting is hidden from the API while its page is still there.

    def first(self, board: Address) -> Request:
        return self._page(board, 0)

    def _page(self, board: Address, skip: int) -> Request:
        host = "api.eu.lever.co" if board.options.get("region") == "eu" else "api.lever.co"
        origin = board.options.get("origin", f"https://{host}")
        # Without mode=json, an Accept header of a browser gets HTML.
        query = urlencode({"mode": "json", "skip": skip, "limit": PAGE})
        return Request(f"{origin}/v0/postings/{board.board}?{query}", note={"before": skip})

    def listing(self, document: Any, page: Page) -> Listing | None:
        if not isinstance(document, list):
            return None
        skip = page.note.get("before")
        full = page.board is not None and skip is not None and len(document) >= PAGE
        follow = (self._page(page.board, skip + PAGE),) if full and page.board and skip is not None else ()
        return Listing(document, follow=follow)

    def read(self, row: Row, page: Page) -> Posting | None:
        url = row.url("hostedUrl")
        found = address_of(url) if url else None
        model, commitment = row.text("workplaceType"), row.text("categories.commitment")
        posted, precision = row.date("createdAt")
        where = self._locations(row)
        return self.posting(
            page,
            board=page.board.board if page.board else (found.board if found else None),
            external_id=row.ident("id"),
            url=url,
            apply_url=row.url("applyUrl"),
            title=row.text("text"),
            department=row.text("categories.department"),
            team=row.text("categories.team"),
            locations=where,
            workplace=workplace(model),
            employment_type=employment_type(commitment),
            salary=self._pay(row),
            posted_at=posted,
            posted_precision=precision,
            description=self._description(row),
            sections=self._sections(row),
            evidence={
                "workplace": given("workplaceType", model),
                "employment_type": given("categories.commitment", commitment),
                "locations": given("categories.allLocations", "; ".join(one.raw for one in where)),
            },
        )

    def read_detail(self, document: Any, posting: Posting, page: Page) -> Posting | None:
        return self.read(Row(document, page.wrong), page) if isinstance(document, dict) else None

    def _locations(self, row: Row) -> tuple[Location, ...]:
        names = row.lines("categories.allLocations") or row.lines("categories.location")
        country = row.text("country") if len(names) == 1 else None
        found = (place(name, country=country) for name in names)
        return tuple(dict.fromkeys(one for one in found if one))

    def _description(self, row: Row) -> str | None:
        opened = joined([row.html("opening"), row.html("descriptionBody")])
        parts = [row.html("description") or opened or _plain(row, "description")]
        for one in row.rows("lists"):
            heading, items = one.text("text"), one.html("content")
            parts += [f"<h3>{escape(heading)}</h3>" if heading else None, f"<ul>{items}</ul>" if items else None]
        parts += [row.html(name) or _plain(row, name) for name in ("salaryDescription", "additional")]
        return joined(parts)

    def _sections(self, row: Row) -> Sections:
        found: dict[str, list[str]] = {}
        for one in row.rows("lists"):
            text = text_of(one.html("content"))
            if text:
                heading = one.text("text")
                found.setdefault(section_of(heading), []).append(f"{heading}\n{text}" if heading else text)
        return Sections(**{name: "\n\n".join(texts) for name, texts in found.items()})

    def _pay(self, row: Row) -> Salary | None:
        words = row.text("salaryDescriptionPlain") or row.text("salaryRange.interval")
        low, high = row.amount("salaryRange.min"), row.amount("salaryRange.max")
        return money(low, high, row.text("salaryRange.currency"), period(row.text("salaryRange.interval")), words)


def _plain(row: Row, name: str) -> str | None:
    """The plain form of a text, as a paragraph."""
    text = row.html(f"{name}Plain")
    return f"<p>{text}</p>" if text else None
