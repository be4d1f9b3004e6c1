"""Vouchers: signed links and other grants that are valid only while their maker's permission lasts.

A voucher names the token or the session that it was made with. It becomes invalid when that token is revoked or
expires, when that session ends, and when the person is disabled or loses the permission.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import NotFound
from interlock.machine import Actor
from interlock.people import accounts, sessions, tokens
from interlock.people.accounts import Person
from interlock.people.errors import NotAllowed
from interlock.people.principal import Principal, person_actor
from interlock.people.roles import PERMISSIONS
from interlock.store import Micros


def made_with(who: Principal) -> str:
    """The caller's token or session as a voucher names it. The name itself gives no access."""
    if who.token_id is not None:
        return f"token:{who.token_id}"
    return f"login:{_mark(who.session or '')}"


def _mark(session: str) -> str:
    return hashlib.sha256(f"voucher:{session}".encode()).hexdigest()[:32]


def good_for(conn: sa.Connection, name: str, made: str, permission: str, workspace: str, now: Micros) -> Actor:
    """The maker of a voucher with their current role. Raises NotAllowed if the voucher is no longer valid."""
    try:
        person = accounts.find(conn, name.partition("/")[0])
    except NotFound:
        raise NotAllowed(f"{name[:80]!r} no longer exists; ask for a new link") from None
    role = person.roles.get(workspace) if person.disabled_at is None else None
    if role is None or permission not in PERMISSIONS[role]:
        raise NotAllowed(f"{person.name} created this link and may no longer {permission}; ask for a new one")
    if not _lives(conn, person, made, now):
        raise NotAllowed("the token or session that created this link has ended; ask for a new one")
    return person_actor(name, role)


def _lives(conn: sa.Connection, person: Person, made: str, now: Micros) -> bool:
    kind, _, rest = made.partition(":")
    if kind == "login":
        return any(_mark(one.hash) == rest for one in sessions.of(conn, person.id, now))
    try:
        token = tokens.get(conn, UUID(rest))
    except (ValueError, NotFound):
        return False
    return kind == "token" and token.person_id == person.id and token.live(now)
