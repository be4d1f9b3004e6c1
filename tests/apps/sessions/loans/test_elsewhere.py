"""Sessions that borrow from an allocator elsewhere, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.allocator.standalone import create_app
from interlock.apps.sessions.host_folders import host_folders
from interlock.apps.sessions.loans.dead_letters import page
from interlock.apps.sessions.loans.pool_view import pool_view
from interlock.apps.sessions.loans.reconciling import drifts, reconcile
from interlock.config import Settings
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.store import open_store
from tests.apps.sessions.allocator.test_remote_lender import TOKEN, says
from tests.apps.sessions.allocator.world import Allocator, open_allocator
from tests.apps.sessions.loans.test_traps import allocator_of, configure, write_more
from tests.apps.sessions.loans.world import SessionWorld
from tests.support.receiver import Receiver, Reply, reset

pytestmark = pytest.mark.soak("postgresql")


@contextmanager
def elsewhere(world: SessionWorld, sqlite_template: Path, folder: Path) -> Iterator[Allocator]:
    """An allocator of its own with the world's sandboxes, which the world borrows from."""
    path = folder / "elsewhere.db"
    path.write_bytes(sqlite_template.read_bytes())
    with open_store(f"sqlite:///{path}", durability="normal", wakeup="poll") as store:
        allocator = open_allocator(store)
        allocator.add(*host_folders(world.engine.setting).sandboxes.items(2))
        service = Service(allocator.engine, Settings())
        with InThread(create_app(service, TOKEN), service) as server:
            configure(world, **allocator_of(url=server.url, token=TOKEN))
            yield allocator
        service.close()


def test_a_session_lives_with_a_sandbox_from_elsewhere(
    world: SessionWorld, sqlite_template: Path, tmp_path: Path
) -> None:
    world.agent = write_more
    with elsewhere(world, sqlite_template, tmp_path) as allocator:
        it = world.begin()
        world.run_until_idle()
        assert (world.state(it), allocator.counts()) == ("needs_review", (1, 1, 0, 0, 2))
        view = world.engine.read(lambda conn: pool_view(conn, world.settings, world.clock.now()))
        assert [(one.state, one.session_id) for one in view.sandboxes] == [("held", it)]
        reconcile(world.engine)
        world.advance(minutes=2)
        reconcile(world.engine)
        assert world.engine.read(lambda conn: drifts(conn, world.clock.now())) == []
        world.go_on(20)
        assert (world.state(it), allocator.counts()) == ("needs_review_ip_returned", (2, 0, 0, 0, 2))
    assert world.show(it, "done.txt") == "more"
    assert world.counts().borrowed == 0, "nothing was borrowed here"


@pytest.mark.soak
def test_an_empty_pool_elsewhere_costs_no_attempt(world: SessionWorld, sqlite_template: Path, tmp_path: Path) -> None:
    with elsewhere(world, sqlite_template, tmp_path) as allocator:
        held = [allocator.lender().borrow(key) for key in ("a", "b")]
        it = world.begin()
        world.go_on(600)
        assert (world.state(it), world.engine.dead_letters.find()) == ("pending", [])
        allocator.lender().give_back(held[0])
        world.go_on(60)
        assert world.state(it) == "needs_review_ip_returned"


def test_a_lost_answer_of_an_allocator_without_keys_is_stuck_and_a_person_decides(world: SessionWorld) -> None:
    """Law 5: unknown is not failed, and nothing is borrowed a second time."""
    with Receiver(Reply(raw=b"", then=reset), *[says(404, detail="Not Found")] * 20) as receiver:
        configure(world, **allocator_of(url=f"http://127.0.0.1:{receiver.port}"))
        it = world.begin()
        world.go_on(120)
        (its,) = world.loans(it)
        assert (its.state, its.data["lent"]) == ("stuck", None)
        borrows = [one for one in receiver.requests if one.line.startswith("GET /borrow?")]
    assert len(borrows) == 1
    (letter, *_) = world.engine.read(lambda conn: page(conn, frozenset({"default"}), ["loan"]))
    assert (letter.source, "release-force" in letter.actions) == ("ip_borrow", True)


def test_a_return_that_answers_404_counts_as_returned(world: SessionWorld) -> None:
    """Trap A5, with an allocator that knows only its paths: the first answer is lost, the second says 404."""
    lent = says(item={"mcp_json_string": "{}", "api_url": "http://one"}, borrow_token="t")
    gone = says(404, err="Redis Error", msg="Item not found in borrowed items")
    with Receiver(lent, Reply(raw=b"", then=reset), gone) as receiver:
        configure(world, **allocator_of(url=f"http://127.0.0.1:{receiver.port}"))
        it = world.begin()
        world.go_on(40)
    assert (world.state(it), world.engine.dead_letters.find(), len(receiver.requests)) == (
        "needs_review_ip_returned",
        [],
        3,
    )


def test_the_pool_here_is_not_filled_while_the_allocator_is_elsewhere(world: SessionWorld) -> None:
    configure(world, pool_size=4, **allocator_of(url="http://127.0.0.1:9"))
    world.look_after()
    assert world.engine.read(lambda conn: pool.counts(conn, "local")).total == 2
