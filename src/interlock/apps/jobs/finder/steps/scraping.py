"""SCRAPE: what a posting's own page or its system's API says, for what the list left out.

A board's API comes first, then schema.org in the page, then the page's main text. What stays unknown is said, and the
posting goes on with what it has: somebody can look at it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.postings.posting import Method, Posting
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.adapter import Adapter, merged, refusal, with_missing
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request
from interlock.apps.jobs.finder.sources.cleaning import line, sanitised, text_of
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.finder.sources.documents import Unreadable, load
from interlock.apps.jobs.finder.sources.jsonld import JsonLd
from interlock.apps.jobs.finder.steps.visit import Visit
from interlock.machine import WorkError

MOST_BYTES = 5_000_000
MOST_PAGES = 20
"""Pages of a list that are read to find one posting."""
GOOD_TEXT = 100
"""Characters that a description has to exceed to be one."""
MAIN = ("main", "article", '[role="main"]', "#content", ".content", "body")
BESIDE = "script, style, nav, header, footer, form, noscript, aside, iframe, template"


class Closed(Exception):
    """The posting is not there any more."""


class NotScraped(WorkError):
    """The posting's page could not be read."""


@dataclass(frozen=True, slots=True)
class Scraped:
    """A posting with all that could be found, and how."""

    posting: Posting
    method: str
    flag: str | None
    """What a person should look at: values that stay unknown."""


async def scrape(visit: Visit, row: PostingRow) -> Scraped:
    """All that can be found out about a posting. Raises Closed, or an error that a retry may help with."""
    # A text that an earlier scrape found may be old; it stays where this one finds none.
    posting = row.posting.model_copy(update={"description_html": None, "description_text": None})
    source = await visit.task.read(sources.find, row.workspace, row.source_id) if row.source_id else None
    if source is not None:
        adapter, board = source.adapter, source.address
    else:
        board = detect(posting.url or "", visit.private_hosts) or Address("html", "")
        adapter = adapter_of(board.ats) if board.external_id else JsonLd()
    found = await _by_board(visit, adapter, board, posting)
    if found is None or not found.description_text:
        found = await _by_page(visit, found or posting)
    found = with_missing(found if found.description_text else merged(found, row.posting, both_places=False))
    return Scraped(found, found.extraction.method.value, _flag(found))


async def _by_board(visit: Visit, adapter: Adapter, board: Address, posting: Posting) -> Posting | None:
    """What the board's API says of one posting; None where it has no such call."""
    request = adapter.detail(board, posting)
    if request is not None:
        answer = await visit.fetch(request)
        if (other := adapter.instead(board, answer)) is not None:
            answer = await visit.fetch(other)
        if answer.status in GONE and adapter.gone:
            raise Closed(f"{request.url} answered {answer.status}: the posting is closed")
        parsed = adapter.parse_detail(answer, board, posting, visit.now)
        if parsed.postings:
            return parsed.postings[0]
        if refusal(answer) and answer.status not in GONE:
            raise NotScraped(f"{request.url}: {'; '.join(parsed.reasons)}")
        return None
    if not board.board or posting.description_text:
        return posting if posting.description_text else None
    wanted = posting_key(posting)
    reading = Crawl(adapter, board, most_pages=MOST_PAGES)
    while (page := reading.next()) is not None:
        reading.take(page, await visit.fetch(page), visit.now)
        for one in reading.result().postings:
            if posting_key(one) == wanted:
                return merged(one, posting)
    return None


async def _by_page(visit: Visit, posting: Posting) -> Posting:
    """What the posting's own page says: by schema.org, else its main text."""
    if posting.url is None:
        return posting
    request = page_request(posting.url)
    answer = await visit.fetch(request, most_bytes=MOST_BYTES)
    if answer.status in GONE:
        raise Closed(f"{posting.url} answered {answer.status}: the posting is closed")
    reason = refusal(answer)
    if reason:
        raise NotScraped(f"{posting.url}: {reason}")
    return from_page(replace(answer, request=request), posting, visit.now)


def page_request(url: str) -> Request:
    """The request for a posting's own page."""
    return Request(url, headers={"Accept": "text/html"})


def from_page(answer: Answer, posting: Posting, at: datetime) -> Posting:
    """The posting with what its own page says. Raises NotScraped for a page that cannot be read."""
    structured = JsonLd().parse(answer, None, at).postings
    same = [one for one in structured if one.url_key == posting.url_key] or list(structured[:1])
    if same and (len(structured) == 1 or same[0].url_key == posting.url_key):
        return _as_same(merged(same[0], posting), posting)
    try:
        page = load("html", answer)
    except Unreadable as error:
        raise NotScraped(f"{posting.url}: {error}") from None
    return _as_same(merged(posting, read_page(page, answer, posting)), posting)


def read_page(page: str, answer: Answer, posting: Posting) -> Posting:
    """The posting of any page: its heading and its main text."""
    tree = LexborHTMLParser(page)
    title = _content(tree, 'meta[property="og:title"]') or _words(tree, "h1") or _words(tree, "title")
    site = _content(tree, 'meta[property="og:site_name"]')
    for node in tree.css(BESIDE):
        node.decompose()
    main = next((found for name in MAIN if (found := tree.css_first(name)) is not None), None)
    html = sanitised(main.html) if main is not None else None
    return posting.model_copy(
        update={
            "title": title,
            "company_name_raw": site,
            "description_html": html,
            "description_text": text_of(html),
            "extraction": posting.extraction.model_copy(update={"method": Method.TEXT}),
        }
    )


def _as_same(found: Posting, posting: Posting) -> Posting:
    """The identity stays that of the posting that was looked for."""
    kept = ("id", "ats", "board", "external_id", "url", "canonical_url", "url_key", "source_id", "first_seen")
    return found.model_copy(update={name: getattr(posting, name) for name in kept})


def _flag(posting: Posting) -> str | None:
    """What is missing of the least that a listing has: a title, a company and a text."""
    missing = [
        name
        for name, known in (
            ("title", posting.title),
            ("company", posting.company_name_raw),
            ("description", len(posting.description_text or "") > GOOD_TEXT),
        )
        if not known
    ]
    return f"unknown after scraping: {', '.join(missing)}" if missing else None


def _content(tree: LexborHTMLParser, selector: str) -> str | None:
    node = tree.css_first(selector)
    return line(node.attributes.get("content")) if node is not None else None


def _words(tree: LexborHTMLParser, selector: str) -> str | None:
    node: Any = tree.css_first(selector)
    return line(node.text(separator=" ")) if node is not None else None
