"""Why a posting is not among the matches: "why don't I see X?", for an address or for words.

A posting that is stored says it by its outcome and its filter's checks. For one that is not, its source is looked for:
whether there is one, how its last crawl ended, and whether the stop list would refuse the address.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.urls import canonical_url, registered_domain, typed_url, url_key
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.records import lists, postings, profiles, sources
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.sources import CrawlRow, SourceRow
from interlock.apps.jobs.finder.sources.cleaning import visible
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.tables import source as S
from interlock.engine import Unreadable
from interlock.engine.application import find
from interlock.store import Micros, moment

MOST_FOUND = 20
MOST_SOURCES = 5
SENTENCES = {
    postings.NEW: "It was stored and waits for its turn.",
    postings.WAITING: "It waits for a profile: without one nothing is filtered.",
    postings.FILTERED: "The filter rejected it.",
    postings.SKIPPED: "It was skipped.",
    postings.MATCHED: "It is a match.",
    postings.FAILED: "The work on it failed.",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the filter on a posting."""

    name: str
    result: str
    """performed, skipped or hit."""
    reason: str = ""
    points: int | None = None
    """Strikes; None for a rule that rejects by itself, and for a check without a hit."""
    quote: str | None = None
    """The words of the posting that it was worked out from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one stored posting."""

    row: PostingRow
    sentence: str
    checks: tuple[Check, ...]
    item_state: str | None
    """The state of the listing that works on it."""
    item_error: str | None
    shown_as: UUID | None
    """The posting under which the opening is listed, if it is another one."""


@dataclass(frozen=True, slots=True)
class Known:
    """A source that should show the posting, and its last crawl."""

    source: SourceRow
    crawl: CrawlRow | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Why:
    """The answer to "why don't I see this?"."""

    asked: str
    url: str | None
    """The address in its one form; None for words."""
    answers: tuple[Answer, ...]
    sources: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()
    """For what is not stored: what is known about it, and what to do."""


def why(
    conn: sa.Connection,
    workspace: str,
    asked: str,
    now: Micros,
    *,
    private_hosts: Collection[str] = (),
    words: bool = False,
) -> Why:
    """Look for an address, or for postings with these words; `words` reads nothing as an address."""
    text = visible(asked).strip()
    whole = (typed_url(text) or "") if not words and is_address(text) else ""
    canonical = canonical_url(whole)
    if canonical is None:
        return _words(conn, workspace, text, now)
    board = detect(whole, private_hosts)
    found = _stored(conn, workspace, whole, board)
    if found:
        return Why(text, canonical, tuple(_answer(conn, workspace, row) for row in found))
    known = _sources(conn, workspace, whole, board)
    return Why(text, canonical, (), known, tuple(_notes(conn, workspace, whole, board, known, now)))


def is_address(text: str) -> bool:
    """Whether a text is a web address, with or without its scheme."""
    return typed_url(text) is not None and ("://" in text or text.partition("/")[0].isascii())


def _words(conn: sa.Connection, workspace: str, text: str, now: Micros) -> Why:
    wanted = lists.Filter(q=text, every_sighting=True)
    rows = lists.page(conn, workspace, wanted, now, limit=MOST_FOUND).rows if text else []
    whole = {row.id: row for row in conn.execute(sa.select(P).where(P.c.id.in_([one.id for one in rows])))}
    answers = tuple(_answer(conn, workspace, PostingRow(whole[one.id])) for one in rows if one.id in whole)
    notes = () if answers else (f"No stored posting has all of these words: {text[:200]!r}. Ask with its address.",)
    return Why(text, None, answers, (), notes)


def _stored(conn: sa.Connection, workspace: str, url: str, board: Address | None) -> list[PostingRow]:
    keys = {one for one in (url_key(url), canonical_url(url)) if one}
    if board is not None and board.external_id is not None:
        keys.add(f"{board.ats}:{board.board}:{board.external_id}")
        keys.update(filter(None, (url_key(url, (board.ats, board.board)),)))
    query = sa.select(P).where(
        P.c.workspace == workspace, sa.or_(P.c.posting_key.in_(sorted(keys)), P.c.url_key.in_(sorted(keys)))
    )
    return [PostingRow(row) for row in conn.execute(query.order_by(P.c.id).limit(MOST_FOUND))]


def _answer(conn: sa.Connection, workspace: str, row: PostingRow) -> Answer:
    item = find(conn, row.item_id, machine="listing", workspace=workspace) if row.item_id else None
    error = item.error["message"] if item and item.error else None
    shown = row.opening_id if row.opening_id not in (None, row.id) else None
    return Answer(row, sentence(row), checks(row.filter_result), item.state if item else None, error, shown)


def sentence(row: PostingRow) -> str:
    """What became of a posting, in a sentence or two."""
    said: str = SENTENCES.get(row.outcome, row.outcome)
    if row.reason:
        said = f"{said} {row.reason[:1].upper()}{row.reason[1:]}"
        said = said if said.endswith((".", "!", "?")) else f"{said}."
    if row.decision:
        said += f" {row.decided_by} {row.decision} it."
    if row.state == postings.CLOSED:
        said += f" It is closed: {row.closed_reason}."
    elif row.state == postings.UNCERTAIN:
        said += " The last complete crawl did not show it any more."
    return said


def checks(result: Any) -> tuple[Check, ...]:
    """The checks of a filter's result: the hits first, then those performed, then those skipped."""
    if not isinstance(result, dict):
        return ()
    if "unreadable" in result:
        return (Check("filter", "skipped", f"its result cannot be read: {result['unreadable']}"),)
    hits = [*result.get("hard_rejections", []), *result.get("strikes", [])]
    named = {one["rule"] for one in hits}
    return (
        *(Check(one["rule"], "hit", one["reason"], one.get("points"), _quote(one)) for one in hits),
        *(Check(name, "performed") for name in result.get("checks_performed", []) if name not in named),
        *(Check(one["check"], "skipped", one["reason"]) for one in result.get("checks_skipped", [])),
    )


def _quote(hit: dict[str, Any]) -> str | None:
    evidence = hit.get("evidence")
    quote = evidence.get("quote") if isinstance(evidence, dict) else None
    return str(quote) if quote else None


def _sources(conn: sa.Connection, workspace: str, url: str, board: Address | None) -> tuple[Known, ...]:
    found: dict[UUID, SourceRow] = {}
    if board is not None:
        one = sources.of_board(conn, workspace, sources.board_key(board, url))
        if one is not None:
            found[one.id] = one
    domain = registered_domain(url)
    # A board of a system is named by its key; hosts of systems are shared by thousands of companies.
    if not found and board is None and domain:
        query = sa.select(S).where(S.c.workspace == workspace, S.c.url.icontains(domain, autoescape=True))
        rows = [sources.row_of(row) for row in conn.execute(query.order_by(S.c.id).limit(50))]
        found = {one.id: one for one in rows if registered_domain(one.url) == domain}
    return tuple(_known(conn, one) for one in list(found.values())[:MOST_SOURCES])


def _known(conn: sa.Connection, row: SourceRow) -> Known:
    last = next(iter(sources.crawls(conn, row.id, limit=1)), None)
    return Known(row, last, _health(row, last))


def _health(row: SourceRow, last: CrawlRow | None) -> str:
    named = row.name or row.url
    if row.status == sources.PENDING_VALIDATION:
        return f"The source {named} waits for a person to validate it; nothing was crawled yet."
    if row.status == sources.DISABLED:
        return f"The source {named} is disabled: {row.status_reason or 'somebody disabled it'}. Enable it to crawl it."
    if last is None:
        return f"The source {named} was not crawled yet."
    when = f"{moment(last.finished_at):%Y-%m-%d %H:%M} UTC"
    because = f": {'; '.join(last.reasons)[:300]}" if last.reasons else ""
    meaning = {
        "complete": "so the board did not show this posting then",
        "partial": "so some postings were not read",
        "capped": "so postings beyond the cap were not read",
        "failed": "so nothing can be said about this posting",
    }.get(last.verdict, "")
    return f"The last crawl of {named} on {when} was {last.verdict}{because}; {meaning}."


def _notes(
    conn: sa.Connection, workspace: str, url: str, board: Address | None, known: tuple[Known, ...], now: Micros
) -> list[str]:
    notes = ["No stored posting has this address."]
    refused = _refused(conn, workspace, url, now)
    if refused:
        notes.append(f"Your profile would refuse it by its address alone: {refused}.")
    if not known:
        what = f"the {board.ats} board {board.board!r}" if board and board.board else urlsplit(url).hostname
        notes.append(f"There is no source for {what}; add it with `interlock jobs add`, or add this posting alone.")
    elif all(one.source.status == sources.ACTIVE for one in known):
        notes.append("Add the posting by its address to have it filtered and matched now.")
    if profiles.digest_of(conn, workspace) is None:
        notes.append("There is no profile yet, so nothing is filtered or matched.")
    return notes


def _refused(conn: sa.Connection, workspace: str, url: str, now: Micros) -> str | None:
    try:
        ready = profiles.seeker(conn, workspace)
    except Unreadable:
        return None
    if ready is None:
        return None
    bare = Posting(ats="html", url=url, extraction=Extraction(method=Method.TEXT, adapter_version="1"))
    result = filter_posting(ReadPosting(bare), ready[0], moment(now))
    return "; ".join(one.reason for one in result.hard_rejections) or None
