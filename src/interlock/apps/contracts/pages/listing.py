"""The list of contracts: search, filters, two to compare, process again, export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response
from markupsafe import Markup

from interlock.apps.contracts import naming
from interlock.apps.contracts.api import process_again
from interlock.apps.contracts.comparison import NotComparable, compare_pair
from interlock.apps.contracts.comparison.html import fragment
from interlock.apps.contracts.fields.vertical import load_verticals
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.document import instance_of
from interlock.apps.contracts.pages.frame import ContractsFrame, frame_of, show
from interlock.apps.contracts.register import export, lists
from interlock.apps.contracts.steps import source_of
from interlock.apps.contracts.workflow.step_calls import kept, settings_of
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, render
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.http.waiting_slots import counted_for

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
Cursor = Annotated[UUID | None, Query()]
Show = Annotated[str, Query(alias="show", max_length=20)]


@router.get("/ui/contracts")
async def contracts(
    v: Reader, workspace: Text = "", q: Text = "", shown: Show = "", vertical: Text = "", after: Cursor = None
) -> Response:
    wanted = wanted_of(q, shown, vertical)
    verticals = load_verticals(settings_of(v.service).verticals)

    def read(conn: sa.Connection, c: ContractsFrame) -> Mapping[str, Any]:
        rows, more = lists.page(conn, c.workspace, wanted, after=after)
        given = {"q": q, "show": shown, "vertical": vertical}
        return {"rows": rows, "next": c.url(**given, after=more) if more else "", "given": given}

    machine = v.service.engine.registry.get(contract.name)
    return await show(
        v, "contracts.html", workspace, read, machine=machine, shows=lists.SHOWS, verticals=verticals, after=after
    )


def wanted_of(q: str, shown: str, vertical: str) -> lists.Filter:
    if shown not in lists.SHOWS:
        raise BadRequest(f"{shown!r} is not a list of contracts; there are {', '.join(filter(None, lists.SHOWS))}")
    return lists.Filter(q, shown, vertical)


@router.get("/ui/contracts/export")
async def exported(
    v: Reader,
    format: Annotated[str, Query(pattern="^(csv|xlsx)$")],
    workspace: Text = "",
    q: Text = "",
    shown: Show = "",
    vertical: Text = "",
) -> Response:
    """The whole list as a table."""
    wanted, frame = wanted_of(q, shown, vertical), frame_of(v, workspace)
    return await export.answer(v.service, frame.workspace, wanted, format)


@router.post("/ui/contracts/{id}/reprocess")
async def reprocess(form: Posted, id: UUID) -> Response:
    v = form.v

    def job(unit: Unit) -> Done:
        made = process_again(unit, id, v.who)
        return Done(said=f"{naming.called(made.data)} is processed again")

    return await form.do(job, "create")


@router.get("/ui/contracts/compare")
async def compare(v: Reader, id: Annotated[list[UUID], Query(max_length=20)] = []) -> Response:  # noqa: B006
    """Compare two contracts, the older one first."""
    if len(set(id)) != 2:
        raise BadRequest(f"{len(set(id))} contracts are selected; select two to compare")

    def read(conn: sa.Connection) -> tuple[list[Instance], list[Any]]:
        found = sorted((kept(instance_of(conn, one, v)) for one in set(id)), key=lambda one: one.id)
        return found, [source_of(conn, one.id, one.workspace) for one in found]

    found, sources = await v.service.read(read)

    def job() -> str:
        return fragment(compare_pair(sources[0], sources[1]))

    caller = counted_for(v.who)
    try:
        html = await v.service.heavy.run(v.request, caller, lambda stop: job())
    except NotComparable as error:
        raise BadRequest(f"{' and '.join(naming.file_of(one.data) for one in found)}: {error}") from None
    # Made by a template of ours that escapes all that comes from documents.
    body = Markup(html)  # noqa: S704
    called = " and ".join(naming.file_of(one.data) for one in found)
    return await render(v, "contracts/comparison.html", it=None, body=body, called=called)
