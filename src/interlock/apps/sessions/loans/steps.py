"""The steps of a loan: borrow a sandbox, and give it back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.sessions.allocator.choosing import lender_of
from interlock.apps.sessions.allocator.lender import (
    FAILED,
    SUCCEEDED,
    AllocatorRefused,
    AnswerLost,
    KeysUnknown,
    Lender,
    Lent,
    NotBorrowed,
    PoolEmpty,
    Return,
    ReturnFailed,
    WrongToken,
)
from interlock.apps.sessions.allocator.transactions import TaskTransactions
from interlock.apps.sessions.allocator.waiting_line import LOOK_AGAIN
from interlock.apps.sessions.loans.keys import key_of
from interlock.apps.sessions.loans.need import needs_sandbox
from interlock.apps.sessions.loans.saving import save_work
from interlock.apps.sessions.loans.session_loans import sandbox_of
from interlock.apps.sessions.machine import BORROWING, HELD, RETURNED, RETURNING, loan
from interlock.apps.sessions.models import Loan
from interlock.apps.sessions.settings import settings_in
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Claim, NotFound
from interlock.engine.application import Unit
from interlock.machine import Again, EffectUnknown, Go, Outcome, WorkError
from interlock.store import failpoints, micros, span
from interlock.store.sql import upsert
from interlock.worker import Task

FOLLOW_AGAIN = timedelta(seconds=2)
LONGEST_RETURN = timedelta(minutes=30)
"""How long the operation of a return may take before it counts as failed."""
RETURNED_BEFORE = Return("", SUCCEEDED, "it was returned before")


class OtherAllocator(WorkError):
    """The sandbox was borrowed from an allocator that the configuration no longer names."""


@loan.work(BORROWING)
def borrow(task: Task[Loan]) -> Outcome:
    """Wait in line, then borrow once. An answer that was lost is looked up by the loan's key."""
    lender, key = _lender(task), key_of(task.id)
    if not _in_doubt(task, key):
        if not task.read(needs_sandbox, UUID(task.data.session_id)):
            lender.leave_line(key)
            return Go(RETURNED, data={"lent": False}, reason="the session needs no sandbox any more")
        wait = lender.turn(key)
        if wait is not None:
            return Again(wait, reason="waits in line for a sandbox")

    def send(_: object) -> dict[str, str]:
        found = lender.borrow(key, params={"session_id": task.data.session_id})
        failpoints.reach("borrow:lent")
        return _kept(task, lender, found)

    def verify(_: object) -> dict[str, str] | None:
        found = lender.find(key)
        return None if found is None else _kept(task, lender, found)

    try:
        task.once("borrow", {"allocator": lender.name}, send, key=key, verify=verify)
    except PoolEmpty as empty:
        return Again(empty.retry_after or LOOK_AGAIN, reason=str(empty))
    except KeysUnknown:
        raise  # a person decides
    except EffectUnknown as unknown:
        raise AnswerLost(str(unknown)) from unknown  # the next attempt looks it up
    return Go(HELD, data={"lent": True, "allocator": lender.name, "borrow_effect": key})


def _in_doubt(task: Task[Loan], key: str) -> bool:
    """Whether a borrow was sent and its answer is not known."""
    try:
        return task.unanswered("borrow", key).status in {"sent", "unknown", "confirmed"}
    except NotFound:
        return False


def _kept(task: Task[Loan], lender: Lender, found: Lent) -> dict[str, str]:
    """Store what was lent, outside the instance; the answer of the effect, without secrets."""
    task.write(keep_lent, lender.name, found, patient=True)
    return {"item_id": found.item_id}


def keep_lent(unit: Unit, claim: Claim, allocator: str, found: Lent) -> None:
    """Store what a loan was lent. It is not fenced: what the allocator answered must not be lost."""
    values = {
        "loan_id": claim.id,
        "allocator": allocator,
        "item_id": found.item_id,
        "item": json.dumps(found.item),
        "token": found.token,
        "lent_at": unit.now,
        "renewed_at": unit.now,
    }
    unit.conn.execute(upsert(sandbox_loan).values(values).on_conflict_do_nothing())


@loan.work(RETURNING)
def give_back(task: Task[Loan]) -> Outcome:
    """Save the work, start the return, and follow its operation to the end."""
    lender, lent = _lender(task), task.read(sandbox_of, task.id)
    if lent is None and not task.data.lent and _in_doubt(task, key_of(task.id)):
        lent = lender.find(key_of(task.id))  # a person retried a borrow of which nobody knows how it ended
        if lent is not None:
            _kept(task, lender, lent)
            task.save({"lent": True, "allocator": lender.name}, reason="the allocator had lent a sandbox")
    if lent is None:
        return Go(RETURNED, data={"lent": bool(task.data.lent)}, reason="there was nothing to give back")
    if not task.data.saved:
        reason = save_work(task, lent)
        task.save({"saved": True}, reason=reason)
    if task.data.allocator and task.data.allocator != lender.name:
        raise OtherAllocator(
            f"the sandbox was borrowed from {task.data.allocator}, and [sessions.allocator] names {lender.name} now; "
            "name the former one until it is returned, or resolve this dead letter"
        )
    found = _followed(task, lender) if task.data.operation_id else _begun(task, lender, lent)
    if not found.is_over:
        if micros(task.now()) - (task.data.return_began or 0) > span(LONGEST_RETURN):
            raise _failed(task, f"the operation {found.operation_id} has not ended in {LONGEST_RETURN}")
        return Again(FOLLOW_AGAIN, reason=f"the return is {found.status}", keep_failures=True)
    if found.status == FAILED:
        raise _failed(task, found.message or "the allocator gives no reason")
    return Go(RETURNED, reason=found.message or "")


def _begun(task: Task[Loan], lender: Lender, lent: Lent) -> Return:
    def send(effect: Any) -> dict[str, Any]:
        try:
            found = lender.give_back(lent)
        except NotBorrowed:
            found = RETURNED_BEFORE
        except WrongToken:
            if effect.sends == 0:
                raise
            # An earlier attempt had sent it, its answer was lost, and somebody else has the sandbox by now.
            found = RETURNED_BEFORE
        failpoints.reach("return:sent")
        return {"operation_id": found.operation_id, "status": found.status, "message": found.message}

    # The same token gets the same answer, so a return whose answer was lost is sent again.
    answer = task.once(
        "return",
        {"allocator": lender.name},
        send,
        key=f"return:{task.id}:{task.data.returns}",
        verify=lambda _: None,
    )
    accepted = {"operation_id": answer["operation_id"] or None, "return_began": micros(task.now())}
    task.save(accepted, reason="the allocator has accepted the return")
    return Return(**answer)


def _followed(task: Task[Loan], lender: Lender) -> Return:
    try:
        return lender.operation(task.data.operation_id or "")
    except AllocatorRefused as error:
        raise _failed(task, str(error)) from error


def _failed(task: Task[Loan], why: str) -> ReturnFailed:
    """The return failed; the next attempt begins another."""
    task.save({"operation_id": None, "return_began": None, "returns": task.data.returns + 1}, reason=why[:500])
    return ReturnFailed(why)


def _lender(task: Task[Loan]) -> Lender:
    return lender_of(settings_in(task.setting("sessions")), TaskTransactions(task), f"session {task.data.session_id}")
