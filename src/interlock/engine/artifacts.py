"""Artifacts: large values by content hash, stored once, in the database so that every host has them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import values
from interlock.engine.claiming import Claim
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.finishing import require_claim
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor
from interlock.store import Micros
from interlock.store.tables import artifact as A
from interlock.store.tables import artifact_ref as R

BIGGEST = 64 * 1024 * 1024
UNUSED = ~sa.exists().where(R.c.hash == A.c.hash)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A named value of an instance. Its content is read by its hash."""

    name: str
    media_type: str
    hash: str
    step: str
    at: Micros
    size: int


def keep(
    unit: Unit,
    instance_id: UUID,
    name: str,
    content: bytes,
    *,
    media_type: str,
    actor: Actor,
    step: str = "",
) -> str:
    """Store the content under a name. Returns its hash. Equal content is stored once, for all instances."""
    if len(content) > BIGGEST:
        raise InvalidData(f"artifact {name!r} has {len(content):,} bytes, at most {BIGGEST:,} fit")
    values.indexed(name, "the artifact's name", values.NAME)
    values.indexed(media_type, "the artifact's media type", values.NAME)
    instance = unit.lock(instance_id)
    digest = hashlib.sha256(content).hexdigest()
    # A shared lock: it keeps the collector away until our reference is committed.
    if unit.conn.execute(sa.select(A.c.hash).where(A.c.hash == digest).with_for_update(read=True)).first() is None:
        unit.conn.execute(sa.insert(A).values(hash=digest, size=len(content), content=content, at=unit.now))
    unit.insert(R, instance_id=instance_id, name=name, media_type=media_type, hash=digest, step=step, at=unit.now)
    unit.record(
        instance, "artifact", actor, payload={"name": name, "hash": digest, "size": len(content), "type": media_type}
    )
    return digest


def keep_fenced(unit: Unit, claim: Claim, name: str, content: bytes, *, media_type: str) -> str:
    require_claim(unit, claim)
    return keep(
        unit, claim.id, name, content, media_type=media_type, actor=Actor(WORKER, str(claim.worker)), step=claim.step
    )


def of(conn: sa.Connection, instance_id: UUID) -> list[Artifact]:
    """All artifacts of the instance, the oldest first. A name may occur more than once."""
    rows = conn.execute(
        sa.select(R.c.name, R.c.media_type, R.c.hash, R.c.step, R.c.at, A.c.size)
        .join(A, A.c.hash == R.c.hash)
        .where(R.c.instance_id == instance_id)
        .order_by(R.c.at, R.c.id)
    )
    return [Artifact(*row) for row in rows]


def read(conn: sa.Connection, instance_id: UUID, digest: str) -> bytes:
    """The content, if the instance refers to it: knowing a hash is not enough."""
    mine = sa.exists().where(R.c.instance_id == instance_id, R.c.hash == A.c.hash)
    found = sa.select(A.c.content).where(A.c.hash == digest, mine)
    row = conn.execute(found).first() if digest.isalnum() and digest.isascii() else None
    if row is None:
        raise NotFound(f"instance {instance_id} has no artifact {ascii(digest[:64])[1:-1]}")
    content = bytes(row.content)
    if hashlib.sha256(content).hexdigest() != digest:
        raise InvalidData(f"artifact {digest} was changed in the database: its content has another hash")
    return content


def is_from_step(conn: sa.Connection, instance_id: UUID, name: str) -> bool:
    """Whether a handler, and not an upload, has stored something under this name."""
    found = sa.select(R.c.id).where(R.c.instance_id == instance_id, R.c.name == name, R.c.step != "").limit(1)
    return conn.execute(found).first() is not None


def link_all(unit: Unit, source: UUID, target: UUID) -> None:
    """Link all artifacts to another instance of the same workspace. Contents are not copied."""
    if unit.lock(source).workspace != unit.lock(target).workspace:
        raise InvalidData(f"instance {target} is in another workspace than {source}, so its artifacts cannot be linked")
    for row in unit.conn.execute(sa.select(R).where(R.c.instance_id == source)).all():
        unit.insert(
            R, instance_id=target, name=row.name, media_type=row.media_type, hash=row.hash, step=row.step, at=row.at
        )


def unused(conn: sa.Connection) -> bool:
    """Whether there are contents that no instance refers to. It takes no lock."""
    return conn.execute(sa.select(A.c.hash).where(UNUSED).limit(1)).first() is not None


def collect(unit: Unit, limit: int = 100) -> int:
    """Remove contents that no instance refers to."""
    gone = sa.select(A.c.hash).where(UNUSED).limit(limit).with_for_update(skip_locked=True)
    hashes = list(unit.conn.execute(gone).scalars())
    if not hashes:
        return 0
    # Checked again under the lock: a reference may have been committed in between.
    return unit.conn.execute(sa.delete(A).where(A.c.hash.in_(hashes), UNUSED)).rowcount
