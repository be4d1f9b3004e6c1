"""The action log, and the latest checkpoint."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from interlock.dashboard.filters import cursor_of
from interlock.dashboard.site import Reader, render
from interlock.engine.audit import checkpoints
from interlock.people import OPERATORS, NotAllowed, actions

router = APIRouter(include_in_schema=False)


@router.get("/ui/audit")
async def show_audit(v: Reader, actor: str = "", what: str = "", workspace: str = "", after: str = "") -> Response:
    if not v.may("manage", OPERATORS):
        mine = sorted(w for w in v.workspaces if v.may("manage", w))
        if not mine:
            raise NotAllowed("the audit log is only for owners of a workspace")
        workspace = workspace if workspace in mine else mine[0]
    last = cursor_of(after)
    page = await v.service.read(
        lambda conn: actions.page(
            conn, actor=actor or None, what=what or None, workspace=workspace or None, after=last, limit=100
        )
    )
    proof = await v.service.read(checkpoints.coverage) if v.may("manage", OPERATORS) else None
    filters = {"actor": actor, "what": what, "workspace": workspace}
    return await render(v, "audit.html", page=page, filters=filters, proof=proof, kept=v.service.settings.audit.file)
