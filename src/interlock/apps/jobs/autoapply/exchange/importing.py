"""Past applications into the records, so that nobody applies twice.

An imported application counts for once-is-once, limits and the company's cool-down, and has a card on the board.
It is known by its address, and by its role at its company, because an opening is found at other addresses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.board import cards, entries
from interlock.apps.jobs.autoapply.exchange.reading_csv import BadRow, ParsedFile, PastApplication
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.records.already_applied import lock_seeker
from interlock.apps.jobs.autoapply.records.applications import IMPORTED
from interlock.apps.jobs.autoapply.records.imported import role_key
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.identity.urls import registered_domain, url_key
from interlock.apps.jobs.tables import applied as T
from interlock.apps.jobs.tables import posting as P
from interlock.engine.application import Unit
from interlock.store import micros, moment


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A row that is known already, and the application that it is; None if another row of the file is the same."""

    past: PastApplication
    application: UUID | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do."""

    understood: ParsedFile
    new: tuple[PastApplication, ...]
    known: tuple[KnownRow, ...]

    @property
    def bad(self) -> tuple[BadRow, ...]:
        return self.understood.bad


def plan(conn: sa.Connection, workspace: str, understood: ParsedFile) -> Plan:
    """Which rows are new, and which are known: by address, else by role and company."""
    by_url, by_role = _known(conn, workspace)
    new: list[PastApplication] = []
    known: list[KnownRow] = []
    in_file: set[str] = set()
    for past in understood.rows:
        key, role = url_key(past.url), role_of(past)
        found = by_url.get(key) if key else None
        if found is None:
            # With an address, the same role is the same application only on the same day: there may be two openings.
            found = next((ident for ident, day in by_role.get(role, ()) if key is None or day == _day(past)), None)
        mine = key or f"{role}|{_day(past)}"
        if found is not None or mine in in_file:
            known.append(KnownRow(past, found))
        else:
            new.append(past)
        in_file.add(mine)
    return Plan(understood, tuple(new), tuple(known))


def carry_out(unit: Unit, workspace: str, understood: ParsedFile, user: str) -> tuple[Plan, list[UUID]]:
    """Import what is new. The same file again imports nothing."""
    lock_seeker(unit, workspace)
    made = plan(unit.conn, workspace, understood)
    return made, [_import(unit, workspace, past, user) for past in made.new]


def _import(unit: Unit, workspace: str, past: PastApplication, user: str) -> UUID:
    ident, at, key = uuid7(), micros(past.applied_at), url_key(past.url)
    posting, opening = _posting(unit.conn, workspace, key)
    applications.add(
        unit,
        id=ident,
        workspace=workspace,
        user_id=user,
        origin=IMPORTED,
        posting_id=posting,
        opening_id=opening,
        board=registered_domain(past.url) or "elsewhere",
        job_id=role_of(past),
        title=past.title,
        company=past.company,
        company_key=company_key(past.company),
        url=past.url,
        url_key=key,
        source=past.source or registered_domain(past.url),
        status="submitted",
        created_at=at,
        submitted_at=at,
        sent_at=at,
    )
    row = applications.find(unit.conn, workspace, ident)
    assert row is not None
    cards.open_card(unit, row, at, user, stage=past.stage, ending=past.ending, reason="imported")
    if past.notes:
        entries.add_note(unit, row, past.notes, user)
    return ident


def role_of(past: PastApplication) -> str:
    """The role at its company; of a row without a title its address."""
    return role_key(past.company, past.title) or f"address:{sha256((past.url or '').encode()).hexdigest()[:32]}"


def _day(past: PastApplication) -> str:
    return f"{past.applied_at:%Y-%m-%d}"


def _known(conn: sa.Connection, workspace: str) -> tuple[dict[str, UUID], dict[str, list[tuple[UUID, str]]]]:
    """What was applied for, by address and by role with its day. What was deleted may be imported again."""
    columns = (T.c.id, T.c.url_key, T.c.title, T.c.company, T.c.job_id, T.c.origin, T.c.submitted_at, T.c.sent_at)
    query = sa.select(*columns).where(T.c.workspace == workspace, T.c.company != "")
    by_url: dict[str, UUID] = {}
    by_role: dict[str, list[tuple[UUID, str]]] = {}
    for row in conn.execute(query.order_by(T.c.id)):
        at = row.submitted_at or row.sent_at
        if row.url_key and at is not None:
            by_url.setdefault(row.url_key, row.id)
        role = row.job_id if row.origin == IMPORTED else role_key(row.company, row.title)
        if role and at is not None:
            by_role.setdefault(role, []).append((row.id, f"{moment(at):%Y-%m-%d}"))
    return by_url, by_role


def _posting(conn: sa.Connection, workspace: str, key: str | None) -> tuple[UUID | None, UUID | None]:
    """The stored posting of an address, and the one that stands for its opening."""
    if key is None:
        return None, None
    query = sa.select(P.c.id, P.c.opening_id).where(P.c.workspace == workspace, P.c.url_key == key)
    found = conn.execute(query.order_by(P.c.id).limit(1)).first()
    return (None, None) if found is None else (found.id, found.opening_id or found.id)
