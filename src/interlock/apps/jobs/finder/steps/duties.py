"""What the clock starts: crawls, another look at companies, new scores after a new profile, the end of old data."""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.companies.completeness import FRESH
from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.machine import listing
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.models import ListingStage
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile_file import ProfileError, read_profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records import companies, postings, profiles, sources
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.tables import profile as F
from interlock.apps.jobs.tables import source as S
from interlock.config.settings import length
from interlock.engine import Engine, InvalidData, Unreadable
from interlock.engine.application import SYSTEM_ACTOR, Unit, create, find_by_key, instances
from interlock.machine import SYSTEM, Actor
from interlock.people import OPERATORS
from interlock.store import moment, span

log = logging.getLogger("interlock.jobs")
AT_ONCE = 100
"""Rows that one round takes."""
_refused: set[str] = set()
"""Digests of profile files that cannot be used, so that each is reported once."""
BY_FILE = Actor(SYSTEM, "profile file")


def start_crawls(engine: Engine) -> bool:
    """Start a crawl of each source that is due. A crawl that is still under way is not started a second time."""
    every = length(settings_in(engine.setting("jobs")).crawl_every)
    if every is None:
        return False

    def job(unit: Unit) -> int:
        rows = sources.due(unit.conn, unit.now, AT_ONCE)
        for row in rows:
            intake.start_crawl(unit, row, SYSTEM_ACTOR)
            sources.next_crawl(unit, row, every)
        return len(rows)

    return engine.write(job, name="start_crawls") == AT_ONCE


def scan_companies(engine: Engine) -> bool:
    """Look again at companies whose record is old and that no source serves: they may have a new board by now."""

    def job(unit: Unit) -> int:
        old = C.c.analyzed_at <= unit.now - span(FRESH)
        without = ~sa.exists().where(S.c.company_id == C.c.id, S.c.status != sources.DISABLED)
        rows = unit.conn.execute(
            sa.select(C)
            .where(C.c.status.in_([companies.COMPLETE, companies.INSUFFICIENT]), old, without)
            .limit(AT_ONCE)
        ).all()
        for one in rows:
            row = companies.row_of(one)
            try:
                intake.add_company(unit, row.workspace, row.name, row.website, SYSTEM_ACTOR)
            except InvalidData:  # no name and no address that could be looked at, which delays no other
                companies.update(unit, row.id, status=companies.NAMED)
            else:
                companies.update(unit, row.id, status=companies.ANALYZING)
        return len(rows)

    return engine.write(job, name="scan_companies") == AT_ONCE


def read_profile_file(engine: Engine) -> bool:
    """Take over the profile of the file, whenever the file has changed."""
    path = settings_in(engine.setting("jobs")).profile
    try:
        digest = sha256(path.read_bytes()).hexdigest()
    except OSError:
        return False
    known = engine.read(lambda conn: profiles.find(conn, OPERATORS))
    if digest in _refused or (known is not None and known.file_digest == digest):
        return False
    try:
        profile = read_profile(path)
    except ProfileError as error:
        log.warning("the profile was not taken over: %s", error)
        _refused.add(digest)
        return False
    engine.write(
        lambda unit: intake.set_profile(unit, OPERATORS, profile, BY_FILE, file_digest=digest), name="set_profile"
    )
    return False


def start_waiting(engine: Engine) -> bool:
    """Start listings that wait for a profile where there is one by now."""

    def job(unit: Unit) -> int:
        waiting = sa.select(P.c.workspace).where(P.c.outcome == postings.WAITING).distinct()
        found = unit.conn.execute(sa.select(F.c.workspace).where(F.c.workspace.in_(waiting))).scalars().all()
        return sum(intake.start_waiting(unit, one, AT_ONCE) for one in found)

    return engine.write(job, name="start_waiting") >= AT_ONCE


def score_again(engine: Engine) -> bool:
    """Filter and score postings again whose results are of an older profile.

    A posting that passes now, and did not before, starts a new lineage. What a person decided stays.
    """

    found = engine.read(_scored_before)
    if found is None:
        return False
    workspace, digest, seeker, rows = found
    now = moment(engine.clock.now())
    owners = engine.read(lambda conn: _owners(conn, rows))
    results = [(row.id, _readable_result(row, seeker, owners, now)) for row in rows]

    def job(unit: Unit) -> bool:
        written = [_rescore(unit, workspace, posting_id, digest, values) for posting_id, values in results]
        return any(written)

    return engine.write(job, name="score_again")


def _scored_before(conn: sa.Connection) -> tuple[str, str, Seeker, list[postings.PostingRow]] | None:
    """A workspace, its profile, and postings that were scored by another. Those that an item works on wait for it."""
    for workspace in profiles.workspaces(conn):
        found = profiles.seeker(conn, workspace)
        if found is None:
            continue
        query = sa.select(P).where(
            P.c.workspace == workspace, P.c.profile_digest != found[1], P.c.state != postings.CLOSED
        )
        page = conn.execute(query.order_by(P.c.id).limit(AT_ONCE)).all()
        while page:
            ids = [row.item_id for row in page if row.item_id]
            busy = {one.id for one in instances(conn, listing.name, ids=ids, limit=AT_ONCE) if one.finished_at is None}
            free = [postings.PostingRow(row) for row in page if row.item_id not in busy]
            if free:
                return workspace, found[1], found[0], free
            page = conn.execute(query.where(P.c.id > page[-1].id).order_by(P.c.id).limit(AT_ONCE)).all()
    return None


def _owners(conn: sa.Connection, rows: list[postings.PostingRow]) -> dict[UUID, companies.CompanyFacts]:
    wanted = {row.company_id for row in rows if row.company_id}
    found = conn.execute(sa.select(C.c.id, C.c.size_category, C.c.facts).where(C.c.id.in_(wanted))) if wanted else ()
    return {row.id: companies.said(row.size_category, mapping(row.facts)) for row in found}


def _readable_result(
    row: postings.PostingRow, seeker: Seeker, owners: dict[UUID, companies.CompanyFacts], now: Any
) -> dict[str, Any]:
    """The result of a posting; what cannot be read is flagged, and delays no other."""
    try:
        return _result(row, seeker, owners, now)
    except Unreadable as error:
        return {"outcome": postings.FAILED, "reason": str(error), "flag": f"unknown: {error}"[:500]}


def _result(
    row: postings.PostingRow, seeker: Seeker, owners: dict[UUID, companies.CompanyFacts], now: Any
) -> dict[str, Any]:
    owner = owners.get(row.company_id)
    read = ReadPosting(row.posting, **owner) if owner else ReadPosting(row.posting)
    filtered = filter_posting(read, seeker, now)
    if not filtered.passed:
        return {
            "outcome": postings.FILTERED,
            "reason": filtered.rejection_summary,
            "filter_result": filtered.json(),
            "match_result": None,
            "score": None,
            "priority": None,
        }
    matched = match_posting(read, seeker)
    passed = matched.above_threshold
    return {
        "outcome": postings.MATCHED if passed else postings.SKIPPED,
        "reason": "" if passed else f"score {matched.match_score} is below {matched.threshold}",
        "filter_result": filtered.json(),
        "match_result": matched.json(),
        "score": matched.match_score,
        "priority": matched.application_priority,
    }


def _rescore(unit: Unit, workspace: str, posting_id: UUID, digest: str, values: dict[str, Any]) -> bool:
    """Write what a posting scores by the profile of this digest. False if it has to wait for its item."""
    row = postings.find(unit.conn, workspace, posting_id)
    if row is None:
        return False
    known = find_by_key(unit, workspace, listing.name, row.posting_key, lock=False)
    if known is not None and known.finished_at is None:
        return False
    dismissed, taken = row.decision == "dismissed", (row.filter_result or {}).get("override")
    passes = values["outcome"] == postings.MATCHED and row.outcome != postings.MATCHED
    if passes and row.opening_id is None and not dismissed:
        data = intake.listing_data(row.posting, posting_id, ListingStage.FILTER)
        made = create(unit, listing, data, SYSTEM_ACTOR, key=row.posting_key, workspace=workspace)
        postings.update(unit, posting_id, profile_digest=digest, item_id=made.id, outcome=postings.NEW, reason="")
        return True
    if taken and "filter_result" in values:
        values = {**values, "filter_result": {**values["filter_result"], "override": taken}}
    saved = row.outcome == postings.MATCHED and values["outcome"] != postings.MATCHED and row.decision == "saved"
    if saved or taken or (passes and dismissed) or row.opening_id is not None:
        values = {name: value for name, value in values.items() if name not in ("outcome", "reason")}
    postings.update(unit, posting_id, profile_digest=digest, scored_at=unit.now, **values)
    return True
