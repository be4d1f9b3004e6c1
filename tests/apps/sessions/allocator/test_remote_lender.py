"""An allocator elsewhere: one of ours over real HTTP, and one that knows neither keys nor ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from interlock.apps.sessions.allocator.lender import (
    AllocatorRefused,
    AllocatorUnavailable,
    AnswerLost,
    KeysUnknown,
    Lent,
    NotBorrowed,
    PoolEmpty,
    WrongToken,
)
from interlock.apps.sessions.allocator.remote_lender import RemoteLender
from interlock.apps.sessions.allocator.standalone import create_app
from interlock.config import Settings
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.store import open_store
from tests.apps.sessions.allocator.world import Allocator, open_allocator
from tests.support.receiver import Receiver, Reply, reset

TOKEN = "the-token-of-the-tests"
ITEM = {"api_url": "http://one", "mcp_json_string": "{}"}


@dataclass
class Elsewhere:
    """A running allocator, and what it has stored."""

    allocator: Allocator
    url: str

    def client(self, token: str = TOKEN) -> RemoteLender:
        return RemoteLender(self.url, token, timeout=10)


@pytest.fixture
def elsewhere(sqlite_url: str) -> Iterator[Elsewhere]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store:
        allocator = open_allocator(store)
        service = Service(allocator.engine, Settings())
        with InThread(create_app(service, TOKEN), service) as server:
            yield Elsewhere(allocator, server.url)
        service.close()


# -- one of ours


def test_it_lends_finds_renews_and_takes_back(elsewhere: Elsewhere) -> None:
    (item,) = elsewhere.allocator.add(ITEM)
    client = elsewhere.client()
    lent = client.borrow("loan:1", params={"session_id": "s"})
    assert (lent.item, lent.item_id, client.find("loan:1"), client.find("loan:2")) == (ITEM, str(item), lent, None)
    assert client.borrow("loan:1") == lent
    client.renew(lent)
    assert [(one.item_id, one.key) for one in client.borrowed()] == [(str(item), "loan:1")]
    accepted = client.give_back(lent)
    assert client.operation(accepted.operation_id).status == "succeeded"
    assert client.give_back(lent).operation_id == accepted.operation_id
    assert (client.find("loan:1"), elsewhere.allocator.counts()) == (None, (1, 0, 0, 0, 1))


def test_an_empty_pool_is_no_failure_and_says_when_to_ask_again(elsewhere: Elsewhere) -> None:
    with pytest.raises(PoolEmpty, match="No items available") as empty:
        elsewhere.client().borrow("k")
    assert empty.value.retry_after is not None
    assert empty.value.retry_after.total_seconds() == 5


def test_a_wrong_token_is_refused(elsewhere: Elsewhere) -> None:
    elsewhere.allocator.add(ITEM)
    with pytest.raises(AllocatorRefused, match="401"):
        elsewhere.client("guess").borrow("k")
    lent = elsewhere.client().borrow("k")
    with pytest.raises(WrongToken):
        elsewhere.client().give_back(Lent(lent.item_id, lent.item, "guess"))
    with pytest.raises(NotBorrowed):
        elsewhere.client().give_back(Lent("x", {"another": 1}, "guess"))
    assert elsewhere.allocator.counts() == (0, 1, 0, 0, 1)


def test_it_releases_by_force_only_what_the_borrow_still_has(elsewhere: Elsewhere) -> None:
    elsewhere.allocator.add(ITEM)
    client = elsewhere.client()
    lent = client.borrow("loan:1")
    client.release_by_force(lent.item_id, lent.item, "loan:1")
    client.release_by_force(lent.item_id, lent.item, "loan:1")
    other = client.borrow("loan:2")
    with pytest.raises(WrongToken):
        client.release_by_force(lent.item_id, lent.item, "loan:1")
    client.quarantine(other.item_id, "its disk is broken")
    assert elsewhere.allocator.counts() == (0, 0, 0, 1, 1)


def test_one_that_cannot_be_reached_lent_nothing() -> None:
    with pytest.raises(AllocatorUnavailable, match="cannot be reached"):
        RemoteLender("http://127.0.0.1:9", TOKEN).borrow("k")


# -- another one


def says(code: int = 200, /, **fields: Any) -> Reply:
    return Reply(code, json.dumps(fields).encode(), {"content-type": "application/json"})


@pytest.mark.parametrize(
    "reply",
    [Reply(raw=b"", then=reset), Reply(500), Reply(504), says(200, item=ITEM), Reply(200, b"\x00\xff"), Reply(503)],
    ids=["reset", "500", "504", "no token", "no JSON", "a proxy's 503"],
)
def test_an_answer_that_leaves_open_whether_something_was_lent_is_lost(reply: Reply) -> None:
    with Receiver(reply) as receiver, pytest.raises(AnswerLost):
        RemoteLender(f"http://127.0.0.1:{receiver.port}", "", timeout=5).borrow("k")


def test_without_keys_a_lost_answer_stays_unknown() -> None:
    """So the loan is stuck and a person decides; nothing is borrowed a second time."""
    with Receiver(says(404, detail="Not Found")) as receiver, pytest.raises(KeysUnknown):
        RemoteLender(f"http://127.0.0.1:{receiver.port}", "").find("k")


def test_the_other_family_of_paths_is_used_where_the_first_is_missing() -> None:
    replies = Reply(404, b"<html>"), says(item=ITEM, borrow_token="t"), Reply(404), says(operation_id="7")
    with Receiver(*replies) as receiver:
        client = RemoteLender(f"http://127.0.0.1:{receiver.port}", "")
        lent = client.borrow("k")
        assert client.give_back(lent).operation_id == "7"
    lines = [request.line.split()[1].partition("?")[0] for request in receiver.requests]
    assert lines == ["/borrow", "/handlers/ip/borrow", "/return", "/handlers/ip/return"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (says(404, err="Redis Error", msg="Item not found in borrowed items"), NotBorrowed),
        (says(403, err="x", msg="Invalid borrow token: This item is currently borrowed by someone else"), WrongToken),
        (says(502, err="x", msg="subscriber failed"), AllocatorUnavailable),
        (Reply(500), AnswerLost),
    ],
)
def test_what_a_return_may_answer(reply: Reply, error: type[Exception]) -> None:
    with Receiver(reply) as receiver, pytest.raises(error):
        RemoteLender(f"http://127.0.0.1:{receiver.port}", "").give_back(Lent("i", ITEM, "t"))


def test_its_operation_is_followed() -> None:
    with Receiver(says(status="inprogress"), says(status="failed", message="no"), Reply(404)) as receiver:
        client = RemoteLender(f"http://127.0.0.1:{receiver.port}", "")
        assert [client.operation("7").status for _ in range(2)] == ["pending", "failed"]
        with pytest.raises(AllocatorRefused, match="does not know its operation"):
            client.operation("7")
