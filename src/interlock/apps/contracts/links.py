"""Signed links to a review: an orchestrator can hand them on, and whoever has one decides without a login."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from urllib.parse import urlencode
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import Instance, NotFound
from interlock.engine.reviews import OpenReview
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.people import NotAllowed
from interlock.store import SECOND
from interlock.store.contracts import signing_key

NAME = "contract-review"
DAY = 24 * 3600 * SECOND


def _key(unit: Unit) -> bytes:
    found = unit.conn.execute(sa.select(signing_key.c.key).where(signing_key.c.name == NAME)).scalar()
    if found is None:
        found = secrets.token_hex(32)
        unit.insert(signing_key, name=NAME, key=found, at=unit.now)
    return bytes.fromhex(str(found))


def _sign(key: bytes, id: UUID, review: UUID, by: str, until: int) -> str:
    told = f"{id}\n{review}\n{by}\n{until}".encode()
    return base64.urlsafe_b64encode(hmac.new(key, told, hashlib.sha256).digest()).decode().rstrip("=")


def signed(unit: Unit, instance: Instance, review: OpenReview, actor: Actor) -> str:
    """The path of the review's page, with all that deciding there needs."""
    until = review.due_at or unit.now + DAY
    signature = _sign(_key(unit), instance.id, review.id, str(actor), until)
    query = urlencode({"review": str(review.id), "by": str(actor), "until": until, "signature": signature})
    return f"/workflows/{instance.id}/resume?{query}"


def checked(unit: Unit, id: UUID, review: UUID, by: str, until: int, signature: str) -> tuple[Instance, Actor]:
    """The workflow and in whose name it is decided; a link that was changed, or is too old, opens nothing."""
    if not hmac.compare_digest(_sign(_key(unit), id, review, by, until), signature):
        raise NotAllowed("this link is not one of ours, or was changed; ask for a new one")
    if until <= unit.now:
        raise NotAllowed("the time of this link is over; ask for a new one")
    instance = unit.lock(id)
    if instance.machine != "contract":
        raise NotFound(f"there is no workflow {id}")
    return instance, Actor.parse(by)
