"""A sandbox is borrowed, used again, given back with the work on the branch, and never lent twice."""

from __future__ import annotations

from pathlib import Path

from tests.apps.sessions.loans.world import SessionWorld


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
