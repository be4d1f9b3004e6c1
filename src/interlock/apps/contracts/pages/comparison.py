"""The stored comparison of a contract, inside the dashboard's frame."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter
from fastapi.responses import Response
from markupsafe import Markup

from interlock.apps.contracts import naming
from interlock.apps.contracts.comparison import load
from interlock.apps.contracts.comparison.html import fragment
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.document import instance_of
from interlock.apps.contracts.pages.review import later
from interlock.dashboard.site import Reader, render
from interlock.engine import Instance, artifacts

router = APIRouter(include_in_schema=False)
NOT_YET = "It is not compared yet. The comparison appears here as soon as the worker has it."


@router.get("/ui/contracts/{id}/comparison")
async def comparison(v: Reader, id: UUID) -> Response:
    def look(conn: sa.Connection) -> tuple[Instance, str]:
        instance = instance_of(conn, id, v)
        digest = instance.data.get("comparison")
        return instance, fragment(load(artifacts.read(conn, id, digest).decode())) if digest else ""

    instance, html = await v.service.read(look)
    called = naming.NAMELESS if instance.erased else naming.called(instance.data)
    machine = v.service.engine.registry.get(contract.name)
    if not html:
        said = later(instance, NOT_YET)
        return await render(v, "contracts/later.html", it=instance, machine=machine, sentence=said, called=called)
    # Made by a template of ours that escapes all that comes from documents.
    body = Markup(html)  # noqa: S704
    return await render(v, "contracts/comparison.html", it=instance, machine=machine, body=body, called=called)
