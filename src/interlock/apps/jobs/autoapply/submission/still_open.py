"""Whether a posting still takes applications, asked right before one is sent.

A wrong "closed" hides a job forever, a wrong "uncertain" costs one more look. So only a clear answer closes: the
system's own 404 for one posting, a page that is gone or says so, or a complete list without it and a page without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import unquote

from interlock.apps.jobs.autoapply.errors import InvalidJobUrl
from interlock.apps.jobs.autoapply.submission.boards import board_of
from interlock.apps.jobs.finder.fetching import Fetcher, FetchError, Forbidden
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.dedupe import posting_key
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import GONE, Answer, Request, Verdict
from interlock.apps.jobs.finder.sources.cleaning import sanitised, text_of
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.settings import JobsSettings

Fetch = Callable[[Request], Awaitable[Answer]]
MOST_PAGES = 20
MOST_TEXT = 200_000
ONE_BY_ONE = {"greenhouse", "smartrecruiters", "workday"}
"""Systems with a call for one posting whose 200 proves that it is open."""
GONE_PROVES = {"greenhouse", "workday"}
"""Those of them whose 404 proves that it is closed."""
LISTED = {"ashby", "personio", "teamtailor", "recruitee", "bamboohr", "workable"}
"""Systems that only a complete list tells of."""
CLOSED_WORDS = re.compile(
    r"no longer (?:accepting|taking) applications|applications? (?:for this (?:job|position|role) )?(?:are|is) "
    r"(?:now )?closed|(?:position|job|role|vacancy) (?:has been|is|was) (?:already )?(?:filled|closed)|"
    r"(?:job|position|posting|role) (?:is )?no longer (?:available|open|active)|"
    r"this (?:job|posting|position) (?:has )?expired|stelle (?:ist|wurde) (?:bereits|leider )?(?:nicht mehr|besetzt)|"
    r"nicht mehr verfugbar"
)
CHALLENGE_WORDS = re.compile(
    r"just a moment|verify (?:that )?you are (?:a )?human|checking your browser|are you a robot|enable javascript and "
    r"cookies|captcha"
)


class Openness(StrEnum):
    """Whether a posting takes applications."""

    OPEN = "open"
    UNCERTAIN = "uncertain"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """The result of the check, with the reason for people."""

    openness: Openness
    reason: str


async def still_open(
    posting: Posting, settings: JobsSettings, now: datetime, *, fetch: Fetch | None = None
) -> OpenCheck:
    """Ask the site. Raises InvalidJobUrl when there is no address that may be asked."""
    if posting.url is None and posting.apply_url is None:
        raise InvalidJobUrl("the posting has no address; add it again with one")
    if fetch is not None:
        return await _check(posting, settings, now, fetch)
    fetcher = Fetcher(settings)
    try:
        return await _check(posting, settings, now, fetcher.fetch)
    finally:
        await fetcher.aclose()


async def _check(posting: Posting, settings: JobsSettings, now: datetime, fetch: Fetch) -> OpenCheck:
    try:
        found = await _asked(posting, board_of(posting, settings.private_hosts), now, fetch)
    except Forbidden as error:
        raise InvalidJobUrl(str(error)) from None
    except FetchError as error:
        return OpenCheck(Openness.UNCERTAIN, f"the site cannot be asked now: {error}")
    if found.openness is Openness.OPEN and posting.closes_at is not None and posting.closes_at < now:
        return OpenCheck(Openness.UNCERTAIN, f"the closing date {posting.closes_at:%Y-%m-%d} has passed")
    return found


async def _asked(posting: Posting, board: Address | None, now: datetime, fetch: Fetch) -> OpenCheck:
    if board is None:
        return await _by_page(posting, fetch)
    if board.ats == "lever":
        answer = await fetch(lever_request(board))
        # A confidential posting is hidden from the API while its page is still there.
        return _found(answer) if answer.status == 200 else await _by_page(posting, fetch)
    adapter = adapter_of(board.ats)
    request = adapter.detail(board, posting)
    if board.ats in ONE_BY_ONE and request is not None:
        answer = await fetch(request)
        if (other := adapter.instead(board, answer)) is not None:
            answer = await fetch(other)
        if answer.status in GONE and board.ats in GONE_PROVES:
            return OpenCheck(Openness.CLOSED, f"the system answered {answer.status} for this posting")
        if 200 <= answer.status < 300:
            return _found(answer)
        return await _by_page(posting, fetch)
    if board.ats in LISTED:
        reading = Crawl(adapter, board, most_pages=MOST_PAGES)
        while (page := reading.next()) is not None:
            reading.take(page, await fetch(page), now)
        result = reading.result()
        wanted = posting_key(posting)
        if any(posting_key(one) == wanted for one in result.postings):
            return OpenCheck(Openness.OPEN, "the board lists it")
        by_page = await _by_page(posting, fetch)
        if result.verdict is not Verdict.COMPLETE and by_page.openness is Openness.OPEN:
            return by_page
        return by_page if by_page.openness is Openness.CLOSED else OpenCheck(Openness.UNCERTAIN, "not in the list")
    return await _by_page(posting, fetch)


def lever_request(board: Address) -> Request:
    """The request for one posting of Lever."""
    host = "api.eu.lever.co" if board.options.get("region") == "eu" else "api.lever.co"
    origin = board.options.get("origin", f"https://{host}")
    return Request(f"{origin}/v0/postings/{board.board}/{board.external_id}?mode=json")


def _found(answer: Answer) -> OpenCheck:
    """200 for one posting, unless it is a page where JSON was asked for."""
    if answer.body.lstrip()[:1] == b"{":
        return OpenCheck(Openness.OPEN, "the system knows the posting")
    return OpenCheck(Openness.UNCERTAIN, "the system answered with a page")


async def _by_page(posting: Posting, fetch: Fetch) -> OpenCheck:
    url = posting.url or posting.apply_url
    assert url is not None
    answer = await fetch(Request(url, headers={"Accept": "text/html"}))
    return page_check(posting, answer)


def page_check(posting: Posting, answer: Answer) -> OpenCheck:
    """What the posting's page says."""
    if answer.status in GONE:
        return OpenCheck(Openness.CLOSED, f"the page answered {answer.status}")
    if not 200 <= answer.status < 300:
        return OpenCheck(Openness.UNCERTAIN, f"the page answered {answer.status}")
    words = plain_words(answer.body)
    if CHALLENGE_WORDS.search(words[:5000]):
        return OpenCheck(Openness.UNCERTAIN, "the site wants proof of a human")
    said = CLOSED_WORDS.search(words)
    if said:
        return OpenCheck(Openness.CLOSED, f"the page says: {said[0]}")
    asked = posting.url or posting.apply_url or ""
    ident = posting.external_id
    if ident and answer.url and ident in unquote(asked) and ident not in unquote(answer.url):
        return OpenCheck(Openness.UNCERTAIN, "the address leads to a page that is not the posting's")
    return OpenCheck(Openness.OPEN, "its page is there")


def plain_words(body: bytes) -> str:
    """The text of a page in lower case, without accents and curly quotes."""
    text = text_of(sanitised(body[: MOST_TEXT * 5].decode("utf-8", "replace"))) or ""
    folded = unicodedata.normalize("NFKD", text[:MOST_TEXT].replace("\u2019", "'"))
    return " ".join("".join(one for one in folded if not unicodedata.combining(one)).lower().split())
