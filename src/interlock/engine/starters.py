"""Starters: whoever began something that goes on by itself, such as a bulk action, and whether they still may.

What goes on in somebody's name ends with their rights: when they are disabled, when they lose the role that they had in
a workspace that it touches, and when the token is over that it was begun with.
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
    """A person, the token that they used, and for each workspace the roles of which they need one."""

    person: UUID
    token: UUID | None
    roles: Mapping[str, Sequence[str]]

    def as_values(self) -> dict[str, Any]:
        """Plain values, as they are stored."""
        token = str(self.token) if self.token is not None else None
        return {"person": str(self.person), "token": token, "roles": {w: list(r) for w, r in self.roles.items()}}


def lost(conn: sa.Connection, kept: Any, now: Micros) -> str:
    """Why whoever is kept there may not go on; nothing where they may, or where nobody is kept."""
    if kept is None:
        return ""
    try:
        token = UUID(kept["token"]) if kept["token"] is not None else None
        starter = Starter(UUID(kept["person"]), token, {str(w): list(r) for w, r in kept["roles"].items()})
    except (KeyError, TypeError, ValueError, AttributeError):
        return "whoever started it cannot be read"
    return _lost(conn, starter, now)


def _lost(conn: sa.Connection, starter: Starter, now: Micros) -> str:
    person = conn.execute(sa.select(P.c.name, P.c.disabled_at).where(P.c.id == starter.person)).first()
    if person is None or person.disabled_at is not None:
        return "whoever started it is disabled"
    if starter.token is not None:
        token = conn.execute(sa.select(T.c.until, T.c.revoked_at).where(T.c.id == starter.token)).first()
        if token is None or token.revoked_at is not None or (token.until is not None and token.until <= now):
            return f"the token that {person.name} started it with is over"
    roles = {row.workspace: row.role for row in conn.execute(sa.select(M).where(M.c.person_id == starter.person))}
    for workspace, enough in sorted(starter.roles.items()):
        if roles.get(workspace) not in enough:
            return f"{person.name}, who started it, has not the role in workspace {workspace!r} any more that it needs"
    return ""
