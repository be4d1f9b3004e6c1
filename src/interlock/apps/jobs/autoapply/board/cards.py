"""Cards: opened when an application is submitted, moved by people, and every move logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.board import dates
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage, is_reply
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.board_tables import card as C
from interlock.apps.jobs.board_tables import date as D
from interlock.apps.jobs.board_tables import move as M
from interlock.apps.jobs.board_tables import note as N
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.tables import applied as T
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.store import Micros
from interlock.store.sql import upsert

LONGEST = 2000
"""Characters of a reason."""
BIGGEST_PAGE = 500


class NotMoved(NotPossible):
    """A card cannot be moved like that."""


@dataclass(frozen=True, slots=True)
class Card:
    """An application on the board."""

    application: ApplicationRow
    stage: Stage
    ending: Ending | None
    variant: str | None
    opened_at: Micros
    moved_at: Micros
    moved_by: str
    replied_at: Micros | None
    notes: int = 0
    next_date: Micros | None = None
    """The next open date: a follow-up or an appointment."""


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a card's stage."""

    at: Micros
    moved_by: str
    from_stage: Stage | None
    to_stage: Stage
    ending: Ending | None
    reason: str


def open_card(
    unit: Unit,
    row: ApplicationRow,
    at: Micros,
    actor: str,
    *,
    stage: Stage = Stage.SUBMITTED,
    ending: Ending | None = None,
    variant: str | None = None,
    follow_up_days: int = 0,
    reason: str = "",
) -> bool:
    """Open the card of an application that was submitted at this time. False if it has one."""
    made = unit.conn.execute(
        upsert(C)
        .values(
            application_id=row.id,
            instance_id=row.instance_id,
            workspace=row.workspace,
            stage=stage,
            outcome=ending,
            variant=variant,
            opened_at=at,
            moved_at=at,
            moved_by=actor,
            replied_at=at if is_reply(stage, ending) else None,
        )
        .on_conflict_do_nothing(index_elements=[C.c.application_id])
    )
    if not made.rowcount:
        return False
    _log(unit, row, None, stage, ending, actor, reason, at)
    if follow_up_days and stage is not Stage.CLOSED:
        dates.add_follow_up(unit, row, at, follow_up_days)
    return True


def move_card(
    unit: Unit,
    workspace: str,
    application_id: UUID,
    stage: Stage,
    actor: str,
    *,
    ending: Ending | None = None,
    reason: str = "",
    expected: Stage | None = None,
) -> Card:
    """Move a card and log it. With `expected`, only from that stage, so that two people do not move it at once."""
    card = card_of(unit.conn, workspace, application_id)
    if ending is not None and stage is not Stage.CLOSED:
        raise NotMoved(f"only a closed application has an ending; {stage} has none, so leave {ending} out")
    if expected is not None and card.stage is not expected:
        raise NotMoved(f"the application is in {card.stage} and not in {expected} any more; look at it again")
    if (card.stage, card.ending) == (stage, ending):
        return card
    values: dict[str, object] = {"stage": stage, "outcome": ending, "moved_at": unit.now, "moved_by": actor}
    if is_reply(stage, ending) and card.replied_at is None:
        values["replied_at"] = unit.now
    unit.conn.execute(sa.update(C).where(C.c.application_id == application_id).values(values))
    _log(unit, card.application, card.stage, stage, ending, actor, reason, unit.now)
    if stage is Stage.CLOSED:
        dates.finish_all(unit, application_id, "board")
    elif is_reply(stage, ending):
        dates.finish_follow_ups(unit, application_id, "board")
    return card_of(unit.conn, workspace, application_id)


def _log(
    unit: Unit,
    row: ApplicationRow,
    before: Stage | None,
    stage: Stage,
    ending: Ending | None,
    actor: str,
    reason: str,
    at: Micros,
) -> None:
    unit.conn.execute(
        sa.insert(M).values(
            id=uuid7(),
            application_id=row.id,
            instance_id=row.instance_id,
            workspace=row.workspace,
            at=at,
            made_by=actor,
            from_stage=before,
            to_stage=stage,
            outcome=ending,
            reason=reason[:LONGEST],
        )
    )


def card_of(conn: sa.Connection, workspace: str, application_id: UUID) -> Card:
    """The card of an application. Raises NotFound where there is none, also if the application is elsewhere."""
    found = _cards(conn, _query(workspace).where(C.c.application_id == application_id))
    if not found:
        raise NotFound(f"there is no application {application_id} on the board")
    return found[0]


def some(conn: sa.Connection, workspace: str, ids: Sequence[UUID]) -> list[Card]:
    """The cards of these applications that are on the board."""
    return _cards(conn, _query(workspace).where(C.c.application_id.in_(list(ids)))) if ids else []


def has_card(conn: sa.Connection, application_id: UUID) -> bool:
    return conn.execute(sa.select(C.c.stage).where(C.c.application_id == application_id)).first() is not None


def page(
    conn: sa.Connection,
    workspace: str,
    *,
    stages: Sequence[Stage] = (),
    q: str = "",
    before: tuple[Micros, UUID] | None = None,
    limit: int = 100,
) -> list[Card]:
    """The last moved first. `before` is the place of the last card of the page before."""
    query = _query(workspace)
    if stages:
        query = query.where(C.c.stage.in_(list(stages)))
    for word in q.lower().split()[:10]:
        query = query.where(sa.func.lower(T.c.title + " " + T.c.company).contains(word, autoescape=True))
    if before is not None:
        at, ident = before
        query = query.where(sa.or_(C.c.moved_at < at, sa.and_(C.c.moved_at == at, C.c.application_id < ident)))
    order = query.order_by(C.c.moved_at.desc(), C.c.application_id.desc())
    return _cards(conn, order.limit(min(limit, BIGGEST_PAGE)))


def counts(conn: sa.Connection, workspace: str) -> dict[Stage, int]:
    """How many cards there are in each stage."""
    query = sa.select(C.c.stage, sa.func.count()).where(C.c.workspace == workspace).group_by(C.c.stage)
    found = {row[0]: row[1] for row in conn.execute(query)}
    return {stage: found.get(stage, 0) for stage in Stage}


def moves(conn: sa.Connection, application_id: UUID) -> list[Move]:
    """Every move of a card, the oldest first."""
    query = sa.select(M).where(M.c.application_id == application_id).order_by(M.c.id).limit(1000)
    return [
        Move(
            one.at,
            one.made_by,
            Stage(one.from_stage) if one.from_stage else None,
            Stage(one.to_stage),
            Ending(one.outcome) if one.outcome else None,
            one.reason,
        )
        for one in conn.execute(query)
    ]


_NOTES = sa.select(sa.func.count()).where(N.c.application_id == C.c.application_id).scalar_subquery()
_NEXT = (
    sa.select(sa.func.min(D.c.at))
    .where(D.c.application_id == C.c.application_id, D.c.done_at.is_(None))
    .scalar_subquery()
)
_OWN = ("stage", "outcome", "variant", "opened_at", "moved_at", "moved_by", "replied_at")


def _query(workspace: str) -> sa.Select[tuple[object, ...]]:
    own = [C.c[name].label(f"card_{name}") for name in _OWN]
    query = sa.select(T, *own, _NOTES.label("card_notes"), _NEXT.label("card_next_date"))
    return query.join(C, C.c.application_id == T.c.id).where(C.c.workspace == workspace, T.c.workspace == workspace)


def _cards(conn: sa.Connection, query: sa.Select[tuple[object, ...]]) -> list[Card]:
    found = []
    for row in conn.execute(query).mappings():
        application = {name: value for name, value in row.items() if not name.startswith("card_")}
        own = {name.removeprefix("card_"): value for name, value in row.items() if name.startswith("card_")}
        ending = own.pop("outcome")
        stage = Stage(own.pop("stage"))
        found.append(Card(ApplicationRow(**application), stage, Ending(ending) if ending else None, **own))
    return found


def application_on_board(conn: sa.Connection, workspace: str, application_id: UUID) -> ApplicationRow:
    """The application of a card, for what hangs on it."""
    row = applications.find(conn, workspace, application_id)
    if row is None or not has_card(conn, application_id):
        raise NotFound(f"there is no application {application_id} on the board")
    return row
