"""The outbox: messages with every delivery attempt."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import NotFound, outbox, secrets
from interlock.engine.unit import Unit
from interlock.http.caller import Caller, TheService, need, require
from interlock.http.models import Answer, at
from interlock.http.service import Service
from interlock.http.writing import Write
from interlock.machine import Actor
from interlock.people import OPERATORS, NotAllowed, Principal
from interlock.store import SECOND, moment

router = APIRouter(prefix="/api/outbox", tags=["outbox"])
REMEDIES = {
    "reminder": "set notify under [alerts] in the configuration",
    "mail": "set [mail] in the configuration",
    "webhook": "set [webhooks.NAME] in the configuration",
}


class MessageOut(Answer):
    """A message."""

    id: UUID
    instance_id: UUID | None
    workspace: str | None
    channel: str
    recipient: str
    subject: str
    body: dict[str, Any]
    status: str = Field(description="waiting, delivered, dead, discarded")
    at: datetime
    attempts: int
    due_at: datetime | None
    settled_at: datetime | None
    last_error: str | None

    @classmethod
    def of(cls, m: outbox.OutboxMessage) -> MessageOut:
        return cls(
            id=m.id,
            instance_id=m.instance_id,
            workspace=m.workspace,
            channel=m.channel,
            recipient=m.recipient,
            subject=m.subject,
            body=secrets.shown(m.body),
            status=m.status,
            at=moment(m.at),
            attempts=m.attempts,
            due_at=at(m.due_at),
            settled_at=at(m.settled_at),
            last_error=m.last_error,
        )


class Stuck(Answer):
    """Messages that wait because their channel is not configured."""

    channel: str
    waiting: int
    since: datetime
    remedy: str


class MessageList(Answer):
    """Messages, newest first."""

    messages: list[MessageOut]
    next: UUID | None
    not_configured: list[Stuck]


class DeliveryOut(Answer):
    """One delivery attempt."""

    at: datetime
    took_seconds: float
    outcome: str
    detail: str


class DeliveryList(Answer):
    """Delivery attempts, in order."""

    deliveries: list[DeliveryOut]


class Why(BaseModel):
    """A reason."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"note": "it was said by telephone"}]})

    note: str = Field("", max_length=2000)


def channels_of(service: Service) -> set[str]:
    """The configured channels."""
    settings = service.settings
    known = (("mail", settings.mail), ("webhook", settings.webhooks), ("reminder", settings.alerts.notify))
    return {name for name, there in known if there}


def _mine(who: Principal) -> frozenset[str] | None:
    """None means all, including messages that belong to no workspace."""
    if who.kind == "agent":
        raise NotAllowed("the outbox is for people, not for agents")
    return None if who.may("read", OPERATORS) else who.workspaces


@router.get("", summary="List messages, newest first", response_model=MessageList)
async def list_messages(
    service: TheService,
    who: Caller,
    status: Literal["waiting", "delivered", "dead", "discarded"] | None = None,
    channel: Annotated[str | None, Query(max_length=50)] = None,
    instance: UUID | None = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    mine = _mine(who)
    page = await service.read(
        lambda conn: outbox.page(
            conn, status=status, channel=channel, workspaces=mine, instance_id=instance, after=after, limit=limit
        )
    )
    stuck = await service.read(lambda conn: outbox.unconfigured(conn, channels_of(service), workspaces=mine))
    return await service.answer(
        lambda: MessageList(
            messages=[MessageOut.of(m) for m in page.messages],
            next=page.next,
            not_configured=[
                Stuck(
                    channel=s.channel,
                    waiting=s.waiting,
                    since=moment(s.since),
                    remedy=REMEDIES.get(s.channel, "there are only the channels mail and webhook"),
                )
                for s in stuck
            ],
        )
    )


def visible_to(who: Principal, found: outbox.OutboxMessage, permission: str) -> Actor:
    if found.workspace is None or who.may("read", OPERATORS):
        if not who.may("read", OPERATORS):
            raise NotFound(f"there is no message {found.id}")
        where = found.workspace if found.workspace in who.workspaces else OPERATORS
        assert where is not None
        need(who, permission, where)
        return who.actor_in(where)
    require(who, permission, found.workspace, f"message {found.id}")
    return who.actor_in(found.workspace)


@router.get("/{id}", summary="One message", response_model=MessageOut)
async def get_message(service: TheService, who: Caller, id: UUID) -> Response:
    _mine(who)
    found = await service.read(lambda conn: outbox.get(conn, id))
    visible_to(who, found, "read")
    return await service.answer(lambda: MessageOut.of(found))


@router.get("/{id}/deliveries", summary="List delivery attempts", response_model=DeliveryList)
async def list_deliveries(service: TheService, who: Caller, id: UUID) -> Response:
    _mine(who)
    visible_to(who, await service.read(lambda conn: outbox.get(conn, id)), "read")
    found = await service.read(lambda conn: outbox.deliveries(conn, id))
    attempts = [
        DeliveryOut(at=moment(d.at), took_seconds=d.took / SECOND, outcome=d.outcome, detail=secrets.hide(d.detail))
        for d in found
    ]
    return await service.answer(lambda: DeliveryList(deliveries=attempts))


@router.post("/{id}/retry", summary="Retry a dead message", response_model=MessageOut)
async def retry_message(write: Write, id: UUID) -> Response:
    def retry(unit: Unit) -> MessageOut:
        _mine(write.who)
        actor = visible_to(write.who, outbox.get(unit.conn, id), "operate")
        return MessageOut.of(outbox.retry(unit, id, actor))

    return await write(retry, name="outbox")


@router.post("/{id}/discard", summary="Discard a dead message", response_model=MessageOut)
async def discard_message(write: Write, id: UUID, body: Why) -> Response:
    def discard(unit: Unit) -> MessageOut:
        _mine(write.who)
        actor = visible_to(write.who, outbox.get(unit.conn, id), "operate")
        return MessageOut.of(outbox.discard(unit, id, actor, body.note))

    return await write(discard, name="outbox")
