"""Proposals: what a mail says about an application, until a person accepts or dismisses it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.board import cards
from interlock.apps.jobs.autoapply.board.cards import Card
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.machine import SUBMITTED
from interlock.apps.jobs.autoapply.mail.matching import Applied, Match, match
from interlock.apps.jobs.autoapply.mail.message import Mail
from interlock.apps.jobs.autoapply.mail.statements import LEADS_TO, Found, Kind, found_in
from interlock.apps.jobs.autoapply.planned import REQUEST_INTERVIEW, planned
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.board_tables import card as C
from interlock.apps.jobs.board_tables import mail as R
from interlock.apps.jobs.board_tables import proposal as P
from interlock.apps.jobs.finder.identity.urls import registered_domain
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.tables import applied as T
from interlock.apps.jobs.tables import posting as J
from interlock.engine import NotFound, Refused
from interlock.engine.application import Unit, fire
from interlock.engine.application import find as find_instance
from interlock.machine import Actor
from interlock.store import Micros, micros, span
from interlock.store.sql import upsert

OPEN, ACCEPTED, DISMISSED = "open", "accepted", "dismissed"
LOOK_BACK = span(timedelta(days=365))
"""How long after its submission mail about an application is looked for."""
MOST_APPLICATIONS = 5000
MOST_THREADS = 20_000


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a mail says, with its evidence."""

    id: UUID
    application_id: UUID | None
    kind: Kind
    quote: str
    message_id: str
    sender: str
    subject: str
    sent_at: Micros | None
    matched_by: str
    candidates: tuple[UUID, ...]
    found_at: Micros
    state: str
    decided_by: str | None
    decided_at: Micros | None


def take(unit: Unit, workspace: str, mails: list[Mail]) -> int:
    """Propose what new mails say; how many proposals there are. A mail that was read before is not looked at again."""
    new = [one for one in mails if _first_time(unit, workspace, one)]
    if not new:
        return 0
    known, threads = _applications(unit, workspace), _threads(unit.conn, workspace)
    made = 0
    for one in sorted(new, key=lambda mail: (mail.sent_at is None, mail.sent_at or 0)):
        said = found_in(one)
        about = match(one, known, threads) if said is not None else None
        if said is None or about is None or (said.kind is Kind.OTHER and "thread" not in about.by):
            continue
        made += _propose(unit, workspace, one, said, about)
        if about.application is not None and one.message_id:
            threads[one.message_id] = about.application
    return made


def _first_time(unit: Unit, workspace: str, one: Mail) -> bool:
    row = {"workspace": workspace, "mail_key": one.key, "read_at": unit.now}
    return bool(unit.conn.execute(upsert(R).values(row).on_conflict_do_nothing()).rowcount)


def _propose(unit: Unit, workspace: str, one: Mail, said: Found, about: Match) -> int:
    instance = (
        unit.conn.execute(sa.select(T.c.instance_id).where(T.c.id == about.application)).scalar()
        if about.application is not None
        else None
    )
    row = {
        "id": uuid7(),
        "application_id": about.application,
        "instance_id": instance,
        "workspace": workspace,
        "mail_key": one.key,
        "message_id": one.message_id,
        "thread": " ".join(one.thread),
        "sender": f"{one.sender_name} <{one.sender}>".strip() if one.sender else one.sender_name,
        "subject": one.subject,
        "sent_at": micros(one.sent_at) if one.sent_at is not None else None,
        "kind": said.kind,
        "quote": said.quote,
        "matched_by": ", ".join(about.by),
        "candidates": json.dumps([str(ident) for ident in about.candidates]),
        "found_at": unit.now,
        "state": OPEN,
    }
    return unit.conn.execute(upsert(P).values(row).on_conflict_do_nothing()).rowcount


def _applications(unit: Unit, workspace: str) -> list[Applied]:
    """Applications on the board, with the domains of their postings."""
    query = (
        sa.select(T.c.id, T.c.company, T.c.title, T.c.url, C.c.opened_at, J.c.posting)
        .join(C, C.c.application_id == T.c.id)
        .outerjoin(J, J.c.id == T.c.posting_id)
        .where(C.c.workspace == workspace, C.c.opened_at > unit.now - LOOK_BACK)
        .order_by(C.c.opened_at.desc())
        .limit(MOST_APPLICATIONS)
    )
    return [
        Applied(row.id, row.company, row.title, _domains(row.url, row.posting), row.opened_at)
        for row in unit.conn.execute(query)
    ]


def _domains(url: str | None, stored: str | None) -> frozenset[str]:
    given = [url]
    if stored:
        try:
            said = json.loads(stored)
            given += [said.get(name) for name in ("url", "apply_url", "company_website") if isinstance(said, dict)]
        except ValueError:
            pass
    return frozenset(found for one in given if isinstance(one, str) and (found := registered_domain(one)))


def _threads(conn: sa.Connection, workspace: str) -> dict[str, UUID]:
    """Message id → the application of an earlier mail."""
    query = sa.select(P.c.message_id, P.c.application_id).where(
        P.c.workspace == workspace, P.c.application_id.is_not(None), P.c.state != DISMISSED, P.c.message_id != ""
    )
    return {row[0]: row[1] for row in conn.execute(query.order_by(P.c.id.desc()).limit(MOST_THREADS))}


# -- what a person says about it


def accept(
    unit: Unit,
    workspace: str,
    proposal_id: UUID,
    actor: str,
    *,
    application_id: UUID | None = None,
    stage: Stage | None = None,
) -> tuple[Proposal, Card]:
    """A person agrees: the card moves where the mail leads, or to the stage that they name, with the mail as reason."""
    known = find(unit.conn, workspace, proposal_id)
    if known.state != OPEN:
        raise NotPossible(f"the proposal was {known.state} by {known.decided_by} already")
    about = application_id or known.application_id
    if about is None:
        raise NotPossible("the mail may be about several applications; name the one that it is about")
    row = cards.application_on_board(unit.conn, workspace, about)
    reason = f"mail of {known.sender or 'somebody'}: {known.quote}"[:1000]
    leads = (stage, None) if stage is not None else LEADS_TO[known.kind]
    if leads is not None:
        cards.move_card(unit, workspace, about, leads[0], actor, ending=leads[1], reason=reason)
        if leads[0] is Stage.INTERVIEW:
            _request_interview(unit, row, actor, reason)
    values = {"application_id": about, "instance_id": row.instance_id}
    _decide(unit, proposal_id, ACCEPTED, actor, **values)
    return find(unit.conn, workspace, proposal_id), cards.card_of(unit.conn, workspace, about)


def _request_interview(unit: Unit, row: ApplicationRow, actor: str, reason: str) -> None:
    """Note the request in the application itself, where its version has a state for it. Only a person may."""
    found = find_instance(unit.conn, row.instance_id, machine=planned.name) if row.instance_id is not None else None
    if found is None or found.state != SUBMITTED:
        return
    unit.lock(found.id)
    try:
        with unit.attempt(found):
            fire(unit, found.id, REQUEST_INTERVIEW, Actor.parse(actor), reason=reason)
    except (Refused, ValueError):
        return  # version 1, or an agent: the card says it all the same


def dismiss(unit: Unit, workspace: str, proposal_id: UUID, actor: str) -> Proposal:
    """A person disagrees: nothing happens, and the mail is not proposed again."""
    known = find(unit.conn, workspace, proposal_id)
    if known.state == ACCEPTED:
        raise NotPossible(f"the proposal was accepted by {known.decided_by} already; move the card instead")
    _decide(unit, proposal_id, DISMISSED, actor)
    return find(unit.conn, workspace, proposal_id)


def _decide(unit: Unit, proposal_id: UUID, state: str, actor: str, **values: UUID | None) -> None:
    decided = {"state": state, "decided_by": actor, "decided_at": unit.now, **values}
    unit.conn.execute(sa.update(P).where(P.c.id == proposal_id).values(decided))


def find(conn: sa.Connection, workspace: str, proposal_id: UUID) -> Proposal:
    found = _read(conn, sa.select(P).where(P.c.id == proposal_id, P.c.workspace == workspace))
    if not found:
        raise NotFound(f"there is no proposal {proposal_id}")
    return found[0]


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    state: str | None = OPEN,
    application_id: UUID | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[Proposal]:
    """The newest first."""
    query = sa.select(P).where(P.c.workspace == workspace)
    for column, value in ((P.c.state, state), (P.c.application_id, application_id)):
        if value is not None:
            query = query.where(column == value)
    if after is not None:
        query = query.where(P.c.id < after)
    return _read(conn, query.order_by(P.c.id.desc()).limit(limit))


def _read(conn: sa.Connection, query: sa.Select[tuple[object, ...]]) -> list[Proposal]:
    found = []
    for row in conn.execute(query).mappings():
        said = {name: row[name] for name in Proposal.__dataclass_fields__}
        candidates = tuple(UUID(one) for one in json.loads(row["candidates"] or "[]"))
        found.append(Proposal(**{**said, "kind": Kind(row["kind"]), "candidates": candidates}))
    return found
