"""Endpoints: submit a receipt, look at one, see what was paid."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response
from interlock.engine import Instance, NotFound
from interlock.engine.application import Unit, create
from interlock.http.caller import Caller, TheService, need, visible, workspace_of
from interlock.http.writing import Write
from pydantic import BaseModel, ConfigDict, Field

from expenses import ledger
from expenses.machine import receipt
from expenses.models import Category, Receipt
from expenses.scopes import READ, SUBMIT

router = APIRouter(prefix="/api/expenses", tags=["expenses"])


class NewReceipt(BaseModel):
    """A receipt to submit."""

    model_config = ConfigDict(extra="forbid")

    employee: str = Field(min_length=1, max_length=100)
    account: str = Field(pattern=r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$", description="The employee's IBAN.")
    shop: str = Field(min_length=1, max_length=200)
    cents: int = Field(gt=0, le=100_000_000)
    category: Category | None = None
    number: str | None = Field(None, max_length=100, description="The receipt's number; the same one is taken once.")


class ReceiptOut(BaseModel):
    """A receipt as it is now."""

    id: UUID
    state: str
    employee: str
    shop: str
    cents: int
    category: str | None
    payment: str

    @classmethod
    def of(cls, instance: Instance) -> Self:
        shown = Receipt.model_validate(instance.data).model_dump(exclude={"account"})
        return cls(id=instance.id, state=instance.state, **shown)


class TotalOut(BaseModel):
    """What one employee was paid."""

    employee: str
    payments: int
    cents: int


@router.post("", status_code=201, summary="Submit a receipt", response_model=ReceiptOut)
async def submit(write: Write, body: NewReceipt) -> Response:
    workspace = workspace_of(write.who, None)
    need(write.who, SUBMIT, workspace, receipt.name)

    def job(unit: Unit) -> ReceiptOut:
        data = body.model_dump(exclude={"number"})
        actor = write.who.actor_in(workspace)
        key = body.number and f"{body.shop} {body.number}"
        return ReceiptOut.of(create(unit, receipt, data, actor, key=key, workspace=workspace))

    return await write(job, status=201, name="submit")


@router.get("/totals", summary="What each employee was paid")
async def totals(service: TheService, who: Caller) -> list[TotalOut]:
    workspace = workspace_of(who, None)
    need(who, READ, workspace, receipt.name)
    found = await service.read(lambda conn: ledger.totals(conn, workspace))
    return [TotalOut(employee=one.employee, payments=one.payments, cents=one.cents) for one in found]


@router.get("/{id}", summary="Get a receipt")
async def get(service: TheService, who: Caller, id: UUID) -> ReceiptOut:
    found = await visible(service, who, id, READ, machine=receipt.name)
    if found.erased:
        raise NotFound(f"there is no receipt {id}")
    return ReceiptOut.of(found)
