"""The endpoints for a seeker's data as a whole: import, export and deletion."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Annotated, Any, Literal
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from interlock.apps.jobs.autoapply.board.access import router
from interlock.apps.jobs.autoapply.board.bodies import Body
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.exchange import exporting, importing
from interlock.apps.jobs.autoapply.exchange.deleting import delete_all
from interlock.apps.jobs.autoapply.exchange.importing import Plan
from interlock.apps.jobs.autoapply.exchange.reading_csv import MOST_BYTES, ParsedFile, PastApplication, read_past
from interlock.apps.jobs.autoapply.exchange.seeker_tables import EXPORTED
from interlock.apps.jobs.finder.api.access import Workspace, readable_workspace, writable_workspace
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService, require
from interlock.http.problems import BadRequest
from interlock.http.writing import Write
from interlock.store import moment

CSV_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "company,title,date\nKind Boats,Cook,2026-03-01"}
        },
    }
}
SHOWN = 50
"""Rows of each kind that an answer shows."""
CHUNK = 1 << 18
IN_MEMORY = 8_000_000
"""Bytes of an archive that are kept in memory; a larger one is written to a file."""
CONFIRMED = "delete everything"
DayFirst = Annotated[
    bool | None, Query(description="Whether 03/04/2026 is 3 April; without it such a date is named as a bad row.")
]
router.takes("/import", MOST_BYTES + 1000)


class PastOut(BaseModel):
    """A row as it is understood."""

    line: int
    company: str
    title: str
    url: str | None
    applied_on: datetime
    stage: Stage
    ending: Ending | None
    remarks: list[str]

    @classmethod
    def of(cls, one: PastApplication) -> PastOut:
        return cls(
            line=one.line,
            company=one.company,
            title=one.title,
            url=one.url,
            applied_on=one.applied_at,
            stage=one.stage,
            ending=one.ending,
            remarks=list(one.remarks),
        )


class KnownOut(PastOut):
    """A row that is known already."""

    application: UUID | None = Field(description="The application that it is; null if it is another row of the file.")


class BadOut(BaseModel):
    """A row that is not imported."""

    line: int
    reason: str
    text: str


class ImportOut(BaseModel):
    """What a file contains, and what an import does or would do. The first 50 rows of each kind are shown."""

    columns: dict[str, str] = Field(description="Header → what it is taken for.")
    ignored: list[str] = Field(description="Headers that mean nothing here.")
    counts: dict[str, int] = Field(description="Rows that are new, known and bad.")
    new: list[PastOut]
    known: list[KnownOut]
    bad: list[BadOut]
    imported: list[UUID] = Field(description="The applications that were added; none in a preview.")

    @classmethod
    def of(cls, plan: Plan, imported: list[UUID]) -> ImportOut:
        return cls(
            columns={name: str(column) for name, column in plan.understood.columns.items()},
            ignored=list(plan.understood.ignored),
            counts={"new": len(plan.new), "known": len(plan.known), "bad": len(plan.bad)},
            new=[PastOut.of(one) for one in plan.new[:SHOWN]],
            known=[
                KnownOut(**PastOut.of(one.past).model_dump(), application=one.application) for one in plan.known[:SHOWN]
            ],
            bad=[BadOut(line=one.line, reason=one.reason, text=one.text) for one in plan.bad[:SHOWN]],
            imported=imported,
        )


class DeleteBody(Body):
    """What deletes everything."""

    confirm: str = Field(description=f"`{CONFIRMED}`.", examples=[CONFIRMED])
    reason: Annotated[str, Field(min_length=1, max_length=500)] = "the seeker's wish"
    forget_openings: bool = Field(
        False, description="Also forget which openings were applied for: they may be applied for again."
    )
    workspace: Annotated[str | None, Field(max_length=200)] = None


class DeletedOut(BaseModel):
    """What was deleted."""

    withdrawn: int
    erased: int
    rows: int
    left: list[str] = Field(description="Applications that could not be erased, with the reason.")


async def _read(request: Request, service: TheService, day_first: bool | None) -> ParsedFile:
    content = await request.body()
    if len(content) > MOST_BYTES:
        raise BadRequest(
            f"the file has {len(content):,} bytes; it may have {MOST_BYTES:,}", status=413, kind="too-large"
        )
    now = moment(service.engine.clock.now())
    return await asyncio.to_thread(read_past, content, now, day_first=day_first)


@router.post("/import/preview", summary="What an import would do", response_model=ImportOut, openapi_extra=CSV_BODY)
async def preview_import(
    request: Request, service: TheService, who: Caller, day_first: DayFirst = None, workspace: Workspace = None
) -> ImportOut:
    """The body is CSV with a header. Nothing is stored."""
    place = readable_workspace(who, workspace)
    understood = await _read(request, service, day_first)
    return await service.read(lambda conn: ImportOut.of(importing.plan(conn, place, understood), []))


@router.post("/import", summary="Import past applications", response_model=ImportOut, openapi_extra=CSV_BODY)
async def import_past(
    request: Request, service: TheService, write: Write, day_first: DayFirst = None, workspace: Workspace = None
) -> Response:
    """Prevents applying twice. Rows that cannot be read are left out; importing the same file again adds nothing."""
    place = writable_workspace(write.who, workspace)
    understood = await _read(request, service, day_first)

    def store(unit: Unit) -> ImportOut:
        return ImportOut.of(*importing.carry_out(unit, place, understood, str(write.who.actor_in(place))))

    return await write(store, name="import_applications")


@router.get(
    "/export",
    summary="Export everything of auto-apply",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/zip": {}, "application/json": {}, "text/csv": {}}}},
)
async def export(
    service: TheService,
    who: Caller,
    format: Annotated[Literal["zip", "json", "csv"], Query()] = "zip",
    what: Annotated[str, Query(description="With `csv`: which of the lists.")] = "applications",
    workspace: Workspace = None,
) -> Response:
    """`zip` has JSON, CSV and all documents."""
    place = readable_workspace(who, workspace)
    engine, now = service.engine, service.engine.clock.now()
    name = f"applications-{moment(now):%Y-%m-%d}"
    if format == "csv":
        if what not in EXPORTED:
            raise BadRequest(f"what={what[:50]!r} is none of {', '.join(EXPORTED)}")
        return StreamingResponse(
            exporting.as_csv(engine.read, place, what), media_type="text/csv", headers=_as_file(f"{name}-{what}.csv")
        )
    if format == "json":
        pieces = exporting.as_json(engine.read, place, now)
        return StreamingResponse(pieces, media_type="application/json", headers=_as_file(f"{name}.json"))
    file = await asyncio.to_thread(_archive, engine.read, place, now)
    return StreamingResponse(_pieces(file), media_type="application/zip", headers=_as_file(f"{name}.zip"))


def _archive(read: Any, place: str, now: int) -> IO[bytes]:
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - it is closed when it was sent
    try:
        exporting.write_zip(read, place, file, now)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(CHUNK):
            yield piece


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


@router.post("/delete-everything", summary="Delete all data of auto-apply", response_model=DeletedOut)
async def delete_everything(service: TheService, who: Caller, body: DeleteBody) -> DeletedOut:
    """Applications under way are withdrawn first. The profile and the job finder's data stay."""
    place = writable_workspace(who, body.workspace)
    require(who, "force", place, f"workspace {place!r}")
    if body.confirm != CONFIRMED:
        raise BadRequest(f"nothing was deleted: confirm must be {CONFIRMED!r}")
    made = await asyncio.to_thread(
        delete_all,
        service.engine,
        place,
        who.actor_in(place),
        body.reason,
        forget_openings=body.forget_openings,
    )
    return DeletedOut(withdrawn=made.withdrawn, erased=made.erased, rows=made.rows, left=made.left[:SHOWN])
