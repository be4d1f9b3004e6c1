"""Endpoints that list and show companies, sources and postings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from interlock.apps.jobs.finder.api.access import (
    BIGGEST_PAGE,
    PAGE,
    Workspace,
    existing,
    readable_workspace,
    router,
    workspace_of_row,
)
from interlock.apps.jobs.finder.api.answers import (
    CompaniesOut,
    CompanyOut,
    CrawlOut,
    PostingOut,
    PostingsOut,
    SourceOut,
    SourcesOut,
    SourceWithCrawlsOut,
    WholePostingOut,
)
from interlock.apps.jobs.finder.records import companies, lists, postings, sources
from interlock.apps.jobs.finder.records import why as reasons
from interlock.http.caller import Caller, TheService
from interlock.http.csv_cells import csv_line
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.store import Micros

Words = Annotated[str | None, Query(max_length=200, description="Words that all have to occur.")]
Limit = Annotated[int | None, Query(ge=1, le=BIGGEST_PAGE, description="50 unless set; CSV has all rows unless set.")]
Format = Annotated[Literal["json", "csv"] | None, Query(description="`csv`, as `Accept: text/csv` does.")]
After = Annotated[str | None, Query(max_length=100, description="`next` of the page before.")]
CompanyNamed = Annotated[str | None, Query(max_length=200, description="Its id or its name.")]
SourceNamed = Annotated[str | None, Query(max_length=100, description="Its id, or a kind of source.")]
Scored = Annotated[int | None, Query(ge=0, le=100, description="With an open posting that scores so much.")]
Worked = Annotated[str | None, Query(max_length=20, description="With an open posting of this workplace.")]
CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


@router.get("/companies", summary="List companies", response_model=CompaniesOut, responses=CSV)
async def list_companies(
    request: Request,
    service: TheService,
    who: Caller,
    q: Words = None,
    state: Annotated[str | None, Query(max_length=50)] = None,
    tier: Annotated[Literal["S", "A", "B", "C", "D"] | None, Query()] = None,
    min_score: Scored = None,
    company: CompanyNamed = None,
    workplace: Worked = None,
    source: SourceNamed = None,
    after: After = None,
    limit: Limit = None,
    format: Format = None,
    workspace: Workspace = None,
) -> Response:
    """The newest first."""
    place = readable_workspace(who, workspace)
    _one_of(state, companies.STATES, "state")
    where = lists.Having(min_score, workplace, company, source).of_companies(place)

    def page(conn: sa.Connection, after: str | None, many: int) -> CompaniesOut:
        rows = companies.page(conn, place, q=q, state=state, tier=tier, where=where, after=_id(after), limit=many + 1)
        return CompaniesOut(companies=[CompanyOut.of(one) for one in rows[:many]], next=_next(rows, many))

    return await _listed(request, service, page, "companies", CompanyOut, after, limit, format)


@router.get("/sources", summary="List sources", response_model=SourcesOut, responses=CSV)
async def list_sources(
    request: Request,
    service: TheService,
    who: Caller,
    q: Words = None,
    state: Annotated[str | None, Query(max_length=50)] = None,
    kind: Annotated[str | None, Query(max_length=50, description="A kind of source, such as `greenhouse`.")] = None,
    min_score: Scored = None,
    company: CompanyNamed = None,
    workplace: Worked = None,
    source: SourceNamed = None,
    after: After = None,
    limit: Limit = None,
    format: Format = None,
    workspace: Workspace = None,
) -> Response:
    """The newest first."""
    place = readable_workspace(who, workspace)
    _one_of(state, sources.STATES, "state")
    where = lists.Having(min_score, workplace, company, source).of_sources(place)

    def page(conn: sa.Connection, after: str | None, many: int) -> SourcesOut:
        rows = sources.page(conn, place, q=q, state=state, kind=kind, where=where, after=_id(after), limit=many + 1)
        return SourcesOut(sources=[SourceOut.of(one) for one in rows[:many]], next=_next(rows, many))

    return await _listed(request, service, page, "sources", SourceOut, after, limit, format)


@router.get("/postings", summary="List postings", response_model=PostingsOut, responses=CSV)
async def list_postings(
    request: Request,
    service: TheService,
    who: Caller,
    q: Words = None,
    state: Annotated[
        list[str] | None,
        Query(
            max_length=20,
            description="Outcomes (new, waiting, filtered, skipped, matched, failed), states (open, uncertain, closed) "
            "and decisions (saved, dismissed, undecided); may be repeated.",
        ),
    ] = None,
    min_score: Annotated[int | None, Query(ge=0, le=100)] = None,
    company: CompanyNamed = None,
    workplace: Annotated[str | None, Query(max_length=20)] = None,
    source: SourceNamed = None,
    after: After = None,
    limit: Limit = None,
    format: Format = None,
    workspace: Workspace = None,
) -> Response:
    """The best first. An opening that several sources show is listed once; with `source`, as that source shows it."""
    place = readable_workspace(who, workspace)
    wanted = lists.Filter(q, tuple(state or ()), min_score, company, workplace, source)
    now = service.engine.clock.now()

    def page(conn: sa.Connection, after: str | None, many: int) -> PostingsOut:
        found = lists.page(conn, place, wanted, now, after=after, limit=many)
        return PostingsOut(postings=[PostingOut.of(one) for one in found.rows], next=found.next)

    return await _listed(request, service, page, "postings", PostingOut, after, limit, format)


async def _listed(
    request: Request,
    service: Service,
    page: Callable[[sa.Connection, str | None, int], Any],
    name: str,
    columns: type[BaseModel],
    after: str | None,
    limit: int | None,
    format: str | None,
) -> Response:
    """A page as JSON. As CSV all pages, one after the other, or one of `limit` rows."""
    if format == "json" or (format is None and "text/csv" not in request.headers.get("accept", "")):
        return await service.answer(lambda: service.engine.read(lambda conn: page(conn, after, limit or PAGE)))
    names = list(columns.model_fields)
    first = await service.read(lambda conn: page(conn, after, limit or BIGGEST_PAGE))  # errors before the first line

    async def lines() -> AsyncIterator[str]:
        yield csv_line(names)
        found = first
        while True:
            rows = [one.model_dump(mode="json") for one in getattr(found, name)]
            if rows:
                yield "".join(csv_line(row[column] for column in names) for row in rows)
            if found.next is None or limit is not None:
                return
            found = await service.read(lambda conn, cursor=found.next: page(conn, cursor, BIGGEST_PAGE))  # type: ignore[misc]

    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def _next(rows: list[Any], many: int) -> str | None:
    return str(rows[many - 1].id) if len(rows) > many else None


def _id(cursor: str | None) -> UUID | None:
    try:
        return UUID(cursor) if cursor else None
    except ValueError:
        raise BadRequest(f"after: {cursor!r} is not a cursor; take it from `next` of the page before") from None


def _one_of(value: str | None, known: tuple[str, ...], what: str) -> None:
    if value is not None and value not in known:
        raise BadRequest(f"{what}: {value!r} is none of {', '.join(known)}")


@router.get("/companies/{id}", summary="One company")
async def get_company(service: TheService, who: Caller, id: UUID) -> CompanyOut:
    def look(conn: sa.Connection) -> CompanyOut:
        found = companies.find(conn, workspace_of_row(conn, "company", id, who), id)
        return CompanyOut.of(existing(found, "company", id))

    return await service.read(look)


@router.get("/sources/{id}", summary="One source, with its last crawls")
async def get_source(service: TheService, who: Caller, id: UUID) -> SourceWithCrawlsOut:
    def look(conn: sa.Connection) -> SourceWithCrawlsOut:
        found = existing(sources.find(conn, workspace_of_row(conn, "source", id, who), id), "source", id)
        crawls = [CrawlOut.of(one) for one in sources.crawls(conn, id)]
        return SourceWithCrawlsOut(**SourceOut.fields(found), crawls=crawls)

    return await service.read(look)


@router.get("/postings/{id}", summary="One posting, with its results", response_model=WholePostingOut)
async def get_posting(service: TheService, who: Caller, id: UUID) -> Response:
    now = service.engine.clock.now()
    return await service.answer(
        lambda: service.engine.read(
            lambda conn: whole_posting(conn, workspace_of_row(conn, "posting", id, who), id, now)
        )
    )


def whole_posting(conn: sa.Connection, place: str, id: UUID, now: Micros) -> WholePostingOut:
    row = existing(postings.find(conn, place, id), "posting", id)
    [shown] = lists.ordered(conn, place, [row], now)
    return WholePostingOut.whole(row, reasons.sentence(row), lists.sightings(conn, row), shown.list_score)
