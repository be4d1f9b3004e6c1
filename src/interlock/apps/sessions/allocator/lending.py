"""Lending: what happens to items, borrows and places in line, each function inside one transaction.

A borrow is `lending` while its subscribers are notified, then `active`. It ends as `returned`, `put_back` (a subscriber
failed, so that nobody got the item) or `released` (by force). One whose time is over is `expired`: its item is in
quarantine, and its borrower may still renew or return it. `withdrawn` is one whose item somebody took out of use: it
can be returned, not renewed. `return_failed` is a return that a subscriber refused.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.apps.sessions.allocator import operations, pool, waiting_line
from interlock.apps.sessions.allocator.lender import (
    SUCCEEDED,
    AllocatorRefused,
    Borrowed,
    KeyUsed,
    Lent,
    NotBorrowed,
    Return,
    WrongToken,
)
from interlock.apps.sessions.allocator.operations import Operation
from interlock.apps.sessions.allocator.waiting_line import MustWait
from interlock.apps.sessions.tables import sandbox_borrow as B
from interlock.apps.sessions.tables import sandbox_item as I
from interlock.engine.application import Unit
from interlock.store import Micros, span

LENDING, ACTIVE, IN_RETURN, EXPIRED, RETURN_FAILED = "lending", "active", "in_return", "expired", "return_failed"
WITHDRAWN = "withdrawn"
RETURNED, PUT_BACK, RELEASED = "returned", "put_back", "released"
OPEN = (LENDING, ACTIVE, IN_RETURN, EXPIRED, WITHDRAWN, RETURN_FAILED)
FOUND = (ACTIVE, EXPIRED, WITHDRAWN, IN_RETURN, RETURN_FAILED)


@dataclass(frozen=True, slots=True)
class Request:
    """A borrow as somebody asks for it."""

    pool: str
    key: str
    borrower: str
    """Who it is, as people see it."""
    lend_for: timedelta
    params: Mapping[str, Any] = field(default_factory=dict)
    waits: bool = False
    """Whether the borrower will ask again and keeps a place in line."""
    notifies: bool = False
    """Whether subscribers are notified before the borrower gets the item."""


@dataclass(frozen=True, slots=True)
class Notifying:
    """The item is set aside for the borrower, and subscribers are notified first."""

    operation_id: UUID


# -- borrowing


def lend(unit: Unit, request: Request) -> Lent | Notifying | MustWait:
    """Lend a free item, or find what was lent with this key before."""
    pool.lock(unit, request.pool)
    known = unit.conn.execute(sa.select(B).where(B.c.key == request.key).with_for_update()).first()
    if known is not None and known.pool != request.pool:
        raise KeyUsed(f"the key was used for the pool {known.pool!r}; use a new one")
    if known is not None and known.status == LENDING:
        return Notifying(known.operation_id)
    if known is not None and known.status in {ACTIVE, EXPIRED}:
        return _renewed(unit, known, request.lend_for)
    if known is not None and known.status != PUT_BACK:
        raise KeyUsed(f"the borrow with this key has ended ({known.status}); use a new key")
    ahead = waiting_line.ahead(unit, request.pool, request.key)
    if pool.counts(unit.conn, request.pool).free <= ahead:
        if request.waits:
            waiting_line.keep_place(unit, request.pool, request.key)
        return MustWait(ahead)
    row = unit.conn.execute(
        sa.select(I)
        .where(I.c.pool == request.pool, I.c.state == pool.FREE)
        .order_by(I.c.since, I.c.slot)
        .limit(1)
        .with_for_update()
    ).one()
    item = pool.find(unit.conn, row.id)
    assert item is not None
    if known is not None:
        unit.conn.execute(sa.delete(B).where(B.c.id == known.id))
    borrow_id, token = uuid7(), secrets.token_urlsafe(32)
    operation = None
    if request.notifies:
        operation = operations.begin(
            unit,
            operations.BORROW,
            request.pool,
            item.content,
            request.params,
            item_id=item.id,
            borrow_id=borrow_id,
        )
    unit.conn.execute(
        sa.insert(B).values(
            id=borrow_id,
            pool=request.pool,
            item_id=item.id,
            key=request.key,
            token=token,
            borrower=request.borrower[:200],
            status=LENDING if operation is not None else ACTIVE,
            operation_id=operation.id if operation is not None else None,
            borrowed_at=unit.now,
            until=unit.now + span(request.lend_for),
        )
    )
    pool.put(unit, item, pool.BORROWED, borrow_id=borrow_id)
    waiting_line.leave(unit, request.pool, request.key)
    return Notifying(operation.id) if operation is not None else Lent(str(item.id), item.value, token)


def _renewed(unit: Unit, borrow: Any, lend_for: timedelta) -> Lent:
    """What is lent already; its time begins again."""
    item = pool.find(unit.conn, borrow.item_id)
    assert item is not None, "an open borrow has an item"
    _prolong(unit, borrow, item, lend_for)
    return Lent(str(item.id), item.value, borrow.token)


def find_by_key(conn: sa.Connection, key: str) -> Lent | None:
    """What was lent with the key and not returned."""
    row = conn.execute(
        sa.select(B.c.token, I.c.id, I.c.content)
        .join(I, I.c.id == B.c.item_id)
        .where(B.c.key == key, B.c.status.in_(FOUND))
    ).first()
    return Lent(str(row.id), json.loads(row.content), row.token) if row is not None else None


def lent(unit: Unit, operation: Operation, failure: str | None) -> bool:
    """End the operation of a borrow: the borrower gets the item, or it goes back. False if the fence is old."""
    pool.lock(unit, operation.pool)
    if not operations.is_ours(unit, operation):
        return False
    status = ACTIVE if failure is None else PUT_BACK
    ended = None if failure is None else unit.now
    done = unit.conn.execute(
        sa.update(B).where(B.c.id == operation.borrow_id, B.c.status == LENDING).values(status=status, ended_at=ended)
    ).rowcount
    if done and failure is not None:
        item = pool.find(unit.conn, _id(operation.item_id))
        assert item is not None
        pool.put(unit, item, pool.FREE)
    operations.end(unit, operation, failure if failure or done else "the borrow was ended meanwhile")
    return True


# -- returning


def take_back(unit: Unit, token: str, digest: str | None, params: Mapping[str, Any], notifies: bool) -> Return:
    """Begin the return of what was borrowed with the token. A second return gets the answer of the first."""
    borrow = _locked(unit, B.c.token == token)
    if borrow is None or borrow.status in {LENDING, PUT_BACK}:
        raise _unknown_token(unit.conn, digest)
    item = pool.find(unit.conn, borrow.item_id)
    if digest is not None and item is not None and item.digest != digest and borrow.status in OPEN:
        raise _unknown_token(unit.conn, digest)
    if borrow.status in {IN_RETURN, RETURNED, RELEASED} or item is None:
        return _return_of(unit.conn, borrow)
    operation = operations.begin(
        unit, operations.RETURN, borrow.pool, item.content, params, item_id=item.id, borrow_id=borrow.id
    )
    changed = {"status": IN_RETURN, "operation_id": operation.id}
    unit.conn.execute(sa.update(B).where(B.c.id == borrow.id).values(changed))
    pool.put(unit, item, pool.IN_RETURN, borrow_id=borrow.id)
    if not notifies:
        returned(unit, operation, None)
        return Return(str(operation.id), SUCCEEDED)
    return Return(str(operation.id), operation.status)


def _unknown_token(conn: sa.Connection, digest: str | None) -> AllocatorRefused:
    if digest is not None and any(one.state != pool.FREE for one in pool.with_digest(conn, digest)):
        return WrongToken("Invalid borrow token: This item is currently borrowed by someone else")
    return NotBorrowed("Item not found in borrowed items")


def _return_of(conn: sa.Connection, borrow: Any) -> Return:
    operation = operations.find(conn, borrow.operation_id) if borrow.operation_id is not None else None
    if operation is None or borrow.status == RELEASED:
        return Return(str(borrow.operation_id or borrow.id), SUCCEEDED, "it was returned before")
    return Return(str(operation.id), operation.status, operation.message)


def returned(unit: Unit, operation: Operation, failure: str | None) -> bool:
    """End the operation of a return: the item is free, or in quarantine. False if the fence is old."""
    pool.lock(unit, operation.pool)
    if not operations.is_ours(unit, operation):
        return False
    item = pool.find(unit.conn, _id(operation.item_id))
    if item is not None and item.borrow_id == operation.borrow_id and item.state == pool.IN_RETURN:
        status = RETURNED if failure is None else RETURN_FAILED
        ended = unit.now if failure is None else None
        unit.conn.execute(sa.update(B).where(B.c.id == operation.borrow_id).values(status=status, ended_at=ended))
        if failure is None:
            pool.put(unit, item, pool.FREE)
        else:
            pool.put(unit, item, pool.QUARANTINED, borrow_id=operation.borrow_id, note=f"its return failed: {failure}")
    operations.end(unit, operation, failure)
    return True


def renew(unit: Unit, token: str, lend_for: timedelta) -> None:
    """Begin the time of a borrow again. One that has expired is active again: nobody else has got the item."""
    borrow = _locked(unit, B.c.token == token)
    if borrow is not None and borrow.status == WITHDRAWN:
        return
    if borrow is None or borrow.status not in {ACTIVE, EXPIRED}:
        raise NotBorrowed("nothing is borrowed with this token")
    item = pool.find(unit.conn, borrow.item_id)
    assert item is not None
    _prolong(unit, borrow, item, lend_for)


def _prolong(unit: Unit, borrow: Any, item: pool.Item, lend_for: timedelta) -> None:
    changed = {"status": ACTIVE, "until": unit.now + span(lend_for)}
    unit.conn.execute(sa.update(B).where(B.c.id == borrow.id).values(changed))
    if item.state == pool.QUARANTINED:
        pool.put(unit, item, pool.BORROWED, borrow_id=borrow.id)


# -- new items


def submit(unit: Unit, name: str, content: str, params: Mapping[str, Any], notifies: bool) -> Operation:
    """Add an item to a pool, after its subscribers were notified if there are any."""
    pool.lock(unit, name)
    operation = operations.begin(unit, operations.SUBMIT, name, content, params)
    if not notifies:
        submitted(unit, operation, None)
    return operation


def submitted(unit: Unit, operation: Operation, failure: str | None) -> bool:
    """End the operation of a new item: it is free, or there is none. False if the fence is old."""
    pool.lock(unit, operation.pool)
    if not operations.is_ours(unit, operation):
        return False
    added = pool.add(unit, operation.pool, operation.content).id if failure is None else None
    operations.end(unit, operation, failure, item_id=added)
    return True


# -- what nobody asks for


def expired(conn: sa.Connection, now: Micros, limit: int = 100) -> list[UUID]:
    """Borrows whose time is over."""
    query = sa.select(B.c.id).where(B.c.status == ACTIVE, B.c.until < now).order_by(B.c.until).limit(limit)
    return list(conn.execute(query).scalars())


def expire(unit: Unit, borrow_id: UUID) -> None:
    """Put the item of a borrow whose time is over into quarantine: its borrower may still use it."""
    borrow = _locked(unit, B.c.id == borrow_id)
    if borrow is None or borrow.status != ACTIVE or borrow.until >= unit.now:
        return
    item = pool.find(unit.conn, borrow.item_id)
    assert item is not None
    unit.conn.execute(sa.update(B).where(B.c.id == borrow_id).values(status=EXPIRED))
    note = f"{borrow.borrower} kept it beyond its time and did not renew"
    pool.put(unit, item, pool.QUARANTINED, borrow_id=borrow_id, note=note)


def release(unit: Unit, item_id: UUID, key: str | None = None) -> bool:
    """Make an item free without its borrower; False if it was. With a key, only if that borrow has it."""
    item = pool.locked_item(unit, item_id)
    if item.state == pool.FREE:
        return False
    borrow = _locked(unit, B.c.id == item.borrow_id) if item.borrow_id is not None else None
    if key is not None and (borrow is None or borrow.key != key):
        raise WrongToken(f"the sandbox {item_id} is not lent to this borrower any more, so nothing was released")
    if borrow is not None:
        operation = operations.find(unit.conn, borrow.operation_id) if borrow.operation_id is not None else None
        if operation is not None and not operation.is_over:
            operations.end(unit, operation, "the item was released by force")
        unit.conn.execute(sa.update(B).where(B.c.id == borrow.id).values(status=RELEASED, ended_at=unit.now))
    pool.put(unit, item, pool.FREE)
    return True


def quarantine(unit: Unit, item_id: UUID, reason: str) -> None:
    """Take an item out of use. Its borrower may still return it."""
    item = pool.locked_item(unit, item_id)
    if item.state == pool.IN_RETURN:
        raise AllocatorRefused(f"the sandbox {item_id} is on its way back; wait until its return has ended")
    if item.borrow_id is not None:
        kept = (B.c.id == item.borrow_id, B.c.status.in_((ACTIVE, EXPIRED)))
        unit.conn.execute(sa.update(B).where(*kept).values(status=WITHDRAWN))
    pool.put(unit, item, pool.QUARANTINED, borrow_id=item.borrow_id, note=reason)


def remove(unit: Unit, item_id: UUID) -> None:
    """Take an item out of its pool for good, whoever has it."""
    item = pool.locked_item(unit, item_id)
    if item.borrow_id is not None:
        release(unit, item_id)
        item = pool.locked_item(unit, item_id)
    pool.remove(unit, item)


# -- who has what


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has an item: no secrets."""

    item_id: UUID
    pool: str
    borrower: str
    key: str
    status: str
    borrowed_at: Micros
    until: Micros


def holders(conn: sa.Connection, name: str | None = None) -> list[Holder]:
    """Everybody who has an item, by the time of the borrow."""
    query = sa.select(B).where(B.c.status.in_(OPEN)).order_by(B.c.borrowed_at)
    rows = conn.execute(query if name is None else query.where(B.c.pool == name))
    return [Holder(r.item_id, r.pool, r.borrower, r.key, r.status, r.borrowed_at, r.until) for r in rows]


def borrowed(conn: sa.Connection, name: str) -> list[Borrowed]:
    """What the pool counts as lent, for the reconciler."""
    return [Borrowed(str(one.item_id), one.key, one.status) for one in holders(conn, name)]


def _locked(unit: Unit, which: sa.ColumnElement[bool]) -> Any:
    """The borrow, with its pool locked; None if there is none."""
    seen = unit.conn.execute(sa.select(B.c.pool).where(which)).scalar()
    if seen is None:
        return None
    pool.lock(unit, seen)
    return unit.conn.execute(sa.select(B).where(which).with_for_update()).first()


def _id(found: UUID | None) -> UUID:
    assert found is not None
    return found
