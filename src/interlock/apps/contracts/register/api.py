"""The register over HTTP: the list of contracts with its search, as JSON, CSV or XLSX, and the calendar."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.register import calendar, export, feeds, lists
from interlock.apps.contracts.workflow.answers import ANSWERS, Envelope, EnvelopedRoute, envelope
from interlock.apps.contracts.workflow.step_calls import settings_of
from interlock.http.calendar_file import MEDIA_TYPE
from interlock.http.caller import PUBLIC, Caller, TheService, require, workspace_of
from interlock.http.direct import Router
from interlock.http.service import Service
from interlock.people import Principal
from interlock.store import moment

FORMATS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}, export.XLSX: {"schema": {"type": "string"}}}}
}
CALENDAR: dict[int | str, dict[str, Any]] = {200: {"content": {"text/calendar": {"schema": {"type": "string"}}}}}
Workspace = Annotated[str | None, Query(max_length=200)]
State = Annotated[Literal["", "review", "done", "working", "closed"], Query(description="Which contracts.")]
router = Router(prefix="/workflows", tags=["contracts"], route_class=EnvelopedRoute, responses=ANSWERS)
feed = Router(prefix="/contracts", tags=["contracts"])


def _workspace(who: Principal, named: str | None) -> str:
    workspace = workspace_of(who, named)
    require(who, "read", workspace, f"workspace {workspace!r}", machine=contract.name)
    return workspace


@router.get("", summary="List contracts", response_model=Envelope, responses=FORMATS)
async def list_workflows(
    service: TheService,
    who: Caller,
    q: Annotated[str, Query(max_length=200, description="Words in text, file name or parties; all must occur.")] = "",
    state: State = "",
    vertical: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = lists.PAGE,
    format: Literal["json", "csv", "xlsx"] = "json",
    workspace: Workspace = None,
) -> Response:
    """The newest first. CSV and XLSX have the whole list."""
    place, wanted = _workspace(who, workspace), lists.Filter(q, state, vertical)
    if format != "json":
        return await export.answer(service, place, wanted, format)
    rows, more = await service.read(lambda conn: lists.page(conn, place, wanted, after=after, limit=limit))
    return envelope({"workflows": [row.plain() for row in rows], "next": str(more) if more else None})


@router.get("/calendar.ics", summary="Ends and notice dates", response_class=Response, responses=CALENDAR)
async def calendar_file(service: TheService, who: Caller, workspace: Workspace = None) -> Response:
    """An iCalendar file. Calendar programs without a token use a secret address, made at `/ui/contracts/calendar`."""
    return await calendar_answer(service, _workspace(who, workspace))


@feed.get(
    "/calendar/{id}/{signature}.ics",
    summary="Ends and notice dates, by a secret address",
    response_class=Response,
    responses=CALENDAR,
    openapi_extra=PUBLIC,
)
async def subscribed(service: TheService, id: UUID, signature: Annotated[str, Path(max_length=100)]) -> Response:
    """Needs only the address, as long as the person who made it can read the workspace."""
    found = await service.read(lambda conn: feeds.opened(conn, id, signature))
    return await calendar_answer(service, found.workspace)


async def calendar_answer(service: Service, workspace: str, *, download: bool = False) -> Response:
    """The calendar of a workspace as an iCalendar file."""
    today = moment(service.engine.clock.now()).date()
    found = await service.read(lambda conn: calendar.events(conn, workspace, today, since=today - calendar.PAST))
    days = settings_of(service).remind_before
    text = calendar.as_file(found, address=service.address, name="Contracts", remind_before=days)
    headers = {"Cache-Control": "private, no-store"}
    if download:
        headers["Content-Disposition"] = 'attachment; filename="contracts.ics"'
    return Response(text, media_type=MEDIA_TYPE, headers=headers)
