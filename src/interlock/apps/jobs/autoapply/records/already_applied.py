"""Whether an opening was applied for already: by anybody, on any board that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.records.applications import IMPORTED, ApplicationRow
from interlock.apps.jobs.autoapply.records.imported import imported_before, role_number
from interlock.apps.jobs.claims import steps as claims
from interlock.apps.jobs.claims.machine import APPLIED, EXPIRED, QUEUED, REJECTED, job
from interlock.apps.jobs.finder.identity.dedupe import openings
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.steps.listings import claim_name
from interlock.apps.jobs.tables import applied as T
from interlock.apps.jobs.tables import job_index as I
from interlock.apps.jobs.tables import posting as P
from interlock.engine import Instance, Unreadable
from interlock.engine.application import Unit, find_by_key, instances
from interlock.store import moment
from interlock.store.sql import lock_number


@dataclass(frozen=True, slots=True)
class Sightings:
    """One opening with everything that was seen of it."""

    master: PostingRow
    """The posting that stands for the opening."""
    rows: tuple[PostingRow, ...]

    @property
    def ids(self) -> list[UUID]:
        return [one.id for one in self.rows]

    @property
    def url_keys(self) -> list[str]:
        return [one.url_key for one in self.rows if one.url_key]

    @property
    def companies(self) -> set[str]:
        """The keys of the company under all its names."""
        return {one.company_key for one in self.rows if one.company_key}


def sightings_of(conn: sa.Connection, row: PostingRow) -> Sightings:
    """The opening of a posting."""
    master = row.opening_id or row.id
    query = sa.select(P).where(postings.of_opening(row)).order_by(P.c.id).limit(100)
    found = {one.id: one for one in [row, *map(PostingRow, conn.execute(query))]}
    for one in postings.alike(conn, row.workspace, row.group_key):
        if one.id not in found and _is_same(row, one):
            found[one.id] = one
    return Sightings(found.get(master, row), tuple(found.values()))


def _is_same(row: PostingRow, other: PostingRow) -> bool:
    try:
        return any(len(one.sightings) > 1 for one in openings([row.posting, other.posting]))
    except Unreadable:
        return False


def lock_seeker(unit: Unit, workspace: str) -> None:
    """Let one transaction at a time queue or begin to send applications of a workspace, until the commit."""
    number = int.from_bytes(sha256(f"auto-apply|{workspace}".encode()).digest()[:7], "big")
    lock_number(unit.conn, number)


def was_sent(row: ApplicationRow) -> bool:
    """Whether an application has arrived, may have, or is on its way."""
    return row.submitted_at is not None or row.sent_at is not None


def applied_before(unit: Unit, seen: Sightings, *, but: UUID | None = None) -> str | None:
    """How the opening was applied for before; None if it was not. `but` is the application that asks."""
    place = seen.master.workspace
    for one in applications.of_openings(unit.conn, place, seen.ids, seen.url_keys):
        if (but is None or one.instance_id != but) and was_sent(one):
            return f"applied for it already: application {one.id} ({one.status})"
    if (imported := imported_before(unit.conn, place, (o.group_key for o in seen.rows))) is not None:
        return imported
    found = next(_jobs(unit, seen, but, APPLIED), None)
    return f"applied for it already: run {found.data.get('run_id')} reported job {found.key}" if found else None


def applied_postings(conn: sa.Connection, workspace: str, rows: Sequence[PostingRow]) -> set[UUID]:
    """Which of these postings were applied for, by whatever door: what `applied_before` says of one, for many."""
    ids, keys, roles = _sent(conn, workspace)
    boards: dict[tuple[str, str], UUID] = {}
    found = set[UUID]()
    for row in rows:
        key = row.url_key or ""
        known = {row.id, row.opening_id} & ids or {key, applications.hashed(key)} & keys
        if known or role_number(row.group_key) in roles:
            found.add(row.id)
        with suppress(Unreadable):
            boards[claim_name(row.posting)] = row.id
    numbers = sorted({number for _, number in boards})
    named = sa.select(I.c.instance_id).where(I.c.workspace == workspace, I.c.job_id.in_(numbers))
    most = len(numbers) * 2 + 1
    for one in instances(conn, job.name, workspace=workspace, states=[APPLIED], among=named, limit=most):
        of = boards.get((str(one.shown_data.get("board")), str(one.shown_data.get("job_id"))))
        found |= {of} if of is not None else set()
    openings_of = {row.opening_id or row.id for row in rows if row.id in found}
    return found | {row.id for row in rows if (row.opening_id or row.id) in openings_of}


def _sent(conn: sa.Connection, workspace: str) -> tuple[set[UUID | None], set[str], set[str]]:
    """Postings and openings, addresses, and imported roles that were applied for."""
    sent = sa.or_(T.c.submitted_at.is_not(None), T.c.sent_at.is_not(None))
    columns = (T.c.posting_id, T.c.opening_id, T.c.url_key, T.c.origin, T.c.job_id)
    made = conn.execute(sa.select(*columns).where(T.c.workspace == workspace, sent)).all()
    ids = {one for row in made for one in (row.posting_id, row.opening_id)} - {None}
    return ids, {row.url_key for row in made if row.url_key}, {row.job_id for row in made if row.origin == IMPORTED}


def claimed_now(unit: Unit, seen: Sightings, *, but: UUID | None = None) -> str | None:
    """Who is applying for the opening at this moment through claims; None if nobody is."""
    found = next(_jobs(unit, seen, but, QUEUED), None)
    return f"somebody is applying for it: run {found.data.get('run_id')} holds job {found.key}" if found else None


def not_claimable(unit: Unit, row: PostingRow) -> str | None:
    """Why nobody can claim the posting's job any more; None if somebody can."""
    try:
        board, job_id = claim_name(row.posting)
    except Unreadable:
        return None
    found = find_by_key(unit, row.workspace, job.name, claims.job_key(board, job_id), lock=False)
    if found is None or found.state not in (EXPIRED, REJECTED):
        return None
    return f"job {found.key} was {found.state} on {moment(found.entered_at):%Y-%m-%d}, so nobody can claim it"


def _jobs(unit: Unit, seen: Sightings, but: UUID | None, state: str) -> Iterator[Instance]:
    """Jobs of the opening in this state whose run is of somebody else."""
    for one in seen.rows:
        try:
            board, job_id = claim_name(one.posting)
        except Unreadable:
            continue
        found = find_by_key(unit, one.workspace, job.name, claims.job_key(board, job_id), lock=False)
        if found is None or found.erased or found.state != state:
            continue
        if but is None or str(but) not in str(found.data.get("run_id")):
            yield found
