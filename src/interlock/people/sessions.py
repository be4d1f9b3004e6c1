"""Login sessions, identified by a cookie. Stored as a hash; they end after 14 days, or after a day without use."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote
from uuid import UUID

import sqlalchemy as sa

from interlock.engine.text import shortened
from interlock.engine.unit import Unit
from interlock.machine import USER, Actor
from interlock.people import actions, workspaces
from interlock.people.changes import CHANGED
from interlock.people.errors import NotAuthenticated
from interlock.people.hashing import digest, new_secret
from interlock.people.principal import Principal
from interlock.people.roles import Role
from interlock.store import SECOND, Micros, span
from interlock.store.prepared import Prepared
from interlock.store.service_tables import login_link as K
from interlock.store.service_tables import login_session as S
from interlock.store.service_tables import membership as M
from interlock.store.service_tables import person as P

if TYPE_CHECKING:
    from interlock.people.accounts import Person

SESSION_LIFETIME = span(timedelta(days=14))
IDLE = span(timedelta(hours=24))
NOTED_EVERY = 60 * SECOND
LINK_LIVES = span(timedelta(hours=1))
LINK_PATH = "/login?link="

_BY_HASH = Prepared(
    sa.select(S.c.person_id, S.c.seen_at, S.c.until, S.c.ended_at, P.c.name, P.c.disabled_at, M.c.workspace, M.c.role)
    .join(P, P.c.id == S.c.person_id)
    .outerjoin(M, M.c.person_id == S.c.person_id)
    .where(S.c.hash == sa.bindparam("hash"))
)


class _SessionCaller(NamedTuple):
    """A row of `_BY_HASH`, one for each workspace."""

    person_id: UUID
    seen_at: Micros
    until: Micros
    ended_at: Micros | None
    name: str
    disabled_at: Micros | None
    workspace: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class Login:
    """A new session. The secret goes into the cookie and is stored nowhere."""

    secret: str
    csrf: str
    until: Micros
    person: Person


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A session as shown to its person."""

    hash: str
    person_id: UUID
    created_at: Micros
    seen_at: Micros
    until: Micros
    address: str
    browser: str


@dataclass(frozen=True, slots=True)
class SessionUse:
    """The caller of a session, and whether it is time to record its use."""

    principal: Principal
    to_note: bool


def begin(unit: Unit, person_id: UUID, name: str, *, address: str, browser: str, how: str) -> tuple[str, Micros]:
    """Start a session and return its secret and expiry. The caller has checked that the person may log in."""
    secret, until = new_secret(), unit.now + SESSION_LIFETIME
    where = {"address": shortened(address, 100), "browser": shortened(browser, 200)}
    unit.conn.execute(
        sa.insert(S).values(
            hash=digest(secret), person_id=person_id, created_at=unit.now, seen_at=unit.now, until=until, **where
        )
    )
    actions.record(unit, Actor(USER, name), "login", name, details={**where, "by": how})
    return secret, until


def by_secret(conn: sa.Connection, secret: str, now: Micros) -> SessionUse:
    """The caller of a session, with their current roles."""
    return by_hash(conn, digest(secret), now)


def by_hash(conn: sa.Connection, hashed: str, now: Micros) -> SessionUse:
    """Like `by_secret`, for a known hash of the secret."""
    rows = [_SessionCaller(*row) for row in _BY_HASH.rows(conn, hash=hashed)]
    first = rows[0] if rows else None
    if (
        first is None
        or first.ended_at is not None
        or first.disabled_at is not None
        or first.until <= now
        or first.seen_at <= now - IDLE
    ):
        raise NotAuthenticated("you are not logged in or your session has ended; log in again")
    roles = {row.workspace: Role(row.role) for row in rows if row.workspace is not None and row.role is not None}
    who = Principal("person", first.name, first.person_id, roles=roles, session=hashed)
    return SessionUse(who, first.seen_at <= now - NOTED_EVERY)


def note_seen(unit: Unit, hashed: str) -> None:
    """Record that the session was used. Of simultaneous requests, one does it."""
    old = S.c.seen_at <= unit.now - NOTED_EVERY
    unit.conn.execute(sa.update(S).where(S.c.hash == hashed, S.c.ended_at.is_(None), old).values(seen_at=unit.now))


def of(conn: sa.Connection, person_id: UUID, now: Micros) -> list[LoginSession]:
    """A person's sessions, newest first."""
    query = (
        sa.select(S.c.hash, S.c.person_id, S.c.created_at, S.c.seen_at, S.c.until, S.c.address, S.c.browser)
        .where(S.c.person_id == person_id, S.c.ended_at.is_(None), S.c.until > now, S.c.seen_at > now - IDLE)
        .order_by(S.c.created_at.desc(), S.c.hash)
    )
    return [LoginSession(*row) for row in conn.execute(query)]


def end(unit: Unit, secret: str) -> bool:
    """Log out. False if there was no session."""
    query = (
        sa.update(S)
        .where(S.c.hash == digest(secret), S.c.ended_at.is_(None))
        .values(ended_at=unit.now)
        .returning(S.c.person_id)
    )
    person_id = unit.conn.execute(query).scalar()
    if person_id is None:
        return False
    unit.ready.add(CHANGED)
    name = unit.conn.execute(sa.select(P.c.name).where(P.c.id == person_id)).scalar_one()
    actions.record(unit, Actor(USER, name), "logout", name)
    return True


def end_all(unit: Unit, person_id: UUID, by: Actor, *, keep: str | None = None) -> int:
    """Log a person out everywhere and delete their links, except the session whose hash is `keep`. Returns how many
    ended.
    """
    workspaces.lock(unit)
    ended = end_sessions(unit, person_id, keep=keep)
    if ended:
        name = unit.conn.execute(sa.select(P.c.name).where(P.c.id == person_id)).scalar_one()
        actions.record(unit, by, "sessions_ended", name, details={"sessions": ended})
    return ended


def end_sessions(unit: Unit, person_id: UUID, *, keep: str | None = None) -> int:
    """Like `end_all`, but the caller records the action."""
    unit.ready.add(CHANGED)
    unit.conn.execute(sa.delete(K).where(K.c.person_id == person_id))
    theirs = [S.c.person_id == person_id, S.c.ended_at.is_(None)]
    if keep is not None:
        theirs.append(S.c.hash != keep)
    return unit.conn.execute(sa.update(S).where(*theirs).values(ended_at=unit.now)).rowcount


# -- protection against cross-site request forgery


def csrf_of(secret: str) -> str:
    """Derive the CSRF value from the session's secret: nothing needs storing, and it reveals nothing."""
    return hmac.new(_bytes(secret), b"csrf", hashlib.sha256).hexdigest()


def check_csrf(secret: str, given: str) -> bool:
    """Compare a form's CSRF value in constant time."""
    return hmac.compare_digest(_bytes(csrf_of(secret)), _bytes(given))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# -- one-time login links


def make_link(unit: Unit, person_id: UUID, name: str, by: Actor) -> str:
    """Create a link secret that logs this person in, once, within an hour."""
    secret = new_secret()
    unit.conn.execute(sa.insert(K).values(hash=digest(secret), person_id=person_id, until=unit.now + LINK_LIVES))
    actions.record(unit, by, "login_link_made", name)
    return secret


def use_link(unit: Unit, secret: str) -> UUID:
    """Consume a link and return its person."""
    query = sa.delete(K).where(K.c.hash == digest(secret), K.c.until > unit.now).returning(K.c.person_id)
    person_id = unit.conn.execute(query).scalar()
    if person_id is None:
        raise NotAuthenticated(
            "this link is invalid: it was used, is older than an hour or is mistyped; ask for a new one, "
            "or run: interlock login-link"
        )
    found: UUID = person_id
    return found


def link_address(url: str, secret: str) -> str:
    """The URL to open in a browser."""
    return url.rstrip("/") + LINK_PATH + quote(secret, safe="")
