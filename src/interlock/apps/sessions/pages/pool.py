"""The pool of sandboxes: how many are free, who has which, what does not agree, and what owners do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path
from fastapi.responses import Response

from interlock.apps.sessions.allocator import lending
from interlock.apps.sessions.allocator.pool import BORROWED, FREE, IN_RETURN, QUARANTINED
from interlock.apps.sessions.allocator.scopes import SANDBOXES_ADMIN
from interlock.apps.sessions.loans.pool_view import PoolView, SandboxRow, pool_view
from interlock.apps.sessions.machine import session
from interlock.apps.sessions.pages.acting import reason_in
from interlock.apps.sessions.pages.frame import ROOT, show
from interlock.apps.sessions.settings import settings_in
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.engine.application import Unit, instances, record_action
from interlock.http.caller import require, require_operator
from interlock.http.problems import BadRequest
from interlock.people import OPERATORS

router = APIRouter(include_in_schema=False)
POOL = f"{ROOT}/pool"
SHOWN = 500
"""Sandboxes that the page shows; those in use come first."""
KINDS = {FREE: "done", BORROWED: "work", IN_RETURN: "wait", QUARANTINED: "failed", "held": "work", "returning": "wait"}
WORDS = {BORROWED: "borrowed", IN_RETURN: "being returned", QUARANTINED: "quarantined"}
ORDER = (QUARANTINED, IN_RETURN, BORROWED)
WHOSE = {
    "allocator": "The allocator is wrong",
    "loan": "The loan is wrong",
    "both": "Both sides",
    "counts": "The counts are wrong",
}


@router.get(POOL)
async def pool_page(v: Reader) -> Response:
    """For people of the installation. What sessions of other workspaces are about stays theirs."""
    require_operator(v.who)
    settings = settings_in(v.service.engine.setting("sessions"))

    def read(conn: sa.Connection) -> dict[str, Any]:
        found = pool_view(conn, settings, v.now)
        rows = sorted(found.sandboxes, key=lambda one: (ORDER.index(one.state) if one.state in ORDER else 9, one.since))
        return {
            "view": found,
            "rows": rows[:SHOWN],
            "more": max(0, len(rows) - SHOWN),
            "titles": _titles(conn, v, found),
        }

    context = {
        "may": v.who.may(SANDBOXES_ADMIN, OPERATORS) and settings.allocator.url is None,
        "kinds": KINDS,
        "words_of": WORDS,
        "whose": WHOSE,
        **await v.service.read(read),
    }
    return await show(v, "pool.html", context)


def _titles(conn: sa.Connection, v: Visitor, view: PoolView) -> Mapping[UUID, str]:
    """Titles of the sessions that have a sandbox, as far as the reader may read them."""
    ids = [one.session_id for one in view.sandboxes if one.session_id is not None and _may_read(v, one)]
    found = instances(conn, session.name, ids=ids, limit=len(ids)) if ids else []
    return {one.id: str(one.data.get("title") or "") for one in found}


def _may_read(v: Visitor, row: SandboxRow) -> bool:
    return row.workspace is not None and v.may("read", row.workspace, session.name)


@router.post(f"{POOL}/{{item}}")
async def act(form: Posted, item: Annotated[UUID, Path()]) -> Response:
    """Release a sandbox by force, or take it out of use; for owners, with a reason."""
    v, what, reason = form.v, form["what"], reason_in(form.get("reason"))
    require(v.who, SANDBOXES_ADMIN, OPERATORS, "the pool")
    if what not in {"release", "quarantine"}:
        raise BadRequest(f"{what[:40]!r} cannot be done with a sandbox; there are release and quarantine")
    if settings_in(v.service.engine.setting("sessions")).allocator.url is not None:
        raise BadRequest("these sandboxes belong to an allocator elsewhere; change them there")
    if not reason:
        raise BadRequest("say why; the record of actions keeps the reason")

    def job(unit: Unit) -> Done:
        actor = v.who.actor_in(OPERATORS)
        if what == "quarantine":
            lending.quarantine(unit, item, f"{actor.name}: {reason}")
            record_action(unit, actor, "sandbox.quarantine", str(item), details={"reason": reason})
            return Done(said="It is out of use until it is returned or released", to=POOL)
        released = lending.release(unit, item)
        record_action(unit, actor, "sandbox.release", str(item), details={"released": released, "reason": reason})
        return Done(said="It is free" if released else "It was free already", to=POOL)

    return await form.do(job, "sandbox")
