"""Verifying the database against its checkpoints, and these against one that was kept elsewhere.

Every leaf of every checkpoint must still be there: the history row with that seq must have that hash, or a purge that
is later than the checkpoint says that it went. With the audit key the signatures and seals are verified, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import checkpoints, purges
from interlock.engine.audit import Verdict
from interlock.engine.checkpoints import CURSOR, Checkpoint
from interlock.engine.signing import Keys
from interlock.store import SECOND, Micros, Store, moment
from interlock.store.keeping import checkpoint as C
from interlock.store.service import action, cursor
from interlock.store.tables import history as H
from interlock.store.tables import purge as P

CHUNK = 500
Leaf = tuple[UUID, int, bytes]


def verify(store: Store, keys: Keys | None, against: Checkpoint | None = None) -> Iterator[Verdict]:
    """Compare the history, the actions and the purges with every checkpoint, a part at a time."""
    marks: dict[int, bytes] = {}
    walked = _Walk(keys)
    newest = store.read(checkpoints.last)
    gone = store.read(_by_age)
    no = 0
    while True:
        row = store.read(partial(_next, after=no))
        if row is None:
            break
        problems = list(walked.step(row))
        no = row.no
        marks[row.purges] = bytes(row.purge_hash)
        for some in _chunks(checkpoints.leaves(row.leaves)):
            problems += store.read(partial(_compare, leaves=some, no=no))
        for some in _chunks(checkpoints.leaves(row.actions)):
            problems += store.read(partial(_compare_actions, leaves=some, no=no, gone=gone))
        yield Verdict(problems=tuple(problems))
    yield Verdict(problems=tuple(walked.end()))
    marks.pop(0, None)
    found = store.read(lambda conn: list(purges.verify(conn, keys, walked.sealed_after, marks)))
    yield Verdict(problems=tuple(found))
    if newest is not None:
        yield Verdict(problems=tuple(store.read(lambda conn: list(_uncovered(conn, walked.rows)))))
    if against is not None:
        yield Verdict(problems=tuple(_against(store, against, newest, keys)))
    yield Verdict(notes=tuple(_notes(store, newest, keys, against)))


class _Walk:
    """The chain of checkpoints, from the first to the last."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys, self._no, self._hash = keys, 0, checkpoints.FIRST
        self.rows = 0
        self.sealed_after: int | None = None
        """The purges that our first checkpoint found; those that come later must be sealed."""
        self.strange: str | None = None
        """A key that is not here, and has signed checkpoints before ours."""

    def step(self, row: Any) -> Iterator[str]:
        name = f"checkpoint {row.no}"
        if row.no != self._no + 1:
            yield f"checkpoint {self._no + 1} is missing, {row.no} follows"
        elif bytes(row.before) != self._hash:
            yield f"{name} does not follow from the one before it"
        if checkpoints.digest(row) != bytes(row.hash):
            yield f"{name} was changed: it has another hash"
        if self._keys is not None:
            yield from self._signature(row, self._keys)
        self._no, self._hash, self.rows = row.no, bytes(row.hash), row.rows

    def _signature(self, row: Any, keys: Keys) -> Iterator[str]:
        """The first that is signed with a key of ours vouches for those before it, whoever has signed them."""
        if checkpoints.of(row).signed_by(keys):
            if self.sealed_after is None:
                self.sealed_after = row.purges
        elif keys.knows(row.key_id) or self.sealed_after is not None:
            yield f"checkpoint {row.no} is not signed with the audit key"
        else:
            self.strange = row.key_id

    def end(self) -> Iterator[str]:
        if self.strange is not None and self.sealed_after is None:
            yield f"no checkpoint is signed with a key that is here; they name the key {self.strange}"


def _next(conn: sa.Connection, after: int) -> Any:
    return conn.execute(sa.select(C).where(C.c.no > after).order_by(C.c.no).limit(1)).first()


def _chunks(leaves: Iterator[Leaf]) -> Iterator[list[Leaf]]:
    while some := list(islice(leaves, CHUNK)):
        yield some


def _compare(conn: sa.Connection, leaves: list[Leaf], no: int) -> list[str]:
    """Leaves whose row is gone or is another."""
    rows = conn.execute(
        sa.select(H.c.instance_id, H.c.seq, H.c.hash).where(
            sa.tuple_(H.c.instance_id, H.c.seq).in_([(one, seq) for one, seq, _ in leaves])
        )
    )
    there = {(row.instance_id, row.seq): bytes(row.hash)[:16] for row in rows}
    wrong = [leaf for leaf in leaves if there.get(leaf[:2]) != leaf[2]]
    removed = _removed(conn, [one for one, _, _ in wrong]) if wrong else {}
    problems = []
    for one, seq, half in wrong:
        if (one, seq) in there:
            problems.append(f"{one}: seq {seq} is not the row that checkpoint {no} has signed")
            continue
        leave = removed.get(one)
        if leave is None or leave.upto_seq < seq:
            problems.append(f"{one}: seq {seq}, which checkpoint {no} has signed, is gone")
        elif leave.upto_seq == seq and bytes(leave.last_hash)[:16] != half:
            problems.append(f"{one}: its purge names another last row than checkpoint {no} has signed")
    return problems


def _removed(conn: sa.Connection, ids: list[UUID]) -> dict[UUID, Any]:
    rows = conn.execute(sa.select(P).where(P.c.instance_id.in_(ids), P.c.kind == "rows").order_by(P.c.no))
    return {row.instance_id: row for row in rows}


def _by_age(conn: sa.Connection) -> Micros:
    """The moment up to which actions were removed by their age."""
    query = sa.select(sa.func.max(P.c.upto_seq)).where(P.c.instance_id == purges.NOBODY, P.c.kind == "age:action")
    found: Micros | None = conn.execute(query).scalar()
    return found or 0


def _compare_actions(conn: sa.Connection, leaves: list[Leaf], no: int, gone: Micros) -> list[str]:
    rows = conn.execute(sa.select(action).where(action.c.id.in_([one for one, _, _ in leaves])))
    there = {row.id: checkpoints.action_half(row) for row in rows}
    problems = []
    for one, second, half in leaves:
        if one not in there:
            if second * SECOND > gone:
                problems.append(f"the action {one}, which checkpoint {no} has signed, is gone")
        elif there[one] != half:
            problems.append(f"the action {one} is not the one that checkpoint {no} has signed")
    return problems


def _uncovered(conn: sa.Connection, rows: int) -> Iterator[str]:
    """History rows that the next checkpoint would pass over, though none has covered them."""
    place = conn.execute(sa.select(cursor.c.xact, cursor.c.pos).where(cursor.c.name == CURSOR)).first()
    if place is None:
        yield "the place up to which checkpoints cover the history is gone"
        return
    upto = H.c.pos <= place.pos
    if conn.dialect.name != "sqlite":
        upto = sa.tuple_(H.c.xact, H.c.pos) <= sa.tuple_(sa.literal(place.xact), sa.literal(place.pos))
    found = conn.execute(sa.select(sa.func.count()).select_from(H).where(upto)).scalar_one()
    if found > rows:
        yield (
            f"{found - rows} history rows lie before the place of the last checkpoint, and none covers them: rows were "
            "added to the past, or that place was moved"
        )


def _against(store: Store, against: Checkpoint, newest: Checkpoint | None, keys: Keys | None) -> Iterator[str]:
    when = f"checkpoint {against.no} of {moment(against.at):%Y-%m-%d %H:%M:%S} UTC"
    if keys is not None and keys.knows(against.key_id) and not against.signed_by(keys):
        yield f"{when}, which was given, is not signed with the audit key"
        return
    if newest is None or newest.no < against.no:
        has = f"ends at {newest.no} of {moment(newest.at):%Y-%m-%d %H:%M:%S} UTC" if newest else "has none"
        yield (
            f"the database is older than {when}, which was given: it {has}. It was rolled back, or restored from an "
            "older backup; what happened in between is not in it"
        )
        return
    row = store.read(lambda conn: conn.execute(sa.select(C).where(C.c.no == against.no)).first())
    if row is None or bytes(row.hash) != against.hash:
        yield f"{when}, which was given, is not the one that the database has: the history before it was changed"


def _notes(store: Store, newest: Checkpoint | None, keys: Keys | None, against: Checkpoint | None) -> Iterator[str]:
    if newest is None:
        yield "there is no checkpoint: what was removed or rewritten with its whole chain is not found"
        return
    if keys is None:
        yield "the audit key is not here: signatures and seals were not verified"
    elif against is not None and not keys.knows(against.key_id):
        yield f"the signature of the checkpoint that was given was not verified: its key {against.key_id} is not here"
    stands = store.read(checkpoints.standing)
    rows = f"{stands.waiting:,}{' or more' if stands.waiting >= 1_000 else ''} history rows came later"
    yield f"checkpoint {newest.no} of {moment(newest.at):%Y-%m-%d %H:%M:%S} UTC is the newest; {rows}"
    since = against if against is not None and against.no <= newest.no else newest
    for kind, count in store.read(partial(_since, no=since.no)):
        what = {"rows": "instances were removed", "payloads": "instances were erased"}.get(
            kind, "times rows went by age"
        )
        yield f"since checkpoint {since.no} {count:,} {what}, each with its purge"


def _since(conn: sa.Connection, no: int) -> list[tuple[str, int]]:
    upto = sa.select(C.c.purges).where(C.c.no == no).scalar_subquery()
    query = sa.select(P.c.kind, sa.func.count()).where(P.c.no > upto).group_by(P.c.kind).order_by(P.c.kind)
    return [(row[0], row[1]) for row in conn.execute(query)]
