"""The endpoints for what mail says: /api/auto-apply/mail."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from interlock.apps.jobs.autoapply.board.access import router
from interlock.apps.jobs.autoapply.board.bodies import Body, CardOut, time
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.mail import proposals
from interlock.apps.jobs.autoapply.mail.proposals import Proposal
from interlock.apps.jobs.autoapply.mail.statements import LEADS_TO, Kind
from interlock.apps.jobs.board_tables import proposal as P
from interlock.apps.jobs.finder.api.access import Workspace, readable_workspace
from interlock.apps.jobs.finder.scopes import JOBS
from interlock.engine import NotFound
from interlock.engine.application import Unit
from interlock.http.caller import Caller, TheService, need
from interlock.http.writing import Write
from interlock.people import Principal
from interlock.store import moment


class ProposalOut(BaseModel):
    """What a mail says about an application."""

    id: UUID
    application: UUID | None = Field(description="Null where it may be several; see `candidates`.")
    candidates: list[UUID]
    kind: Kind
    leads_to: Stage | None = Field(description="Where accepting it moves the card; null leaves it.")
    quote: str = Field(description="The sentence that says so.")
    sender: str
    subject: str
    message_id: str
    sent_at: datetime | None
    matched_by: str = Field(description="What shows which application it is: thread, domain, company, title.")
    found_at: datetime
    state: Literal["open", "accepted", "dismissed"]
    decided_by: str | None
    decided_at: datetime | None

    @classmethod
    def of(cls, one: Proposal) -> ProposalOut:
        leads = LEADS_TO[one.kind]
        return cls(
            id=one.id,
            application=one.application_id,
            candidates=list(one.candidates),
            kind=one.kind,
            leads_to=leads[0] if leads else None,
            quote=one.quote,
            sender=one.sender,
            subject=one.subject,
            message_id=one.message_id,
            sent_at=time(one.sent_at),
            matched_by=one.matched_by,
            found_at=moment(one.found_at),
            state=one.state,
            decided_by=one.decided_by,
            decided_at=time(one.decided_at),
        )


class ProposalsOut(BaseModel):
    """A page of proposals, the newest first."""

    proposals: list[ProposalOut]
    next: UUID | None


class AcceptBody(Body):
    """What a person agrees to."""

    application: UUID | None = Field(None, description="Needed where the mail may be about several.", examples=[None])
    stage: Stage | None = Field(None, description="Another stage than the mail leads to.")


class AcceptedOut(BaseModel):
    proposal: ProposalOut
    card: CardOut


@router.get("/mail", summary="What mail says about applications", response_model=ProposalsOut)
async def list_proposals(
    service: TheService,
    who: Caller,
    state: Annotated[Literal["open", "accepted", "dismissed", "all"], Query()] = "open",
    application: UUID | None = None,
    after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    workspace: Workspace = None,
) -> ProposalsOut:
    """A proposal changes nothing until somebody accepts it."""
    place = readable_workspace(who, workspace)
    wanted = None if state == "all" else state

    def read(conn: sa.Connection) -> ProposalsOut:
        rows = proposals.page(conn, place, state=wanted, application_id=application, after=after, limit=limit + 1)
        shown = [ProposalOut.of(one) for one in rows[:limit]]
        return ProposalsOut(proposals=shown, next=shown[-1].id if len(rows) > limit else None)

    return await service.read(read)


@router.post("/mail/{id}/accept", summary="Accept a proposal", response_model=AcceptedOut)
async def accept(write: Write, id: UUID, body: AcceptBody | None = None) -> Response:
    """The card moves, with the mail's sentence as the reason."""
    given = body or AcceptBody()

    def do(unit: Unit) -> AcceptedOut:
        place = _workspace_of(unit.conn, id, write.who)
        by = str(write.who.actor_in(place))
        said, card = proposals.accept(unit, place, id, by, application_id=given.application, stage=given.stage)
        return AcceptedOut(proposal=ProposalOut.of(said), card=CardOut.of(card))

    return await write(do, name="accept_mail")


@router.post("/mail/{id}/dismiss", summary="Dismiss a proposal", response_model=ProposalOut)
async def dismiss(write: Write, id: UUID) -> Response:
    def do(unit: Unit) -> ProposalOut:
        place = _workspace_of(unit.conn, id, write.who)
        return ProposalOut.of(proposals.dismiss(unit, place, id, str(write.who.actor_in(place))))

    return await write(do, name="dismiss_mail")


def _workspace_of(conn: sa.Connection, id: UUID, who: Principal) -> str:
    place = conn.execute(sa.select(P.c.workspace).where(P.c.id == id)).scalar()
    if place is None or place not in who.workspaces:
        raise NotFound(f"there is no proposal {id}")
    need(who, JOBS, place)
    return str(place)
