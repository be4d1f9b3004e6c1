"""Halting: stop claiming work for one machine, or for all of them, until an operator resumes it.

A halt is one row. Every claim reads the table before it picks, so no step of a halted machine starts. Everything else
goes on: running handlers finish and their results count, timers fire, people decide, instances are created.

A committed halt is exact: nothing is claimed after it. On SQLite writers run one after the other anyway. On PostgreSQL
a claim reads the rows with a shared lock, and a halt takes a lock on the table that conflicts with it. So a halt waits
for claims that are under way, and later claims see it. Readers are never blocked.
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
from interlock.store.service_tables import halt as H
from interlock.store.sql import lock_table
from interlock.store.tables import definition

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

EVERYTHING = picking.EVERYTHING


@dataclass(frozen=True, slots=True)
class Halt:
    """A halted machine; `*` is all of them."""

    machine: str
    actor: str
    reason: str
    at: Micros


def halt(unit: Unit, machine: str, actor: Actor, *, reason: str = "") -> Halt:
    """Stop claiming work for this machine; `*` is all of them. Halting twice returns the first halt."""
    values.indexed(machine, "the machine", values.NAME)
    values.text(reason, "the reason")
    if machine != EVERYTHING and not _known(unit, machine):
        raise NotFound(f"there is no machine {machine!r}")
    lock_table(unit.conn, H)
    found = find(unit.conn, machine)
    if found is not None:
        return found
    made = Halt(machine, str(actor), shortened(reason, 500), unit.now)
    unit.conn.execute(sa.insert(H).values(machine=made.machine, actor=made.actor, reason=made.reason, at=made.at))
    actions.record(unit, actor, "halt", machine, details={"reason": made.reason})
    return made


def resume(unit: Unit, machine: str, actor: Actor, *, reason: str = "") -> Halt:
    """Remove the halt and wake the workers. Other halts stay."""
    values.indexed(machine, "the machine", values.NAME)
    values.text(reason, "the reason")
    found = find(unit.conn, machine)
    if found is None or not unit.conn.execute(sa.delete(H).where(H.c.machine == machine)).rowcount:
        what = "everything" if machine == EVERYTHING else f"machine {machine!r}"
        raise Refused(f"{what} is not halted, so there is nothing to resume")
    details = {"reason": shortened(reason, 500), "halted_for": unit.now - found.at}
    actions.record(unit, actor, "resume", machine, details=details)
    unit.ready |= {queue for worker in workers.alive(unit.conn) for queue in worker.queues}
    return found


def find(conn: sa.Connection, machine: str) -> Halt | None:
    """The halt with this name; one of all machines is not looked at unless `*` is the name."""
    row = conn.execute(sa.select(H).where(H.c.machine == machine)).first()
    return Halt(*row) if row is not None else None


def in_force(conn: sa.Connection, machine: str) -> Halt | None:
    """The halt that stops this machine: that of all machines, or its own."""
    rows = conn.execute(sa.select(H).where(H.c.machine.in_((EVERYTHING, machine))).order_by(H.c.machine))
    row = rows.first()  # `*` sorts before every name
    return Halt(*row) if row is not None else None


def all_halts(conn: sa.Connection) -> list[Halt]:
    """Every halt, oldest first."""
    return [Halt(*row) for row in conn.execute(sa.select(H).order_by(H.c.at, H.c.machine))]


def _known(unit: Unit, machine: str) -> bool:
    """Whether this process serves the machine, or any process ever registered it."""
    known = sa.select(definition.c.machine).where(definition.c.machine == machine).limit(1)
    return machine in unit.core.registry or unit.conn.execute(known).first() is not None


class Halts:
    """Halted machines."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def halt(self, machine: str, *, actor: Actor, reason: str = "") -> Halt:
        """Stop claiming work for this machine; `*` is all of them. Halting twice returns the first halt."""
        return self._engine.write(lambda unit: halt(unit, machine, actor, reason=reason), name="halt")

    def resume(self, machine: str, *, actor: Actor, reason: str = "") -> Halt:
        """Resume the machine. Raises Refused if it is not halted."""
        return self._engine.write(lambda unit: resume(unit, machine, actor, reason=reason), name="halt")

    def all(self) -> list[Halt]:
        """Every halt, oldest first."""
        return self._engine.read(all_halts)
