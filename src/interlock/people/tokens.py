"""API tokens. A secret is shown once, when the token is created; only its hash is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import InvalidData, NotFound
from interlock.engine.text import canonical
from interlock.engine.unit import Unit
from interlock.engine.values import anything
from interlock.machine import OWNER, USER, Actor
from interlock.people import actions, names, workspaces
from interlock.people.changes import CHANGED
from interlock.people.errors import NameTaken, NotAllowed, NotAuthenticated, WeakSecret, WrongScope
from interlock.people.hashing import digest, new_secret
from interlock.people.principal import Kind, Principal
from interlock.people.roles import Role, parse_scopes
from interlock.store import Micros
from interlock.store.prepared import Prepared
from interlock.store.service_tables import membership as M
from interlock.store.service_tables import person as P
from interlock.store.service_tables import token as T

PREFIX = "il_"
SHORTEST_SECRET, LONGEST_SECRET = 16, 200

_SHOWN = (
    T.c.id,
    T.c.workspace,
    T.c.name,
    T.c.kind,
    T.c.person_id,
    T.c.scopes,
    T.c.hint,
    T.c.created_at,
    T.c.created_by,
    T.c.used_at,
    T.c.until,
    T.c.revoked_at,
    T.c.revoked_by,
)
_WHO = (
    sa.select(
        T.c.id,
        T.c.workspace,
        T.c.name,
        T.c.kind,
        T.c.person_id,
        T.c.scopes,
        T.c.until,
        T.c.revoked_at,
        P.c.name.label("person"),
        P.c.disabled_at,
        M.c.role,
    )
    .outerjoin(P, P.c.id == T.c.person_id)
    .outerjoin(M, sa.and_(M.c.person_id == T.c.person_id, M.c.workspace == T.c.workspace))
)
_BY_HASH = Prepared(_WHO.where(T.c.hash == sa.bindparam("hash")))
_BY_ID = Prepared(_WHO.where(T.c.id == sa.bindparam("token", type_=sa.Uuid)))


class _TokenCaller(NamedTuple):
    """A row of `_WHO`."""

    id: UUID
    workspace: str
    name: str
    kind: str
    person_id: UUID | None
    scopes: str
    until: Micros | None
    revoked_at: Micros | None
    person: str | None
    disabled_at: Micros | None
    role: str | None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as shown to people: with the last characters of its secret, never the whole."""

    id: UUID
    workspace: str
    name: str
    kind: Kind
    person_id: UUID | None
    scopes: tuple[str, ...]
    hint: str
    created_at: Micros
    created_by: str
    used_at: Micros | None
    until: Micros | None
    revoked_at: Micros | None
    revoked_by: str | None

    def live(self, now: Micros) -> bool:
        return self.revoked_at is None and (self.until is None or self.until > now)


def create(
    unit: Unit,
    workspace: str,
    name: str,
    *,
    kind: Kind,
    by: Actor,
    person_id: UUID | None = None,
    scopes: Iterable[str] = (),
    until: Micros | None = None,
    secret: str | None = None,
) -> tuple[TokenRow, str]:
    """Create a token. A person's token follows that person's role in the workspace; an agent's token has scopes."""
    names.checked(name, "token")
    workspaces.lock(unit)
    workspaces.require(unit.conn, workspace)
    given = parse_scopes(scopes, unit.core.registry.scopes)
    if until is not None and until <= unit.now:
        raise InvalidData(f"token {name!r} would already be expired; give a later time")
    if kind == "person":
        _check_person(unit, name, person_id, given, workspace)
    elif kind == "agent":
        _check_agent(name, person_id, given)
        _check_no_person(unit, name)
    else:
        raise InvalidData(f"a token's kind is person or agent, not {kind!r}")
    _check_free(unit, workspace, name, person_id)
    secret = _chosen(secret) if secret is not None else new_secret(PREFIX)
    made = uuid7()
    unit.conn.execute(
        sa.insert(T).values(
            id=made,
            workspace=workspace,
            name=name,
            kind=kind,
            person_id=person_id,
            scopes=canonical(sorted(given)),
            hash=digest(secret),
            hint=secret[-4:],
            created_at=unit.now,
            created_by=str(by),
            until=until,
        )
    )
    details = {"id": str(made), "kind": kind, "scopes": sorted(given) or None, "until": until}
    actions.record(unit, by, "token_created", name, workspace=workspace, details=details)
    return get(unit.conn, made), secret


def _check_person(unit: Unit, name: str, person_id: UUID | None, scopes: frozenset[str], workspace: str) -> None:
    if person_id is None:
        raise InvalidData(f"token {name!r} acts as a person; name the person, or create an agent's token")
    if scopes:
        raise WrongScope(f"token {name!r} follows its person's role and takes no scopes; leave them out")
    query = sa.select(P.c.name, P.c.disabled_at, M.c.role).where(P.c.id == person_id)
    row = unit.conn.execute(query.outerjoin(M, sa.and_(M.c.person_id == P.c.id, M.c.workspace == workspace))).first()
    if row is None:
        raise NotFound(f"there is no person {person_id}")
    if row.disabled_at is not None:
        raise NotAllowed(f"{row.name} is disabled and cannot get a token; enable them first")
    if row.role is None:
        raise NotAllowed(f"{row.name} is not in workspace {workspace!r}; give them a role there first")


def _check_agent(name: str, person_id: UUID | None, scopes: frozenset[str]) -> None:
    if person_id is not None:
        raise InvalidData(f"token {name!r} is an agent's and belongs to no person; leave the person out")
    if not scopes:
        raise WrongScope(f"token {name!r} has no scopes; give it one, such as read")


def _check_no_person(unit: Unit, name: str) -> None:
    """Make sure that a history never confuses an agent with a person."""
    taken = unit.conn.execute(sa.select(P.c.name).where(sa.func.lower(P.c.name) == name.lower())).scalar()
    if taken is not None:
        raise NameTaken(f"there is a person {taken!r}; choose another name, so that histories stay clear")


def agent_called(conn: sa.Connection, name: str) -> str | None:
    """The agent that has or had this name, ignoring case. Histories name it."""
    query = sa.select(T.c.name).where(T.c.kind == "agent", sa.func.lower(T.c.name) == name.lower()).limit(1)
    found: str | None = conn.execute(query).scalar()
    return found


def _check_free(unit: Unit, workspace: str, name: str, person_id: UUID | None) -> None:
    """Histories name tokens by name, so two live tokens of one owner must not share a name."""
    same = [T.c.workspace == workspace, sa.func.lower(T.c.name) == name.lower(), T.c.revoked_at.is_(None)]
    same.append(T.c.person_id.is_(None) if person_id is None else T.c.person_id == person_id)
    same.append(sa.or_(T.c.until.is_(None), T.c.until > unit.now))
    taken = unit.conn.execute(sa.select(T.c.id).where(*same)).scalar()
    if taken is not None:
        raise NameTaken(f"there is a token {name!r} already, {taken}; revoke it first, or choose another name")


def _chosen(secret: str) -> str:
    """Check a secret from outside, such as INTERLOCK_TOKEN: hard to guess, and valid in a header."""
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET:
        raise WeakSecret(
            f"a token's secret has {SHORTEST_SECRET} to {LONGEST_SECRET} characters, this one has {len(secret)}; "
            'make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise WeakSecret("a token's secret may only contain ASCII letters, digits and punctuation, without spaces")
    return secret


def revoke(unit: Unit, token_id: UUID, by: Actor) -> TokenRow:
    """Revoke a token and all tokens created with it, effective at the commit. Revoking again changes nothing."""
    workspaces.lock(unit)
    found = get(unit.conn, token_id)
    if found.revoked_at is not None:
        return found
    revoked = _revoke_with_heirs(unit, [found], by)
    details = {"id": str(token_id), "made_with_it": revoked - 1 or None}
    actions.record(unit, by, "token_revoked", found.name, workspace=found.workspace, details=details)
    return get(unit.conn, token_id)


def revoke_all(unit: Unit, person_id: UUID, by: Actor, *, workspace: str | None = None) -> int:
    """Revoke all tokens of a person and return how many. The caller holds the lock and records the action."""
    theirs = [T.c.person_id == person_id, T.c.revoked_at.is_(None)]
    if workspace is not None:
        theirs.append(T.c.workspace == workspace)
    return _revoke_with_heirs(unit, [_read(row) for row in unit.conn.execute(sa.select(*_SHOWN).where(*theirs))], by)


def revoke_made(unit: Unit, person_id: UUID, workspace: str, by: Actor) -> int:
    """Like `revoke_all`, for the agents' tokens in a workspace that were created with this person's tokens."""
    theirs = sa.select(*_SHOWN).where(T.c.person_id == person_id, T.c.workspace == workspace)
    makers = [_read(row) for row in unit.conn.execute(theirs)]
    made = {heir.id: heir for maker in makers for heir in _made_with(unit, maker) if heir.kind == "agent"}
    return _revoke_with_heirs(unit, list(made.values()), by) if made else 0


def _revoke_with_heirs(unit: Unit, first: list[TokenRow], by: Actor) -> int:
    """Revoke these tokens and all tokens created with them, so that a stolen token leaves nothing behind."""
    known = {one.id for one in first}
    todo = list(first)
    while todo:
        for heir in _made_with(unit, todo.pop()):
            if heir.id not in known:
                known.add(heir.id)
                todo.append(heir)
    ids = sorted(known)
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        values = {"revoked_at": unit.now, "revoked_by": str(by)}
        unit.conn.execute(sa.update(T).where(T.c.id.in_(some), T.c.revoked_at.is_(None)).values(**values))
    unit.ready.add(CHANGED)
    return len(known)


def _made_with(unit: Unit, maker: TokenRow) -> list[TokenRow]:
    """The live tokens created with this one. Its name was unique while it was valid."""
    if maker.person_id is None:
        return []  # an agent cannot create tokens
    person = unit.conn.execute(sa.select(P.c.name).where(P.c.id == maker.person_id)).scalar_one()
    names = [str(Actor(kind, f"{person}/{maker.name}")) for kind in (USER, OWNER)]
    query = sa.select(*_SHOWN).where(
        T.c.workspace == maker.workspace,
        T.c.created_by.in_(names),
        T.c.created_at >= maker.created_at,
        T.c.revoked_at.is_(None),
    )
    if maker.until is not None:
        query = query.where(T.c.created_at < maker.until)
    return [_read(row) for row in unit.conn.execute(query)]


def get(conn: sa.Connection, token_id: UUID) -> TokenRow:
    row = conn.execute(sa.select(*_SHOWN).where(T.c.id == token_id)).first()
    if row is None:
        raise NotFound(f"there is no token {token_id}")
    return _read(row)


def every(conn: sa.Connection, workspace: str | None = None) -> list[TokenRow]:
    """The tokens of a workspace, or all tokens, newest first, including revoked ones."""
    query = sa.select(*_SHOWN).order_by(T.c.id.desc())
    if workspace is not None:
        query = query.where(T.c.workspace == workspace)
    return [_read(row) for row in conn.execute(query)]


def _scopes(stored: str) -> tuple[str, ...]:
    """The token's scopes; none if the stored value cannot be read."""
    found = anything(stored)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _read(row: sa.Row[*tuple[Any, ...]]) -> TokenRow:
    values = dict(row._mapping)
    values["scopes"] = _scopes(values["scopes"])
    return TokenRow(**values)


def by_secret(conn: sa.Connection, secret: str, now: Micros) -> Principal:
    """Authenticate a token and return its caller with their current permissions."""
    return _principal(_BY_HASH.first(conn, hash=digest(secret)), now)


def by_id(conn: sa.Connection, token_id: UUID, now: Micros) -> Principal:
    """The current caller of this token. Raises NotAuthenticated if it is no longer valid."""
    return _principal(_BY_ID.first(conn, token=token_id), now)


def _principal(found: tuple[Any, ...] | None, now: Micros) -> Principal:
    row = None if found is None else _TokenCaller(*found)
    if row is not None and row.revoked_at is None and (row.until is None or row.until > now):
        if row.kind == "agent":
            scopes = frozenset(_scopes(row.scopes))
            return Principal("agent", row.name, token_id=row.id, workspace=row.workspace, scopes=scopes)
        if row.person is not None and row.disabled_at is None and row.role is not None:
            roles = {row.workspace: Role(row.role)}
            return Principal("person", row.person, row.person_id, token_id=row.id, roles=roles, through=row.name)
    # One message for all cases, so that a stranger does not learn which tokens exist.
    raise NotAuthenticated("this token is invalid: it is mistyped, expired or revoked; ask for a new one")


def note_use(unit: Unit, token_ids: Iterable[UUID]) -> int:
    """Record that these tokens were just used and return how many. Rows locked by another process are skipped."""
    wanted = sorted(set(token_ids))
    pick = sa.select(T.c.id).where(T.c.id.in_(wanted)).order_by(T.c.id).with_for_update(skip_locked=True)
    found = list(unit.conn.execute(pick).scalars()) if wanted else []
    if found:
        unit.conn.execute(sa.update(T).where(T.c.id.in_(found)).values(used_at=unit.now))
    return len(found)
