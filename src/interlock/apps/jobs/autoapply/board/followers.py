"""What follows for the board: a submitted application gets a card, one that is withdrawn afterwards is closed."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board import cards
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.board.variants import variant_of
from interlock.apps.jobs.autoapply.machine import SUBMITTED, WITHDRAWN
from interlock.apps.jobs.autoapply.planned import INTERVIEW_REQUESTED
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.autoapply.versions import entering
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.tables import applied as T
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.machine import Actor, Edge


@entering(SUBMITTED)
def open_its_card(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Put the application on the board, with a follow-up in a week."""
    row = _row(unit, instance.id)
    if row is None:
        return
    days = settings_in(unit.setting("jobs")).autoapply.follow_up_days
    variant = variant_of(unit.conn, instance)
    cards.open_card(unit, row, unit.now, str(actor), variant=variant, follow_up_days=days, reason=edge.on)


@entering(INTERVIEW_REQUESTED)
def move_its_card(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Whoever notes a request for an interview moves the card, unless it is further already."""
    row = _row(unit, instance.id)
    if row is None or not cards.has_card(unit.conn, row.id):
        return
    if cards.card_of(unit.conn, row.workspace, row.id).stage in (Stage.SUBMITTED, Stage.SCREENING):
        cards.move_card(unit, row.workspace, row.id, Stage.INTERVIEW, str(actor), reason="an interview was requested")


@entering(WITHDRAWN)
def close_its_card(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """A submitted application was withdrawn: nothing is due for it any more."""
    row = _row(unit, instance.id)
    if row is not None and cards.has_card(unit.conn, row.id):
        cards.move_card(
            unit, row.workspace, row.id, Stage.CLOSED, str(actor), ending=Ending.WITHDRAWN, reason="withdrawn"
        )


def _row(unit: Unit, instance_id: UUID) -> ApplicationRow | None:
    row = unit.conn.execute(sa.select(T).where(T.c.instance_id == instance_id)).first()
    return ApplicationRow(**row._mapping) if row is not None else None
