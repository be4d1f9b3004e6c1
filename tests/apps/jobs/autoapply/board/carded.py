"""Applications that were sent, as tests put them on the board."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from interlock.apps.jobs.autoapply.board import cards
from interlock.apps.jobs.autoapply.board.cards import Card
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.machine import OWNER, Actor

HERE = "default"
ANN = Actor(OWNER, "ann")


def sent(
    engine: Engine,
    title: str = "Cook",
    company: str = "Kind Boats",
    *,
    workspace: str = HERE,
    days: int = 7,
    **more: Any,
) -> UUID:
    """An application without an instance, and its card; `more` is of the card or of the row."""
    ident = uuid7()
    own = {name: more.pop(name) for name in ("stage", "ending", "variant") if name in more}

    def make(unit: Unit) -> None:
        at = more.pop("at", unit.now)
        row = {
            "title": title,
            "company": company,
            "company_key": company_key(company),
            "user_id": "ann",
            "origin": "import",
            "board": "b",
            "job_id": str(ident),
            "status": "submitted",
            "submitted_at": at,
            **more,
        }
        applications.add(unit, id=ident, workspace=workspace, **row)
        found = applications.find(unit.conn, workspace, ident)
        assert found is not None
        cards.open_card(unit, found, at, "ann", follow_up_days=days, **own)

    engine.write(make)
    return ident


def card(engine: Engine, ident: UUID, workspace: str = HERE) -> Card:
    return engine.read(lambda conn: cards.card_of(conn, workspace, ident))


def move(engine: Engine, ident: UUID, stage: Stage, **more: Any) -> Card:
    return engine.write(lambda unit: cards.move_card(unit, HERE, ident, stage, "ann", **more))
