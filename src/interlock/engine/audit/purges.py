"""Purges: permissions to remove history rows or payloads, as a hash chain over the whole database.

Each row has a gapless number and a hash over itself and the row before it, so that none can be removed, inserted or
changed alone. If the process has the audit key, the row is sealed with it at once: somebody who can only write to the
database cannot forge one. Once the database has a checkpoint, every later row must be sealed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.audit.signing import BadKey, Keys
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store.retention_tables import checkpoint
from interlock.store.sql import lock_number
from interlock.store.tables import purge as P

START = b""
WHAT = "purge"
LOCK = 727002
NOBODY = UUID(int=0)
"""Takes the place of the instance for rows of no instance."""
Leave = tuple[UUID, int, bytes, bytes | None]
"""An instance, the last row that may be removed, its hash, and the digest of its line in an archive."""


@dataclass(frozen=True, slots=True)
class Link:
    """The end of the chain: the number of rows, and the hash of the last."""

    no: int
    hash: bytes


def link(before: bytes, row: Any) -> bytes:
    """The hash of a row, which covers it and all before it."""
    export = bytes(row.export_digest).hex() if row.export_digest is not None else None
    said = [
        row.no,
        row.kind,
        row.instance_id.hex,
        row.upto_seq,
        bytes(row.last_hash).hex(),
        export,
        row.actor,
        row.reason,
        row.at,
    ]
    return hashlib.sha256(before + json.dumps(said, separators=(",", ":")).encode()).digest()


@dataclass(frozen=True, slots=True)
class Row:
    """The hashed columns of a purge."""

    no: int
    kind: str
    instance_id: UUID
    upto_seq: int
    last_hash: bytes
    export_digest: bytes | None
    actor: str
    reason: str
    at: int


def last(conn: sa.Connection) -> Link:
    row = conn.execute(sa.select(P.c.no, P.c.hash).order_by(P.c.no.desc()).limit(1)).first()
    return Link(row.no, bytes(row.hash)) if row is not None else Link(0, START)


def lock(conn: sa.Connection) -> None:
    """Lock the chain until the transaction ends: each row has the hash of the one before."""
    lock_number(conn, LOCK)


def permit(unit: Unit, kind: str, leaves: Sequence[Leave], actor: Actor, reason: str) -> None:
    """Permit the triggers to remove rows up to these (`rows`), or their payloads (`payloads`)."""
    conn, keys = unit.conn, unit.core.audit_keys
    lock(conn)
    _require_key(conn, keys)
    end, rows = last(conn), []
    for instance_id, upto, last_hash, export in leaves:
        made = Row(end.no + 1, kind, instance_id, upto, last_hash, export, str(actor), reason, unit.now)
        end = Link(made.no, link(end.hash, made))
        seal = keys.sign(WHAT, end.hash) if keys is not None else None
        rows.append(
            {name: getattr(made, name) for name in Row.__slots__}
            | {"hash": end.hash, "key_id": seal.key_id if seal else None, "seal": seal.mac if seal else None}
        )
    if rows:
        conn.execute(sa.insert(P), rows)


def _require_key(conn: sa.Connection, keys: Keys | None) -> None:
    """Raise BadKey if the key of the checkpoints is missing: an unsealed purge would look forged."""
    C = checkpoint
    signed = conn.execute(sa.select(C.c.key_id).order_by(C.c.no.desc()).limit(1)).scalar()
    if signed is not None and (keys is None or not keys.knows(signed)):
        raise BadKey(
            f"the checkpoints of this database are signed with the audit key {signed}, which is not here, so nothing "
            "is removed; name its file in audit.key_file, or give the key in INTERLOCK_AUDIT__KEY"
        )


def verify(
    conn: sa.Connection, keys: Keys | None, sealed_after: int | None, marks: dict[int, bytes], batch: int = 5_000
) -> Iterator[str]:
    """Problems of the chain. `marks` are the purges that checkpoints name, with their hashes."""
    before, no = START, 0
    while True:
        rows = conn.execute(sa.select(P).where(P.c.no > no).order_by(P.c.no).limit(batch)).all()
        for row in rows:
            if row.no != no + 1:
                yield f"purge {no + 1} is missing, {row.no} follows"
            no = row.no
            if link(before, row) != bytes(row.hash):
                yield f"purge {no} ({row.instance_id}) does not follow from the one before it: forged, or changed"
            before = bytes(row.hash)
            if marks.get(no, before) != before:
                yield f"purge {no} ({row.instance_id}) is not the one that a checkpoint has signed"
            if keys is not None and not _sealed(keys, row, sealed_after):
                yield f"purge {no} ({row.instance_id}) has no seal of the audit key: forged, or made without the key"
        if len(rows) < batch:
            break
    for mark in marks:
        if mark > no:
            yield f"purge {mark}, which a checkpoint has signed, is missing"


def _sealed(keys: Keys, row: Any, after: int | None) -> bool:
    if row.seal is None or not keys.knows(row.key_id):
        return row.no <= after if after is not None else row.seal is None
    return keys.proves(WHAT, bytes(row.hash), row.key_id, row.seal)
