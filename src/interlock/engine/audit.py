"""Audit: the past of an instance, the state at any moment of it, and the proof that nobody changed it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import chain
from interlock.engine.errors import NotFound
from interlock.engine.unit import load
from interlock.store import Micros, Store
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
    """An instance as its history says that it was."""

    seq: int
    at: Micros
    state: str
    data: dict[str, Any]
    paused: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verifying found; no problems means that every row is what it was when it was written."""

    instances: int = 0
    rows: int = 0
    problems: tuple[str, ...] = field(default_factory=tuple)


def history(conn: sa.Connection, instance_id: UUID, *, after: int = 0, limit: int = 1000) -> list[Row]:
    rows = conn.execute(
        sa.select(H).where(H.c.instance_id == instance_id, H.c.seq > after).order_by(H.c.seq).limit(limit)
    )
    return [
        Row(
            r.pos, r.instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at,
            json.loads(r.payload) if r.payload else {}, r.payload is None and r.digest is not None,
        )
        for r in rows
    ]  # fmt: skip


def replay(rows: Iterator[Row] | list[Row]) -> Past | None:
    """State and data after these rows, from nothing but them."""
    data: dict[str, Any] = {}
    state, paused, seq, at = "", False, 0, 0
    for row in rows:
        state = row.to_state or state
        data = {k: v for k, v in data.items() if k not in row.payload.get("unset", ())}
        data |= row.payload.get("set", {})
        if row.kind in {"paused", "resumed"}:
            paused = row.kind == "paused"
        seq, at = row.seq, row.at
    return Past(seq, at, state, data, paused) if seq else None


def past(conn: sa.Connection, instance_id: UUID, at: Micros) -> Past:
    """The instance as it was at this moment."""
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


def verify(store: Store, instance_id: UUID | None = None, *, batch: int = 500) -> Iterator[Verdict]:
    """Walk every chain, a batch of instances at a time, in short reads; a verdict for each batch."""
    last: UUID | None = None
    while True:
        ids, verdict = store.read(partial(_verify_batch, only=instance_id, after=last, batch=batch))
        if ids:
            yield verdict
        if len(ids) < batch or instance_id is not None:
            return
        last = ids[-1]


def _verify_batch(conn: sa.Connection, only: UUID | None, after: UUID | None, batch: int) -> tuple[list[UUID], Verdict]:
    query = sa.select(t.instance).order_by(t.instance.c.id).limit(batch)
    if only is not None:
        query = query.where(t.instance.c.id == only)
    elif after is not None:
        query = query.where(t.instance.c.id > after)
    instances = load(conn, conn.execute(query).all())
    if only is not None and not instances:
        raise NotFound(f"there is no instance {only}")
    problems: list[str] = []
    count = 0
    for instance in instances:
        rows, found = _verify_chain(conn, instance.id)
        count += rows.seq if rows else 0
        problems += found
        if rows is None:
            problems.append(f"{instance.id}: it has no history")
            continue
        if (rows.seq, rows.hash) != (instance.seq, bytes(instance.head)):
            problems.append(f"{instance.id}: the history ends at seq {rows.seq}, the instance says {instance.seq}")
        past = rows.past
        if past is not None and past.state != instance.state:
            problems.append(f"{instance.id}: replayed it is in {past.state!r}, the instance says {instance.state!r}")
        if past is not None and not rows.erased and past.data != instance.data:
            problems.append(f"{instance.id}: replaying the history gives other data than the instance has")
        if past is not None and past.paused != (instance.paused_at is not None) and instance.finished_at is None:
            problems.append(f"{instance.id}: replayed it is {'' if past.paused else 'not '}paused")
    return [i.id for i in instances], Verdict(len(instances), count, tuple(problems))


@dataclass(frozen=True, slots=True)
class _End:
    seq: int
    hash: bytes
    past: Past | None
    erased: bool


def _verify_chain(conn: sa.Connection, instance_id: UUID) -> tuple[_End | None, list[str]]:
    problems: list[str] = []
    purged = conn.execute(
        sa.select(t.purge).where(t.purge.c.instance_id == instance_id, t.purge.c.kind == "rows")
    ).first()
    before, expected = (bytes(purged.last_hash), purged.upto_seq + 1) if purged else (chain.START, 1)
    rows: list[Row] = []
    erased = purged is not None
    for r in conn.execute(sa.select(H).where(H.c.instance_id == instance_id).order_by(H.c.seq)):
        if purged is not None and r.seq <= purged.upto_seq:
            continue
        if r.seq != expected:
            problems.append(f"{instance_id}: seq {expected} is missing, {r.seq} follows")
        digest = bytes(r.digest) if r.digest is not None else None
        if r.payload is None and digest is not None:
            erased = True
        elif chain.digest(r.payload) != digest:
            problems.append(f"{instance_id}: the payload of seq {r.seq} was changed")
        link = chain.link(before, instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at, digest)
        if link != bytes(r.hash):
            problems.append(f"{instance_id}: seq {r.seq} does not follow from the row before it")
        before, expected = bytes(r.hash), r.seq + 1
        rows.append(
            Row(
                r.pos, r.instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at,
                json.loads(r.payload) if r.payload else {}, False,
            )
        )  # fmt: skip
    if not rows:
        return (_End(expected - 1, before, None, True) if purged else None), problems
    return _End(rows[-1].seq, before, replay(rows), erased), problems
