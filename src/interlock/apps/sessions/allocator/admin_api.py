"""The allocator over HTTP, for those who look after its pools: items, borrows, operations, counts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from interlock.apps.sessions.allocator import lending, operations, pool, subscribers, waiting_line
from interlock.apps.sessions.allocator.access import Administering, AllocatorRoute
from interlock.apps.sessions.allocator.api import AcceptedOut, Body, OperationOut, Pool
from interlock.apps.sessions.allocator.contents import checked_params, content_of
from interlock.apps.sessions.allocator.operations import SUBMIT
from interlock.engine import NotFound
from interlock.engine.application import Unit, record_action
from interlock.http.problems import BadRequest
from interlock.machine import Actor
from interlock.store import moment

router = APIRouter(tags=["allocator"], route_class=AllocatorRoute)
State = Literal["free", "borrowed", "in_return", "quarantined"]


class SubmitBody(Body):
    """A new item."""

    item: Any = Field(examples=[{"mcp_json_string": "{}", "api_url": "http://sandbox-1"}])
    params: dict[str, Any] | None = None
    pool: str | None = Field(None, pattern=r"^[a-z0-9_-]{1,50}$")


class ItemBody(Body):
    """An item, by its id or by what it is."""

    item: Any = Field(None, examples=[{"mcp_json_string": "{}", "api_url": "http://sandbox-1"}])
    item_id: UUID | None = None
    key: str | None = Field(None, max_length=200, description="Only if the borrow with this key still has it.")


class QuarantineBody(Body):
    """An item that is taken out of use."""

    item_id: UUID
    reason: str = Field(min_length=1, max_length=1000, examples=["its disk is broken"])


class ItemOut(BaseModel):
    """An item of a pool."""

    id: UUID
    pool: str
    state: str
    item: Any
    since: datetime
    note: str | None
    borrower: str | None
    key: str | None
    """The idempotency key of the borrow, after the name of whoever sent it."""
    borrowed_at: datetime | None
    until: datetime | None


class ItemsOut(BaseModel):
    """Items of the pools."""

    items: list[ItemOut]


class RemovedOut(BaseModel):
    """How many items are gone for good."""

    removed: int


class ReleasedOut(BaseModel):
    """Whether an item is free now that was not."""

    status: Literal["succeeded"] = "succeeded"
    item_id: UUID
    released: bool


class OperationRow(OperationOut):
    """An operation as a row of a list."""

    kind: str
    pool: str
    item_id: UUID | None
    created_at: datetime
    ended_at: datetime | None


class OperationsOut(BaseModel):
    """Operations, the newest first."""

    operations: list[OperationRow]


class StatsOut(BaseModel):
    """What the allocator counts: free + borrowed + in return + quarantined is always the total."""

    free_count: int
    borrowed_count: int
    in_return_count: int
    quarantined_count: int
    total_count: int
    waiting_count: int
    pending_operations: int
    failed_operations: int


# -- items


@router.post("/submit", summary="Add a sandbox", response_model=AcceptedOut)
async def post_submit(access: Administering, body: SubmitBody) -> AcceptedOut:
    """It is free once the operation has succeeded. Two equal items stay two."""
    content, _ = content_of(body.item)
    name, notifies = body.pool or access.settings.pool, bool(subscribers.of_kind(access.settings, SUBMIT))
    begun = await access.write(_submit, name, content, checked_params(body.params), notifies, access.actor)
    return AcceptedOut(operation_id=str(begun.id))


def _submit(
    unit: Unit, name: str, content: str, params: dict[str, Any], notifies: bool, actor: Actor
) -> operations.Operation:
    record_action(unit, actor, "sandbox.submit", name)
    return lending.submit(unit, name, content, params, notifies)


@router.get("/admin/items", summary="List sandboxes", response_model=ItemsOut)
async def get_items(access: Administering, state: State = "free", pool: Pool = None) -> ItemsOut:
    return await _items(access, (state,), pool)


@router.get("/admin/borrowed", summary="List borrowed sandboxes, with who has them", response_model=ItemsOut)
async def get_borrowed_items(access: Administering, pool: Pool = None) -> ItemsOut:
    return await _items(access, ("borrowed", "in_return", "quarantined"), pool)


async def _items(access: Administering, states: tuple[str, ...], name: str | None) -> ItemsOut:
    found = await access.read(pool.items, name, states)
    holders = {one.item_id: one for one in await access.read(lending.holders, name)}
    return ItemsOut(items=[_item(one, holders.get(one.id)) for one in found])


def _item(one: pool.Item, holder: lending.Holder | None) -> ItemOut:
    return ItemOut(
        id=one.id,
        pool=one.pool,
        state=one.state,
        item=one.value,
        since=moment(one.since),
        note=one.note,
        borrower=holder.borrower if holder else None,
        key=holder.key if holder else None,
        borrowed_at=moment(holder.borrowed_at) if holder else None,
        until=moment(holder.until) if holder else None,
    )


@router.delete("/admin/items", summary="Remove the free sandboxes for good", response_model=RemovedOut)
async def delete_items(access: Administering, pool: Pool = None) -> RemovedOut:
    return RemovedOut(removed=await access.write(_remove, ("free",), pool, access.actor))


@router.delete("/admin/borrowed", summary="Remove the borrowed sandboxes for good", response_model=RemovedOut)
async def delete_borrowed_items(access: Administering, pool: Pool = None) -> RemovedOut:
    """Their borrowers are not asked. Returning them afterwards succeeds."""
    return RemovedOut(removed=await access.write(_remove, ("borrowed", "in_return"), pool, access.actor))


def _remove(unit: Unit, states: tuple[str, ...], name: str | None, actor: Actor) -> int:
    found = pool.items(unit.conn, name, states)
    removed = 0
    for one in found:
        if pool.locked_item(unit, one.id).state in states:
            lending.remove(unit, one.id)
            removed += 1
    record_action(unit, actor, "sandbox.remove", name or "all pools", details={"states": list(states), "n": removed})
    return removed


@router.post("/admin/force-return", summary="Make a sandbox free without its borrower", response_model=ReleasedOut)
async def post_force_return(access: Administering, body: ItemBody) -> ReleasedOut:
    """Nobody is notified. Make sure that its borrower no longer uses it."""
    key = access.key_of(body.key) if body.key is not None else None
    return await access.write(_force, body.item_id, body.item, key, access.actor)


def _force(unit: Unit, item_id: UUID | None, item: Any, key: str | None, actor: Actor) -> ReleasedOut:
    if item_id is None:
        if item is None:
            raise BadRequest("name the item: send `item_id`, or `item` as it was borrowed", status=400)
        item_id = _by_content(unit, item)
    done = lending.release(unit, item_id, key)
    record_action(unit, actor, "sandbox.release", str(item_id), details={"released": done})
    return ReleasedOut(item_id=item_id, released=done)


def _by_content(unit: Unit, item: Any) -> UUID:
    found = pool.with_digest(unit.conn, content_of(item)[1])
    lent = [one for one in found if one.state != pool.FREE]
    if len(lent) > 1:
        raise BadRequest(f"{len(lent)} such items are lent; name one by its item_id", status=409)
    if not found:
        raise NotFound("there is no such item")
    return (lent or found)[0].id


@router.post("/admin/quarantine", summary="Take a sandbox out of use", response_model=ReleasedOut)
async def post_quarantine(access: Administering, body: QuarantineBody) -> ReleasedOut:
    """It stays out of use until it is returned or released by force."""
    await access.write(_quarantine, body.item_id, body.reason, access.actor)
    return ReleasedOut(item_id=body.item_id, released=False)


def _quarantine(unit: Unit, item_id: UUID, reason: str, actor: Actor) -> None:
    lending.quarantine(unit, item_id, reason)
    record_action(unit, actor, "sandbox.quarantine", str(item_id), details={"reason": reason})


# -- operations and counts


@router.get("/admin/operations", summary="List operations, the newest first", response_model=OperationsOut)
async def get_operations(
    access: Administering,
    status: Literal["pending", "inprogress", "succeeded", "failed"] | None = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> OperationsOut:
    found = await access.read(operations.page, status=status, after=after, limit=limit)
    return OperationsOut(
        operations=[
            OperationRow(
                operation_id=str(one.id),
                status=one.status,
                message=one.message,
                kind=one.kind,
                pool=one.pool,
                item_id=one.item_id,
                created_at=moment(one.created_at),
                ended_at=moment(one.ended_at) if one.ended_at is not None else None,
            )
            for one in found
        ]
    )


@router.delete("/admin/operations/{id}", summary="Delete an operation that has ended", response_model=RemovedOut)
async def delete_operation(access: Administering, id: UUID) -> RemovedOut:
    await access.write(_forget, id, access.actor)
    return RemovedOut(removed=1)


def _forget(unit: Unit, id: UUID, actor: Actor) -> None:
    if operations.find(unit.conn, id) is None:
        raise NotFound(f"there is no operation {id}")
    if not operations.forget(unit, id):
        raise BadRequest(f"the operation {id} has not ended; wait, or release its item by force", status=409)
    record_action(unit, actor, "sandbox.operation.delete", str(id))


@router.get("/admin/stats", summary="Counts of sandboxes and operations", response_model=StatsOut)
async def get_stats(access: Administering, pool: Pool = None) -> StatsOut:
    return await access.read(stats_of, pool)


def stats_of(conn: Any, name: str | None) -> StatsOut:
    """The counts of one pool, or of all together."""
    found = [one for one in pool.all_counts(conn) if name in (None, one.pool)]
    by_status = operations.counted(conn)
    return StatsOut(
        free_count=sum(one.free for one in found),
        borrowed_count=sum(one.borrowed for one in found),
        in_return_count=sum(one.in_return for one in found),
        quarantined_count=sum(one.quarantined for one in found),
        total_count=sum(one.total for one in found),
        waiting_count=waiting_line.waiting(conn, name),
        pending_operations=by_status[operations.PENDING] + by_status[operations.IN_PROGRESS],
        failed_operations=by_status["failed"],
    )
