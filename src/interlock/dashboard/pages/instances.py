"""Instances: filter, select, and export the list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from interlock.dashboard.filters import AGES, NAMES, SHOWS, SORTS, Filters
from interlock.dashboard.pages.bulk import ACTIONS, may_do
from interlock.dashboard.site import Reader, Visitor, redirect, render
from interlock.dashboard.views import view_for
from interlock.engine import Instance, listing
from interlock.http.csv_cells import csv_line
from interlock.http.models import InstanceOut
from interlock.http.parameters import takes
from interlock.http.problems import BadRequest
from interlock.store import tables as t

router = APIRouter(include_in_schema=False)
PAGE = 50
SAVED_AT_ONCE = 500
COLUMNS = (
    "id",
    "machine",
    "version",
    "workspace",
    "key",
    "state",
    "paused",
    "created_at",
    "entered_at",
    "updated_at",
    "finished_at",
    "error",
    "labels",
    "data",
)


@router.get("/ui/instances")
@takes(*NAMES)
async def instances(
    v: Reader, after: UUID | None = None, skip: Annotated[int, Query(ge=0, le=listing.MOST_SORTED)] = 0
) -> Response:
    filters = Filters.of(v.request.query_params)
    if (found := await _named(v, filters.text)) is not None:
        return redirect(f"/ui/instances/{found}")
    where = filters.where(v.workspaces)

    def read(conn: sa.Connection) -> tuple[list[Instance], str | None, listing.Count, bool]:
        count = listing.count(conn, where, v.now)
        if filters.sort == "longest":
            rows = listing.longest_in_state(conn, where, v.now, skip=skip, limit=PAGE + 1)
            if rows is not None:
                onward = filters.url(skip=skip + PAGE) if len(rows) > PAGE else None
                return rows[:PAGE], onward, count, True
        page = listing.page(conn, where, v.now, after=after, limit=PAGE, oldest=filters.sort != "")
        return page.instances, filters.url(after=page.next) if page.next else None, count, filters.sort != "longest"

    rows, onward, count, sorted_so = await v.service.read(read)
    registry = v.service.engine.registry
    visible = [i for i in rows if v.may("read", i.workspace, i.machine)]
    machine = registry.get(filters.machine) if filters.machine else None
    return await render(
        v,
        "instances.html",
        filters=filters,
        rows=[(i, view_for(registry, i)) for i in visible],
        onward=onward,
        count=count,
        sorted_so=sorted_so,
        machine=machine,
        machines=sorted(registry, key=lambda m: m.name),
        states=list(machine.states) if machine else [],
        ages=_with(AGES, filters.age),
        shows=SHOWS,
        sorts=SORTS,
        begun=after is not None or skip > 0,
        actions=[a for a in ACTIONS["instances"] if may_do(v, a.name)],
        labels_of=_labels,
        all_of_it=bool(filters.chosen.keys() - {"workspace"}),
    )


def _labels(i: Instance) -> str:
    return ", ".join(f"{name}: {value}" for name, value in i.shown_labels.items())


def _with(ages: dict[str, str], given: str) -> dict[str, str]:
    return ages if given in ages else {**ages, given: f"{int(given):,} seconds"}


async def _named(v: Visitor, text: str) -> UUID | None:
    """The instance whose full id was searched for, if the reader may see it."""
    try:
        wanted = UUID(text)
    except ValueError:
        return None
    query = sa.select(t.instance.c.workspace, t.instance.c.machine).where(t.instance.c.id == wanted)
    row = await v.service.read(lambda conn: conn.execute(query).first())
    return wanted if row is not None and v.may("read", row.workspace, row.machine) else None


# -- export


@router.get("/ui/instances.{kind}")
@takes(*NAMES)
async def export(v: Reader, kind: str) -> Response:
    """Export all matches as a stream, page by page."""
    filters = Filters.of(v.request.query_params)
    if kind == "csv":
        return _stream(v, filters, "text/csv; charset=utf-8", "csv", _row, ",".join(COLUMNS) + "\r\n", "", "")
    if kind == "json":
        return _stream(v, filters, "application/json", "json", _object, "[", ",", "]\n")
    raise BadRequest(f"instances are exported as csv or json, not as {kind[:20]!r}", status=404, kind="not-found")


def _stream(
    v: Visitor,
    filters: Filters,
    media_type: str,
    ending: str,
    line: Callable[[Instance], str],
    head: str,
    between: str,
    tail: str,
) -> Response:
    where, oldest = filters.where(v.workspaces), filters.sort == "oldest"

    async def pages() -> AsyncIterator[str]:
        after, first = None, True
        yield head
        while True:
            page = await v.service.read(
                lambda conn, after=after: listing.page(  # type: ignore[misc]
                    conn, where, v.now, after=after, limit=SAVED_AT_ONCE, oldest=oldest
                )
            )
            lines = [line(i) for i in page.instances if v.may("read", i.workspace, i.machine)]
            if lines:
                yield ("" if first else between) + between.join(lines)
                first = False
            after = page.next
            if after is None:
                break
        yield tail

    headers = {"Content-Disposition": f'attachment; filename="instances.{ending}"', "Cache-Control": "no-store"}
    return StreamingResponse(pages(), headers=headers, media_type=media_type)


def _object(i: Instance) -> str:
    return "\n" + InstanceOut.of(i).model_dump_json()


def _row(i: Instance) -> str:
    fields = InstanceOut.of(i).model_dump(mode="json")
    fields["error"] = (
        f"{fields['error'].get('type', '')}: {fields['error'].get('message', '')}" if fields["error"] else ""
    )
    return csv_line(fields[name] for name in COLUMNS)
