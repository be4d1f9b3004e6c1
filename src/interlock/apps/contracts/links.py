"""Signed links to a review: an orchestrator can hand them on, and whoever has one decides without a login."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts.machine import contract
from interlock.engine import Instance, NotFound
from interlock.engine.reviews import OpenReview
from interlock.engine.unit import Unit, load
from interlock.machine import Actor
from interlock.people import PERMISSIONS, NotAllowed, accounts
from interlock.store import SECOND, Micros
from interlock.store.contracts import signing_key
from interlock.store.tables import instance as I
from interlock.watch.rollups import dialect_insert

NAME = "contract-review"
DAY = 24 * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Link:
    """What a link carries: which review, in whose name, until when, and the proof that we wrote it."""

    review: UUID
    by: str
    until: int
    signature: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Link:
        """As it stands in an address; NotAllowed where a part is missing or cannot be read."""
        try:
            until = int(query["until"]) if len(query["until"]) < 20 else -1
            return cls(UUID(query["review"]), query["by"][:250], until, query["signature"][:100])
        except (KeyError, ValueError):
            raise NotAllowed("this link is not whole; copy all of it, or ask for a new one") from None

    @property
    def query(self) -> str:
        told = {"review": str(self.review), "by": self.by, "until": self.until, "signature": self.signature}
        return urlencode(told)


def _key(conn: sa.Connection) -> bytes | None:
    found = conn.execute(sa.select(signing_key.c.key).where(signing_key.c.name == NAME)).scalar()
    return bytes.fromhex(str(found)) if found is not None else None


def _new_key(unit: Unit) -> bytes:
    """Two may make the first link at once; the key of one of them counts for both."""
    new = dialect_insert(unit.conn.dialect.name, signing_key)
    made = new.values(name=NAME, key=secrets.token_hex(32), at=unit.now).on_conflict_do_nothing()
    unit.conn.execute(made)
    found = _key(unit.conn)
    assert found is not None
    return found


def _sign(key: bytes, id: UUID, review: UUID, by: str, until: int) -> str:
    told = f"{id}\n{review}\n{by}\n{until}".encode()
    return base64.urlsafe_b64encode(hmac.new(key, told, hashlib.sha256).digest()).decode().rstrip("=")


def signed(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> str:
    """The path of the review's page, with all that deciding there needs."""
    key = _key(unit.conn) or _new_key(unit)
    until = review.due_at or unit.now + DAY
    link = Link(review.id, str(actor), until, _sign(key, instance.id, review.id, str(actor), until))
    return f"/workflows/{instance.id}/resume?{link.query}"


def valid(conn: sa.Connection, id: UUID, link: Link, now: Micros) -> Actor:
    """In whose name it is decided; a link that was changed, or is too old, opens nothing."""
    key = _key(conn)
    ours = _sign(key, id, link.review, link.by, link.until).encode() if key is not None else b""
    if key is None or not hmac.compare_digest(ours, link.signature.encode()):
        raise NotAllowed("this link is not one of ours, or was changed; ask for a new one")
    if link.until <= now:
        raise NotAllowed("the time of this link is over; ask for a new one")
    actor = Actor.parse(link.by)
    _still_may(conn, id, actor)
    return actor


def opened(conn: sa.Connection, id: UUID, link: Link, now: Micros) -> tuple[Instance, Actor]:
    """The workflow that a link is for, as it stands, and in whose name it is decided."""
    actor = valid(conn, id, link, now)
    found = load(conn, conn.execute(sa.select(I).where(I.c.id == id, I.c.machine == contract.name)).all())
    if not found:
        raise NotFound(f"there is no workflow {id} to review")
    return found[0], actor


def _still_may(conn: sa.Connection, id: UUID, actor: Actor) -> None:
    """A link is no better than whoever asked for it is now."""
    workspace = conn.execute(sa.select(I.c.workspace).where(I.c.id == id)).scalar()
    try:
        person = accounts.find(conn, actor.name.partition("/")[0])
    except NotFound:
        person = None
    role = person.roles.get(str(workspace)) if person is not None and person.disabled_at is None else None
    if role is None or "review" not in PERMISSIONS[role]:
        raise NotAllowed(f"{actor.name} made this link and may not decide reviews there any more")


def checked(unit: Unit, id: UUID, review: UUID, by: str, until: int, signature: str) -> tuple[Instance, Actor]:
    """The workflow and in whose name it is decided."""
    actor = valid(unit.conn, id, Link(review, by, until, signature), unit.now)
    return unit.lock(id), actor
