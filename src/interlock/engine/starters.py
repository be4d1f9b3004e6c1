"""Starters: who started a background task such as a bulk action, and whether they still have the right to it.

A task ends with the rights of its starter: when the person is disabled, loses the role in a workspace that the task
touches, or when the token that started it has expired or was revoked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.store import Micros
from interlock.store.service_tables import membership as M
from interlock.store.service_tables import person as P
from interlock.store.service_tables import token as T


@dataclass(frozen=True, slots=True)
class Starter:
    """A person, the token that they used, and for each workspace the roles that are sufficient."""

    person: UUID
    token: UUID | None
    roles: Mapping[str, Sequence[str]]

    def as_values(self) -> dict[str, Any]:
        """Plain values, as they are stored."""
        token = str(self.token) if self.token is not None else None
        return {"person": str(self.person), "token": token, "roles": {w: list(r) for w, r in self.roles.items()}}


def why_stopped(conn: sa.Connection, stored: Any, now: Micros) -> str:
    """Why the starter lost the right to the task; empty if they still have it, or if no starter is stored."""
    if stored is None:
        return ""
    try:
        token = UUID(stored["token"]) if stored["token"] is not None else None
        starter = Starter(UUID(stored["person"]), token, {str(w): list(r) for w, r in stored["roles"].items()})
    except (KeyError, TypeError, ValueError, AttributeError):
        return "whoever started it cannot be read"
    return _missing_right(conn, starter, now)


def _missing_right(conn: sa.Connection, starter: Starter, now: Micros) -> str:
    person = conn.execute(sa.select(P.c.name, P.c.disabled_at).where(P.c.id == starter.person)).first()
    if person is None or person.disabled_at is not None:
        return "whoever started it is disabled"
    if starter.token is not None:
        token = conn.execute(sa.select(T.c.until, T.c.revoked_at).where(T.c.id == starter.token)).first()
        if token is None or token.revoked_at is not None or (token.until is not None and token.until <= now):
            return f"the token that {person.name} started it with is no longer valid"
    roles = {row.workspace: row.role for row in conn.execute(sa.select(M).where(M.c.person_id == starter.person))}
    for workspace, enough in sorted(starter.roles.items()):
        if roles.get(workspace) not in enough:
            return f"{person.name}, who started it, no longer has a sufficient role in workspace {workspace!r}"
    return ""
