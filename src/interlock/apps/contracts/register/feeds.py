"""Secret addresses of calendars: a calendar program has no login, and whoever has the address may read it.

An address belongs to one person and one workspace. It is signed, so that it can be shown again and stored nowhere, and
it works only while the person may read the workspace. A new address makes the old one invalid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.contracts.tables import contract_feed as F
from interlock.apps.contracts.tables import signing_key
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.people import PERMISSIONS, accounts
from interlock.store.sql import upsert

NAME = "contract-calendar"


@dataclass(frozen=True, slots=True)
class Feed:
    """One secret address."""

    id: UUID
    workspace: str
    person: str
    path: str


def of(conn: sa.Connection, workspace: str, person: str) -> Feed | None:
    """The address of a person, if they made one."""
    row = conn.execute(sa.select(F).where(F.c.workspace == workspace, F.c.person == person)).first()
    key = _key(conn)
    return Feed(row.id, row.workspace, row.person, _path(key, row.id)) if row is not None and key else None


def make(unit: Unit, workspace: str, person: str) -> Feed:
    """A new address; an older one of this person becomes invalid."""
    remove(unit, workspace, person)
    made = upsert(signing_key).values(name=NAME, key=secrets.token_hex(32), at=unit.now).on_conflict_do_nothing()
    unit.conn.execute(made)
    unit.conn.execute(sa.insert(F).values(id=uuid7(), workspace=workspace, person=person, at=unit.now))
    found = of(unit.conn, workspace, person)
    assert found is not None
    return found


def remove(unit: Unit, workspace: str, person: str) -> None:
    """Make the address of this person invalid."""
    unit.conn.execute(sa.delete(F).where(F.c.workspace == workspace, F.c.person == person))


def opened(conn: sa.Connection, id: UUID, signature: str) -> Feed:
    """The feed of an address. NotFound for one that was changed, replaced, or whose person may no longer read."""
    gone = NotFound("there is no such calendar; make a new address on the calendar page")
    key = _key(conn)
    row = conn.execute(sa.select(F).where(F.c.id == id)).first()
    ours = _sign(key, id).encode() if key is not None else b""
    if key is None or not hmac.compare_digest(ours, signature.encode("utf-8", "surrogatepass")) or row is None:
        raise gone
    try:
        person = accounts.find(conn, row.person)
    except NotFound:
        raise gone from None
    role = person.roles.get(row.workspace) if person.disabled_at is None else None
    if role is None or "read" not in PERMISSIONS[role]:
        raise gone
    return Feed(row.id, row.workspace, row.person, _path(key, id))


def _key(conn: sa.Connection) -> bytes | None:
    found = conn.execute(sa.select(signing_key.c.key).where(signing_key.c.name == NAME)).scalar()
    return bytes.fromhex(str(found)) if found is not None else None


def _sign(key: bytes, id: UUID) -> str:
    return base64.urlsafe_b64encode(hmac.new(key, id.bytes, hashlib.sha256).digest()).decode().rstrip("=")


def _path(key: bytes, id: UUID) -> str:
    return f"/contracts/calendar/{id}/{_sign(key, id)}.ics"
