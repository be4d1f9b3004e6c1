"""Teamtailor: a JSON feed with a schema.org JobPosting in each item, or RSS with elements of its own.

A generic feed parser mixes the places of a posting with two of them, so the RSS is read here.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.postings.posting import Posting, Workplace
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given, union
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request
from interlock.apps.jobs.finder.sources.documents import load
from interlock.apps.jobs.finder.sources.jobposting import posting_fields
from interlock.apps.jobs.finder.sources.row import MOST_ITEMS, Row

NAMESPACE = "{https://teamtailor.com/locations}"
WORKPLACES = {"none": Workplace.ONSITE, "hybrid": Workplace.HYBRID, "fully": Workplace.REMOTE}
"""`temporary` is left unknown."""
PAGE = 100


class Teamtailor(Adapter):
    kind = "teamtailor"

    def first(self, board: Address) -> Request:
        return Request(f"{self._origin(board)}/jobs.json")

    def instead(self, board: Address, answer: Answer) -> Request | None:
        """The list as RSS, where there is none as JSON."""
        asked = answer.request
        refused = answer.status in (*GONE, 400, 403, 406) or answer.status == 200
        return self.rss(board) if refused and asked is not None and asked.url.endswith("/jobs.json") else None

    def rss(self, board: Address, offset: int = 0) -> Request:
        """The other form of the list."""
        url = f"{self._origin(board)}/jobs.rss?offset={offset}&per_page={PAGE}"
        return Request(url, headers={"Accept": "application/rss+xml"}, note={"before": offset})

    def _origin(self, board: Address) -> str:
        host = board.options.get("host", f"{board.board}.teamtailor.com")
        return board.options.get("origin", f"https://{host}")

    def load(self, answer: Answer) -> Any:
        return load("xml" if answer.body[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else "json", answer)

    def listing(self, document: Any, page: Page) -> Listing | None:
        if not isinstance(document, dict):
            return self._rss_items(document, page) if hasattr(document, "iterfind") else None
        items = document.get("items")
        if not isinstance(items, list):
            return None
        top = Row(document)
        follow = web_url(document.get("next_url"), page.base)
        if follow and page.base and urlsplit(follow).netloc != urlsplit(page.base).netloc:
            return Listing(items, company=top.text("title"), doubt="the next page is on another host")
        return Listing(items, company=top.text("title"), follow=(Request(follow),) if follow else ())

    def read(self, row: Row, page: Page) -> Posting | None:
        inner = row.get("_jobposting")
        url = row.url("url", page.base) or row.url("link", page.base)
        number = re.search(r"/jobs/(\d+)", urlsplit(url).path) if url else None
        fields = self._from_rss(row) if "remoteStatus" in row.value else self._from_json(row, inner, page)
        key = fields.pop("key", None) or (number[1] if number else None) or row.ident("id")
        return self.posting(page, board=self._board(page, url), external_id=key, url=url, **fields)

    def _board(self, page: Page, url: str | None) -> str | None:
        if page.board:
            return page.board.board
        found = address_of(url) if url else None
        if found and found.ats == self.kind:
            return found.board
        return urlsplit(url).hostname if url else None

    def _from_json(self, row: Row, inner: Any, page: Page) -> dict[str, Any]:
        job = Row(inner if isinstance(inner, dict) else {}, page.wrong)
        fields = posting_fields(job)
        # The identifier is the posting's own number here and no requisition.
        fields["key"], fields["requisition_id"] = job.ident("identifier.value"), None
        fields["title"] = row.text("title") or fields["title"]
        fields["description"] = fields["description"] or row.html("content_html")
        if fields["posted_at"] is None:
            fields["posted_at"], fields["posted_precision"] = row.date("date_published")
        fields["updated_at"] = fields["updated_at"] or row.date("date_modified")[0]
        return fields

    def _from_rss(self, row: Row) -> dict[str, Any]:
        posted, precision = row.date("pubDate")
        status = row.text("remoteStatus")
        spots = [
            place(None, one.text("city"), None, one.text("country")) or place(one.text("name"))
            for one in row.rows("locations")
        ]
        where = union([one for one in spots if one], ())
        return {
            "title": row.text("title"),
            "department": row.text("department"),
            "team": row.text("role"),
            "locations": where,
            "workplace": WORKPLACES.get(status or ""),
            "posted_at": posted,
            "posted_precision": precision,
            "description": row.html("description"),
            "evidence": {
                "workplace": given("remoteStatus", status),
                "locations": given("tt:locations", "; ".join(one.raw for one in where)),
            },
        }

    def _rss_items(self, document: Any, page: Page) -> Listing | None:
        channel = document.find("channel") if document.tag == "rss" else None
        if channel is None:
            return None
        rows = []
        for item in channel.iterfind("item"):
            row: dict[str, Any] = {
                child.tag.removeprefix(NAMESPACE): child.text
                for child in item
                if isinstance(child.tag, str) and not len(child)
            }
            row.setdefault("remoteStatus", None)
            row["id"] = row.get("guid")
            row["locations"] = [
                {part.tag.removeprefix(NAMESPACE): part.text for part in spot}
                for spot in item.iterfind(f"{NAMESPACE}locations/{NAMESPACE}location")
            ][:MOST_ITEMS]
            rows.append(row)
        offset = page.note.get("before")
        full = page.board is not None and offset is not None and len(rows) >= PAGE
        follow = (self.rss(page.board, offset + PAGE),) if full and page.board and offset is not None else ()
        return Listing(rows, company=Row({"title": channel.findtext("title")}).text("title"), follow=follow)
