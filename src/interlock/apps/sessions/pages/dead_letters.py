"""Dead letters of sessions: sandboxes that could not be given back, and steps that failed, with what can be done."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from interlock.apps.sessions.loans import dead_letters
from interlock.apps.sessions.loans.dead_letters import STATUSES, Stuck
from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.pages.acting import reason_in
from interlock.apps.sessions.pages.frame import FORCE, ROOT, show
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.engine.application import Unit
from interlock.http.caller import require
from interlock.http.problems import BadRequest
from interlock.machine import Actor

router = APIRouter(include_in_schema=False)
LETTERS = f"{ROOT}/dead-letters"
SHOWN = 40
MACHINES = (session.name, loan.name)
ACTIONS = {
    "retry": dead_letters.retry,
    "resolve": dead_letters.resolve,
    "discard": dead_letters.discard,
    "release-force": dead_letters.release,
}
SAID = {
    "retry": "It is tried again, with all attempts",
    "resolve": "Resolved: it was solved elsewhere",
    "discard": "Discarded",
    "release-force": "Released by force",
}
SOURCES = {"session": "the session's step", "ip_borrow": "borrowing a sandbox", "ip_return_poller": "giving it back"}


@router.get(LETTERS)
async def letters_page(
    v: Reader,
    status: Annotated[str, Query(max_length=20)] = "pending",
    after: Annotated[UUID | None, Query()] = None,
) -> Response:
    if status not in STATUSES:
        raise BadRequest(f"{status[:40]!r} is not a status of a dead letter; there are {', '.join(STATUSES)}")
    places = frozenset(one for one in v.workspaces if any(v.may("read", one, machine) for machine in MACHINES))

    def read(conn: sa.Connection) -> list[Stuck]:
        found = dead_letters.page(conn, places, MACHINES, status=status, after=after, limit=SHOWN + 1)
        return [one for one in found if v.may("read", one.letter.workspace, one.letter.machine)]

    found = await v.service.read(read)
    context = {
        "letters": found[:SHOWN],
        "more": found[SHOWN - 1].letter.id if len(found) > SHOWN else None,
        "chosen": status,
        "statuses": tuple(STATUSES),
        "sources": SOURCES,
        "may_act": lambda one, action: _may(v, one, action),
    }
    return await show(v, "dead_letters.html", context)


def _may(v: Visitor, one: Stuck, action: str) -> bool:
    return v.may(_needed(action), one.letter.workspace, one.letter.machine)


def _needed(action: str) -> str:
    return FORCE if action == "release-force" else "operate"


@router.post(f"{LETTERS}/{{id}}")
async def act(form: Posted, id: Annotated[UUID, Path()]) -> Response:
    """Retry, resolve, discard or release by force."""
    v, action, note = form.v, form["action"], reason_in(form.get("note"))
    if action not in ACTIONS:
        raise BadRequest(f"{action[:40]!r} cannot be done with a dead letter; there are {', '.join(ACTIONS)}")

    def allowed(conn: sa.Connection) -> Actor:
        letter = dead_letters.get(conn, id).letter
        require(v.who, _needed(action), letter.workspace, f"dead letter {id}", machine=letter.machine)
        return v.who.actor_in(letter.workspace)

    await v.service.read(allowed)
    saved = await _before(v, id, action, note)

    def job(unit: Unit) -> Done:
        ACTIONS[action](unit, id, allowed(unit.conn), "; ".join(filter(None, (note, saved)))[:2000])
        return Done(said="; ".join(filter(None, (SAID[action], saved))), to=LETTERS)

    return await form.do(job, "dead_letter")


async def _before(v: Visitor, id: UUID, action: str, note: str) -> str:
    """What happens outside the transaction: the work is saved, and an allocator elsewhere is notified."""
    call: Any = v.service.call
    engine = v.service.engine
    if action not in {"discard", "release-force"}:
        return ""
    saved: str = await call(dead_letters.save_before, engine, id)
    if action == "discard":
        await call(dead_letters.quarantine_outside, engine, id, note)
    else:
        await call(dead_letters.release_outside, engine, id)
    return saved
