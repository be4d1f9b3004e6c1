"""Signed links to a review: an orchestrator can pass them on, and whoever has one can decide without a login."""

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
from interlock.apps.contracts.tables import signing_key
from interlock.engine import Instance, NotFound, reviews
from interlock.engine.application import Unit, find
from interlock.engine.reviews import OpenReview
from interlock.machine import Actor
from interlock.people import NotAllowed, Principal, vouchers
from interlock.store import SECOND, Micros
from interlock.store.sql import upsert

NAME = "contract-review"
DAY = 24 * 3600 * SECOND
PARTS = ("review", "by", "via", "until", "signature")
"""The parameters of a link's address."""


@dataclass(frozen=True, slots=True)
class Link:
    """The parts of a link: its review, the person, the token or login behind it, its expiry, and the signature."""

    review: UUID
    by: str
    via: str
    until: int
    signature: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Link:
        """Parse the query of a link. Raises NotAllowed if a part is missing or invalid."""
        try:
            until = int(query["until"]) if len(query["until"]) < 20 else -1
            review, by, via = UUID(query["review"]), query["by"][:250], query["via"][:100]
            return cls(review, by, via, until, query["signature"][:100])
        except (KeyError, ValueError):
            raise NotAllowed("this link is incomplete; copy all of it, or ask for a new one") from None

    @property
    def query(self) -> str:
        query = {
            "review": self.review,
            "by": self.by,
            "via": self.via,
            "until": self.until,
            "signature": self.signature,
        }
        return urlencode(query)


def _key(conn: sa.Connection) -> bytes | None:
    found = conn.execute(sa.select(signing_key.c.key).where(signing_key.c.name == NAME)).scalar()
    return bytes.fromhex(str(found)) if found is not None else None


def _new_key(unit: Unit) -> bytes:
    """Create the key. If two processes create it at once, one of the keys is used by both."""
    new = upsert(signing_key)
    made = new.values(name=NAME, key=secrets.token_hex(32), at=unit.now).on_conflict_do_nothing()
    unit.conn.execute(made)
    found = _key(unit.conn)
    assert found is not None
    return found


def _sign(key: bytes, id: UUID, review: UUID, by: str, via: str, until: int) -> str:
    signed = f"{id}\n{review}\n{by}\n{via}\n{until}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode().rstrip("=")


def signed(unit: Unit, instance: Instance, review: OpenReview, who: Principal) -> str:
    """The path of the review's page, with everything needed to decide there."""
    key = _key(unit.conn) or _new_key(unit)
    until = review.due_at or unit.now + DAY
    by, via = str(who.actor_in(instance.workspace)), vouchers.made_with(who)
    link = Link(review.id, by, via, until, _sign(key, instance.id, review.id, by, via, until))
    return f"/workflows/{instance.id}/resume?{link.query}"


def opened(conn: sa.Connection, id: UUID, link: Link, now: Micros) -> tuple[Instance, Actor]:
    """The workflow of a link, and the person in whose name it is decided.

    Raises NotAllowed for a link that was changed, has expired, or whose person lost the token, login or permission.
    Raises AlreadyDecided if its review is over: a link is for one decision.
    """
    key = _key(conn)
    ours = _sign(key, id, link.review, link.by, link.via, link.until).encode() if key is not None else b""
    if key is None or not hmac.compare_digest(ours, link.signature.encode("utf-8", "surrogatepass")):
        raise NotAllowed("this link is not one of ours, or was changed; ask for a new one")
    if link.until <= now:
        raise NotAllowed("this link has expired; ask for a new one")
    found = find(conn, id, machine=contract.name)
    if found is None:
        raise NotFound(f"there is no workflow {id} to review")
    name = Actor.parse(link.by).name
    actor = vouchers.good_for(conn, name, link.via, "review", found.workspace, now)
    reviews.require_open(reviews.get(conn, link.review))
    return found, actor


def checked(unit: Unit, id: UUID, link: Link) -> tuple[Instance, Actor]:
    """The workflow, locked, and the person in whose name it is decided."""
    instance = unit.lock(id)
    return instance, opened(unit.conn, id, link, unit.now)[1]
