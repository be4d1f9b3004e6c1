"""Automatic consequences of a loan: it wakes its session, its secrets are removed, its session has returned it."""

from __future__ import annotations

import sqlalchemy as sa

from interlock.apps.sessions.loans.need import is_busy
from interlock.apps.sessions.machine import (
    HELD,
    NEEDS_REVIEW,
    RETURNED,
    RETURNING,
    STUCK,
    loan,
    session,
)
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Instance, Refused
from interlock.engine.application import SYSTEM_ACTOR, Unit, fire, hasten, instances
from interlock.machine import Actor, Edge


@loan.entering(HELD, STUCK)
def _wake_session(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    """The sandbox is there, or will not come: the session need not wait for its next look."""
    if found.parent is not None:
        hasten(unit, unit.lock(found.parent))


@loan.entering(RETURNING)
def _not_in_use(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    """Nobody takes a sandbox away from an agent that works in it."""
    if found.parent is None or edge.source != HELD:
        return
    its = unit.lock(found.parent)
    if its.machine == session.name and is_busy(its) and its.data.get("loan_id") in (None, str(found.id)):
        raise Refused(
            f"session {its.id} works in this sandbox; cancel the session first, and its sandbox goes back automatically"
        )


@loan.entering(RETURNED)
def _returned(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    """Item and token are removed. A session in review has returned its sandbox; an archived one stays archived."""
    its = unit.lock(found.parent) if found.parent is not None else None
    unit.conn.execute(
        sa.update(sandbox_loan)
        .where(sandbox_loan.c.loan_id == found.id, sandbox_loan.c.ended_at.is_(None))
        .values(item=None, token=None, ended_at=unit.now)
    )
    if its is None or its.machine != session.name or its.state != NEEDS_REVIEW or not found.data.get("lent"):
        return
    if not _has_another(unit, found):
        fire(unit, its.id, "return_ip", SYSTEM_ACTOR)


def _has_another(unit: Unit, found: Instance) -> bool:
    """Whether the session has another sandbox, or one that is stuck."""
    others = instances(
        unit.conn, loan.name, children_of=found.parent, states=(HELD, RETURNING, STUCK), newest_first=True, limit=10
    )
    return any(one.id != found.id for one in others)
