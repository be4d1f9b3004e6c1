"""Lineage: children of an instance, and the checks that keep it from growing in circles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import values
from interlock.engine.creating import create
from interlock.engine.errors import CreatedElsewhere, KeyTaken
from interlock.engine.instance import Instance
from interlock.engine.unit import Unit
from interlock.engine.values import readable
from interlock.machine import Actor, Machine, Spawn
from interlock.store import Micros, tables

T = tables.instance
H = tables.history
REFUSED = "spawn_refused"
SCANNED = 50_000
"""Rows of the history that one page of refusals looks at; no index has their kind."""


@dataclass(frozen=True, slots=True)
class RefusedSpawn:
    """A child that was not created, and why."""

    pos: int
    """Its position in the history; the cursor of a list."""
    instance_id: UUID
    """The parent."""
    parent_machine: str
    tracking_id: str
    at: Micros
    machine: str
    key: str | None
    reason: str


def spawn(unit: Unit, parent: Instance, wanted: Spawn, actor: Actor) -> UUID | None:
    """Create a child. If a check refuses it, record the reason on the parent and return None."""
    machine = unit.core.registry[wanted.machine]
    if wanted.key is not None:
        values.indexed(wanted.key, "the child's key")
    reason = _refusal(unit, parent, machine, wanted.key)
    if reason is None:
        try:
            child = create(
                unit,
                machine,
                wanted.data,
                actor,
                key=wanted.key,
                workspace=parent.workspace,
                priority=parent.priority if wanted.priority is None else wanted.priority,
                parent=parent,
                by_application=True,
            )
        except KeyTaken as taken:
            reason = str(taken)
        else:
            unit.record(
                parent, "spawned", actor, payload={"machine": machine.name, "key": wanted.key, "child": str(child.id)}
            )
            return child.id
    unit.record(parent, REFUSED, actor, payload={"machine": machine.name, "key": wanted.key, "reason": reason})
    return None


def _refusal(unit: Unit, parent: Instance, machine: Machine, key: str | None) -> str | None:
    if machine.created_through is not None and parent.machine != machine.name:
        return f"elsewhere: {CreatedElsewhere(machine.name, machine.created_through)}"
    if parent.depth >= machine.max_depth:
        return f"depth: the lineage is {parent.depth} deep, at most {machine.max_depth}"
    if key is None:
        return None
    for ancestor in ancestry(unit, parent):
        if ancestor.key == key:
            return f"circle: ancestor {ancestor.id} ({ancestor.machine}) has the same key"
    for other in _same_in_lineage(unit, parent.root, machine.name, key):
        if other.finished_at is None:
            return f"under way: {machine.name} {other.id} has the same key in this lineage, in {other.state}"
        return f"done: {machine.name} {other.id} has the same key in this lineage and ended in {other.state}"
    return None


def ancestry(unit: Unit, instance: Instance) -> list[Any]:
    """The instance, its parent, and so on up to the root."""
    line: list[Any] = [instance]
    while line[-1].parent is not None:
        above = (
            unit.known.get(line[-1].parent)
            or unit.conn.execute(
                sa.select(T.c.id, T.c.machine, T.c.key, T.c.parent).where(T.c.id == line[-1].parent)
            ).first()
        )
        if above is None:
            break
        line.append(above)
    return line


def family(root: UUID) -> sa.ColumnElement[bool]:
    """The condition for a root and its descendants. Each half uses an index: most roots have no children."""
    return sa.or_(T.c.id == root, sa.and_(T.c.root == root, T.c.parent.is_not(None)))


def _same_in_lineage(unit: Unit, root: UUID, machine: str, key: str) -> list[Any]:
    columns = sa.select(T.c.id, T.c.state, T.c.finished_at)
    grown = columns.where(T.c.root == root, T.c.parent.is_not(None), T.c.machine == machine, T.c.key == key)
    itself = columns.where(T.c.id == root, T.c.machine.concat("") == machine, T.c.key == key)
    rows: list[Any] = [unit.known.get(row.id, row) for row in unit.conn.execute(sa.union_all(grown, itself))]
    rows += [i for i in unit.new if (i.root, i.machine, i.key) == (root, machine, key)]
    return sorted(rows, key=lambda row: row.finished_at is not None)


def refused_spawns(
    conn: sa.Connection,
    workspace: str,
    parents: Collection[str],
    *,
    instance_id: UUID | None = None,
    before: int | None = None,
    limit: int = 100,
) -> tuple[list[RefusedSpawn], int | None]:
    """Refused children of instances of these machines, the newest first, and the cursor of the next page.

    A page looks at a part of the history, so it can have fewer rows than `limit`, even none, and still have a next.
    """
    query = (
        sa.select(H.c.pos, H.c.instance_id, H.c.at, H.c.payload, T.c.machine, T.c.trace_id)
        .join(T, T.c.id == H.c.instance_id)
        .where(H.c.kind == REFUSED, T.c.workspace.concat("") == workspace, T.c.machine.concat("").in_(list(parents)))
        .order_by(H.c.pos.desc())
        .limit(limit + 1)
    )
    end = 0
    if instance_id is not None:
        query = query.where(H.c.instance_id == instance_id)
    else:
        newest = before - 1 if before is not None else conn.execute(sa.select(sa.func.max(H.c.pos))).scalar() or 0
        end = max(0, newest - SCANNED)
        query = query.where(H.c.pos > end)
    if before is not None:
        query = query.where(H.c.pos < before)
    rows = conn.execute(query).all()
    found = [_refused(row) for row in rows[:limit]]
    return found, found[-1].pos if len(rows) > limit else end + 1 if end else None


def _refused(row: Any) -> RefusedSpawn:
    said = readable(row.payload) if row.payload else {}
    named = {name: said.get(name) for name in ("machine", "key", "reason")} if isinstance(said, dict) else {}
    return RefusedSpawn(
        row.pos,
        row.instance_id,
        row.machine,
        row.trace_id or "",
        row.at,
        str(named.get("machine") or ""),
        named.get("key"),
        str(named.get("reason") or "unknown: the row was erased or cannot be read"),
    )
