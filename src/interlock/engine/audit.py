"""Audit: the past of an instance, the state at any moment of it, and the proof that nobody changed it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import chain
from interlock.engine.errors import NotFound
from interlock.engine.text import merged
from interlock.engine.values import Unreadable, alike, readable, unreadable
from interlock.store import Micros, Store, moment
from interlock.store import tables as t

H, I = t.history, t.instance  # noqa: E741


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
    return [_row(r) for r in rows]


def _row(r: sa.Row[Any]) -> Row:
    return Row(
        r.pos, r.instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at,
        readable(r.payload) if r.payload else {}, r.payload is None and r.digest is not None,
    )  # fmt: skip


def missing(conn: sa.Connection, instance_id: UUID) -> str:
    """Why there is no such instance: it never was, or it was removed by leave."""
    P = t.purge
    row = conn.execute(sa.select(P).where(P.c.instance_id == instance_id, P.c.kind == "rows")).first()
    if row is None:
        return f"there is no instance {instance_id}"
    return f"instance {instance_id} was removed on {moment(row.at):%Y-%m-%d} by {row.actor}: {row.reason}"


def times_done(conn: sa.Connection, instance_id: UUID, step: str) -> int:
    """How often a worker did this step to its end."""
    rows = conn.execute(
        sa.select(H.c.payload).where(
            H.c.instance_id == instance_id, H.c.kind.in_(("moved", "worked")), H.c.actor.startswith("worker:")
        )
    ).scalars()
    payloads = [readable(text) for text in rows if text]
    return sum(1 for payload in payloads if payload.get("step") == step and "error" not in payload)


def replay(rows: Iterator[Row] | list[Row]) -> Past | None:
    """State and data after these rows, from nothing but them."""
    data: dict[str, Any] = {}
    state, paused, seq, at = "", False, 0, 0
    for row in rows:
        state = row.to_state or state
        if isinstance(row.payload, Unreadable):
            data = unreadable(f"seq {row.seq} of its history: {row.payload.why}")
        gone, sets = row.payload.get("unset"), row.payload.get("set")
        data = {k: v for k, v in data.items() if not isinstance(gone, list) or k not in gone}
        data |= sets if isinstance(sets, dict) else {}
        data = merged(data, row.payload.get("merge"))
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
        if ids or verdict.problems:
            yield verdict
        if len(ids) < batch or instance_id is not None:
            return
        last = ids[-1]


def _verify_batch(conn: sa.Connection, only: UUID | None, after: UUID | None, batch: int) -> tuple[list[UUID], Verdict]:
    # The data is read as it lies there, not as an instance: what somebody made of it may not be readable at all.
    data = sa.func.coalesce(I.c.data, t.instance_data.c.data).label("data")
    query = sa.select(I.c.id, I.c.seq, I.c.head, I.c.state, I.c.paused_at, I.c.finished_at, data)
    query = query.outerjoin(t.instance_data, t.instance_data.c.instance_id == I.c.id).order_by(I.c.id).limit(batch)
    if only is not None:
        query = query.where(I.c.id == only)
    elif after is not None:
        query = query.where(I.c.id > after)
    instances = conn.execute(query).all()
    if only is not None and not instances:
        raise NotFound(f"there is no instance {only}")
    problems: list[str] = []
    count = 0
    ids = [instance.id for instance in instances]
    # A query for the whole batch: one for each instance took three times as long (5.9 against 2.0 s for 20,000).
    chains = _by_instance(conn.execute(sa.select(H).where(H.c.instance_id.in_(ids)).order_by(H.c.instance_id, H.c.seq)))
    purges = _by_instance(conn.execute(sa.select(t.purge).where(t.purge.c.instance_id.in_(ids))))
    for instance in instances:
        end, found = _verify_chain(instance.id, chains.get(instance.id, []), purges.get(instance.id, []))
        count += end.seq if end else 0
        problems += found + [f"{instance.id}: {problem}" for problem in _compare(end, instance)]
    if only is None:
        upto = ids[-1] if len(ids) == batch else None
        problems += [f"{lost}: it has a history, but the instance is gone" for lost in _without(conn, after, upto)]
    return ids, Verdict(len(ids), count, tuple(problems))


def _without(conn: sa.Connection, after: UUID | None, upto: UUID | None) -> list[UUID]:
    """Histories between these ids whose instance is not there."""
    P = t.purge
    # Removed by age on a partitioned table: the rows go with their month, and nobody has to hear of them until then.
    leave = sa.exists().where(P.c.instance_id == H.c.instance_id, P.c.kind == "rows", P.c.upto_seq >= H.c.seq)
    there = sa.exists().where(I.c.id == H.c.instance_id)
    query = sa.select(H.c.instance_id).distinct().where(~there, ~leave).limit(100)
    if after is not None:
        query = query.where(H.c.instance_id > after)
    if upto is not None:
        query = query.where(H.c.instance_id <= upto)
    return list(conn.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class _End:
    """Where a chain ends, and what it says of the present; None where what would say it was removed by leave."""

    seq: int
    hash: bytes
    state: str | None
    data: dict[str, Any] | None
    paused: bool | None


def _compare(end: _End | None, instance: Any) -> Iterator[str]:
    if end is None:
        yield "it has no history"
        return
    if (end.seq, end.hash) != (instance.seq, bytes(instance.head)):
        yield f"the history ends at seq {end.seq}, the instance says {instance.seq}"
    if end.state not in {None, instance.state}:
        yield f"replayed it is in {end.state!r}, the instance says {instance.state!r}"
    try:
        data = json.loads(instance.data)
    except (TypeError, ValueError):
        yield "its data cannot be read"
    else:
        if end.data is not None and not alike(end.data, data):
            yield "replaying the history gives other data than the instance has"
    if end.paused not in {None, instance.paused_at is not None} and instance.finished_at is None:
        yield f"replayed it is {'' if end.paused else 'not '}paused"


def verify_rows(instance: Any, instance_id: UUID, rows: list[Any], leave: list[Any]) -> list[str]:
    """The same for rows that do not lie in the database, such as those of an archive."""
    end, problems = _verify_chain(instance_id, rows, leave)
    return problems + [f"{instance_id}: {problem}" for problem in _compare(end, instance)]


def _by_instance(rows: Iterable[sa.Row[Any]]) -> dict[UUID, list[sa.Row[Any]]]:
    found: dict[UUID, list[sa.Row[Any]]] = {}
    for row in rows:
        found.setdefault(row.instance_id, []).append(row)
    return found


def _verify_chain(
    instance_id: UUID, history: list[sa.Row[Any]], leave: list[sa.Row[Any]]
) -> tuple[_End | None, list[str]]:
    problems: list[str] = []
    purges = {row.kind: row for row in leave}
    purged, emptied = purges.get("rows"), purges.get("payloads")
    before, expected = (bytes(purged.last_hash), purged.upto_seq + 1) if purged else (chain.START, 1)
    rows: list[Row] = []
    whole = purged is None
    for r in history:
        if purged is not None and r.seq <= purged.upto_seq:
            continue
        if r.seq != expected:
            problems.append(f"{instance_id}: seq {expected} is missing, {r.seq} follows")
        digest = bytes(r.digest) if r.digest is not None else None
        erased = r.payload is None and digest is not None
        payload: Any = {}
        if erased and (emptied is None or emptied.upto_seq < r.seq):
            problems.append(f"{instance_id}: the payload of seq {r.seq} was emptied without leave")
        elif not erased and chain.digest(r.payload) != digest:
            problems.append(f"{instance_id}: the payload of seq {r.seq} was changed")
        elif r.payload is not None:
            payload = readable(r.payload)
        whole = whole and not erased
        link = chain.link(before, instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at, digest)
        if link != bytes(r.hash):
            problems.append(f"{instance_id}: seq {r.seq} does not follow from the row before it")
        before, expected = bytes(r.hash), r.seq + 1
        rows.append(
            Row(
                r.pos, r.instance_id, r.seq, r.kind, r.from_state, r.to_state, r.event, r.actor, r.at,
                payload if isinstance(payload, dict) else {}, erased,
            )
        )  # fmt: skip
    past = replay(rows)
    if past is None:
        return (_End(expected - 1, before, None, None, None) if purged else None), problems
    told = purged is None or any(row.kind in {"paused", "resumed"} for row in rows)
    return (
        _End(past.seq, before, past.state or None, past.data if whole else None, past.paused if told else None),
        problems,
    )
