"""The seeker's profile, one a workspace. A change of it makes stored postings be filtered and scored again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.tables import profile as P
from interlock.engine import Unreadable
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """The profile of a workspace, and which one it is."""

    workspace: str
    profile: Profile
    digest: str
    changed_by: str
    changed_at: Micros
    file_digest: str | None = None
    digest_sent_at: Micros | None = None


def find(conn: sa.Connection, workspace: str) -> StoredProfile | None:
    """The workspace's profile; None while it has none."""
    row = conn.execute(sa.select(P).where(P.c.workspace == workspace)).first()
    if row is None:
        return None
    return StoredProfile(
        workspace,
        _parsed(row.profile),
        row.digest,
        row.changed_by,
        row.changed_at,
        row.file_digest,
        row.digest_sent_at,
    )


def workspaces(conn: sa.Connection) -> list[str]:
    """The workspaces that have a profile."""
    return list(conn.execute(sa.select(P.c.workspace).order_by(P.c.workspace)).scalars())


def digest_of(conn: sa.Connection, workspace: str) -> str | None:
    """Which profile the workspace has, without reading it."""
    found: str | None = conn.execute(sa.select(P.c.digest).where(P.c.workspace == workspace)).scalar()
    return found


def seeker(conn: sa.Connection, workspace: str) -> tuple[Seeker, str] | None:
    """The profile made ready for filter and match, and its digest; None without a profile."""
    row = conn.execute(sa.select(P.c.profile, P.c.digest).where(P.c.workspace == workspace)).first()
    return (_seeker(row.profile), row.digest) if row is not None else None


def put(unit: Unit, workspace: str, profile: Profile, by: str, *, file_digest: str | None = None) -> bool:
    """Store a profile in place of the one before. False if it is the same."""
    text = json.dumps(profile.model_dump(mode="json", exclude_none=True), ensure_ascii=False, sort_keys=True)
    digest = sha256(text.encode()).hexdigest()
    before = digest_of(unit.conn, workspace)
    values = {"profile": text, "digest": digest, "changed_by": by, "changed_at": unit.now}
    if file_digest is not None:
        values["file_digest"] = file_digest
    if before == digest and file_digest is None:
        return False
    unit.conn.execute(
        upsert(P).values(workspace=workspace, **values).on_conflict_do_update(index_elements=["workspace"], set_=values)
    )
    return before != digest


def remember_digest(unit: Unit, workspace: str) -> None:
    """Note that the daily digest was sent now."""
    unit.conn.execute(sa.update(P).where(P.c.workspace == workspace).values(digest_sent_at=unit.now))


@lru_cache(maxsize=16)
def _parsed(text: str) -> Profile:
    try:
        return Profile.model_validate_json(text)
    except ValidationError as error:
        raise Unreadable(f"the stored profile cannot be read: {error.errors()[0]['msg']}; set it again") from None


@lru_cache(maxsize=16)
def _seeker(text: str) -> Seeker:
    return Seeker(_parsed(text))
