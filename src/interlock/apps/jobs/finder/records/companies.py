"""Companies: a row as soon as a name is known, and what was found out about it once it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, get_args
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.finder.companies.tier import PRIORITIES
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.identity.urls import url_key
from interlock.apps.jobs.finder.postings.read_posting import Size
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import company as C
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert

ANALYZING, COMPLETE, INSUFFICIENT, NAMED = "analyzing", "complete", "insufficient", "named"
STATES = (ANALYZING, COMPLETE, INSUFFICIENT, NAMED)
UNKNOWN_PRIORITY = PRIORITIES[None]


class CompanyFacts(TypedDict):
    """What a posting's match wants to know of its company."""

    size: Size | None
    offices: list[str]


def said(size_category: str | None, facts: Mapping[str, Any]) -> CompanyFacts:
    """Its size, its seat, and the seeker's city if its pages name an office there."""
    points = facts.get("points")
    named = [one.get("place") for one in points if isinstance(one, dict)] if isinstance(points, list) else []
    offices = [one for one in (facts.get("headquarters_location"), *named) if isinstance(one, str) and one]
    return {"size": next((one for one in get_args(Size) if one == size_category), None), "offices": offices}


@dataclass(frozen=True, slots=True)
class CompanyRow:
    """A company as it is stored."""

    id: UUID
    workspace: str
    name: str
    website: str | None
    status: str
    """analyzing, complete, insufficient (its pages say too little) or named (known by name alone)."""
    facts: Mapping[str, Any]
    """The specification's record: about, culture, mission, size, …, and `points`, the sum of the tier."""
    size_category: str | None
    tier: str | None
    priority_score: int | None
    job_board_url: str | None
    board_confidence: str | None
    item_id: UUID | None
    tracking_id: str
    spawn_depth: int
    created_at: Micros
    updated_at: Micros
    analyzed_at: Micros | None

    @property
    def said(self) -> CompanyFacts:
        return said(self.size_category, self.facts)

    @property
    def priority(self) -> int:
        """The priority of the work on its sources and postings. Nothing starves: a claim takes some work by age."""
        return next((priority for tier, priority in PRIORITIES.items() if tier == self.tier), UNKNOWN_PRIORITY)


def site_key(website: str | None) -> str | None:
    """The same website has the same key; it is the key of the company's item, too."""
    return url_key(website) if website else None


def find(conn: sa.Connection, workspace: str, company_id: UUID) -> CompanyRow | None:
    return _one(conn, C.c.id == company_id, C.c.workspace == workspace)


def named(conn: sa.Connection, workspace: str, name: str | None) -> CompanyRow | None:
    """The company of that name, whatever its legal form."""
    key = company_key(name)
    return _one(conn, C.c.workspace == workspace, C.c.company_key == key) if key else None


def at_site(conn: sa.Connection, workspace: str, website: str | None) -> CompanyRow | None:
    key = site_key(website)
    return _one(conn, C.c.workspace == workspace, C.c.site_key == key) if key else None


def at_work(conn: sa.Connection, workspace: str, item_id: UUID) -> CompanyRow | None:
    """The company that an item looks at."""
    return _one(conn, C.c.workspace == workspace, C.c.item_id == item_id)


def get_or_create(
    unit: Unit, workspace: str, name: str, website: str | None, *, status: str, tracking_id: str, depth: int
) -> CompanyRow | None:
    """The company's row, made if there is none: by its name, else by its website. None where the name is none."""
    key = company_key(name) or site_key(website)
    if key is None:
        return None
    found = at_site(unit.conn, workspace, website) or _one(
        unit.conn, C.c.workspace == workspace, C.c.company_key == key
    )
    if found is not None:
        return found
    values = {
        "id": uuid7(),
        "workspace": workspace,
        "company_key": key,
        "name": name or website,
        "website": website,
        "site_key": site_key(website),
        "status": status,
        "facts": "{}",
        "tracking_id": tracking_id,
        "spawn_depth": depth,
        "created_at": unit.now,
        "updated_at": unit.now,
    }
    unit.conn.execute(upsert(C).values(values).on_conflict_do_nothing(index_elements=["workspace", "company_key"]))
    return _one(unit.conn, C.c.workspace == workspace, C.c.company_key == key)


def update(unit: Unit, company_id: UUID, **values: Any) -> None:
    """Set columns of a company."""
    if "facts" in values:
        values["facts"] = json.dumps(values["facts"], ensure_ascii=False)
    if "website" in values:
        values["site_key"] = site_key(values["website"])
    unit.conn.execute(sa.update(C).where(C.c.id == company_id).values(updated_at=unit.now, **values))


def rename(unit: Unit, workspace: str, company_id: UUID, name: str) -> None:
    """Call a company by the name that its pages have, unless another one has that name."""
    key, row = company_key(name), find(unit.conn, workspace, company_id)
    if key is None or row is None or company_key(row.name) == key or named(unit.conn, workspace, name) is not None:
        return
    unit.conn.execute(sa.update(C).where(C.c.id == company_id).values(name=name, company_key=key, updated_at=unit.now))


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    q: str | None = None,
    state: str | None = None,
    tier: str | None = None,
    where: Sequence[sa.ColumnElement[bool]] = (),
    after: UUID | None = None,
    limit: int = 50,
) -> list[CompanyRow]:
    """Companies, the newest first. `after` is the last one of the page before."""
    query = sa.select(C).where(C.c.workspace == workspace, *where)
    if q:
        query = query.where(sa.or_(*(c.icontains(q, autoescape=True) for c in (C.c.name, C.c.website))))
    if state:
        query = query.where(C.c.status == state)
    if tier:
        query = query.where(C.c.tier == tier)
    if after is not None:
        query = query.where(C.c.id < after)
    return [row_of(one) for one in conn.execute(query.order_by(C.c.id.desc()).limit(limit))]


def row_of(row: Any) -> CompanyRow:
    values = {name: getattr(row, name) for name in CompanyRow.__slots__}
    return CompanyRow(**{**values, "facts": mapping(row.facts)})


def _one(conn: sa.Connection, *conditions: sa.ColumnElement[bool]) -> CompanyRow | None:
    row = conn.execute(sa.select(C).where(*conditions).order_by(C.c.id).limit(1)).first()
    return row_of(row) if row is not None else None
