"""Traps of the service that the specification describes, each as what must not happen here."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.loans.session_loans import lease_of
from interlock.apps.sessions.settings import SessionSettings
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Refused
from interlock.store import failpoints
from tests.apps.sessions.loans.world import ANN, SessionWorld

pytestmark = pytest.mark.soak("postgresql")
NOBODY = "http://127.0.0.1:9"
"""Nothing listens there."""


def write_more(tree: Path) -> None:
    before = (tree / "done.txt").read_text() if (tree / "done.txt").exists() else ""
    (tree / "done.txt").write_text(before + "more\n")


def configure(world: SessionWorld, **changed: Any) -> None:
    given = world.settings.model_copy(update=changed)
    world.engine.core.settings["sessions"] = given


def allocator_of(**given: Any) -> dict[str, Any]:
    return {"allocator": SessionSettings(allocator=given).allocator}


def broken_returns(world: SessionWorld) -> None:
    """Every return is refused by a subscriber that must succeed."""
    configure(world, **allocator_of(give_back={"subscribers": {"cleaner": {"post": NOBODY, "must_succeed": True}}}))


# -- A1


def test_a1_a_follow_up_uses_the_held_sandbox_again(world: SessionWorld) -> None:
    configure(world, return_after=3600.0)
    world.agent = write_more
    it = world.begin()
    world.go_on(10)
    world.prompt(it)
    world.go_on(10)
    assert len({item for _, item in world.worked}) == 1
    assert [one.state for one in world.loans(it)] == ["held"]
    assert world.counts().borrowed == 1
    world.go_on(3700)
    assert (world.state(it), world.counts().free) == ("needs_review_ip_returned", 2)
    assert world.show(it, "done.txt") == "more\nmore"


def test_a1_a_follow_up_after_the_return_gets_another_loan_and_the_first_one_ends(world: SessionWorld) -> None:
    world.agent = write_more
    it = world.begin()
    world.go_on(10)
    world.prompt(it)
    world.go_on(20)
    assert [one.state for one in world.loans(it)] == ["returned", "returned"]
    assert (world.counts().free, world.show(it, "done.txt")) == (2, "more\nmore")


def test_a1_a_follow_up_waits_until_the_earlier_work_is_on_the_branch(
    world: SessionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the second sandbox would begin without it, and its commit would undo it."""
    world.agent = write_more
    it = world.begin()
    world.run_until_idle()
    with monkeypatch.context() as broken:
        broken.setattr("interlock.apps.sessions.loans.steps.save_work", _no_space)
        world.go_on(15)
        world.prompt(it)
        world.go_on(10)
        assert (world.state(it), [one.state for one in world.loans(it)]) == ("pending", ["returning"])
    world.go_on(200)
    assert world.state(it) == "needs_review_ip_returned"
    assert world.show(it, "done.txt") == "more\nmore"


def _no_space(*_: object) -> str:
    raise OSError("no space left on device")


# -- A2


def test_a2_a_worker_that_dies_after_the_borrow_leaks_nothing(
    world: SessionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = world.begin()
    died: list[str] = []

    def die(point: str) -> None:
        if point == "borrow:lent" and not died:
            died.append(point)
            raise SystemExit("killed")

    monkeypatch.setattr(failpoints, "hook", die)
    world.run_until_idle()
    assert (world.counts().borrowed, world.worked) == (1, [])
    world.go_on(60)
    assert (world.state(it), world.counts().free, world.counts().borrowed) == ("needs_review_ip_returned", 2, 0)
    assert len(world.worked) == 1
    (effect,) = [one for one in world.engine.effects(world.loans(it)[0].id) if one.kind == "borrow"]
    assert (effect.status, effect.sends) == ("confirmed", 1)


# -- A4, A5


def test_a4_a_return_that_a_subscriber_refuses_is_seen_and_the_loan_is_not_closed(world: SessionWorld) -> None:
    broken_returns(world)
    it = world.begin()
    world.go_on(400)
    (its,) = world.loans(it)
    assert (its.state, world.state(it), world.counts().quarantined) == ("stuck", "needs_review", 1)
    assert world.lent(its.id), "its token is kept, so that it can be tried again"


def test_a5_a_return_whose_answer_was_lost_counts_as_returned(
    world: SessionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = world.begin()
    world.run_until_idle()
    lost: list[str] = []

    def lose(point: str) -> None:
        if point == "return:sent" and not lost:
            lost.append(point)
            raise ConnectionError("the line went dead")

    monkeypatch.setattr(failpoints, "hook", lose)
    world.go_on(5)
    assert (len(lost), world.counts().free) == (1, 2)
    world.go_on(60)
    assert (world.state(it), world.engine.dead_letters.find()) == ("needs_review_ip_returned", [])


# -- A7


def test_a7_an_allocator_that_restarts_for_half_a_minute_is_waited_for(world: SessionWorld) -> None:
    it = world.begin()
    world.run_until_idle()
    local = world.settings.allocator
    broken_returns(world)
    world.go_on(30)
    configure(world, allocator=local)
    world.go_on(120)
    assert (world.state(it), world.engine.dead_letters.find()) == ("needs_review_ip_returned", [])


def test_a7_five_attempts_have_true_backoff(world: SessionWorld) -> None:
    broken_returns(world)
    it = world.begin()
    world.go_on(400)
    (its,) = world.loans(it)
    failed = [row.at for row in world.engine.history(its.id) if row.kind in {"retry", "failed"}]
    waits = [timedelta(microseconds=b - a) for a, b in pairwise(failed)]
    # Each attempt also follows its operation for some seconds; the last one moves the loan and has no row of its own.
    assert [wait >= timedelta(seconds=least) for wait, least in zip(waits, (15, 30, 60), strict=True)] == [True] * 3
    assert world.engine.get(its.id).entered_at - failed[-1] >= 120_000_000


# -- A12, A13


def test_a12_one_poisoned_loan_delays_no_other(world: SessionWorld) -> None:
    first, second = world.begin(), world.begin()
    world.run_until_idle()
    poisoned = world.loans(first)[0].id
    world.engine.write(
        lambda unit: unit.conn.execute(
            sa.update(sandbox_loan).where(sandbox_loan.c.loan_id == poisoned).values(item="no json")
        )
    )
    world.go_on(20)
    assert (world.state(second), world.state(first)) == ("needs_review_ip_returned", "needs_review")
    world.go_on(400)
    assert world.loans(first)[0].state == "stuck"


def test_a13_more_sessions_than_sandboxes_never_share_one(world: SessionWorld) -> None:
    configure(world, return_after=0.0)
    begun = [world.begin() for _ in range(5)]
    busy: list[int] = []
    world.agent = lambda tree: busy.append(world.counts().borrowed)
    world.go_on(120)
    assert {world.state(one) for one in begun} == {"needs_review_ip_returned"}
    assert max(busy) <= 2
    assert (world.counts().free, world.counts().total) == (2, 2)


# -- A14, A19


def test_a14_the_return_of_an_archived_session_leaves_it_archived(world: SessionWorld) -> None:
    configure(world, return_after=3600.0)
    it = world.begin()
    world.go_on(10)
    world.engine.fire(it, "archive", actor=ANN, reason="done")
    world.go_on(10)
    assert (world.state(it), world.loans(it)[0].state, world.counts().free) == ("archived", "returned", 2)


def test_a19_what_cannot_be_returned_is_seen_on_the_session(world: SessionWorld) -> None:
    broken_returns(world)
    it = world.begin()
    world.go_on(400)
    lease = world.engine.read(lambda conn: lease_of(conn, it))
    assert lease is not None
    assert (lease.state, lease.is_held, lease.retry_count) == ("stuck", True, 5)
    assert "cleaner failed" in str(lease.error)


# -- who may take a sandbox away


def test_nobody_takes_a_sandbox_from_an_agent_that_works(world: SessionWorld) -> None:
    refused: list[str] = []

    def agent(_: Path) -> None:
        its = world.loans(it)[0]
        try:
            world.engine.fire(its.id, "give_back", actor=ANN)
        except Refused as error:
            refused.append(str(error))

    world.agent = agent
    it = world.begin()
    world.go_on(10)
    assert len(refused) == 1
    assert "works in this sandbox" in refused[0]


def test_a_sandbox_that_is_held_for_long_is_renewed(world: SessionWorld) -> None:
    configure(world, return_after=600_000.0)
    it = world.begin()
    world.run_until_idle()
    for _ in range(8):
        world.advance(hours=9)
        world.look_after()
        expired = world.engine.read(lambda conn: lending.expired(conn, world.clock.now()))
        for one in expired:
            EngineTransactions(world.engine).write(lending.expire, one)
    assert (world.loans(it)[0].state, world.counts().quarantined) == ("held", 0)


def test_the_pool_follows_the_configuration(world: SessionWorld) -> None:
    configure(world, pool_size=4)
    world.look_after()
    assert world.counts().total == 4
    configure(world, pool_size=1, return_after=3600.0)
    it = world.begin()
    world.run_until_idle()
    held = next(one.value["name"] for one in world.items() if one.state == "borrowed")
    world.look_after()
    assert {one.value["name"] for one in world.items()} == {held, "local-1"}, "what is lent is not removed"
    world.engine.fire(it, "archive", actor=ANN, reason="done")
    world.go_on(20)
    assert [one.value["name"] for one in world.items()] == ["local-1"]
