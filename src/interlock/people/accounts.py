"""Accounts: people and their roles. The installation always has at least one owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import InvalidData, NotFound
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.people import actions, names, sessions, tokens, workspaces
from interlock.people.changes import CHANGED
from interlock.people.errors import LastOwner, NameTaken, NotAllowed
from interlock.people.principal import OPERATORS
from interlock.people.roles import PERMISSIONS, Role
from interlock.store import Micros
from interlock.store.service_tables import membership as M
from interlock.store.service_tables import person as P
from interlock.store.sql import upsert

LONGEST_EMAIL = 254


@dataclass(frozen=True, slots=True)
class Person:
    """A person with an account. A disabled person cannot log in; the account stays because histories name it."""

    id: UUID
    name: str
    email: str | None
    created_at: Micros
    disabled_at: Micros | None
    has_password: bool
    roles: Mapping[str, Role] = field(hash=False)


# -- reading


def get(conn: sa.Connection, person_id: UUID) -> Person:
    found = _read(conn, P.c.id == person_id)
    if not found:
        raise NotFound(f"there is no person {person_id}")
    return found[0]


def find(conn: sa.Connection, name: str) -> Person:
    """The person with this name, ignoring case."""
    found = _read(conn, sa.func.lower(P.c.name) == name.lower()) if names.is_name(name) else []
    if not found:
        raise NotFound(f"there is nobody called {name[:80]!r}; see: interlock user list")
    return found[0]


def everyone(conn: sa.Connection, workspace: str | None = None) -> list[Person]:
    """All people, or the members of one workspace, by name."""
    if workspace is None:
        return _read(conn)
    return _read(conn, P.c.id.in_(sa.select(M.c.person_id).where(M.c.workspace == workspace)))


def first_owner(conn: sa.Connection) -> Person | None:
    """The owner of the installation who was added first and is not disabled."""
    owners = _read(conn, P.c.disabled_at.is_(None), P.c.id.in_(_owners()))
    return min(owners, key=lambda person: (person.created_at, person.id), default=None)


def kept_password(conn: sa.Connection, name: str) -> tuple[UUID, str, str | None] | None:
    """The id, name and password hash of a person who may log in with this name."""
    if not names.is_name(name):
        return None
    query = sa.select(P.c.id, P.c.name, P.c.password).where(
        sa.func.lower(P.c.name) == name.lower(), P.c.disabled_at.is_(None)
    )
    row = conn.execute(query).first()
    return (row[0], row[1], row[2]) if row is not None else None


def _owners() -> sa.Select[Any]:
    return sa.select(M.c.person_id).where(M.c.workspace == OPERATORS, M.c.role == Role.OWNER.value)


def _read(conn: sa.Connection, *where: sa.ColumnElement[bool]) -> list[Person]:
    rows = conn.execute(sa.select(P).where(*where).order_by(sa.func.lower(P.c.name))).all()
    roles: dict[UUID, dict[str, Role]] = {row.id: {} for row in rows}
    query = sa.select(M.c.person_id, M.c.workspace, M.c.role).where(_of(list(roles))).order_by(M.c.workspace)
    for person_id, workspace, role in conn.execute(query):
        if person_id in roles:
            roles[person_id][workspace] = Role(role)
    return [
        Person(r.id, r.name, r.email, r.created_at, r.disabled_at, r.password is not None, roles[r.id]) for r in rows
    ]


def _of(people: Sequence[UUID]) -> sa.ColumnElement[bool]:
    """Filter by id for a few people; select all for many, because a statement takes a limited number of parameters."""
    return M.c.person_id.in_(people) if len(people) <= 500 else sa.true()


# -- changes


def add(
    unit: Unit,
    name: str,
    *,
    role: Role,
    by: Actor,
    password: str | None = None,
    email: str | None = None,
    workspace: str = OPERATORS,
) -> Person:
    """Add a person to a workspace; `password` is a hash. The first person must be the installation's owner."""
    names.checked(name, "person")
    _check_email(email)
    workspaces.ensure_first(unit)
    workspaces.require(unit.conn, workspace)
    taken = unit.conn.execute(sa.select(P.c.name).where(sa.func.lower(P.c.name) == name.lower())).scalar()
    if taken is not None:
        raise NameTaken(f"there is a person {taken!r} already; choose another name, or give {taken!r} a role")
    agent = tokens.agent_called(unit.conn, name)
    if agent is not None:
        raise NameTaken(f"there is an agent {agent!r}; choose another name, so that histories stay clear")
    if first_owner(unit.conn) is None and (workspace, role) != (OPERATORS, Role.OWNER):
        raise NotAllowed(
            f"nobody owns this installation yet, so {name!r} has to be an owner of {OPERATORS!r}, not {role.value} "
            f"of {workspace!r}; add the owner first"
        )
    made = uuid7()
    unit.conn.execute(sa.insert(P).values(id=made, name=name, email=email, password=password, created_at=unit.now))
    unit.conn.execute(sa.insert(M).values(workspace=workspace, person_id=made, role=role.value, at=unit.now))
    actions.record(
        unit,
        by,
        "user_added",
        name,
        workspace=workspace,
        details={"role": role.value, "email": email, "password": password is not None},
    )
    return get(unit.conn, made)


def set_role(unit: Unit, person_id: UUID, role: Role, workspace: str, by: Actor) -> Person:
    """Give a person a role in a workspace, replacing their previous role.

    If the new role cannot manage, the agents' tokens that they created in the workspace are revoked.
    """
    person = _locked(unit, person_id)
    workspaces.require(unit.conn, workspace)
    before = person.roles.get(workspace)
    if before is role:
        return person
    if workspace == OPERATORS and role is not Role.OWNER:
        _leaves_an_owner(unit, person, f"made a {role.value}")
    made = upsert(M).values(workspace=workspace, person_id=person_id, role=role.value, at=unit.now)
    unit.conn.execute(
        made.on_conflict_do_update(index_elements=[M.c.workspace, M.c.person_id], set_={"role": role.value})
    )
    unit.ready.add(CHANGED)
    details: dict[str, Any] = {"role": role.value, "before": before.value if before else None}
    if before is not None and "manage" in PERMISSIONS[before] - PERMISSIONS[role]:
        details["tokens"] = tokens.revoke_made(unit, person_id, workspace, by) or None
    actions.record(unit, by, "role_set", person.name, workspace=workspace, details=details)
    return get(unit.conn, person_id)


def leave(unit: Unit, person_id: UUID, workspace: str, by: Actor) -> Person:
    """Remove a person from a workspace and revoke their tokens for it."""
    person = _locked(unit, person_id)
    if workspace not in person.roles:
        raise NotFound(f"{person.name} is not in workspace {workspace[:80]!r}")
    if workspace == OPERATORS:
        _leaves_an_owner(unit, person, "taken out")
    unit.conn.execute(sa.delete(M).where(M.c.workspace == workspace, M.c.person_id == person_id))
    revoked = tokens.revoke_all(unit, person_id, by, workspace=workspace)
    details = {"role": person.roles[workspace].value, "tokens": revoked}
    actions.record(unit, by, "left", person.name, workspace=workspace, details=details)
    return get(unit.conn, person_id)


def set_password(unit: Unit, person_id: UUID, password: str, by: Actor, *, keep: str | None = None) -> Person:
    """Set the password hash. All sessions and links end, except the session whose hash is `keep`."""
    person = _locked(unit, person_id)
    unit.conn.execute(sa.update(P).where(P.c.id == person_id).values(password=password))
    ended = sessions.end_sessions(unit, person_id, keep=keep)
    actions.record(unit, by, "password_set", person.name, details={"sessions": ended})
    return get(unit.conn, person_id)


def renew_password(unit: Unit, person_id: UUID, before: str, after: str) -> None:
    """Replace the hash of an unchanged password with one made with the current parameters."""
    unit.conn.execute(sa.update(P).where(P.c.id == person_id, P.c.password == before).values(password=after))


def disable(unit: Unit, person_id: UUID, by: Actor) -> Person:
    """Disable a person: sessions end, tokens are revoked and login links become invalid."""
    person = _locked(unit, person_id)
    if person.disabled_at is not None:
        return person
    _leaves_an_owner(unit, person, "disabled")
    unit.conn.execute(sa.update(P).where(P.c.id == person_id).values(disabled_at=unit.now))
    details = {"sessions": sessions.end_sessions(unit, person_id), "tokens": tokens.revoke_all(unit, person_id, by)}
    actions.record(unit, by, "user_disabled", person.name, details=details)
    return get(unit.conn, person_id)


def enable(unit: Unit, person_id: UUID, by: Actor) -> Person:
    """Enable a person again. Revoked tokens stay revoked."""
    person = _locked(unit, person_id)
    if person.disabled_at is None:
        return person
    unit.conn.execute(sa.update(P).where(P.c.id == person_id).values(disabled_at=None))
    actions.record(unit, by, "user_enabled", person.name)
    return get(unit.conn, person_id)


def _locked(unit: Unit, person_id: UUID) -> Person:
    workspaces.lock(unit)
    return get(unit.conn, person_id)


def _leaves_an_owner(unit: Unit, person: Person, what: str) -> None:
    if person.roles.get(OPERATORS) is not Role.OWNER or person.disabled_at is not None:
        return
    others = sa.select(P.c.id).where(P.c.id.in_(_owners()), P.c.disabled_at.is_(None), P.c.id != person.id).limit(1)
    if unit.conn.execute(others).first() is None:
        raise LastOwner(
            f"{person.name} is the last owner of workspace {OPERATORS!r} and cannot be {what}; "
            "make somebody else an owner first"
        )


def _check_email(email: str | None) -> None:
    if email is None:
        return
    local, at, domain = email.rpartition("@")
    if not (at and local and domain and len(email) <= LONGEST_EMAIL and email.isprintable() and " " not in email):
        raise InvalidData(f"{email[:80]!r} is not a mail address; write it as ann@example.org")
