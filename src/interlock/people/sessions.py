"""Login sessions: what a browser's cookie stands for. Kept as a hash, for 14 days, or until a day goes by unused."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
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

_BY_HASH = (
    sa.select(S.c.person_id, S.c.seen_at, S.c.until, S.c.ended_at, P.c.name, P.c.disabled_at, M.c.workspace, M.c.role)
    .join(P, P.c.id == S.c.person_id)
    .outerjoin(M, M.c.person_id == S.c.person_id)
    .where(S.c.hash == sa.bindparam("hash"))
)


@dataclass(frozen=True, slots=True)
class Login:
    """A session that has just begun; the secret goes into the cookie and is nowhere else."""

    secret: str
    csrf: str
    until: Micros
    person: Person


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A session as its owner sees it."""

    hash: str
    person_id: UUID
    created_at: Micros
    seen_at: Micros
    until: Micros
    address: str
    browser: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Who a session belongs to, and whether it is time to write down that it was used."""

    principal: Principal
    to_note: bool


def begin(unit: Unit, person_id: UUID, name: str, *, address: str, browser: str, how: str) -> tuple[str, Micros]:
    """A new session: its secret and its end. The caller has made sure that the person may come in."""
    secret, until = new_secret(), unit.now + SESSION_LIFETIME
    where = {"address": shortened(address, 100), "browser": shortened(browser, 200)}
    unit.conn.execute(
        sa.insert(S).values(
            hash=digest(secret), person_id=person_id, created_at=unit.now, seen_at=unit.now, until=until, **where
        )
    )
    actions.record(unit, Actor(USER, name), "login", name, details={**where, "by": how})
    return secret, until


def by_secret(conn: sa.Connection, secret: str, now: Micros) -> Seen:
    """Whoever is logged in with it, with the roles of this moment."""
    return by_hash(conn, digest(secret), now)


def by_hash(conn: sa.Connection, hashed: str, now: Micros) -> Seen:
    """The same for a session that is known by the hash of its secret."""
    rows = conn.execute(_BY_HASH, {"hash": hashed}).all()
    first = rows[0] if rows else None
    if (
        first is None
        or first.ended_at is not None
        or first.disabled_at is not None
        or first.until <= now
        or first.seen_at <= now - IDLE
    ):
        raise NotAuthenticated("you are not logged in, or your session has ended; log in again")
    roles = {row.workspace: Role(row.role) for row in rows if row.workspace is not None}
    who = Principal("person", first.name, first.person_id, roles=roles, session=hashed)
    return Seen(who, first.seen_at <= now - NOTED_EVERY)


def note_seen(unit: Unit, hashed: str) -> None:
    """Write down that it was used; of many requests at the same moment one does it."""
    old = S.c.seen_at <= unit.now - NOTED_EVERY
    unit.conn.execute(sa.update(S).where(S.c.hash == hashed, S.c.ended_at.is_(None), old).values(seen_at=unit.now))


def of(conn: sa.Connection, person_id: UUID, now: Micros) -> list[LoginSession]:
    """Where a person is logged in, the newest first."""
    query = (
        sa.select(S.c.hash, S.c.person_id, S.c.created_at, S.c.seen_at, S.c.until, S.c.address, S.c.browser)
        .where(S.c.person_id == person_id, S.c.ended_at.is_(None), S.c.until > now, S.c.seen_at > now - IDLE)
        .order_by(S.c.created_at.desc(), S.c.hash)
    )
    return [LoginSession(*row) for row in conn.execute(query)]


def end(unit: Unit, secret: str) -> bool:
    """Log out; False when there was nothing to end."""
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
    """Log a person out everywhere, links included, but not in the session whose hash is `keep`; how many ended."""
    workspaces.lock(unit)
    ended = shut(unit, person_id, keep=keep)
    if ended:
        name = unit.conn.execute(sa.select(P.c.name).where(P.c.id == person_id)).scalar_one()
        actions.record(unit, by, "sessions_ended", name, details={"sessions": ended})
    return ended


def shut(unit: Unit, person_id: UUID, *, keep: str | None = None) -> int:
    """The same as a part of something else, which writes the action."""
    unit.ready.add(CHANGED)
    unit.conn.execute(sa.delete(K).where(K.c.person_id == person_id))
    theirs = [S.c.person_id == person_id, S.c.ended_at.is_(None)]
    if keep is not None:
        theirs.append(S.c.hash != keep)
    return unit.conn.execute(sa.update(S).where(*theirs).values(ended_at=unit.now)).rowcount


# -- against requests that another site makes the browser send


def csrf_of(secret: str) -> str:
    """Follows from the session's secret, so nothing more has to be stored, and tells nothing about it."""
    return hmac.new(_bytes(secret), b"csrf", hashlib.sha256).hexdigest()


def check_csrf(secret: str, given: str) -> bool:
    """Whether a form came from our own page; it takes as long for a wrong value as for the right one."""
    return hmac.compare_digest(_bytes(csrf_of(secret)), _bytes(given))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# -- links that log in once


def make_link(unit: Unit, person_id: UUID, name: str, by: Actor) -> str:
    """The secret of a link that logs this person in, once, within the hour."""
    secret = new_secret()
    unit.conn.execute(sa.insert(K).values(hash=digest(secret), person_id=person_id, until=unit.now + LINK_LIVES))
    actions.record(unit, by, "login_link_made", name)
    return secret


def use_link(unit: Unit, secret: str) -> UUID:
    """Whose link it is; it is used up with that."""
    query = sa.delete(K).where(K.c.hash == digest(secret), K.c.until > unit.now).returning(K.c.person_id)
    person_id = unit.conn.execute(query).scalar()
    if person_id is None:
        raise NotAuthenticated(
            "this link logs nobody in: it was used, is older than an hour or mistyped; ask for a new one, "
            "or run: interlock login-link"
        )
    found: UUID = person_id
    return found


def link_address(url: str, secret: str) -> str:
    """What to open in a browser."""
    return url.rstrip("/") + LINK_PATH + quote(secret, safe="")
