"""The reconciler finds what one side counts and the other does not, and says whose mistake it is."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.loans import measures
from interlock.apps.sessions.loans.pool_view import pool_view
from interlock.apps.sessions.loans.reconciling import drifts, reconcile
from interlock.apps.sessions.tables import sandbox_loan, sandbox_pool
from tests.apps.sessions.loans.test_traps import configure
from tests.apps.sessions.loans.world import SessionWorld

pytestmark = pytest.mark.soak("postgresql")


def drift_of(world: SessionWorld) -> list[tuple[str, str]]:
    """Drift that has lasted, as (whose, sentence)."""
    reconcile(world.engine)
    world.advance(minutes=2)
    reconcile(world.engine)
    found = world.engine.read(lambda conn: drifts(conn, world.clock.now()))
    shown = world.engine.read(lambda conn: measures.metrics(conn, world.clock.now()))
    assert shown["sandbox_drift"] == len(found)
    return [(one.whose, one.sentence) for one in found]


@pytest.fixture
def held(world: SessionWorld) -> SessionWorld:
    """One session holds a sandbox."""
    configure(world, return_after=600_000.0)
    world.begin()
    world.run_until_idle()
    return world


def test_what_agrees_is_no_drift(held: SessionWorld) -> None:
    lent_to_another = lending.Request("local", "token:1:k", "bob", timedelta(hours=24))
    EngineTransactions(held.engine).write(lending.lend, lent_to_another)
    assert drift_of(held) == []


def test_a_loan_that_the_allocator_does_not_know(held: SessionWorld) -> None:
    (item,) = [one for one in held.items() if one.state == "borrowed"]
    EngineTransactions(held.engine).write(lending.release, item.id)
    ((whose, sentence),) = drift_of(held)
    assert whose == "loan"
    assert f"holds the sandbox {item.id}, and the allocator does not count it as lent" in sentence


def test_a_borrow_that_no_loan_holds(held: SessionWorld) -> None:
    held.engine.write(lambda unit: unit.conn.execute(sa.delete(sandbox_loan)))
    ((whose, sentence),) = drift_of(held)
    assert (whose, "which does not hold it" in sentence) == ("allocator", True)


def test_two_loans_with_one_sandbox(held: SessionWorld) -> None:
    (its,) = held.items()[:1]
    assert its
    other = held.begin()
    held.run_until_idle()
    loans = [held.loans(one)[0].id for one in (held.worked[0][0], other)]
    first = held.worked[0][1]
    held.engine.write(
        lambda unit: unit.conn.execute(
            sa.update(sandbox_loan).where(sandbox_loan.c.loan_id == loans[1]).values(item_id=first)
        )
    )
    assert [whose for whose, _ in drift_of(held)] == ["allocator", "both"]


def test_counts_that_somebody_edited(held: SessionWorld) -> None:
    wrong = {"free": 2, "borrowed": 0}
    held.engine.write(lambda unit: unit.conn.execute(sa.update(sandbox_pool).values(wrong)))
    assert [whose for whose, _ in drift_of(held)] == ["counts"]
    held.engine.write(lambda unit: unit.conn.execute(sa.update(sandbox_pool).values(free=1, borrowed=1)))
    assert drift_of(held) == [], "it is forgotten when it is gone"


def test_what_is_only_under_way_is_not_shown(held: SessionWorld) -> None:
    held.engine.write(lambda unit: unit.conn.execute(sa.delete(sandbox_loan)))
    reconcile(held.engine)
    assert held.engine.read(lambda conn: drifts(conn, held.clock.now())) == []


def test_the_pool_is_shown_with_who_holds_what_and_without_secrets(held: SessionWorld) -> None:
    view = held.engine.read(lambda conn: pool_view(conn, held.settings, held.clock.now()))
    (counts,) = view.counts
    assert (counts.free, counts.borrowed, counts.total, view.waiting, view.drifts) == (1, 1, 2, 0, ())
    (lent,) = [one for one in view.sandboxes if one.state == "borrowed"]
    (session_id, item_id) = held.worked[0]
    assert (lent.session_id, lent.item_id, lent.borrower) == (session_id, item_id, f"session {session_id}")
    assert {one.name for one in view.sandboxes} == {"local-1", "local-2"}
    token = held.secrets_of(held.loans(session_id)[0].id)[1]
    assert str(token) not in repr(view)
    assert "mcpServers" not in repr(view)


def test_the_counts_are_metrics(held: SessionWorld) -> None:
    shown = held.engine.read(lambda conn: measures.metrics(conn, held.clock.now()))
    assert (shown["sandboxes_free"], shown["sandboxes_borrowed"], shown["sandboxes_total"]) == (1, 1, 2)
    assert shown["loans_stuck"] == 0
