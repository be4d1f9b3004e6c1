"""Removes ended instances: what prevents it, and one transaction that removes one completely.

An instance stays while anything of its lineage is unfinished, while a review, a dead letter, a message or a lease of it
is open, while the outcome of an effect is unknown, and until the roll-ups have read its history. Some things outlive
it: its key, the keys of its effects, its uses of limits, and a `purge` row that says what was removed, when and why,
with the last hash of its chain and the digest of its line in the archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import visits
from interlock.engine.audit.purges import permit
from interlock.engine.retention.archive import Record, owned_tables
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import positions, retention_tables
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.positions import Position
from interlock.store.sql import among, upsert

H, I, E = t.history, t.instance, t.effect  # noqa: E741
DELETED_WITH_CARE = {"history", "purge", "effect"}
"""Tables whose rows are not simply deleted with their instance."""
COUNTED = "rollup"
"""The cursor of the roll-ups."""
REASONS: tuple[tuple[str, Any], ...] = (
    ("a review is open", sa.select(t.review.c.instance_id).where(t.review.c.status == "open")),
    ("a dead letter is open", sa.select(t.dead_letter.c.instance_id).where(t.dead_letter.c.status == "open")),
    ("it holds a lease", sa.select(t.lease.c.instance_id).where(t.lease.c.holder.is_not(None))),
    ("it holds a slot of a limit", sa.select(t.limit_slot.c.instance_id)),
    ("the outcome of an effect is unknown", sa.select(E.c.instance_id).where(E.c.status.in_(("sent", "unknown")))),
    ("another one continues it", visits.continued()),
    ("a message is not settled", sa.select(t.outbox.c.instance_id).where(t.outbox.c.status.in_(("waiting", "dead")))),
)
UNDER_WAY = "something of its lineage is under way"
NOT_COUNTED = "its history is not added up yet"
ENDED = sa.and_(I.c.holder.is_(None), I.c.wake.is_(None), I.c.timer_at.is_(None), I.c.finished_at.is_not(None))
"""The condition that it has ended, and nothing is due."""


def held_back(conn: sa.Connection, roots: Mapping[UUID, UUID]) -> dict[UUID, str]:
    """Those of the instances (id → root) that must stay, with the first reason that was found."""
    if not roots:
        return {}
    ids = list(roots)
    found: dict[UUID, str] = {}
    for reason, query in REASONS:
        column = next(iter(query.selected_columns))
        for one in conn.execute(query.where(among(conn, column, ids))).scalars():
            found.setdefault(one, reason)
    tops = set(roots.values())
    grown = sa.select(I.c.root).where(among(conn, I.c.root, tops), I.c.parent.is_not(None), I.c.finished_at.is_(None))
    itself = sa.select(I.c.id).where(among(conn, I.c.id, tops), I.c.finished_at.is_(None))
    living = {*conn.execute(grown.distinct()).scalars(), *conn.execute(itself).scalars()}
    for one, root in roots.items():
        if root in living:
            found.setdefault(one, UNDER_WAY)
    for one in _not_counted(conn, ids):
        found.setdefault(one, NOT_COUNTED)
    return found


def _not_counted(conn: sa.Connection, ids: Sequence[UUID]) -> list[UUID]:
    """Instances whose last row the roll-ups have not read; none if there are no roll-ups."""
    at = conn.execute(sa.select(s.cursor.c.xact, s.cursor.c.pos).where(s.cursor.c.name == COUNTED)).first()
    if at is None:
        return []
    behind = positions.order(conn).after(Position(at.xact, at.pos))
    query = sa.select(I.c.id).join(H, sa.and_(H.c.instance_id == I.c.id, H.c.seq == I.c.seq))
    return list(conn.execute(query.where(among(conn, I.c.id, ids), behind)).scalars())


def remove(
    unit: Unit, records: Sequence[Record], actor: Actor, reason: str, *, leave_history: bool = False
) -> list[UUID]:
    """Remove the instances that are unchanged since they were archived and need not stay. Returns their ids.

    With `leave_history`, their history rows stay until their month is dropped.
    """
    conn = unit.conn
    # The roll-ups are locked out, so that the counts by state stay right.
    conn.execute(sa.select(s.cursor.c.pos).where(s.cursor.c.name == COUNTED).with_for_update()).first()
    known = {record.id: record for record in records}
    columns = (I.c.id, I.c.seq, I.c.head, I.c.root, I.c.workspace, I.c.machine, I.c.state, I.c.unique_key)
    locked = sa.select(*columns).where(among(conn, I.c.id, known), ENDED).order_by(I.c.id)
    rows = [
        row
        for row in conn.execute(locked.with_for_update(skip_locked=True))
        if (row.seq, bytes(row.head)) == (known[row.id].seq, known[row.id].head)
    ]
    back = held_back(conn, {row.id: row.root for row in rows})
    rows = [row for row in rows if row.id not in back]
    if not rows:
        return []
    gone = [row.id for row in rows]
    permit(unit, "rows", [(row.id, row.seq, bytes(row.head), known[row.id].digest) for row in rows], actor, reason)
    keep_keys(unit, [(r.workspace, r.machine, r.unique_key, r.id) for r in rows if r.unique_key is not None])
    _delete(unit, gone, leave_history=leave_history)
    _count(conn, Counter((row.workspace, row.machine, row.state) for row in rows))
    return gone


def keep_keys(unit: Unit, keys: Sequence[tuple[str, str, str, UUID]]) -> None:
    """Keep keys (workspace, machine, key, instance) taken without an instance."""
    names = ("workspace", "machine", "key", "instance_id")
    rows = [dict(zip(names, key, strict=True)) | {"at": unit.now} for key in keys]
    if rows:
        unit.conn.execute(upsert(retention_tables.kept_key).on_conflict_do_nothing(), rows)


def _delete(unit: Unit, gone: list[UUID], *, leave_history: bool) -> None:
    conn = unit.conn
    messages = sa.select(t.outbox.c.id).where(among(conn, t.outbox.c.instance_id, gone))
    conn.execute(sa.delete(s.delivery).where(s.delivery.c.outbox_id.in_(messages)))
    for table in owned_tables(conn):
        if table.name not in DELETED_WITH_CARE:
            conn.execute(sa.delete(table).where(among(conn, table.c.instance_id, gone)))
    _effects(conn, gone)
    if not leave_history:
        conn.execute(sa.delete(H).where(among(conn, H.c.instance_id, gone)))
    conn.execute(sa.delete(I).where(among(conn, I.c.id, gone)))


def _effects(conn: sa.Connection, gone: Iterable[UUID]) -> None:
    """Keep effects whose keys another instance may use, so that nothing is done twice."""
    rows = conn.execute(sa.select(E.c.id, E.c.instance_id, E.c.key).where(among(conn, E.c.instance_id, gone))).all()
    own = [row.id for row in rows if _is_own(row.key, row.instance_id)]
    given = [row.id for row in rows if not _is_own(row.key, row.instance_id)]
    if own:
        conn.execute(sa.delete(E).where(E.c.id.in_(own)))
    if given:
        conn.execute(sa.update(E).where(E.c.id.in_(given)).values(answer=None, error=None))


def _is_own(key: str, instance_id: UUID) -> bool:
    """Whether the key was generated for this instance, so that no other uses it."""
    return key.startswith((f"{instance_id}:", f"{instance_id}#"))


def _count(conn: sa.Connection, gone: Counter[tuple[str, str, str]]) -> None:
    C = s.state_count
    if conn.execute(sa.select(s.cursor.c.name).where(s.cursor.c.name == COUNTED)).first() is None:
        return  # there are no roll-ups
    for (workspace, machine, state), number in sorted(gone.items()):
        where = (C.c.workspace == workspace, C.c.machine == machine, C.c.state == state)
        conn.execute(sa.update(C).where(*where).values(n=C.c.n - number))
