"""Sessions: how they begin, are found, listed, forked and hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.conversation.naming import UNTITLED, branch_of, title_of
from interlock.apps.sessions.machine import session
from interlock.apps.sessions.tables import session_index as X
from interlock.engine import Instance, InvalidData, NotFound
from interlock.engine.application import Unit, change, create, find, instances
from interlock.machine import Actor
from interlock.store import Micros

ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A session in the list."""

    session_id: UUID
    workspace: str
    user_id: str
    repo: str
    parent_id: UUID | None
    after_run: str | None
    created_at: Micros
    deleted_at: Micros | None


def begin(
    unit: Unit,
    workspace: str,
    actor: Actor,
    user_id: str,
    *,
    repo: str,
    target_branch: str,
    prompt: str = "",
    title: str = "",
    agent: str = "",
    parent: UUID | None = None,
    data: Mapping[str, Any] | None = None,
) -> Instance:
    """Create a session that waits in `pending` until a prompt starts it."""
    named = title_of(title) if title else title_of(prompt) if prompt else UNTITLED
    made = create(
        unit,
        session,
        {
            "user_id": user_id,
            "title": named,
            "repo": repo,
            "target_branch": target_branch,
            "agent": agent,
            "parent_session": str(parent) if parent else None,
            **(data or {}),
        },
        actor,
        workspace=workspace,
        labels={"repo": repo[:200]} if repo else None,
        unstarted=True,
        by_application=True,
    )
    change(unit, made, {"branch": branch_of(named, made.id)}, actor)
    unit.insert(
        X,
        instance_id=made.id,
        workspace=workspace,
        user_id=user_id,
        repo=repo,
        parent_id=parent,
        created_at=unit.now,
    )
    return made


def entry(conn: sa.Connection, session_id: UUID) -> IndexEntry | None:
    row = conn.execute(sa.select(X).where(X.c.instance_id == session_id)).first()
    return _read(row) if row is not None else None


def entries(conn: sa.Connection, session_ids: Sequence[UUID]) -> dict[UUID, IndexEntry]:
    rows = conn.execute(sa.select(X).where(X.c.instance_id.in_(session_ids)))
    return {row.instance_id: _read(row) for row in rows}


def _read(row: Any) -> IndexEntry:
    return IndexEntry(
        row.instance_id,
        row.workspace,
        row.user_id,
        row.repo,
        row.parent_id,
        row.after_run,
        row.created_at,
        row.deleted_at,
    )


def visible(conn: sa.Connection, session_id: UUID, *, deleted: bool = False) -> tuple[Instance, IndexEntry]:
    """A session that is not hidden. NotFound for any other instance."""
    found, listed = find(conn, session_id, machine=session.name), entry(conn, session_id)
    if found is None or listed is None or (listed.deleted_at is not None and not deleted):
        raise NotFound(f"there is no session {session_id}")
    return found, listed


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions to list. Fields that are None or empty do not count."""

    workspaces: Sequence[str]
    states: Sequence[str] = ()
    repo: str | None = None
    user_id: str | None = None
    parent_id: UUID | None = None

    @property
    def query(self) -> sa.Select[tuple[UUID]]:
        query: sa.Select[Any] = sa.select(X.c.instance_id).where(
            X.c.workspace.in_(list(self.workspaces)), X.c.deleted_at.is_(None)
        )
        for column, value in ((X.c.repo, self.repo), (X.c.user_id, self.user_id), (X.c.parent_id, self.parent_id)):
            if value is not None:
                query = query.where(column == value)
        return query


def page(conn: sa.Connection, wanted: SessionFilter, *, before: UUID | None = None, limit: int = 50) -> list[Instance]:
    """Sessions, the newest first."""
    return instances(
        conn,
        session.name,
        states=list(wanted.states) or None,
        among=wanted.query,
        after=before,
        newest_first=True,
        limit=limit,
    )


def set_after_run(unit: Unit, session_id: UUID, what: str | None) -> None:
    """What the system does as soon as the agent has ended."""
    unit.conn.execute(sa.update(X).where(X.c.instance_id == session_id).values(after_run=what))


def hide(unit: Unit, session_id: UUID, by: str) -> None:
    """Take a session out of lists. Its history and its conversation stay."""
    done = unit.conn.execute(
        sa.update(X)
        .where(X.c.instance_id == session_id, X.c.deleted_at.is_(None))
        .values(deleted_at=unit.now, deleted_by=by)
    )
    if not done.rowcount:
        raise NotFound(f"there is no session {session_id}")


def checked_name(value: str, what: str) -> str:
    """A name that goes to git: no option, no way out of its folder."""
    bad = value.startswith(("-", "/", ".")) or value.endswith(("/", ".", ".lock")) or ".." in value or "//" in value
    if bad or not value.isascii() or not value.isprintable() or any(c in value for c in " ~^:?*[\\@{"):
        raise InvalidData(f"{what} {value[:80]!r} cannot be the name of a branch; use letters, digits, /, - and _")
    return value
