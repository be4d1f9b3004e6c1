"""Subscribers: services that the configuration names, called for a borrow, a return or a new item.

They get `POST {item, params}`, with the operation's id as `Idempotency-Key`, because the call is repeated if the
process dies before it has written down the answer. An asynchronous one answers with an `operation_id` and is polled at
`/operations/status?id=` of its own address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

from interlock.apps.sessions.allocator import lending, operations
from interlock.apps.sessions.allocator.http_client import NoAnswer, NotReached, Reply, call
from interlock.apps.sessions.allocator.lender import FAILED, SUCCEEDED
from interlock.apps.sessions.allocator.operations import BORROW, PENDING, RETURN, Notice, Operation
from interlock.apps.sessions.allocator.transactions import Transactions
from interlock.apps.sessions.settings import AllocatorSettings, Subscriber
from interlock.store import failpoints, span

POLL_AGAIN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: str
    remote_id: str | None = None
    error: str | None = None


def of_kind(settings: AllocatorSettings, kind: str) -> Mapping[str, Subscriber]:
    """The subscribers of a kind of operation."""
    table = {BORROW: settings.borrow, RETURN: settings.give_back}.get(kind, settings.submit)
    return table.subscribers


def work(db: Transactions, settings: AllocatorSettings, operation_id: UUID) -> bool:
    """Call the subscribers that an operation still needs; whether it is over now.

    False also if another process works on it, or a subscriber has to be polled later.
    """
    longest = sum(one.timeout for kind in operations.KINDS for one in of_kind(settings, kind).values())
    operation = db.write(operations.claim, operation_id, longest)
    if operation is None:
        found = db.read(operations.find, operation_id)
        return found is None or found.is_over
    before = db.read(operations.notices, operation_id)
    waits = False
    for name, subscriber in of_kind(settings, operation.kind).items():
        known = before.get(name)
        if known is not None and known.status != PENDING:
            answer = _Answer(known.status, known.remote_id, known.error)
        else:
            failpoints.reach("subscriber:before")
            answer = _asked(subscriber, operation, known, db.now())
            failpoints.reach("subscriber:after")
            if not db.write(operations.note, operation, name, answer.status, answer.remote_id, answer.error):
                return False
        if answer.status == FAILED and subscriber.must_succeed:
            return _end(db, operation, f"the subscriber {name} failed: {answer.error}")
        waits = waits or answer.status == PENDING
    if waits:
        db.write(operations.postpone, operation, POLL_AGAIN)
        return False
    return _end(db, operation, None)


def _end(db: Transactions, operation: Operation, failure: str | None) -> bool:
    ends = {BORROW: lending.lent, RETURN: lending.returned}.get(operation.kind, lending.submitted)
    return db.write(ends, operation, failure)


def _asked(subscriber: Subscriber, operation: Operation, known: Notice | None, now: int) -> _Answer:
    if known is not None and now - known.since > span(timedelta(seconds=subscriber.timeout)):
        return _Answer(FAILED, known.remote_id, f"it did not end within {subscriber.timeout:g} s")
    try:
        if known is not None and known.remote_id is not None:
            return _polled(subscriber, known.remote_id)
        body = {"item": json.loads(operation.content), "params": json.loads(operation.params)}
        headers = {"idempotency-key": str(operation.id)}
        answer = call("POST", subscriber.post, body=body, headers=headers, timeout=subscriber.timeout)
    except (NotReached, NoAnswer) as error:
        return _Answer(FAILED, error=str(error))
    if not answer.ok:
        return _Answer(FAILED, error=_refusal(answer))
    if not subscriber.asynchronous:
        return _Answer(SUCCEEDED)
    remote = answer.text("operation_id")
    if not remote or len(remote) > 200:
        return _Answer(FAILED, error="it answered without an operation_id")
    return _Answer(PENDING, remote)


def _polled(subscriber: Subscriber, remote_id: str) -> _Answer:
    at = urlsplit(subscriber.post)
    url = f"{at.scheme}://{at.netloc}/operations/status"
    try:
        answer = call("GET", url, query={"id": remote_id}, timeout=min(subscriber.timeout, 30.0))
    except (NotReached, NoAnswer):
        return _Answer(PENDING, remote_id)  # asked again until its time is over
    status = answer.text("status")
    if status == SUCCEEDED:
        return _Answer(SUCCEEDED, remote_id)
    if status == FAILED:
        return _Answer(FAILED, remote_id, (answer.text("message") or "it failed")[:500])
    return _Answer(PENDING, remote_id)


def _refusal(answer: Reply) -> str:
    said = answer.text("msg") or answer.text("message") or answer.text("detail")
    return f"it answered {answer.status}" + (f": {said[:500]}" if said else "")
