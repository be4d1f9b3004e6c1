"""The allocator lends each item to one borrower, by key and token, and counts all of them at every moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending, pool, waiting_line
from interlock.apps.sessions.allocator.lender import KeyUsed, Lent, NotBorrowed, PoolEmpty, WrongToken
from interlock.apps.sessions.tables import sandbox_pool
from interlock.store import StoreError
from tests.apps.sessions.allocator.world import Allocator

ONE, TWO = {"api_url": "http://one"}, {"api_url": "http://two"}


# -- borrowing


def test_the_same_key_gets_the_same_item_until_it_is_returned(allocator: Allocator) -> None:
    """Trap A2: whose answer was lost asks again with the same key."""
    allocator.add(ONE, TWO)
    first = allocator.lender().borrow("k")
    assert allocator.lender().borrow("k") == first == allocator.lender().find("k")
    assert allocator.counts() == (1, 1, 0, 0, 2)
    allocator.lender().give_back(first)
    assert allocator.lender().find("k") is None
    with pytest.raises(KeyUsed, match="has ended"):
        allocator.lender().borrow("k")


def test_equal_items_stay_two(allocator: Allocator) -> None:
    """Trap A6: an item is its id, not its text."""
    allocator.add({"a": 1, "b": 2}, {"b": 2, "a": 1})
    lent = [allocator.lender().borrow(key) for key in ("k1", "k2")]
    assert (lent[0].item, len({one.item_id for one in lent})) == (lent[1].item, 2)
    assert allocator.counts() == (0, 2, 0, 0, 2)
    allocator.lender().give_back(lent[0])
    assert (allocator.state(lent[0]), allocator.state(lent[1])) == ("free", "borrowed")


def test_an_empty_pool_lends_nothing(allocator: Allocator) -> None:
    with pytest.raises(PoolEmpty, match="No items available in the freelist"):
        allocator.lender().borrow("k")
    assert allocator.counts() == (0, 0, 0, 0, 0)


def test_four_items_for_thirty_two_borrowers_at_once_are_lent_to_four(allocator: Allocator) -> None:
    """Trap A13: each item has one borrower, however many ask in the same moment."""
    allocator.add(*({"n": n} for n in range(4)))
    barrier = Barrier(32)

    def borrow(number: int) -> str | None:
        barrier.wait(30)
        try:
            return allocator.lender(f"b{number}").borrow(f"k{number}").item_id
        except PoolEmpty:
            return None

    with ThreadPoolExecutor(32) as threads:
        lent = [one for one in threads.map(borrow, range(32)) if one is not None]
    assert len(lent) == len(set(lent)) == 4
    assert allocator.counts() == (0, 4, 0, 0, 4)


# -- the line


def test_who_waits_longest_is_next(allocator: Allocator) -> None:
    (item,) = allocator.add(ONE)
    holder = allocator.lender().borrow("holder")
    assert [allocator.lender().turn(key) for key in ("first", "second")] == [waiting_line.LOOK_AGAIN] * 2
    allocator.lender().give_back(holder)
    assert allocator.lender().turn("second") == waiting_line.LOOK_AGAIN
    with pytest.raises(PoolEmpty):
        allocator.lender().borrow("second")
    with pytest.raises(PoolEmpty):
        allocator.lender().borrow("whoever comes by")
    assert allocator.lender().turn("first") is None
    assert allocator.lender().borrow("first").item_id == str(item)


def test_a_place_in_line_lapses_without_its_owner(allocator: Allocator) -> None:
    allocator.add(ONE)
    holder = allocator.lender().borrow("holder")
    allocator.lender().turn("gone")
    allocator.lender().give_back(holder)
    allocator.clock.advance(waiting_line.PLACE + timedelta(seconds=1))
    assert allocator.lender().turn("second") is None
    assert allocator.lender().borrow("second")


# -- returning


def test_a_second_return_gets_the_same_answer(allocator: Allocator) -> None:
    """Trap A5: a lost answer must not become `not found`."""
    allocator.add(ONE)
    lent = allocator.lender().borrow("k")
    first = allocator.lender().give_back(lent)
    assert (first.status, allocator.counts()) == ("succeeded", (1, 0, 0, 0, 1))
    again = allocator.lender().borrow("another")
    assert allocator.lender().give_back(lent).operation_id == first.operation_id
    assert allocator.state(again) == "borrowed", "the second return takes it from nobody"


def test_a_wrong_token_returns_nothing(allocator: Allocator) -> None:
    allocator.add(ONE, TWO)
    lent = allocator.lender().borrow("k")
    digest = pool.digest(pool.canonical(lent.item))
    with pytest.raises(WrongToken, match="currently borrowed by someone else"):
        allocator.db.write(lending.take_back, "guessed", digest, {}, False)
    with pytest.raises(NotBorrowed, match="Item not found in borrowed items"):
        allocator.db.write(lending.take_back, "guessed", pool.digest(pool.canonical(TWO)), {}, False)
    other = allocator.lender().borrow("k2")
    with pytest.raises(WrongToken):  # the token of one item does not return another
        allocator.db.write(lending.take_back, lent.token, pool.digest(pool.canonical(other.item)), {}, False)
    assert allocator.counts() == (0, 2, 0, 0, 2)


def test_two_returns_at_once_are_one(allocator: Allocator) -> None:
    allocator.add(ONE)
    lent, barrier = allocator.lender().borrow("k"), Barrier(8)

    def give_back(_: int) -> str:
        barrier.wait(30)
        return allocator.lender().give_back(lent).operation_id

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(give_back, range(8)))) == 1
    assert allocator.counts() == (1, 0, 0, 0, 1)


# -- time limits, quarantine, force


def test_a_borrow_whose_time_is_over_is_lent_to_nobody_else(allocator: Allocator) -> None:
    allocator.add(ONE)
    lent = allocator.lender().borrow("k")
    allocator.wait(hours=25)
    assert (allocator.state(lent), allocator.counts()) == ("quarantined", (0, 0, 0, 1, 1))
    with pytest.raises(PoolEmpty):
        allocator.lender().borrow("another")
    allocator.lender().give_back(lent)
    assert allocator.counts() == (1, 0, 0, 0, 1)


def test_what_is_renewed_in_time_or_after_it_stays_lent(allocator: Allocator) -> None:
    allocator.add(ONE)
    lent = allocator.lender().borrow("k")
    allocator.wait(hours=20)
    allocator.lender().renew(lent)
    allocator.wait(hours=20)
    assert allocator.state(lent) == "borrowed"
    allocator.wait(hours=20)
    assert allocator.state(lent) == "quarantined"
    allocator.lender().renew(lent)
    assert allocator.state(lent) == "borrowed"


def test_an_item_out_of_use_is_not_renewed_into_use(allocator: Allocator) -> None:
    allocator.add(ONE)
    lent = allocator.lender().borrow("k")
    allocator.lender().quarantine(lent.item_id, "its disk is broken")
    allocator.lender().renew(lent)
    assert allocator.state(lent) == "quarantined"
    allocator.lender().release_by_force(lent.item_id, lent.item)
    assert allocator.counts() == (1, 0, 0, 0, 1)


def test_what_is_released_by_force_is_free_once(allocator: Allocator) -> None:
    allocator.add(ONE)
    lent = allocator.lender().borrow("k")
    allocator.lender().release_by_force(lent.item_id, lent.item)
    allocator.lender().release_by_force(lent.item_id, lent.item)
    assert allocator.counts() == (1, 0, 0, 0, 1)
    other = allocator.lender("bob").borrow("k2")
    assert allocator.lender().give_back(lent).status == "succeeded", "it was returned before"
    with pytest.raises(WrongToken):
        allocator.lender().release_by_force(lent.item_id, lent.item, "k")
    assert (allocator.state(other), allocator.holders()) == ("borrowed", [("bob", "active")])


# -- the database's own checks


@pytest.mark.parametrize("wrong", [{"free": 2}, {"free": -1, "total": -1}, {"borrowed": 1}])
def test_the_database_refuses_counts_that_do_not_add_up(allocator: Allocator, wrong: dict[str, int]) -> None:
    allocator.add(ONE)
    with pytest.raises((StoreError, sa.exc.IntegrityError)):
        allocator.engine.write(lambda unit: unit.conn.execute(sa.update(sandbox_pool).values(wrong)))
    assert allocator.counts() == (1, 0, 0, 0, 1)


def test_tokens_differ_and_cannot_be_guessed(allocator: Allocator) -> None:
    allocator.add(ONE, TWO)
    tokens = {allocator.lender().borrow(key).token for key in ("k1", "k2")}
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 43
    assert not any(token in repr(Lent("i", {}, token)) for token in tokens)
