"""A sandbox is borrowed, used again, given back with the work on the branch, and never lent twice."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.apps.sessions.loans.test_traps import configure
from tests.apps.sessions.loans.world import ANN, SessionWorld

pytestmark = pytest.mark.soak("postgresql")


def write_done(tree: Path) -> None:
    (tree / "done.txt").write_text("paged\n")


def test_a_session_borrows_works_and_gives_back_with_its_work_on_the_branch(world: SessionWorld) -> None:
    world.agent = write_done
    it = world.begin()
    world.run_until_idle()
    assert (world.state(it), world.counts().borrowed) == ("needs_review", 1)
    world.go_on(10)
    (its,) = world.loans(it)
    assert (world.state(it), its.state) == ("needs_review_ip_returned", "returned")
    assert (world.counts().free, world.counts().total) == (2, 2)
    assert world.show(it, "done.txt") == "paged"
    assert world.secrets_of(its.id) == (None, None)


def test_sandboxes_stay_those_of_their_folder_when_the_host_gets_another_name(
    world: SessionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that is started anew: what is held there is still given back."""
    world.agent = write_done
    it = world.begin()
    world.run_until_idle()
    monkeypatch.setattr(socket, "gethostname", lambda: "another-name")
    world.go_on(20)
    assert (world.state(it), world.show(it, "done.txt")) == ("needs_review_ip_returned", "paged")


def test_a_session_that_is_archived_while_it_waits_in_line_borrows_nothing(world: SessionWorld) -> None:
    busy = [world.begin() for _ in range(2)]
    configure(world, return_after=3600.0)
    world.run_until_idle()
    late = world.begin()
    world.go_on(10)
    assert [one.state for one in world.loans(late)] == ["borrowing"]
    world.engine.fire(late, "archive", actor=ANN, reason="not needed")
    world.go_on(20)
    assert [(one.state, one.data["lent"]) for one in world.loans(late)] == [("returned", False)]
    assert (world.state(late), world.counts().borrowed, len(busy)) == ("archived", 2, 2)


def test_those_who_wait_are_served_in_their_order(world: SessionWorld) -> None:
    begun = []
    for _ in range(6):
        begun.append(world.begin())
        world.advance(seconds=1)
    world.go_on(120)
    assert [session_id for session_id, _ in world.worked] == begun
