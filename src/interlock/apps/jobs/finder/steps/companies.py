"""The stages of a company: FETCH its pages, EXTRACT what they say, ANALYZE it, SAVE the record with its board."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.companies import (
    Analysis,
    Board,
    Extracted,
    analyze,
    linked_pages,
    own_name,
    page_addresses,
    record_of,
    skip_analysis,
)
from interlock.apps.jobs.finder.companies.model_reader import extract_with_model
from interlock.apps.jobs.finder.fetching import FetchError, FetchFailed, FetchRefused
from interlock.apps.jobs.finder.identity.urls import registered_domain, url_key
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.machine import APPROVE_BOARD, PENDING, PROCESSING, SKIPPED, SUCCESS, company, source
from interlock.apps.jobs.finder.models import Company, CompanyStage, Confidence
from interlock.apps.jobs.finder.records import companies, profiles, sources
from interlock.apps.jobs.finder.sources import SYSTEMS
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.finder.sources.documents import Unreadable, load
from interlock.apps.jobs.finder.steps.visit import NoRetryHelps, Visit, visiting
from interlock.engine import Claim
from interlock.engine.application import Unit, require_claim
from interlock.machine import Ask, Go, Outcome, Spawn, WorkError
from interlock.store import moment
from interlock.worker import Task

NEXT = (SUCCESS, PENDING)
"""The chain to the next stage."""
PAGE = Request("", headers={"Accept": "text/html,application/xhtml+xml"})
MOST_BOARDS = 3
"""Boards of one company that become sources at once."""
MOST_BYTES = 5_000_000
"""Bytes of a page about a company."""


class NoPage(WorkError):
    """No page of the company could be read."""


@company.work(PROCESSING, stage=CompanyStage.FETCH, timeout=timedelta(minutes=15))
@visiting
async def fetch(visit: Visit) -> Outcome:
    """Create the record, and fetch the pages about the company side by side."""
    task, data = visit.task, visit.task.data
    row = await task.write(_begin, data.company_name, data.website or data.url)
    if row is None:
        raise NoRetryHelps(f"{data.company_name!r} is no name of a company, and there is no website")
    fresh = await task.read(_fresh, task.workspace, row.id, visit.now)
    if fresh:
        return Go(SKIPPED, data={"company_id": str(row.id), "message": fresh}, reason=fresh)
    wanted = page_addresses(row.website, visit.private_hosts)
    if not wanted:
        await task.write(_named, row.id)
        reason = f"the website of {row.name} is unknown, so nothing can be found out about it"
        return Go(SKIPPED, data={"company_id": str(row.id), "message": reason}, reason=reason)
    pages = await _pages(visit, wanted)
    found = linked_pages(*next(reversed(pages.items()))) if pages else ()
    more = [one for one in found if url_key(one) not in {url_key(known) for known in (*wanted, *pages)}]
    if more and len(pages) < 3:
        pages |= await _pages(visit, more, required=False)
    kept = {}
    for number, (url, page) in enumerate(pages.items(), 1):
        name = f"page-{number}.html"
        await task.keep(name, page.encode("utf-8", "replace"), media_type="text/html")
        kept[url] = name
    return Go(NEXT, data={"stage": CompanyStage.EXTRACT, "company_id": str(row.id), "pages": kept, "message": ""})


async def _pages(visit: Visit, urls: Any, *, required: bool = True) -> dict[str, str]:
    """Address → page, of those that could be read. An error that a retry may help with counts if nothing was read."""

    async def one(url: str) -> Answer:
        return await visit.fetch(Request(url, headers=PAGE.headers), most_bytes=MOST_BYTES)

    answers = await asyncio.gather(*(one(url) for url in urls), return_exceptions=True)
    pages: dict[str, str] = {}
    problems: list[str] = []
    failed: FetchFailed | None = None
    refused: list[FetchError] = []
    for url, answer in zip(urls, answers, strict=True):
        if isinstance(answer, FetchError):
            failed = failed or (answer if isinstance(answer, FetchFailed) else None)
            refused += [answer] if isinstance(answer, FetchRefused) else []
            problems.append(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        elif answer.status != 200:
            problems.append(f"{url} answered {answer.status}")
        else:
            try:
                pages[answer.url or url] = load("html", answer)
            except Unreadable as error:
                problems.append(f"{url}: {error}")
    if pages or not required:
        return pages
    if failed is not None:
        raise failed
    if refused and len(refused) == len(problems):
        raise refused[0]  # another attempt would be refused as well
    raise NoPage(f"no page of the company could be read: {'; '.join(problems)[:500]}")


@company.work(PROCESSING, stage=CompanyStage.EXTRACT)
def extract_facts(task: Task[Company]) -> Outcome:
    """Read out what the pages say of the company: by a model where one is configured, else by rules."""
    data, pages = task.data, _kept(task)
    website, name = data.website or data.url, data.company_name
    if name == registered_domain(website):  # nobody has said its name
        name = own_name(pages, website) or name
    found = extract_with_model(task, pages, name, website)
    known = {"extracted": found.model_dump(mode="json"), "company_name": found.name}
    return Go(NEXT, data={"stage": CompanyStage.ANALYZE, **known})


@company.work(PROCESSING, stage=CompanyStage.ANALYZE)
def analyze_company(task: Task[Company]) -> Outcome:
    """Technologies, job boards, size and tier. A company that says too little of itself is skipped."""
    settings = settings_in(task.setting("jobs"))
    extracted = Extracted.model_validate(task.data.extracted)
    seeker = task.read(profiles.seeker, task.workspace)
    found = analyze(extracted, _kept(task), seeker[0] if seeker else None, settings.private_hosts)
    found = found.model_copy(update={"profile": seeker[1] if seeker else None})
    if found.skip_reason and not found.boards:
        task.write(_save, companies.INSUFFICIENT, extracted, found)
        return Go(SKIPPED, data={"message": found.skip_reason}, reason=found.skip_reason)
    return Go(NEXT, data={"stage": CompanyStage.SAVE, "analysis": found.model_dump(mode="json")})


@company.work(PROCESSING, stage=CompanyStage.SAVE)
def save(task: Task[Company]) -> Outcome:
    """Write the record. A board of high confidence becomes a source; one of a lower confidence waits for a person."""
    data = task.data
    extracted, analysis = Extracted.model_validate(data.extracted), Analysis.model_validate(data.analysis)
    settings = settings_in(task.setting("jobs"))
    task.write(_save, companies.COMPLETE, extracted, analysis)
    unknown = [
        one for one in analysis.boards if not task.read(_known_source, task.workspace, one.url, settings.private_hosts)
    ]
    certain, doubtful = chosen(unknown)
    said = [f"its job board is {one.url}" for one in certain]
    if doubtful is not None:
        said.append(f"somebody has to say whether {doubtful.url} is its job board")
    if not said:
        said = ["its job boards are sources already" if analysis.boards else "its pages show no job board"]
    return Go(
        SUCCESS,
        data={"message": "; ".join(said)},
        spawn=tuple(discovery(one.url, task.id, data, analysis.priority, settings) for one in certain),
        asks=(_question(doubtful, data),) if doubtful is not None else (),
    )


def chosen(boards: Sequence[Board]) -> tuple[list[Board], Board | None]:
    """The boards that become sources at once, and the one that a person is asked about.

    A feed beside the board of a system has only its newest postings, so the board is asked about as well.
    """
    certain = [one for one in boards if one.confidence is Confidence.HIGH]
    other = next((one for one in boards if one.confidence is not Confidence.HIGH), None)
    if other is not None and certain and (other.kind not in SYSTEMS or any(one.kind in SYSTEMS for one in certain)):
        other = None
    return certain[:MOST_BOARDS], other


def _question(board: Board, data: Company) -> Ask:
    evidence = {"job_board_url": board.url, "kind": board.kind, "confidence": board.confidence, "quote": board.quote}
    return Ask("job_board", APPROVE_BOARD, {**evidence, "company": data.company_name})


def discovery(url: str, company_item: UUID, data: Company, priority: int, settings: Any) -> Spawn:
    """The child that looks at a company's board as a source."""
    board = detect(url, settings.private_hosts)
    key = sources.board_key(board, url) if board else url_key(url)
    wanted = {
        "url": url,
        "company_id": data.company_id,
        "company_name": data.company_name,
        "via": "automated_scan",
        "by": f"company {company_item}",
    }
    return Spawn(source.name, wanted, key=key, priority=priority)


def _kept(task: Task[Company]) -> dict[str, str]:
    pages = {url: task.artifact(name) for url, name in task.data.pages.items()}
    return {url: page.decode("utf-8", "replace") for url, page in pages.items() if page is not None}


def _begin(unit: Unit, claim: Claim, name: str, website: str) -> companies.CompanyRow | None:
    item = require_claim(unit, claim)
    row = companies.get_or_create(
        unit,
        item.workspace,
        name,
        website or None,
        status=companies.ANALYZING,
        tracking_id=item.trace_id,
        depth=item.depth,
    )
    if row is None:
        return None
    changes: dict[str, Any] = {"item_id": item.id}
    if row.website is None and website:
        changes["website"] = website
    if row.status != companies.COMPLETE:
        changes["status"] = companies.ANALYZING
    companies.update(unit, row.id, **changes)
    return companies.find(unit.conn, item.workspace, row.id)


def _named(unit: Unit, claim: Claim, company_id: UUID) -> None:
    require_claim(unit, claim)
    companies.update(unit, company_id, status=companies.NAMED)


def _fresh(conn: sa.Connection, workspace: str, company_id: UUID, now: Any) -> str | None:
    row = companies.find(conn, workspace, company_id)
    if row is None or row.status != companies.COMPLETE or row.analyzed_at is None:
        return None
    about, culture = row.facts.get("about"), row.facts.get("culture")
    return skip_analysis(row.name, row.website, about, culture, moment(row.analyzed_at), now)


def _save(unit: Unit, claim: Claim, status: str, extracted: Extracted, analysis: Analysis) -> None:
    item = require_claim(unit, claim)
    board = analysis.boards[0] if analysis.boards else None
    companies.rename(unit, item.workspace, UUID(item.data["company_id"]), extracted.name)
    companies.update(
        unit,
        UUID(item.data["company_id"]),
        status=status,
        facts=_facts(extracted, analysis),
        size_category=analysis.size_category,
        tier=analysis.tier,
        priority_score=analysis.priority_score,
        job_board_url=board.url if board else None,
        board_confidence=board.confidence.value if board else None,
        analyzed_at=unit.now,
    )


def _facts(extracted: Extracted, analysis: Analysis) -> dict[str, Any]:
    """The specification's record, with the sum of the tier and the evidence beside it."""
    return {
        **record_of(extracted, analysis),
        "points": [one.model_dump(mode="json") for one in analysis.points],
        "profile": analysis.profile,
        "boards": [one.model_dump(mode="json") for one in analysis.boards],
        "evidence": {
            name: fact
            for name, fact in extracted.model_dump(mode="json").items()
            if isinstance(fact, dict) and "quote" in fact
        },
        "note": extracted.note,
    }


def _known_source(conn: sa.Connection, workspace: str, url: str, private_hosts: list[str]) -> bool:
    board = detect(url, private_hosts)
    key = sources.board_key(board, url) if board else url_key(url)
    return key is not None and sources.of_board(conn, workspace, key) is not None
