"""The stages of a source: DISCOVER what kind it is, VALIDATE it by a list call, CONFIGURE its record, TEST it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.fetching import FetchError, HostBusy
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.machine import PENDING, PROCESSING, SKIPPED, SUCCESS, VALIDATE_SOURCE, source
from interlock.apps.jobs.finder.models import Confidence, Source, SourceStage
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.records import companies, sources
from interlock.apps.jobs.finder.sources import SYSTEMS, adapter_of
from interlock.apps.jobs.finder.sources.adapter import refusal
from interlock.apps.jobs.finder.sources.answer import GONE, Parsed, Request, Verdict
from interlock.apps.jobs.finder.sources.api import ApiConfig
from interlock.apps.jobs.finder.sources.detection import detect, sources_in
from interlock.apps.jobs.finder.sources.discovery import discover
from interlock.apps.jobs.finder.sources.documents import Unreadable, load
from interlock.apps.jobs.finder.sources.jobvite import Jobvite
from interlock.apps.jobs.finder.steps.selectors_by_model import propose
from interlock.apps.jobs.finder.steps.visit import NoRetryHelps, Visit, visiting
from interlock.engine import Claim
from interlock.engine.application import Unit, require_claim
from interlock.machine import Ask, Go, Outcome, WorkError
from interlock.worker import Task

NEXT = (SUCCESS, PENDING)
"""The chain to the next stage."""
PREVIEW = 5
FIRST_LOOK = {"greenhouse": Confidence.HIGH, "feed": Confidence.HIGH, "html": Confidence.LOW}
"""Confidence by the address alone; other systems are medium until a list call has given a posting."""
EARNED = frozenset({*SYSTEMS, "feed", "api"})
"""Kinds whose confidence becomes high by a list call. Selectors and pages always want a person's look."""


class NotASource(NoRetryHelps):
    """Nothing at the address can be crawled."""


class NoList(WorkError):
    """The list call did not give a list. A later one may."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an address seems to be."""

    board: Address
    config: Mapping[str, Any]
    confidence: Confidence


@source.work(PROCESSING, stage=SourceStage.DISCOVER)
@visiting
async def discover_kind(visit: Visit) -> Outcome:
    """Find out what kind of source the address is: by the address, else by its page."""
    task, data = visit.task, visit.task.data
    found = by_hint(data) or await _by_address(visit, data)
    known = await task.read(_known, task.workspace, found.board, data.url)
    if known is not None:
        reason = f"it is a source already, {known.name}: {known.status}"
        return Go(SKIPPED, data={"source_id": str(known.id), "message": reason}, reason=reason)
    config = {"board": found.board.board, "options": dict(found.board.options), **found.config}
    return Go(
        NEXT,
        data={
            "stage": SourceStage.VALIDATE,
            "source_type": found.board.ats,
            "config": config,
            "confidence": found.confidence,
            "message": "",
        },
    )


def by_hint(data: Source) -> Candidate | None:
    """A source that its sender has configured, or named the kind of."""
    if data.type_hint == "api":
        config = {"base_url": data.url, **data.config}
        if ApiConfig.model_validate(config).needs_integration:
            raise NotASource(
                f"{data.url} wants OAuth, which no key opens: it needs an integration of its own, "
                "as an application that adds its postings by POST /api/jobs/listings"
            )
        return Candidate(Address("api", "", None, {"url": config["base_url"]}), config, Confidence.MEDIUM)
    if data.type_hint == "feed":
        config = {"url": data.url, **data.config}
        return Candidate(Address("feed", "", None, {"url": data.url}), config, Confidence.HIGH)
    if data.type_hint == "html" and data.config.get("selectors"):
        config = {**data.config, "url": data.url, "company_name": data.company_name or None}
        adapter_of("html", config)
        return Candidate(Address("html", "", None, {"url": data.url}), config, Confidence.LOW)
    return None


async def _by_address(visit: Visit, data: Source) -> Candidate:
    hint = data.type_hint
    board = detect(data.url, visit.private_hosts)
    wanted = Request(data.url, headers={"Accept": "text/html,*/*;q=0.5"})
    if board is not None and hint in ("auto", board.ats):
        if board.ats != "jobvite" or "company" in board.options:
            return Candidate(board, {}, FIRST_LOOK.get(board.ats, Confidence.MEDIUM))
        # Jobvite's list wants the company's own id, which only the page names.
        wanted = Jobvite().page(board)
    answer = await visit.fetch(wanted)
    reason = refusal(answer)
    if reason and answer.status in GONE:
        raise NotASource(f"{data.url}: {reason}; check the address")
    if reason:
        raise NoList(f"{data.url}: {reason}")
    where = answer.url or data.url
    if (
        answer.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:5].lower() in (b"<?xml", b"<rss ", b"<feed")
        or answer.body[:1] == b"{"
    ):
        return Candidate(Address("feed", "", None, {"url": where}), {"url": where}, Confidence.HIGH)
    try:
        page: str = load("html", answer)
    except Unreadable as error:
        raise NotASource(f"{data.url}: {error}") from None
    if hint != "html":
        shown = [one for one in sources_in(page, where, visit.private_hosts) if hint in ("auto", one.ats)]
        if board is not None and hint in ("auto", board.ats):
            same = next((one for one in shown if (one.ats, one.board) == (board.ats, board.board)), board)
            board = replace(board, options={**same.options, **board.options})
            return Candidate(board, {}, FIRST_LOOK.get(board.ats, Confidence.MEDIUM))
        if shown:
            return Candidate(shown[0], {}, FIRST_LOOK.get(shown[0].ats, Confidence.MEDIUM))
        if hint != "auto":
            raise NotASource(f"{data.url} is not a board of {hint}, and its page shows none; use type_hint auto")
    proposal = discover(page, where, visit.now)
    config = proposal.config.model_dump(mode="json") if proposal else await propose(visit, page, where)
    if config is None:
        raise NotASource(f"nothing on {data.url} repeats and looks like postings; give selectors in its config")
    return Candidate(
        Address("html", "", None, {"url": where}),
        {**config, "url": where, "company_name": data.company_name or None},
        Confidence.LOW,
    )


@source.work(PROCESSING, stage=SourceStage.VALIDATE)
@visiting
async def validate(visit: Visit) -> Outcome:
    """Make one list call. Its postings, and the company that it names, decide the confidence."""
    data: Source = visit.task.data
    parsed = await list_call(visit, data)
    confidence = earned(data, parsed)
    board = sources.address_in(data.source_type or "", data.config)
    message = "" if parsed.postings else "the list call gave no postings"
    return Go(
        NEXT,
        data={
            "stage": SourceStage.CONFIGURE,
            "confidence": confidence,
            "found": parsed.counts.total or len(parsed.postings),
            "preview": preview(parsed.postings),
            "company_name": data.company_name or parsed.company or named_by(board),
            "message": message,
        },
    )


async def list_call(visit: Visit, data: Source) -> Parsed:
    """The first page of the list, parsed. Raises when there is none."""
    kind = data.source_type or ""
    adapter, board = adapter_of(kind, data.config), sources.address_in(kind, data.config)
    request = adapter.first(board)
    answer = await visit.fetch(request, render=adapter.rendered)
    parsed = adapter.parse(answer, board, visit.now)
    other = adapter.instead(board, answer) if parsed.verdict is Verdict.FAILED else None
    if other is not None:
        try:
            found = adapter.parse(await visit.fetch(other), board, visit.now)
        except HostBusy:
            raise
        except FetchError:
            found = parsed  # what the first answer says holds
        parsed = parsed if found.verdict is Verdict.FAILED else found
    if parsed.verdict is Verdict.FAILED:
        reason = f"{request.url}: {'; '.join(parsed.reasons)}"
        raise NotASource(reason) if answer.status in GONE else NoList(reason)
    return parsed


def earned(data: Source, parsed: Parsed) -> Confidence:
    """High once a list call gave a posting and the company that it names is the one that was looked for."""
    first = data.confidence or Confidence.MEDIUM
    if data.source_type not in EARNED:
        return first
    if not parsed.postings:
        return Confidence.MEDIUM if first is Confidence.HIGH else first
    named = parsed.company or next((one.company_name_raw for one in parsed.postings if one.company_name_raw), None)
    wanted, said = company_key(data.company_name), company_key(named)
    if wanted and said and not _same_name(wanted, said):
        return Confidence.MEDIUM
    return Confidence.HIGH


def _same_name(one: str, other: str) -> bool:
    """Whether two keys are of one company: "blueharbour", as a domain has it, or the first words of the longer name."""
    return one.replace(" ", "") == other.replace(" ", "") or one.startswith(f"{other} ") or other.startswith(f"{one} ")


def named_by(board: Address) -> str:
    """The company as a system's board is named, where nobody says it better: `blue-harbour` is Blue Harbour."""
    if board.ats not in SYSTEMS or board.ats == "workday":
        return board.options.get("tenant", "").title() if board.ats == "workday" else ""
    return " ".join(re.split(r"[-_. ]+", board.board)).strip().title()


def preview(postings: Sequence[Posting]) -> list[dict[str, Any]]:
    """The first rows as a person sees them."""
    return [
        {
            "title": one.title,
            "company": one.company_name_raw,
            "location": "; ".join(place.raw for place in one.locations)[:200] or None,
            "url": one.url,
            "posted": one.posted_at.date().isoformat() if one.posted_at else None,
            "missing": list(one.extraction.fields_missing),
        }
        for one in postings[:PREVIEW]
    ]


@source.work(PROCESSING, stage=SourceStage.CONFIGURE)
def configure(task: Task[Source]) -> Outcome:
    """Create the record. It is not crawled before it was tested."""
    row, new = task.write(_configure)
    if not new:
        reason = f"it is a source already, {row.name}: {row.status}"
        return Go(SKIPPED, data={"source_id": str(row.id), "message": reason}, reason=reason)
    return Go(NEXT, data={"stage": SourceStage.TEST, "source_id": str(row.id)})


@source.work(PROCESSING, stage=SourceStage.TEST)
@visiting
async def test(visit: Visit) -> Outcome:
    """Read the list as a crawl would. A sure source is crawled from now on; another waits for a person."""
    task, data = visit.task, visit.task.data
    parsed = await list_call(visit, data)
    rows = preview(parsed.postings)
    certain = data.confidence is Confidence.HIGH and bool(parsed.postings)
    wants = data.validation_required or not data.auto_enable or not certain
    await task.write(_tested, rows, wants)
    found = {"found": parsed.counts.total or len(parsed.postings), "preview": rows}
    if not wants:
        return Go(SUCCESS, data={**found, "message": "it is crawled from now on"})
    evidence = {
        "url": data.url,
        "source_type": data.source_type,
        "confidence": data.confidence,
        "company": data.company_name,
        "rows": rows,
        "config": {name: value for name, value in data.config.items() if name in ("selectors", "pagination")},
    }
    return Go(
        SUCCESS,
        data={**found, "message": "somebody has to say whether it is crawled"},
        asks=(Ask("validate", VALIDATE_SOURCE, evidence),),
    )


def _known(conn: sa.Connection, workspace: str, board: Address, url: str) -> sources.SourceRow | None:
    return sources.of_board(conn, workspace, sources.board_key(board, url))


def _configure(unit: Unit, claim: Claim) -> tuple[sources.SourceRow, bool]:
    item = require_claim(unit, claim)
    data = Source.model_validate(item.data)
    board = sources.address_in(data.source_type or "", data.config)
    company = companies.find(unit.conn, item.workspace, UUID(data.company_id)) if data.company_id else None
    company = company or companies.named(unit.conn, item.workspace, data.company_name)
    known = sources.of_board(unit.conn, item.workspace, sources.board_key(board, data.url))
    if known is not None:
        # This item made it, and was interrupted before it could say so.
        return known, known.item_id == item.id
    return sources.create(
        unit,
        item.workspace,
        board,
        data.url,
        name=name_of(data, board),
        config=data.config,
        status=sources.PENDING_VALIDATION,
        status_reason="not tested yet",
        confidence=data.confidence or Confidence.LOW,
        validation_required=int(data.validation_required),
        company_id=company.id if company else None,
        company_name=data.company_name,
        discovered_via=data.via,
        discovered_by=data.by,
        preview=data.preview,
        item_id=item.id,
        tracking_id=item.trace_id,
        spawn_depth=item.depth,
    )


def name_of(data: Source, board: Address) -> str:
    """A name such as "Netflix Greenhouse"."""
    owner = data.company_name or board.board or (board.options.get("url") or data.url)
    kind = SYSTEMS.get(
        board.ats, {"feed": "feed", "jsonld": "page", "html": "careers page", "api": "API"}.get(board.ats)
    )
    return f"{owner} {kind}"[:300]


def _tested(unit: Unit, claim: Claim, rows: list[dict[str, Any]], wants: bool) -> None:
    item = require_claim(unit, claim)
    source_id = UUID(item.data["source_id"])
    sources.update(unit, source_id, preview=rows)
    row = sources.find(unit.conn, item.workspace, source_id)
    if row is None or row.status != sources.PENDING_VALIDATION:
        return
    if wants:
        sources.update(unit, source_id, status_reason=f"{row.confidence} confidence: a person has to confirm it")
    else:
        sources.enable(unit, source_id, "tested")
