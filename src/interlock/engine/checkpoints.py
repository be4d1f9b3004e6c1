"""Checkpoints: what the history of the whole database was at a moment, signed with a key that is not in it.

A checkpoint covers the history rows since the one before it, in the order of the feed. Of each instance among them it
keeps a leaf: its id, its newest seq there and the first half of that row's hash. A row's hash vouches for all rows
before it, so a leaf holds an instance's whole past fast, however far the instance goes on. Its own hash covers the
leaves, the actions of people, the end of the chain of purges and the checkpoint before it; the signature covers that.

So the newest checkpoint vouches for all that happened before it. A copy outside the database (the log, a file) shows
when the database was rolled back behind it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from interlock.engine import purges
from interlock.engine.errors import EngineError
from interlock.engine.feed import START as FEED_START
from interlock.engine.feed import Position, order, settled
from interlock.engine.signing import BadKey, Keys
from interlock.store import SECOND, Micros, Store, moment, private
from interlock.store.keeping import checkpoint as C
from interlock.store.service import action, cursor
from interlock.store.tables import history as H

FIRST = b""
WHAT = "checkpoint"
CURSOR, ACTIONS = "audit", "audit_actions"
MOST = 20_000
"""History rows that one checkpoint covers: it is written in one short transaction."""
LATE = 60 * SECOND
"""An action may be committed so long after its moment."""
LEAF = struct.Struct(">16sI16s")
SHAPE = re.compile(r"ilc1\.(\d{1,18})\.(\d{1,18})\.([0-9a-f]{64})\.([0-9a-f]{16})\.([0-9a-f]{64})")


class NoCheckpoint(EngineError):
    """What was given is no checkpoint."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint, as it is written to a log or a file."""

    no: int
    at: Micros
    hash: bytes
    key_id: str
    mac: bytes

    def __str__(self) -> str:
        return f"ilc1.{self.no}.{self.at}.{self.hash.hex()}.{self.key_id}.{self.mac.hex()}"

    @property
    def line(self) -> str:
        """As it stands in a file: the moment is for people."""
        return f"{moment(self.at):%Y-%m-%dT%H:%M:%SZ} {self}"

    def signed_by(self, keys: Keys) -> bool:
        return keys.proves(WHAT, _signed(self.no, self.at, self.hash), self.key_id, self.mac)


def _signed(no: int, at: Micros, digest: bytes) -> bytes:
    return hashlib.sha256(f"{no}.{at}.".encode() + digest).digest()


def parse(text: str) -> Checkpoint:
    """The last checkpoint in a text."""
    found = SHAPE.findall(text)
    if not found:
        raise NoCheckpoint(f"there is no checkpoint in {text[:80]!r}; it begins with ilc1. and has six parts")
    no, at, digest, key_id, mac = found[-1]
    return Checkpoint(int(no), int(at), bytes.fromhex(digest), key_id, bytes.fromhex(mac))


def given(text: str) -> Checkpoint:
    """A checkpoint that is named by itself or by a file, whose last one counts."""
    if SHAPE.search(text):
        return parse(text)
    try:
        with Path(text).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 65_536))
            content = file.read().decode("utf-8", "replace")
    except OSError as error:
        raise NoCheckpoint(
            f"{text[:200]!r} is no checkpoint, and no file that can be read: {error.strerror}"
        ) from error
    if not SHAPE.search(content):
        raise NoCheckpoint(f"there is no checkpoint at the end of the file {text}")
    return parse(content)


def of(row: Any) -> Checkpoint:
    return Checkpoint(row.no, row.at, bytes(row.hash), row.key_id, bytes(row.mac))


def last(conn: sa.Connection) -> Checkpoint | None:
    """The newest that the database has."""
    columns = (C.c.no, C.c.at, C.c.hash, C.c.key_id, C.c.mac)
    row = conn.execute(sa.select(*columns).order_by(C.c.no.desc()).limit(1)).first()
    return of(row) if row is not None else None


def digest(row: Any) -> bytes:
    """What a checkpoint's hash is made of."""
    said = [
        row.no, row.at, row.rows, hashlib.sha256(bytes(row.leaves)).hexdigest(),
        hashlib.sha256(bytes(row.actions)).hexdigest(), row.purges, bytes(row.purge_hash).hex(),
        bytes(row.before).hex(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).digest()


# -- writing


@dataclass(frozen=True, slots=True)
class _New:
    """What has happened since the last checkpoint."""

    before: Any | None
    after: Position
    upto: Position
    rows: int
    leaves: bytes
    actions: bytes
    acted: Micros
    """The moment of the newest action that is covered."""
    purges: purges.Link

    @property
    def anything(self) -> bool:
        known = self.before.purges if self.before is not None else 0
        return bool(self.rows or self.actions or self.purges.no > known)


@dataclass(frozen=True, slots=True)
class _Made:
    no: int
    at: Micros
    rows: int
    leaves: bytes
    actions: bytes
    purges: int
    purge_hash: bytes
    before: bytes


def write(store: Store, keys: Keys, now: Micros, *, new_key: bool = False) -> Iterator[Checkpoint]:
    """Sign all that happened since the last checkpoint; several where it is much, none where it is nothing.

    With `new_key` the key may be another than that of the last one, which is lost: it is vouched for from here on.
    """
    while True:
        new = store.read(_look)
        if not new.anything:
            return
        made = store.write(lambda conn, new=new: _write(conn, new, keys, now, new_key), name="checkpoint")  # type: ignore[misc]
        if made is None:
            return  # another process was faster
        yield made
        if new.rows < MOST:
            return


def _look(conn: sa.Connection) -> _New:
    before = conn.execute(sa.select(C).order_by(C.c.no.desc()).limit(1)).first()
    places = {row.name: row for row in conn.execute(sa.select(cursor).where(cursor.c.name.in_((CURSOR, ACTIONS))))}
    after = Position(places[CURSOR].xact, places[CURSOR].pos) if CURSOR in places else FEED_START
    dialect = conn.dialect.name
    columns = (H.c.instance_id, H.c.seq, H.c.hash, H.c.xact, H.c.pos)
    query = sa.select(*columns).where(*settled(dialect, after)).order_by(*order(dialect)).limit(MOST)
    rows = conn.execute(query).all()
    heads = {row.instance_id: row for row in rows}  # the last of each counts
    leaves = b"".join(LEAF.pack(row.instance_id.bytes, row.seq, bytes(row.hash)[:16]) for row in heads.values())
    upto = Position(rows[-1].xact, rows[-1].pos) if rows else after
    acted = places[ACTIONS].pos if ACTIONS in places else 0
    actions = list(_new_actions(conn, acted))
    newest = max((row.at for row in actions), default=acted)
    told = b"".join(LEAF.pack(row.id.bytes, row.at // SECOND, action_half(row)) for row in actions)
    return _New(before, after, upto, len(rows), leaves, told, newest, purges.last(conn))


def _new_actions(conn: sa.Connection, acted: Micros) -> Iterator[Any]:
    since = max(acted - LATE, 0)
    blobs = conn.execute(sa.select(C.c.actions).where(C.c.at >= since, C.c.actions != b"")).scalars()
    known = {name for blob in blobs for name, _, _ in LEAF.iter_unpack(bytes(blob))} if acted else set()
    query = sa.select(action).where(action.c.at >= since).order_by(action.c.at, action.c.id).limit(MOST + len(known))
    return (row for row in conn.execute(query) if row.id.bytes not in known)


def action_half(row: Any) -> bytes:
    """The first half of the digest of an action."""
    said = [row.workspace, row.actor, row.what, row.target, row.details, row.at]
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).digest()[:16]


def _write(conn: sa.Connection, new: _New, keys: Keys, now: Micros, new_key: bool) -> Checkpoint | None:
    insert = (sqlite if conn.dialect.name == "sqlite" else postgresql).insert(cursor)
    conn.execute(
        insert.on_conflict_do_nothing(),
        [{"name": name, "xact": 0, "pos": 0} for name in (CURSOR, ACTIONS)],
    )
    place = conn.execute(sa.select(cursor).where(cursor.c.name == CURSOR).with_for_update()).one()
    newest = last(conn)
    if (place.xact, place.pos) != tuple(new.after) or (newest.no if newest else 0) != (
        new.before.no if new.before is not None else 0
    ):
        return None
    if newest is not None and not keys.knows(newest.key_id) and not new_key:
        raise BadKey(
            f"the last checkpoint is signed with the audit key {newest.key_id}, and {keys.id} is another; give all "
            "processes the same key, add the former one as a second line of the key file, or, if it is lost: interlock "
            "audit checkpoint --new-key"
        )
    said = _Made(
        newest.no + 1 if newest else 1, now, (new.before.rows if new.before is not None else 0) + new.rows,
        new.leaves, new.actions, new.purges.no, new.purges.hash, newest.hash if newest else FIRST,
    )  # fmt: skip
    hashed = digest(said)
    signed = keys.sign(WHAT, _signed(said.no, now, hashed))
    values = {name: getattr(said, name) for name in _Made.__slots__}
    conn.execute(sa.insert(C).values(**values, hash=hashed, key_id=signed.key_id, mac=signed.mac))
    for name, position in ((CURSOR, new.upto), (ACTIONS, Position(0, new.acted))):
        conn.execute(sa.update(cursor).where(cursor.c.name == name).values(xact=position.xact, pos=position.pos))
    return Checkpoint(said.no, now, hashed, signed.key_id, signed.mac)


def keep(file: Path, made: Iterable[Checkpoint]) -> None:
    """Add checkpoints to a file, and wait until they are on the disk."""
    lines = "".join(f"{one.line}\n" for one in made)
    if not lines:
        return
    try:
        private.folder(file.parent)
        with os.fdopen(private.handle(file), "r+b") as out:
            out.seek(0, os.SEEK_END)
            out.write(lines.encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise EngineError(f"the checkpoint cannot be written to {file}: {error.strerror}; see audit.file") from error


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the history is signed."""

    last: Checkpoint | None
    since: Micros | None
    """The moment of the first history row that no checkpoint covers; None when all are covered."""
    waiting: int
    """Such rows, counted up to a thousand."""


def standing(conn: sa.Connection) -> Standing:
    place = conn.execute(sa.select(cursor.c.xact, cursor.c.pos).where(cursor.c.name == CURSOR)).first()
    after, dialect = Position(place.xact, place.pos) if place is not None else FEED_START, conn.dialect.name
    query = sa.select(H.c.at).where(*settled(dialect, after)).order_by(*order(dialect)).limit(1_000)
    moments = list(conn.execute(query).scalars())
    return Standing(last(conn), moments[0] if moments else None, len(moments))


def leaves(blob: bytes) -> Iterator[tuple[UUID, int, bytes]]:
    """The id, the seq and the first half of the hash of each leaf; what was cut off by hand the hash tells."""
    whole = bytes(blob)[: len(blob) // LEAF.size * LEAF.size]
    for name, seq, half in LEAF.iter_unpack(whole):
        yield UUID(bytes=name), seq, half
