"""Checkpoints: signed summaries of the history of the whole database. The key is not in the database.

A checkpoint covers the history rows since the one before it, in the order of the feed. For each instance among them it
has a leaf: its id, its highest seq and the first half of that row's hash. The hash of a row covers all rows before it,
so a leaf fixes the whole past of an instance. The hash of a checkpoint covers the leaves, the actions of people, the
end of the chain of purges, the position in the feed up to which it goes, the key that signs it and the checkpoint
before it. The signature covers that hash. A checkpoint with another key than the one before it names that key, and the
purges that it accepts.

So the newest checkpoint covers all that happened before it. A copy outside the database (the log, a file) shows if the
database was rolled back.
"""

from __future__ import annotations

import hashlib
import io
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

from interlock.engine.audit.signing import BadKey, Keys
from interlock.engine.errors import EngineError
from interlock.store import SECOND, Micros, moment, positions, private
from interlock.store.positions import START as FEED_START
from interlock.store.positions import Position
from interlock.store.retention_tables import checkpoint as C
from interlock.store.service_tables import action, cursor
from interlock.store.tables import history as H

FIRST = b""
WHAT = "checkpoint"
CURSOR = "audit"
LATE = 60 * SECOND
"""How long after its time an action may be committed."""
LEAF = struct.Struct(">16sI16s")
SHAPE = re.compile(r"ilc1\.(\d{1,18})\.(\d{1,18})\.([0-9a-f]{64})\.([0-9a-f]{16})\.([0-9a-f]{64})")


class NoCheckpoint(EngineError):
    """The text is not a checkpoint."""


class Forged(EngineError):
    """The last checkpoint was changed or is missing. Nothing is signed until a person has looked into it."""


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
        """The line in a file, with the time for people."""
        return f"{moment(self.at):%Y-%m-%dT%H:%M:%SZ} {self}"

    def signed_by(self, keys: Keys) -> bool:
        return keys.proves(WHAT, signed_text(self.no, self.at, self.hash), self.key_id, self.mac)


def signed_text(no: int, at: Micros, digest: bytes) -> bytes:
    return hashlib.sha256(f"{no}.{at}.".encode() + digest).digest()


def parse(text: str) -> Checkpoint:
    """The last checkpoint in a text."""
    found = every(text)
    if not found:
        raise NoCheckpoint(f"there is no checkpoint in {text[:80]!r}; it begins with ilc1. and has six parts")
    return found[-1]


def every(text: str) -> list[Checkpoint]:
    """All checkpoints in a text, in order."""
    return [
        Checkpoint(int(no), int(at), bytes.fromhex(digest), key_id, bytes.fromhex(mac))
        for no, at, digest, key_id, mac in SHAPE.findall(text)
    ]


def from_argument(text: str) -> list[Checkpoint]:
    """The checkpoint in the text, or all in the file that it names."""
    if SHAPE.search(text):
        return every(text)
    try:
        content = Path(text).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise NoCheckpoint(f"{text[:200]!r} is neither a checkpoint nor a readable file: {error.strerror}") from error
    found = every(content)
    if not found:
        raise NoCheckpoint(f"there is no checkpoint in the file {text}")
    return found


def last_in_file(file: Path | None) -> Checkpoint | None:
    """The last checkpoint in a file; None if there is none."""
    try:
        with file.open("rb") if file is not None else io.BytesIO() as content:
            content.seek(0, os.SEEK_END)
            content.seek(max(0, content.tell() - 65_536))
            found = every(content.read().decode("utf-8", "replace"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineError(f"the checkpoints in {file} cannot be read: {error.strerror}; see audit.file") from error
    return found[-1] if found else None


def of(row: Any) -> Checkpoint:
    return Checkpoint(row.no, row.at, raw(row.hash), row.key_id, raw(row.mac))


def last(conn: sa.Connection) -> Checkpoint | None:
    """The newest checkpoint in the database."""
    columns = (C.c.no, C.c.at, C.c.hash, C.c.key_id, C.c.mac)
    row = conn.execute(sa.select(*columns).order_by(C.c.no.desc()).limit(1)).first()
    return of(row) if row is not None else None


def newest(conn: sa.Connection) -> Any | None:
    """The row of the newest checkpoint."""
    return conn.execute(sa.select(C).order_by(C.c.no.desc()).limit(1)).first()


def digest(row: Any) -> bytes:
    """The hash of a checkpoint."""
    said = [
        row.no,
        row.at,
        row.rows,
        hashlib.sha256(raw(row.leaves)).hexdigest(),
        hashlib.sha256(raw(row.actions)).hexdigest(),
        row.purges,
        raw(row.purge_hash).hex(),
        row.xact,
        row.pos,
        row.vouched,
        row.former,
        row.key_id,
        raw(row.before).hex(),
    ]
    return hashlib.sha256(json.dumps(said, separators=(",", ":"), default=repr).encode()).digest()


def moved(conn: sa.Connection) -> Position | None:
    """The position in the table `cursor`, if there is one."""
    found = conn.execute(sa.select(cursor.c.xact, cursor.c.pos).where(cursor.c.name == CURSOR)).first()
    return position(found) if found is not None else None


def position(row: Any) -> Position | None:
    """The position in a row, if there is one."""
    return Position(row.xact, row.pos) if isinstance(row.xact, int) and isinstance(row.pos, int) else None


def place(row: Any | None, named: Position | None) -> Position:
    """Up to where the history is signed: the position of the newest checkpoint, or an earlier one.

    The table `cursor` may have an earlier position. A restored database counts its positions from the start: see
    `feed.reorder_restored`.
    """
    if row is None:
        return FEED_START
    signed = position(row) or FEED_START
    return signed if named is None else min(signed, named)


def raw(stored: Any) -> bytes:
    """Stored bytes. SQLite may have other types if somebody wrote them."""
    return bytes(stored) if isinstance(stored, bytes | bytearray | memoryview) else repr(stored).encode()


def half(hashed: Any) -> bytes:
    """The first half of a stored hash, also if it was changed."""
    return raw(hashed)[:16].ljust(16, b"\0")


def actions_of(conn: sa.Connection, ids: list[UUID]) -> list[Any]:
    """These actions. One that cannot be read does not stop the others."""
    try:
        return list(conn.execute(sa.select(action).where(action.c.id.in_(ids))).all())
    except sa.exc.OperationalError as error:
        if not undecodable(error):
            raise
        if len(ids) == 1:
            return []
        return [row for one in ids for row in actions_of(conn, [one])]


def undecodable(error: BaseException) -> bool:
    """Whether a row of SQLite has invalid text."""
    return isinstance(error, sa.exc.OperationalError) and "Could not decode to UTF-8" in str(error)


def action_half(row: Any) -> bytes:
    """The first half of the digest of an action."""
    said = [row.workspace, row.actor, row.what, row.target, row.details, row.at]
    return hashlib.sha256(json.dumps(said, separators=(",", ":"), default=repr).encode()).digest()[:16]


def require_trusted(row: Any, keys: Keys, new_key: bool = False) -> None:
    """Raise BadKey if the key of this checkpoint is not available, and Forged if it was changed."""
    if not keys.knows(row.key_id) and not new_key:
        raise BadKey(
            f"the last checkpoint is signed with the audit key {row.key_id}, and {keys.id} is another; give all "
            "processes the same key, add the former one as a second line of the key file, or, if it is lost: interlock "
            "audit checkpoint --new-key"
        )
    if not hash_is_right(row) or (keys.knows(row.key_id) and not of(row).signed_by(keys)):
        raise Forged(
            f"checkpoint {row.no}, the newest, was changed or is forged, so nothing is signed upon it; see what else "
            "was changed with: interlock audit verify; then restore a backup that verifies"
        )


def hash_is_right(row: Any) -> bool:
    """Whether its hash fits its contents."""
    return digest(row) == raw(row.hash)


def require_kept(conn: sa.Connection, kept: Checkpoint) -> None:
    """Raise Forged if the database does not have a checkpoint that is stored elsewhere."""
    row = conn.execute(sa.select(C).where(C.c.no == kept.no)).first()
    if row is None or not same(row, kept):
        raise Forged(
            f"checkpoint {kept.no} of {moment(kept.at):%Y-%m-%d %H:%M:%S} UTC, the last that was kept elsewhere, is "
            f"{'not in the database' if row is None else 'another in the database'}: it was rolled back, restored or "
            "changed, so nothing is signed; see: interlock audit verify; if it was restored on purpose, put the file "
            "of audit.file away, and keep it"
        )


def same(row: Any, kept: Checkpoint) -> bool:
    """Whether a row equals a checkpoint that is stored elsewhere, with its signature."""
    return of(row) == kept


def why_not_signed(conn: sa.Connection, keys: Keys | None, kept: Checkpoint | None) -> str:
    """Why nothing can be signed now; empty if it can."""
    row = newest(conn)
    try:
        if row is not None and keys is not None:
            require_trusted(row, keys)
        if kept is not None:
            require_kept(conn, kept)
    except (Forged, BadKey) as error:
        return str(error)
    return ""


def keep(file: Path, made: Iterable[Checkpoint]) -> None:
    """Append checkpoints to a file, and wait until they are on the disk."""
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
class Coverage:
    """How much of the history is signed."""

    last: Checkpoint | None
    since: Micros | None
    """The time of the first unsigned history row; None if all are signed."""
    waiting: int
    """Unsigned rows, counted up to a thousand."""


def coverage(conn: sa.Connection) -> Coverage:
    named = moved(conn)
    after, order = place(newest(conn), named), positions.order(conn)
    query = sa.select(H.c.at).where(*order.settled(after)).order_by(*order.columns).limit(1_000)
    moments = list(conn.execute(query).scalars())
    return Coverage(last(conn), moments[0] if moments else None, len(moments))


def leaves(blob: bytes | str) -> Iterator[tuple[UUID, int, bytes]]:
    """The id, the seq and the first half of the hash of each leaf. The hash shows if bytes were cut off."""
    found = raw(blob)
    whole = found[: len(found) // LEAF.size * LEAF.size]
    for name, seq, half in LEAF.iter_unpack(whole):
        yield UUID(bytes=name), seq, half
