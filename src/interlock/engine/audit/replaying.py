"""Reads the past of an instance, and its state at any time. `verifying` proves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.errors import NotFound, is_item_error
from interlock.engine.instance import ANEW
from interlock.engine.text import merged
from interlock.engine.values import Unreadable, readable, unreadable
from interlock.store import Micros, moment
from interlock.store import tables as t

H = t.history


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an instance's history."""

    pos: int
    instance_id: UUID
    seq: int
    kind: str
    from_state: str | None
    to_state: str | None
    event: str | None
    actor: str
    at: Micros
    payload: dict[str, Any]
    erased: bool


@dataclass(frozen=True, slots=True)
class Past:
    """An instance at a time in the past, computed from its history."""

    seq: int
    at: Micros
    state: str
    data: dict[str, Any]
    paused: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a verification. Without problems, nothing was changed as far as it can see."""

    instances: int = 0
    rows: int = 0
    problems: tuple[str, ...] = field(default_factory=tuple)
    notes: tuple[str, ...] = field(default_factory=tuple)
    """What it could not check, and what a person should know."""

    def __add__(self, more: Verdict) -> Verdict:
        return Verdict(
            self.instances + more.instances,
            self.rows + more.rows,
            self.problems + more.problems,
            self.notes + more.notes,
        )


def guarded(what: str, problems: Iterable[str]) -> list[str]:
    """The problems of one item. An item that cannot be read is a problem and does not stop the others."""
    found: list[str] = []
    try:
        found.extend(problems)
    except BaseException as error:
        if not is_item_error(error):
            raise
        found.append(f"{what} cannot be read ({type(error).__name__}: {error!s:.200})")
    return found


def history(conn: sa.Connection, instance_id: UUID, *, after: int = 0, limit: int = 1000) -> list[Row]:
    """A page of the history of an instance, in order."""
    rows = conn.execute(
        sa.select(H).where(H.c.instance_id == instance_id, H.c.seq > after).order_by(H.c.seq).limit(limit)
    )
    return [read_row(r) for r in rows]


def read_row(r: sa.Row[Any]) -> Row:
    """The row of the table as a value."""
    return Row(
        r.pos,
        r.instance_id,
        r.seq,
        r.kind,
        r.from_state,
        r.to_state,
        r.event,
        r.actor,
        r.at,
        readable(r.payload) if r.payload else {},
        r.payload is None and r.digest is not None,
    )


def missing(conn: sa.Connection, instance_id: UUID) -> str:
    """Why there is no such instance: it never existed, or retention removed it."""
    P = t.purge
    row = conn.execute(sa.select(P).where(P.c.instance_id == instance_id, P.c.kind == "rows")).first()
    if row is None:
        return f"there is no instance {instance_id}"
    return f"instance {instance_id} was removed on {moment(row.at):%Y-%m-%d} by {row.actor}: {row.reason}"


def replay(rows: Iterator[Row] | list[Row]) -> Past | None:
    """State and data after these rows, computed from them alone."""
    data: dict[str, Any] = {}
    state, paused, seq, at = "", False, 0, 0
    for row in rows:
        state = row.to_state or state
        if isinstance(row.payload, Unreadable):
            data = unreadable(f"seq {row.seq} of its history: {row.payload.why}")
        gone, sets = row.payload.get("unset"), row.payload.get("set")
        if row.payload.get(ANEW) is True:
            data = {}
        data = {k: v for k, v in data.items() if not isinstance(gone, list) or k not in gone}
        data |= sets if isinstance(sets, dict) else {}
        data = merged(data, row.payload.get("merge"))
        if row.kind in {"paused", "resumed"}:
            paused = row.kind == "paused"
        seq, at = row.seq, row.at
    return Past(seq, at, state, data, paused) if seq else None


def past(conn: sa.Connection, instance_id: UUID, at: Micros) -> Past:
    """The instance as it was at this time."""
    rows = _all(conn, instance_id)
    found = replay([row for row in rows if row.at <= at])
    if found is None:
        raise NotFound(f"there was no instance {instance_id} at that moment")
    return found


def _all(conn: sa.Connection, instance_id: UUID) -> list[Row]:
    rows: list[Row] = []
    while True:
        page = history(conn, instance_id, after=rows[-1].seq if rows else 0)
        rows += page
        if len(page) < 1000:
            return rows
