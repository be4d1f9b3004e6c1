"""Dead letters: steps that failed for good, grouped by error, and the actions on them."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from interlock.dashboard import formatting
from interlock.dashboard.forms import Done, posted
from interlock.dashboard.site import Reader, render
from interlock.dashboard.views import view_for
from interlock.engine import Filter, Instance, deadletters
from interlock.engine.unit import Unit, load
from interlock.http.caller import require
from interlock.http.problems import BadRequest
from interlock.store import tables as t

router = APIRouter(include_in_schema=False)
PAGE = 50
STATUSES = {"open": "Open", "retried": "Retried", "resolved": "Resolved", "discarded": "Discarded"}
Status = Literal["open", "retried", "resolved", "discarded"]
Text = Annotated[str, Query(max_length=200)]
SAID = {
    "retry": "Retrying the step {step}.",
    "resolve": "Resolved.",
    "discard": "Discarded.",
}


@router.get("/ui/dead-letters")
async def dead_letters(
    v: Reader,
    status: Status = "open",
    machine: Text = "",
    workspace: Text = "",
    group: Text = "",
    after: UUID | None = None,
) -> Response:
    where = Filter(
        machine=machine or None, workspace=workspace or None, fingerprint=group or None, workspaces=v.workspaces
    )

    def read(conn: sa.Connection) -> tuple[list[deadletters.Group], list[deadletters.DeadLetter], list[Instance]]:
        groups = deadletters.groups(conn, where, status=status)
        rows = deadletters.find(conn, where, status=status, after=after, limit=PAGE + 1) if group else []
        theirs = sa.select(t.instance).where(t.instance.c.id.in_([d.instance_id for d in rows]))
        return groups, rows, load(conn, conn.execute(theirs).all()) if rows else []

    groups, rows, owners = await v.service.read(read)
    registry = v.service.engine.registry
    visible = [g for g in groups if any(v.may("read", w, g.machine) for w in v.workspaces)]
    letters = [d for d in rows[:PAGE] if v.may("read", d.workspace, d.machine)]
    return await render(
        v,
        "dead_letters.html",
        groups=visible,
        letters=letters,
        chosen=status,
        statuses=STATUSES,
        group=group,
        next=rows[PAGE - 1].id if len(rows) > PAGE else None,
        operate=v.may_anywhere("operate"),
        given={"status": status if status != "open" else "", "machine": machine, "workspace": workspace},
        names={i.id: view_for(registry, i).title(i) for i in owners},
        machines=sorted(registry, key=lambda m: m.name),
    )


@router.post("/ui/dead-letters/{id}/{action}")
async def act(request: Request, id: UUID, action: str) -> Response:
    """Act on one dead letter. A bulk action handles all matches."""
    form = await posted(request)
    if action not in SAID:
        raise BadRequest(
            f"a dead letter has no action {action[:40]!r}",
            status=404,
            kind="not-found",
        )
    note = form.get("reason")[:2000]

    def run(unit: Unit) -> Done:
        found = deadletters.get(unit.conn, id)
        require(form.v.who, "operate", found.workspace, f"dead letter {id}", machine=found.machine)
        if found.status != "open":
            by = formatting.person(found.closed_by or "somebody")
            return Done(said=f"Nothing changed: it was already {found.status} by {by}.")
        actor = form.v.who.actor_in(found.workspace)
        if action == "retry":
            deadletters.retry(unit, id, actor, reason=note)
        else:
            deadletters.close(unit, id, {"resolve": "resolved", "discard": "discarded"}[action], actor, note=note)
        return Done(said=SAID[action].format(step=formatting.title(found.step)))

    return await form.do(run, "dead_letter")
