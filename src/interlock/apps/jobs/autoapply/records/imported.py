"""Imported applications: known by their role at their company, because an opening has other addresses elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.records.applications import IMPORTED
from interlock.apps.jobs.finder.identity.keys import group_key
from interlock.apps.jobs.tables import applied as T
from interlock.store import moment

ROLE = "role:"
"""How the number of an imported application begins; the rest is a hash of its role at its company."""


def role_key(company: str | None, title: str | None) -> str | None:
    """The number that an imported application for this role has; None where company or title is unknown."""
    return role_number(group_key(company, title))


def imported_before(conn: sa.Connection, workspace: str, group_keys: Iterable[str | None]) -> str | None:
    """How one of these roles was applied for elsewhere, as was imported; None if it was not."""
    roles = [number for one in group_keys if (number := role_number(one))]
    if not roles:
        return None
    mine = (T.c.workspace == workspace, T.c.origin == IMPORTED, T.c.job_id.in_(roles))
    found = conn.execute(sa.select(T.c.id, T.c.submitted_at).where(*mine).order_by(T.c.id).limit(1)).first()
    if found is None:
        return None
    day = f" on {moment(found.submitted_at):%Y-%m-%d}" if found.submitted_at is not None else ""
    return f"applied for this role at this company{day}, as was imported: application {found.id}"


def role_number(group_key: str | None) -> str | None:
    """The same of a posting's key for its role at its company."""
    if not group_key:
        return None
    return f"{ROLE}{sha256(group_key.encode('utf-8', 'replace')).hexdigest()[:32]}"
