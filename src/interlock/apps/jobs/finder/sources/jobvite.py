"""Jobvite: an XML feed under the company's own id, else the table of the careers page.

An empty board redirects to `NoJobs.htm` and a dead one to `?invalid=1`, so a redirect is read and not followed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.addresses import Address, address_of
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources.adapter import Adapter, Listing, Page, given
from interlock.apps.jobs.finder.sources.answer import Answer, Counts, Parsed, Request, Verdict, failed
from interlock.apps.jobs.finder.sources.documents import load
from interlock.apps.jobs.finder.sources.row import Row
from interlock.apps.jobs.finder.sources.vocabulary import employment_type, workplace

JOBS = "https://jobs.jobvite.com"
STAY = "fr=true&nl=1"
"""Keeps a careers page from redirecting to the employer's own site."""
MOST_LINKS = 5000


class Jobvite(Adapter):
    kind = "jobvite"
    format = "xml"

    def first(self, board: Address) -> Request:
        company = board.options.get("company")
        if company:
            origin = board.options.get("origin", "https://app.jobvite.com")
            return Request(f"{origin}/CompanyJobs/Xml.aspx?{urlencode({'c': company})}", headers={"Accept": "text/xml"})
        origin = board.options.get("origin", JOBS)
        return Request(f"{origin}/{board.board}/search?{STAY}", headers={"Accept": "text/html"})

    def page(self, board: Address) -> Request:
        """The careers page, which names the company's own id."""
        origin = board.options.get("origin", JOBS)
        return Request(f"{origin}/{board.board}?{STAY}", headers={"Accept": "text/html"})

    def parse(self, answer: Answer, board: Address | None, at: datetime) -> Parsed:
        if 300 <= answer.status < 400:
            target = answer.header("Location") or ""
            if "nojobs" in target.lower():
                return Parsed(Verdict.COMPLETE, counts=Counts(total=0))
            if "invalid=1" in target:
                return failed("the board is gone, or never was")
        return super().parse(answer, board, at)

    def load(self, answer: Answer) -> Any:
        start = answer.body[:1000].lstrip().lower()
        return load("html" if start.startswith((b"<!doctype html", b"<html", b"<table")) else "xml", answer)

    def listing(self, document: Any, page: Page) -> Listing | None:
        if isinstance(document, str):
            return _table(document)
        if document.tag != "result":
            return None
        jobs = list(document.iterfind("job"))
        return Listing([{child.tag: child.text for child in job} for job in jobs], total=len(jobs))

    def read(self, row: Row, page: Page) -> Posting | None:
        url = row.url("detail-url", page.base or JOBS)
        found = address_of(url) if url else None
        at_jobvite = found if found and found.ats == self.kind else None
        where, kind = row.text("location"), row.text("jobtype") or row.text("type")
        posted, precision = row.date("date")
        return self.posting(
            page,
            board=page.board.board if page.board else (at_jobvite.board if at_jobvite else None),
            external_id=row.ident("id") or (at_jobvite.external_id if at_jobvite else None),
            requisition_id=row.ident("requisitionid"),
            url=url,
            apply_url=row.url("apply-url", page.base or JOBS),
            title=row.text("title"),
            department=row.text("category") or row.text("department"),
            locations=places([where]),
            workplace=workplace(where),
            employment_type=employment_type(kind),
            posted_at=posted,
            posted_precision=precision,
            description=row.html("description"),
            evidence={
                "workplace": given("location", where),
                "employment_type": given("jobtype", kind),
                "locations": given("location", where),
                "posted_at": given("date", row.get("date")),
            },
        )


def _table(html: str) -> Listing | None:
    """The rows of the careers page: a link to `/SLUG/job/ID` and a cell with the place."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    rows = []
    for link in tree.css('a[href*="/job/"]')[:MOST_LINKS]:
        href = link.attributes.get("href") or ""
        pieces = urlsplit(href).path.split("/") if "//[" not in href else []
        if "job" not in pieces or not pieces[-1]:
            continue
        box = link.parent
        while box is not None and box.tag not in ("tr", "li", "body"):
            box = box.parent
        cell = box.css_first(".jv-job-list-location") if box is not None and box.tag != "body" else None
        title = link.css_first(".jv-job-list-name") or link
        rows.append({"detail-url": href, "title": title.text(), "location": cell.text() if cell else None})
    proved = rows or "jv.careersite" in html or tree.css_first(".jv-page-body, .jv-wrapper") is not None
    more = tree.css_first("a.jv-pagination-next") is not None
    return Listing(rows, doubt="the page has a next one" if more else None) if proved else None
