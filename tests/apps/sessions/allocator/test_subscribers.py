"""Services that are notified of borrows, returns and new items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

import pytest

from interlock.apps.sessions.allocator import lending, operations, pool, subscribers
from interlock.apps.sessions.allocator.lender import AllocatorUnavailable
from interlock.store import failpoints
from interlock.store.errors import StoreGone
from tests.apps.sessions.allocator.world import POOL, Allocator
from tests.support.receiver import Receiver, Reply

pytestmark = pytest.mark.soak("postgresql")
ITEM = {"api_url": "http://one", "secret": "s"}


def says(**fields: Any) -> Reply:
    return Reply(body=json.dumps(fields).encode(), headers={"content-type": "application/json"})


@pytest.fixture
def one(allocator: Allocator) -> Iterator[UUID]:
    yield allocator.add(ITEM)[0]
    assert sum(allocator.counts()[:4]) == allocator.counts()[4] == 1


def notify(allocator: Allocator, kind: str, receiver: Receiver, **options: Any) -> None:
    allocator.configure(**{kind: {"subscribers": {"it": {"post": receiver.url, **options}}}})


def test_a_borrower_gets_the_item_after_its_subscriber(allocator: Allocator, one: UUID) -> None:
    with Receiver() as receiver:
        notify(allocator, "borrow", receiver, mustSuceed=True)  # as the code of other allocators spells it
        lent = allocator.lender().borrow("k", params={"who": "ann"})
    assert (lent.item, allocator.state(one)) == (ITEM, "borrowed")
    (request,) = receiver.requests
    assert json.loads(request.body) == {"item": ITEM, "params": {"who": "ann"}}
    operation = request.headers["idempotency-key"]
    assert allocator.events(operation) == ["created", "notifications_ok", "completed"]


@pytest.mark.parametrize("spelled", ["must_succeed", "mustSucceed", "mustSuceed"])
def test_a_borrow_whose_subscriber_must_succeed_and_fails_puts_the_item_back(
    allocator: Allocator, one: UUID, spelled: str
) -> None:
    """Trap A3: the item is never in no set."""
    with Receiver(Reply(500)) as receiver:
        notify(allocator, "borrow", receiver, **{spelled: True})
        with pytest.raises(AllocatorUnavailable, match="put back: the subscriber it failed: it answered 500"):
            allocator.lender().borrow("k")
        assert (allocator.state(one), allocator.lender().find("k")) == ("free", None)
        assert allocator.lender().borrow("k").item == ITEM, "the same key may try again"


def test_the_failure_of_one_that_need_not_succeed_is_only_noted(allocator: Allocator, one: UUID) -> None:
    with Receiver(Reply(500)) as receiver:
        notify(allocator, "borrow", receiver)
        assert allocator.lender().borrow("k")


def test_an_item_is_free_after_the_subscriber_of_its_return(allocator: Allocator, one: UUID) -> None:
    """Trap A4: accepted is not done."""
    with Receiver() as receiver:
        notify(allocator, "return", receiver, must_succeed=True)
        lent = allocator.lender().borrow("k")
        accepted = allocator.lender().give_back(lent)
        assert (accepted.status, allocator.state(one), receiver.requests) == ("pending", "in_return", [])
        allocator.look_after()
    assert (allocator.lender().operation(accepted.operation_id).status, allocator.state(one)) == ("succeeded", "free")


def test_a_return_that_fails_keeps_the_item_out_of_the_pool_and_can_be_begun_again(
    allocator: Allocator, one: UUID
) -> None:
    with Receiver(Reply(500)) as receiver:
        notify(allocator, "give_back", receiver, must_succeed=True)
        lent = allocator.lender().borrow("k")
        first = allocator.lender().give_back(lent)
        failed = allocator.lender().operation(first.operation_id)
        assert (failed.status, allocator.state(one)) == ("failed", "quarantined")
        assert allocator.events(first.operation_id) == ["created", "failed"]
        again = allocator.lender().give_back(lent)
        assert again.operation_id != first.operation_id
        assert allocator.lender().operation(again.operation_id).status == "succeeded"
    assert allocator.state(one) == "free"


def test_an_asynchronous_one_is_polled_until_it_ends(allocator: Allocator, one: UUID) -> None:
    replies = says(operation_id="op 7&x"), says(status="pending"), says(status="succeeded")
    with Receiver(*replies) as receiver:
        notify(allocator, "return", receiver, **{"async": True, "mustSucceed": True})
        accepted = allocator.lender().give_back(allocator.lender().borrow("k"))
        allocator.look_after()
        assert allocator.state(one) == "in_return"
        allocator.wait(seconds=2)
        allocator.wait(seconds=2)
    assert allocator.lender().operation(accepted.operation_id).status == "succeeded"
    asked = [unquote_plus(request.line.split()[1]) for request in receiver.requests[1:]]
    assert asked == ["/operations/status?id=op 7&x"] * 2


def test_an_asynchronous_one_that_never_ends_fails_with_its_time(allocator: Allocator, one: UUID) -> None:
    with Receiver(says(operation_id="7"), *[says(status="pending")] * 9) as receiver:
        notify(allocator, "return", receiver, asynchronous=True, must_succeed=True, timeout=10)
        accepted = allocator.lender().give_back(allocator.lender().borrow("k"))
        for _ in range(4):
            allocator.wait(seconds=4)
    ended = allocator.lender().operation(accepted.operation_id)
    assert (ended.status, ended.message) == ("failed", "the subscriber it failed: it did not end within 10 s")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"x" * 5_000_000),
        Reply(raw=b"nonsense\r\n\r\n"),
        Reply(302, headers={"location": "http://127.0.0.1:9"}),
    ],
    ids=["huge", "nonsense", "redirect"],
)
def test_an_answer_that_is_no_answer_is_a_failure(allocator: Allocator, one: UUID, reply: Reply) -> None:
    with Receiver(reply) as receiver:
        notify(allocator, "borrow", receiver, must_succeed=True)
        with pytest.raises(AllocatorUnavailable, match="put back"):
            allocator.lender().borrow("k")
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("point", ["subscriber:before", "subscriber:after", "note:before", "lent:before"])
def test_another_process_continues_what_a_crash_left_behind(
    allocator: Allocator, one: UUID, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap A3, at each point between the two transactions of a borrow."""

    def die(reached: str) -> None:
        if reached == point:
            monkeypatch.setattr(failpoints, "hook", None)
            raise SystemExit(point)

    with Receiver() as receiver:
        notify(allocator, "borrow", receiver, must_succeed=True)
        monkeypatch.setattr(failpoints, "hook", die)
        with pytest.raises((SystemExit, StoreGone)):
            allocator.lender().borrow("k")
        assert (allocator.state(one), allocator.lender().find("k")) == ("borrowed", None)
        allocator.wait(seconds=100)
        assert allocator.lender().borrow("k").item == ITEM
        ids = {request.headers["idempotency-key"] for request in receiver.requests}
    assert len(ids) == 1, "a repeated call has the same key"


def test_a_worker_that_comes_too_late_changes_nothing(allocator: Allocator, one: UUID) -> None:
    with Receiver(*[Reply()] * 5) as receiver:
        notify(allocator, "return", receiver, must_succeed=True)
        accepted = allocator.lender().give_back(allocator.lender().borrow("k"))
        late = allocator.db.write(operations.claim, UUID(accepted.operation_id), 0.0)
        assert late is not None
        allocator.wait(seconds=200)
        assert allocator.state(one) == "free"
        allocator.lender().borrow("k2")
        assert allocator.db.write(lending.returned, late, "too late") is False
    assert allocator.state(one) == "borrowed"


def test_a_new_item_is_added_after_its_subscriber_or_not_at_all(allocator: Allocator, one: UUID) -> None:
    with Receiver(Reply(500)) as receiver:
        notify(allocator, "submit", receiver, must_succeed=True)
        begun = allocator.db.write(lending.submit, POOL, pool.canonical({"n": 2}), {}, True)
        subscribers.work(allocator.db, allocator.settings, begun.id)
    assert allocator.counts() == (1, 0, 0, 0, 1)
