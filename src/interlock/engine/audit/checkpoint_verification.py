"""Verifies the database against its checkpoints, and these against copies that are stored elsewhere.

Every leaf of every checkpoint must be in the database: the history row with that seq must have that hash, or a purge
after the checkpoint must say that it was removed. With the audit key, signatures and seals are verified as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.audit import checkpoints, purges
from interlock.engine.audit.checkpoints import Checkpoint
from interlock.engine.audit.replaying import Verdict, guarded
from interlock.engine.audit.signing import Keys
from interlock.store import SECOND, Micros, Store, moment, positions
from interlock.store.positions import START as FEED_START
from interlock.store.positions import Position
from interlock.store.retention_tables import checkpoint as C
from interlock.store.service_tables import action
from interlock.store.tables import history as H
from interlock.store.tables import purge as P

CHUNK = 500
Leaf = tuple[UUID, int, bytes]


def verify(
    store: Store, keys: Keys | None, against: Checkpoint | Sequence[Checkpoint] | None = None
) -> Iterator[Verdict]:
    """Compare the history, the actions and the purges with every checkpoint, a part at a time.

    Others may work meanwhile: only what the newest checkpoint covered at the start is compared.
    """
    kept = [against] if isinstance(against, Checkpoint) else list(against or ())
    marks: dict[int, bytes] = {}
    walked = _Walk(keys)
    named, newest = store.read(lambda conn: (checkpoints.moved(conn), checkpoints.newest(conn)))
    with closing(_Covered()) as covered:
        no = 0
        while newest is not None and no < newest.no:
            row = store.read(partial(_next, after=no))
            no = row.no if row is not None else newest.no
            if row is not None:
                found = guarded(f"checkpoint {no}", walked.step(row))
                found += guarded(f"checkpoint {no}", _leaves(store, row, covered, marks))
                yield Verdict(problems=tuple(found))
        yield Verdict(problems=tuple(walked.end()))
        marks.pop(0, None)
        found = store.read(lambda conn: list(purges.verify(conn, keys, walked.sealed_after, marks)))
        yield Verdict(problems=tuple(found))
        if newest is not None:
            yield from _uncovered(store, covered, newest, named)
    if kept:
        yield Verdict(problems=tuple(_against(store, kept, keys)))
    last = kept[-1] if kept else None
    yield Verdict(notes=tuple(_notes(store, newest, keys, last)))


def _leaves(store: Store, row: Any, covered: _Covered, marks: dict[int, bytes]) -> Iterator[str]:
    """What a checkpoint has signed and is missing or changed."""
    for some in _chunks(checkpoints.leaves(row.leaves)):
        covered.rows(some)
        yield from store.read(partial(_compare, leaves=some, no=row.no))
    for some in _chunks(checkpoints.leaves(row.actions)):
        covered.actions(some)
        yield from store.read(partial(_compare_actions, leaves=some, no=row.no))
    marks[row.purges] = checkpoints.raw(row.purge_hash)


class _Walk:
    """The chain of checkpoints, from the first to the last."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys, self._no, self._hash = keys, 0, checkpoints.FIRST
        self._key: str | None = None
        self.sealed_after: int | None = None
        """The purges up to our first checkpoint. Later ones must be sealed."""
        self.strange: str | None = None
        """A key that is not available and signed checkpoints before ours."""

    def step(self, row: Any) -> Iterator[str]:
        name = f"checkpoint {row.no}"
        before, hashed, key = self._no, self._hash, self._key
        self._no, self._hash, self._key = row.no, checkpoints.raw(row.hash), row.key_id
        if row.no != before + 1:
            yield f"checkpoint {before + 1} is missing, {row.no} follows"
        elif checkpoints.raw(row.before) != hashed:
            yield f"{name} does not follow from the one before it"
        if not checkpoints.hash_is_right(row):
            yield f"{name} was changed: it has another hash"
        if row.former != (key if key != row.key_id else None):
            yield f"{name} is signed with another key than the one before it, and does not say so"
        if self._keys is not None:
            yield from self._signature(row, self._keys)

    def _signature(self, row: Any, keys: Keys) -> Iterator[str]:
        """A checkpoint that is signed with our key and names the former key confirms the ones before it."""
        if checkpoints.of(row).signed_by(keys):
            if self.sealed_after is None:
                self.sealed_after = row.vouched
        elif keys.knows(row.key_id) or self.sealed_after is not None:
            yield f"checkpoint {row.no} is not signed with the audit key"
        else:
            self.strange = row.key_id

    def end(self) -> Iterator[str]:
        if self.strange is not None and self.sealed_after is None:
            yield f"no checkpoint is signed with a key that is here; they name the key {self.strange}"


class _Covered:
    """What the checkpoints have signed, by id: the highest seq of each instance, and the actions.

    It may be too large for the memory, so it is a temporary file.
    """

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE TABLE top (id BLOB PRIMARY KEY, seq INTEGER) WITHOUT ROWID")
        self._db.execute("CREATE TABLE action (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def rows(self, leaves: list[Leaf]) -> None:
        added = "INSERT INTO top VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seq = max(seq, excluded.seq)"
        self._db.executemany(added, [(one.bytes, seq) for one, seq, _ in leaves])

    def actions(self, leaves: list[Leaf]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO action VALUES (?)", [(one.bytes,) for one, _, _ in leaves])

    def seq(self, one: UUID) -> int:
        found = self._db.execute("SELECT seq FROM top WHERE id = ?", (one.bytes,)).fetchone()
        return found[0] if found is not None else 0

    def knows(self, one: UUID) -> bool:
        return self._db.execute("SELECT 1 FROM action WHERE id = ?", (one.bytes,)).fetchone() is not None

    def close(self) -> None:
        self._db.close()


def _next(conn: sa.Connection, after: int) -> Any:
    return conn.execute(sa.select(C).where(C.c.no > after).order_by(C.c.no).limit(1)).first()


def _chunks(leaves: Iterator[Leaf]) -> Iterator[list[Leaf]]:
    while some := list(islice(leaves, CHUNK)):
        yield some


def _compare(conn: sa.Connection, leaves: list[Leaf], no: int) -> list[str]:
    """Leaves whose row is missing or different."""
    rows = conn.execute(
        sa.select(H.c.instance_id, H.c.seq, H.c.hash).where(
            sa.tuple_(H.c.instance_id, H.c.seq).in_([(one, seq) for one, seq, _ in leaves])
        )
    )
    there = {(row.instance_id, row.seq): checkpoints.half(row.hash) for row in rows}
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
    """The time up to which actions were removed by age."""
    query = sa.select(sa.func.max(P.c.upto_seq)).where(P.c.instance_id == purges.NOBODY, P.c.kind == "age:action")
    found: Micros | None = conn.execute(query).scalar()
    return found or 0


def _compare_actions(conn: sa.Connection, leaves: list[Leaf], no: int) -> list[str]:
    ids = [one for one, _, _ in leaves]
    there = {row.id: checkpoints.action_half(row) for row in checkpoints.actions_of(conn, ids)}
    gone = _by_age(conn)  # read after the rows, so that whatever was removed in between is known
    problems = []
    for one, second, half in leaves:
        if one not in there:
            if second * SECOND > gone:
                problems.append(f"the action {one}, which checkpoint {no} has signed, is gone or cannot be read")
        elif there[one] != half:
            problems.append(f"the action {one} is not the one that checkpoint {no} has signed")
    return problems


def _uncovered(store: Store, covered: _Covered, newest: Any, named: Position | None) -> Iterator[Verdict]:
    """Rows that checkpoints should have signed and did not: they could be removed unnoticed."""
    signed = checkpoints.position(newest) or FEED_START
    if named is None:
        yield Verdict(problems=("the place up to which checkpoints cover the history is gone",))
    elif named > signed:
        text = f"the place up to which checkpoints cover the history lies behind checkpoint {newest.no}, the newest"
        yield Verdict(problems=(f"{text}: it was moved, or newer checkpoints were removed",))
    after: UUID | None = None
    while True:
        rows = store.read(partial(_tops, upto=checkpoints.place(newest, named), after=after))
        wrong = [(one, seq, covered.seq(one)) for one, seq in rows]
        yield Verdict(
            problems=tuple(
                f"{one}: seq {seq} lies before the place of the last checkpoint, and none covers it beyond seq {known}"
                ": rows were added to the past, or were passed over"
                for one, seq, known in wrong
                if seq > known
            )
        )
        if len(rows) < CHUNK:
            break
        after = rows[-1][0]
    after = None
    while True:
        query = sa.select(action.c.id).where(action.c.at < newest.at - checkpoints.LATE).order_by(action.c.id)
        if after is not None:
            query = query.where(action.c.id > after)
        ids = store.read(partial(_scalars, query=query.limit(CHUNK)))
        missed = [one for one in ids if not covered.knows(one)]
        yield Verdict(
            problems=tuple(
                f"the action {one} is older than the newest checkpoint, and none covers it" for one in missed
            )
        )
        if len(ids) < CHUNK:
            break
        after = ids[-1]


def _tops(conn: sa.Connection, upto: Position, after: UUID | None) -> list[tuple[UUID, int]]:
    """The highest seq of each of the next instances before a position in the feed."""
    here = positions.order(conn).upto(upto)
    query = sa.select(H.c.instance_id, sa.func.max(H.c.seq)).where(here).group_by(H.c.instance_id)
    if after is not None:
        query = query.where(H.c.instance_id > after)
    return [(row[0], row[1]) for row in conn.execute(query.order_by(H.c.instance_id).limit(CHUNK))]


def _scalars(conn: sa.Connection, query: sa.Select[Any]) -> list[UUID]:
    return list(conn.execute(query).scalars())


def _against(store: Store, kept: list[Checkpoint], keys: Keys | None) -> Iterator[str]:
    """Every checkpoint that is stored elsewhere must equal the one in the database."""
    known: dict[int, Checkpoint] = {}
    for start in range(0, len(kept), CHUNK):
        some = kept[start : start + CHUNK]
        numbers = [one.no for one in some]
        rows = store.read(lambda conn, n=numbers: conn.execute(sa.select(C).where(C.c.no.in_(n))).all())  # type: ignore[misc]
        there = {row.no: row for row in rows}
        newest = store.read(checkpoints.last)
        for one in some:
            when = f"checkpoint {one.no} of {moment(one.at):%Y-%m-%d %H:%M:%S} UTC"
            other = known.setdefault(one.no, one)
            if other != one:
                yield (
                    f"{when}, which was given, was given twice, with different contents: after the first was signed "
                    "the database was rolled back, or restored, and signed again"
                )
            if keys is not None and keys.knows(one.key_id) and not one.signed_by(keys):
                yield f"{when}, which was given, is not signed with the audit key"
            elif one.no not in there and (newest is None or newest.no < one.no):
                has = f"ends at {newest.no} of {moment(newest.at):%Y-%m-%d %H:%M:%S} UTC" if newest else "has none"
                yield (
                    f"the database is older than {when}, which was given: it {has}. It was rolled back, or restored "
                    "from an older backup; what happened in between is not in it"
                )
            elif one.no not in there or not checkpoints.same(there[one.no], one):
                yield f"{when}, which was given, is not the one that the database has: what came before was changed"


def _notes(store: Store, newest: Any | None, keys: Keys | None, against: Checkpoint | None) -> Iterator[str]:
    if newest is None:
        yield "there is no checkpoint: what was removed or rewritten with its whole chain is not found"
        return
    if keys is None:
        yield "the audit key is not here: signatures and seals were not verified"
    elif against is not None and not keys.knows(against.key_id):
        yield f"the signature of the checkpoint that was given was not verified: its key {against.key_id} is not here"
    stands = store.read(checkpoints.coverage)
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
