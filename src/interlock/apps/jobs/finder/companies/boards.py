"""The job boards that a company's pages show, and how likely each can be crawled as it is.

High: Greenhouse, whose API answers, and feeds. Medium: every other system, until a list call has given a posting.
Low: a careers page of the company's own, whose selectors a person has to see.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict

from interlock.apps.jobs.finder.companies.markup import MOST_CHARACTERS, CompanyPage
from interlock.apps.jobs.finder.companies.values import quote_of
from interlock.apps.jobs.finder.identity.addresses import PLAYED, Address
from interlock.apps.jobs.finder.identity.urls import canonical_url
from interlock.apps.jobs.finder.models import Confidence
from interlock.apps.jobs.finder.sources.detection import boards_in, detect, sources_in

CONFIDENCE = {"greenhouse": Confidence.HIGH, "feed": Confidence.HIGH, "html": Confidence.LOW}
MOST_BOARDS = 20
MOST_OWN_PAGES = 3
_PAGES = {"bamboohr": "/careers", "teamtailor": "/jobs"}
"""The list's path on boards that have a host of their own."""
CAREERS_PATH = re.compile(
    r"/(?:careers?|jobs?|join(?:[-_]us)?|work[-_]with[-_]us|open[-_](?:positions|roles)|openings|positions|vacancies|karriere|"
    r"stellen(?:angebote)?|offene[-_]stellen)/?(?:index\.html?)?$",
    re.IGNORECASE,
)
_OF_JOBS = re.compile(r"jobs?|careers?|vacanc|positions?|openings?|stellen|karriere", re.IGNORECASE)
_ORDER = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


class Board(BaseModel):
    """A place where a company lists its openings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    kind: str
    """A kind of source: `greenhouse`, `feed`, `jsonld`, `html` …"""
    board: str = ""
    """The board's name in its system."""
    confidence: Confidence
    page: str
    quote: str
    """The link, or what the page has."""


def boards_of(
    pages: Sequence[CompanyPage], markup: Mapping[str, str], private_hosts: Collection[str] = ()
) -> tuple[Board, ...]:
    """The boards of a company, the surest first."""
    found: dict[str, Board] = {}
    for one in (*_shown(pages, markup, private_hosts), *_own_pages(pages, private_hosts)):
        key = f"{one.kind}:{one.board.lower()}" if one.board else f"{one.kind}:{canonical_url(one.url)}"
        found.setdefault(key, one)
    sure = {canonical_url(one.page) for one in found.values() if one.kind != "html"}
    # A careers page that shows a board, or has postings itself, is no board of its own besides.
    boards = [one for one in found.values() if one.kind != "html" or canonical_url(one.url) not in sure]
    return tuple(sorted(boards, key=lambda one: _ORDER.index(one.confidence))[:MOST_BOARDS])


def _shown(pages: Sequence[CompanyPage], markup: Mapping[str, str], private: Collection[str]) -> Iterator[Board]:
    """Boards, feeds and postings that the pages link to, embed or have."""
    for page in pages:
        for link in page.links:
            path = urlsplit(link.url).path
            # A page's other feeds are its blog's.
            if (link.feed or detect_feed(link.url)) and (_OF_JOBS.search(path) or _OF_JOBS.search(link.text)):
                yield _board(page, link.url, "feed", "", f"feed: {link.text or link.url}")
        html = markup.get(page.url, "")[:MOST_CHARACTERS]
        for one in (sources_in if page.parsed else boards_in)(html, page.url, private):
            if one.ats == "jsonld":
                yield _board(page, page.url, "jsonld", "", "JobPosting in the page's JSON-LD")
            elif one.ats != "feed":
                links = (link.url for link in page.links if _same(detect(link.url, private), one))
                yield _board(page, board_url(one), one.ats, one.board, next(links, f"{one.ats}: {one.board}"))


def _own_pages(pages: Sequence[CompanyPage], private: Collection[str]) -> Iterator[Board]:
    """Careers pages on the company's own host: those that were read, and those that they link to."""
    for page in pages:
        if CAREERS_PATH.search(urlsplit(page.url).path):
            yield _board(page, page.url, "html", "", "careers page")
    linked: dict[str | None, Board] = {}
    for page in pages:
        for link in page.links:
            parts = urlsplit(link.url)
            own = parts.netloc == urlsplit(page.url).netloc and CAREERS_PATH.search(parts.path)
            if own and detect(link.url, private) is None:
                url = urlunsplit((*parts[:3], "", ""))
                linked.setdefault(canonical_url(url), _board(page, url, "html", "", f"link: {link.text or parts.path}"))
    yield from list(linked.values())[:MOST_OWN_PAGES]


def _same(one: Address | None, other: Address) -> bool:
    return one is not None and (one.ats, one.board) == (other.ats, other.board)


def detect_feed(url: str) -> bool:
    """Whether an address ends as feeds do. Sitemaps do as well."""
    found = detect(url)
    return found is not None and found.ats == "feed" and "sitemap" not in url.lower()


def _board(page: CompanyPage, url: str, kind: str, board: str, why: str) -> Board:
    confidence = CONFIDENCE.get(kind, Confidence.MEDIUM)
    return Board(url=url, kind=kind, board=board, confidence=confidence, page=page.url, quote=quote_of(why))


def board_url(address: Address) -> str:
    """The page of a board; `detect` reads the same board out of it, except on an employer's own host."""
    options = address.options
    name = quote(options.get("site") or address.board, safe="._-")
    origin, host, played = options.get("origin"), options.get("host"), PLAYED[address.ats]
    if "{}" in played and address.ats != "workday":
        base = origin or f"https://{host or played.format(name)}"
        return base + _PAGES.get(address.ats, "/")
    if origin or address.ats == "workday":
        return f"{origin or f'https://{host}'}/{name}"
    if options.get("region") == "eu":
        played = played.replace(".", ".eu.", 1)
    return f"https://{played}/{name}"
