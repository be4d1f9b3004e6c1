"""The boards that a careers page links to, embeds or names. Every name found is checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from html import unescape
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.identity.addresses import Address, address_of, private_address, slug
from interlock.apps.jobs.finder.identity.urls import web_url
from interlock.apps.jobs.finder.sources.nesting import beyond_reason

MOST_CHARACTERS = 2_000_000
LINK = re.compile(r"(?:https?:)?//[A-Za-z0-9.-]+\.[a-z]{2,}(?::\d+)?(?:/[^\s\"'<>\\^`{|}]*)?")
KNOWN_HOST = re.compile(
    r"greenhouse\.io|lever\.co|ashbyhq\.com|myworkdayjobs\.com|smartrecruiters\.com|workable\.com|recruitee\.com|personio\.|"
    r"teamtailor\.com|bamboohr\.com|jobvite\.com"
)
NAMED = (
    ("lever", r"leverJobsOptions\s*=\s*\{[^}]{0,500}accountName['\"]?\s*:\s*['\"]([\w-]{1,100})"),
    ("smartrecruiters", r"company_code['\"]?\s*:\s*['\"]([\w.-]{1,100})"),
    ("smartrecruiters", r"dcr_ci=([\w.-]{1,100})"),
    ("greenhouse", r"(?:boardToken|urlToken)['\"]?\s*:\s*['\"]([\w-]{1,100})"),
    ("ashby", r"organizationHostedJobsPageName['\"]?\s*:\s*['\"]([\w. -]{1,100})"),
    ("bamboohr", r"data-domain=['\"]([a-z0-9-]{1,100})\.bamboohr\.com"),
    ("jobvite", r"careersiteName['\"]?\s*:\s*['\"]([A-Za-z0-9_-]{1,100})"),
)
"""What a page's scripts name where it has no link."""
COMPANY_ID = re.compile(r"companyEId['\"]?\s*[:=]\s*['\"]([A-Za-z0-9_-]{4,40})")
PLAYED_LINK = re.compile(r"[\"'(\s]((?:https?://[^\s\"'<>/]{1,200})?/[a-z]{3,20}-host/[^\s\"'<>\\^`{|}]{0,800})")
"""A link to a system that a private host plays, which may be relative."""
OWN_HOST = {"teamtailor": r"teamtailor-cdn\.com", "recruitee": r"recruiteecdn\.com|window\.recruitee\b"}
"""Systems that run on an employer's own host, and what shows it."""


def boards_in(html: str, url: str | None = None, private_hosts: Collection[str] = ()) -> list[Address]:
    """The boards of a page, the likeliest first: those it links to most, then those its scripts name."""
    page = unescape(html[:MOST_CHARACTERS]).replace("\\/", "/").replace("\\u002F", "/").replace("\\u002f", "/")
    counted: dict[tuple[str, str], tuple[int, Address]] = {}
    for one in (*_linked(page), *_played(page, url, private_hosts)):
        if not one.board:
            continue
        key = (one.ats, one.board)
        before = counted.get(key, (0, one))
        counted[key] = (before[0] + 1, before[1])
    boards = [
        Address(one.ats, one.board, None, one.options) for _, one in sorted(counted.values(), key=lambda x: -x[0])
    ]
    seen = {one.ats for one in boards}
    for ats, pattern in NAMED:
        named = re.search(pattern, page)
        board = slug(named[1], ats) if named else None
        if board and ats not in seen:
            boards.append(Address(ats, board))
            seen.add(ats)
    here = private_address(url, private_hosts) if url else None
    if here and here.board:
        # The page is a board's own, whatever else it links to.
        own = Address(here.ats, here.board, None, here.options)
        boards = [own, *(one for one in boards if one.ats != own.ats)]
        seen.add(own.ats)
    host = urlsplit(url).hostname if url else None
    for ats, pattern in OWN_HOST.items():
        if host and ats not in seen and re.search(pattern, page):
            boards.append(Address(ats, host, None, {"host": host}))
    return [_with_company(one, page) for one in boards]


def _linked(page: str) -> Iterator[Address]:
    for found in LINK.finditer(page):
        text = found[0]
        if KNOWN_HOST.search(text[:300]):
            one = address_of(("https:" + text if text.startswith("//") else text)[:1000])
            if one is not None:
                yield one


def _played(page: str, url: str | None, private_hosts: Collection[str]) -> Iterator[Address]:
    for found in PLAYED_LINK.finditer(page) if private_hosts else ():
        target = web_url(found[1], url)
        one = private_address(target, private_hosts) if target else None
        if one is not None:
            yield one


def sources_in(html: str, url: str, private_hosts: Collection[str] = ()) -> list[Address]:
    """Every source that a page shows, the most reliable first: boards, postings in the page itself, a feed."""
    from interlock.apps.jobs.finder.sources import adapter_of

    if beyond_reason(html):
        return []
    general = (adapter_of(kind).detect_page(html, url) for kind in ("jsonld", "feed"))
    return [*boards_in(html, url, private_hosts), *(one for one in general if one)]


def detect(url: str, private_hosts: Collection[str] = ()) -> Address | None:
    """The source that an address alone names: a board of a known system, or a feed by how it ends.

    A private host plays the systems under `/SYSTEM-host/`.
    """
    played = private_address(url, private_hosts)
    if played:
        return played
    from interlock.apps.jobs.finder.sources import SYSTEMS, adapter_of

    for kind in (*SYSTEMS, "feed"):
        found = adapter_of(kind).detect(url)
        if found:
            return found
    return None


def _with_company(board: Address, page: str) -> Address:
    """Jobvite's feed wants the company's own id, which only a page names."""
    found = COMPANY_ID.search(page) if board.ats == "jobvite" else None
    return Address(board.ats, board.board, None, {**board.options, "company": found[1]}) if found else board
