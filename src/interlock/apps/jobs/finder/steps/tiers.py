"""A changed profile gives the companies that are known new tiers, from the pages that were read of them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.jobs.finder.companies import Analysis, Extracted, analyze
from interlock.apps.jobs.finder.machine import company
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records import companies, profiles
from interlock.apps.jobs.finder.records.companies import CompanyRow
from interlock.apps.jobs.tables import company as C
from interlock.engine import Engine, artifacts
from interlock.engine.application import Unit, find

AT_ONCE = 20
"""Companies of one round; the pages of one take some milliseconds."""


def tier_again(engine: Engine) -> bool:
    """Work out the tiers that are for an older profile. One whose pages are gone keeps its tier."""
    return any(_tier_again(engine, workspace) for workspace in engine.read(profiles.workspaces))


def _tier_again(engine: Engine, workspace: str) -> bool:
    found = engine.read(lambda conn: _tiered_before(conn, workspace))
    if found is None:
        return False
    rows, seeker, digest = found
    read = engine.read(lambda conn: [_read(conn, row) for row in rows])
    results = [(row.id, _facts(known, row, seeker)) for known, row in zip(read, rows, strict=True)]

    def job(unit: Unit) -> None:
        for company_id, values in results:
            facts = {**values["facts"], "profile": digest}
            companies.update(unit, company_id, **{**values, "facts": facts})

    engine.write(job, name="tier_again")
    return len(rows) == AT_ONCE


def _tiered_before(conn: sa.Connection, workspace: str) -> tuple[list[CompanyRow], Seeker, str] | None:
    seeker = profiles.seeker(conn, workspace)
    if seeker is None:
        return None
    old = C.c.facts.notlike(f'%"profile": "{seeker[1]}"%')
    query = sa.select(C).where(C.c.workspace == workspace, C.c.status == companies.COMPLETE, old).limit(AT_ONCE)
    rows = [companies.row_of(row) for row in conn.execute(query)]
    return (rows, *seeker) if rows else None


def _read(conn: sa.Connection, row: CompanyRow) -> tuple[Extracted, dict[str, str]] | None:
    """What its item extracted, and the pages that it kept."""
    item = find(conn, row.item_id, machine=company.name) if row.item_id is not None else None
    if item is None:
        return None
    try:
        extracted = Extracted.model_validate(item.data.get("extracted"))
    except ValidationError:
        return None
    digests = {one.name: one.hash for one in artifacts.of(conn, item.id)}
    kept = {url: digests[name] for url, name in item.data.get("pages", {}).items() if name in digests}
    pages = {url: artifacts.read(conn, item.id, digest).decode("utf-8", "replace") for url, digest in kept.items()}
    return (extracted, pages) if pages else None


def _facts(known: tuple[Extracted, dict[str, str]] | None, row: CompanyRow, seeker: Seeker) -> dict[str, Any]:
    """The columns that the tier is in."""
    if known is None:
        return {"facts": dict(row.facts)}
    found: Analysis = analyze(*known, seeker)
    points = [one.model_dump(mode="json") for one in found.points]
    facts = {**row.facts, "points": points, "tier": found.tier, "priorityScore": found.priority_score}
    return {"facts": facts, "tier": found.tier, "priority_score": found.priority_score}
