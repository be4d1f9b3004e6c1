"""Holding: the work of a machine, or of all, stands still until somebody lets it go on.

A hold is one row, and every claim reads the table before it picks. Handlers that run come to their end and their
results count; timers fire, people decide, instances are created; but no step starts. On SQLite the claim is alone with
the table anyway. On PostgreSQL it reads the rows with a lock that shares the table, and whoever holds locks the table
against that: so a hold waits for the claims that are under way, those after it see it, and once it is committed
nothing is claimed any more. Readers are never in its way, nor it in theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from interlock.engine import actions, picking, values, workers
from interlock.engine.errors import NotFound, Refused
from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros
from interlock.store.service_tables import hold as H
from interlock.store.sql import lock_table
from interlock.store.tables import definition

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

EVERYTHING = picking.EVERYTHING


@dataclass(frozen=True, slots=True)
class Hold:
    """A machine that stands still, or all of them (`*`)."""

    machine: str
    actor: str
    reason: str
    at: Micros


def hold(unit: Unit, machine: str, actor: Actor, *, reason: str = "") -> Hold:
    """Start no work of this machine any more; `*` is all of them. Holding twice changes nothing."""
    values.indexed(machine, "the machine", values.NAME)
    values.text(reason, "the reason")
    if machine != EVERYTHING and not _known(unit, machine):
        raise NotFound(f"there is no machine {machine!r}")
    lock_table(unit.conn, H)
    found = one(unit.conn, machine)
    if found is not None:
        return found
    made = Hold(machine, str(actor), shortened(reason, 500), unit.now)
    unit.conn.execute(sa.insert(H).values(machine=made.machine, actor=made.actor, reason=made.reason, at=made.at))
    actions.record(unit, actor, "hold", machine, details={"reason": made.reason})
    return made


def release(unit: Unit, machine: str, actor: Actor, *, reason: str = "") -> Hold:
    """Let it go on; workers are told at once. What else is held stays held."""
    values.indexed(machine, "the machine", values.NAME)
    values.text(reason, "the reason")
    found = one(unit.conn, machine)
    if found is None or not unit.conn.execute(sa.delete(H).where(H.c.machine == machine)).rowcount:
        what = "everything" if machine == EVERYTHING else f"machine {machine!r}"
        raise Refused(f"{what} is not held, so there is nothing to let go on")
    actions.record(
        unit, actor, "release", machine, details={"reason": shortened(reason, 500), "held": unit.now - found.at}
    )
    unit.ready |= {queue for worker in workers.alive(unit.conn) for queue in worker.queues}
    return found


def one(conn: sa.Connection, machine: str) -> Hold | None:
    row = conn.execute(sa.select(H).where(H.c.machine == machine)).first()
    return Hold(*row) if row is not None else None


def over(conn: sa.Connection, machine: str) -> Hold | None:
    """The hold that keeps work of this machine from starting: that of all machines, or its own."""
    rows = conn.execute(sa.select(H).where(H.c.machine.in_((EVERYTHING, machine))).order_by(H.c.machine))
    row = rows.first()  # `*` sorts before every name
    return Hold(*row) if row is not None else None


def holds(conn: sa.Connection) -> list[Hold]:
    """What stands still, the longest first."""
    return [Hold(*row) for row in conn.execute(sa.select(H).order_by(H.c.at, H.c.machine))]


def _known(unit: Unit, machine: str) -> bool:
    """Whether it is of this process, or was ever registered by another."""
    known = sa.select(definition.c.machine).where(definition.c.machine == machine).limit(1)
    return machine in unit.core.registry or unit.conn.execute(known).first() is not None


class Holds:
    """Machines whose work stands still."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def hold(self, machine: str, *, actor: Actor, reason: str = "") -> Hold:
        """Start no work of this machine any more; `*` is all of them. Holding twice changes nothing."""
        return self._engine.write(lambda unit: hold(unit, machine, actor, reason=reason), name="hold")

    def release(self, machine: str, *, actor: Actor, reason: str = "") -> Hold:
        """Let it go on; Refused when it was not held."""
        return self._engine.write(lambda unit: release(unit, machine, actor, reason=reason), name="hold")

    def all(self) -> list[Hold]:
        """What stands still, the longest first."""
        return self._engine.read(holds)
