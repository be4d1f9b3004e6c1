"""Workers and allocators are killed at every numbered point of a borrow and a return: nothing is lost or lent twice."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TypeVar

import pytest

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.allocator.lender import AllocatorUnavailable, AnswerLost
from interlock.apps.sessions.allocator.remote_lender import RemoteLender
from interlock.store import open_store
from tests.acceptance import borrowers
from tests.acceptance.borrowers import Orders
from tests.support.forking import PROCESSES
from tests.support.receiver import Receiver
from tests.support.waiting import eventually

T = TypeVar("T")
BORROW = (
    "fill_pool:before",
    "fill_pool:after",
    "keep_place:before",
    "keep_place:after",
    "intend:before",
    "intend:after",
    "sent:before",
    "sent:after",
    "lend:before",
    "lend:after",
    "borrow:lent",
    "keep_lent:before",
    "keep_lent:after",
    "settle:before",
    "settle:after",
    "finish:before",
    "finish:after",
)
RETURN = (
    "give_back_loan:before",
    "give_back_loan:after",
    "return:committed",
    "return:emptied",
    "save:before",
    "save:after",
    "take_back:before",
    "take_back:after",
    "return:sent",
)
NOTIFYING = (
    "claim:before",
    "claim:after",
    "subscriber:before",
    "subscriber:after",
    "note:before",
    "note:after",
    "lent:before",
    "lent:after",
    "returned:before",
    "returned:after",
)
SERVED = ("lend:before", "lend:after", "take_back:before", "take_back:after")
LATER = (("settle:before", 2), ("settle:after", 2), ("intend:after", 2), ("sent:after", 2), ("finish:before", 3))
"""Points that a return reaches after the borrow has."""
POINTS = [(point, 1) for point in (*BORROW, *RETURN)] + list(LATER)
LONG = bool(os.environ.get("INTERLOCK_SOAK"))
"""The long run tries every point on both databases."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


class Allocators:
    """One allocator after the other on the same port and database; one that is dead is started again."""

    def __init__(self, url: str) -> None:
        self.url, self.port = url, free_port()
        self.client = RemoteLender(f"http://127.0.0.1:{self.port}", borrowers.TOKEN, timeout=20)
        self.process: ForkServerProcess | None = None
        self.deaths = 0

    def start(self, point: str = "") -> None:
        self.stop()
        orders = borrowers.Serving(self.url, self.port, point)
        self.process = PROCESSES.Process(target=borrowers.serve, args=(orders,), daemon=True)
        self.process.start()
        eventually(self._answers, within=60, what=lambda: "the allocator does not answer")

    def _answers(self) -> bool:
        try:
            return self.client.find("nothing") is None
        except (AllocatorUnavailable, AnswerLost):
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join(20)
            self.process.close()
            self.process = None

    def insist(self, ask: Callable[[], T]) -> T:
        """Ask until there is an answer, with the same key or token each time."""
        while True:
            try:
                return ask()
            except (AllocatorUnavailable, AnswerLost):
                self.deaths += 1
                self.start()


@pytest.mark.soak("postgresql")
def test_an_allocator_killed_at_any_point_has_lent_each_sandbox_to_one(url: str) -> None:
    served = Allocators(url)
    try:
        for number, point in enumerate(SERVED):
            served.start(point)
            keys = f"loan:{number}", f"other:{number}"
            lent = [served.insist(partial(served.client.borrow, key)) for key in keys]
            assert lent[0].item_id != lent[1].item_id
            for one in lent:
                accepted = served.insist(partial(served.client.give_back, one))
                ended = served.insist(partial(served.client.operation, accepted.operation_id))
                assert ended.status == "succeeded"
        assert served.deaths == len(SERVED)
    finally:
        served.stop()
    with open_store(url, durability="normal", wakeup="poll") as store:
        borrowers.conserved(store)
        (counts,) = store.read(pool.all_counts)
        assert (counts.free, counts.total) == (borrowers.SIZE, borrowers.SIZE)


def kill_at_each(orders: list[Orders]) -> None:
    """Each victim carries on with what the one before left behind, until its own point comes."""
    for one in orders:
        process = PROCESSES.Process(target=borrowers.run, args=(one,), daemon=True)
        process.start()
        process.join(120)
        assert process.exitcode == -signal.SIGKILL, f"{one.point} was not reached ({process.exitcode})"
        process.close()
        with open_store(one.url, durability="normal", wakeup="poll") as store:
            borrowers.conserved(store)
    last = orders[-1]
    borrowers.all_is_well(Orders(last.url, last.folder, len(orders), subscriber=last.subscriber), sessions=1)


@pytest.mark.soak("postgresql")
def test_a_worker_killed_at_any_point_of_a_borrow_or_a_return_loses_and_doubles_no_sandbox(
    url: str, tmp_path: Path
) -> None:
    points = POINTS if LONG else POINTS[::2] if url.startswith("sqlite") else POINTS[3::8]
    kill_at_each([Orders(url, tmp_path, turn, point, times) for turn, (point, times) in enumerate(points)])


@pytest.mark.soak
def test_the_same_while_subscribers_are_notified(url: str, tmp_path: Path) -> None:
    with Receiver() as receiver:
        again = [(point, 2) for point in NOTIFYING if LONG and point.startswith(("subscriber", "note"))]
        points = [*((point, 1) for point in NOTIFYING), *again]
        kill_at_each([Orders(url, tmp_path, turn, point, n, receiver.url) for turn, (point, n) in enumerate(points)])
        keys = [request.headers["idempotency-key"] for request in receiver.requests]
    assert len(keys) > len(set(keys)), "a call that was broken off is repeated with its key"
