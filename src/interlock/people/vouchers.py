"""Vouchers: what somebody hands out in their own name, such as a signed link, is good only as long as they are.

A voucher names the token or the login that it was made with. It is dead when that token is revoked or expired, when
that login has ended, and when the person is disabled or has lost the permission.
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
    """The token or the login that somebody asks with, as a voucher names it; it opens nothing by itself."""
    if who.token_id is not None:
        return f"token:{who.token_id}"
    return f"login:{_mark(who.session or '')}"


def _mark(session: str) -> str:
    return hashlib.sha256(f"voucher:{session}".encode()).hexdigest()[:32]


def good_for(conn: sa.Connection, name: str, made: str, permission: str, workspace: str, now: Micros) -> Actor:
    """Whoever made the voucher, with the role that they have now; NotAllowed when it is good for nothing any more."""
    try:
        person = accounts.find(conn, name.partition("/")[0])
    except NotFound:
        raise NotAllowed(f"nobody called {name[:80]!r} is known here any more; ask for a new link") from None
    role = person.roles.get(workspace) if person.disabled_at is None else None
    if role is None or permission not in PERMISSIONS[role]:
        raise NotAllowed(f"{person.name} made this and may not {permission} there any more; ask for a new one")
    if not _lives(conn, person, made, now):
        raise NotAllowed("the token or the login that this was made with is over; ask for a new one")
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
