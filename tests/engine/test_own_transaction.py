"""One's own transaction: what the engine writes and what the user writes commit together, or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from interlock.engine import AsyncEngine, Engine, KeyTaken, NotFound, Refused, creating
from interlock.engine.unit import Unit
from interlock.machine import Go, Outcome
from interlock.store import Store, open_store
from interlock.testing import START, Trial, VirtualClock
from interlock.worker import Task
from tests.support.effects_and_reviews import ANN, Purchase, purchase
from tests.support.racing import DEADLINE


def draft(_: Task[Purchase]) -> Outcome:
    return Go("review")


MACHINE = purchase.with_handlers({"drafting": draft, "review": draft})
sale = sa.Table("sale", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("item", sa.Text))


class ChangedMind(Exception):
    """The user's own reason to roll back."""


@pytest.fixture
def mine(url: str) -> Iterator[sa.Engine]:
    """The user's own SQLAlchemy engine, as SQLAlchemy makes it, with a table of the user's."""
    made = sa.create_engine(url)
    sale.create(made)
    yield made
    made.dispose()


@pytest.fixture
def trial(mine: sa.Engine, store: Store) -> Iterator[Trial]:
    with Trial([MACHINE], store=store) as trial:
        yield trial
        assert trial.engine.verify().problems == ()


def sales(mine: sa.Engine) -> list[str]:
    with mine.connect() as conn:
        return list(conn.execute(sa.select(sale.c.item).order_by(sale.c.id)).scalars())


def sell(conn: sa.Connection, item: str = "tea") -> None:
    conn.execute(sa.insert(sale).values(item=item))


def test_both_commit(trial: Trial, mine: sa.Engine) -> None:
    with mine.begin() as conn:
        sell(conn)
        it = trial.engine.within(conn).create("purchase", {"item": "tea"}).id
    assert (trial.state(it), sales(mine)) == ("drafting", ["tea"])
    trial.run_until_idle()
    assert trial.state(it) == "review"


@pytest.mark.parametrize("first", ["the engine", "the user"])
def test_neither_commits_when_the_user_rolls_back(trial: Trial, mine: sa.Engine, first: str) -> None:
    def sell_and_create() -> None:
        with mine.begin() as conn:
            if first == "the user":
                sell(conn)
            trial.engine.within(conn).create("purchase", {"item": "tea"}, key="42")
            if first == "the engine":
                sell(conn)
            raise ChangedMind

    with pytest.raises(ChangedMind):
        sell_and_create()
    assert sales(mine) == []
    assert trial.engine.find("purchase", "42") is None
    assert trial.engine.verify().instances == 0


def test_a_connection_that_is_closed_without_a_commit_keeps_nothing(trial: Trial, mine: sa.Engine) -> None:
    with mine.connect() as conn:
        trial.engine.within(conn).create("purchase", {"item": "tea"})
        sell(conn)
    assert (trial.engine.verify().instances, sales(mine)) == (0, [])


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_move_and_all_that_hangs_on_it_follow_the_users_transaction(trial: Trial, mine: sa.Engine, end: str) -> None:
    it = trial.create("purchase", {"item": "tea"})
    trial.run_until_idle()
    before = trial.get(it)
    with mine.connect() as conn:
        trial.engine.within(conn).fire(it, "reject", actor=ANN)
        sell(conn)
        getattr(conn, end)()
    rejected = end == "commit"
    assert trial.state(it) == ("rejected" if rejected else "review")
    assert trial.get(it).seq == len(trial.engine.history(it)) == before.seq + rejected
    assert len(trial.engine.reviews.waiting()) == (0 if rejected else 1)
    assert sales(mine) == (["tea"] if rejected else [])


def test_several_calls_of_the_engine_are_one_transaction(trial: Trial, mine: sa.Engine) -> None:
    with mine.begin() as conn:
        inside = trial.engine.within(conn)
        first = inside.create("purchase", {"item": "tea"}).id
        second = inside.create("purchase", {"item": "coffee"}).id
        inside.fire(first, "reject", actor=ANN)
        inside.pause(second, actor=ANN)
    assert trial.path(first) == ["drafting", "rejected"]
    assert trial.get(second).paused_at is not None


def test_what_is_not_committed_is_seen_inside_and_not_outside(trial: Trial, mine: sa.Engine) -> None:
    with mine.begin() as conn:
        inside = trial.engine.within(conn)
        it = inside.create("purchase", {"item": "tea"}, key="42").id
        assert inside.get(it).state == "drafting"
        assert inside.find("purchase", "42") is not None
        assert inside.explain(it).waits_for == "worker"
        assert [row.kind for row in inside.history(it)] == ["created"]
        with pytest.raises(NotFound):
            trial.engine.get(it)
    assert trial.state(it) == "drafting"


def test_a_refusal_undoes_only_its_own_part_and_the_user_may_go_on(trial: Trial, mine: sa.Engine) -> None:
    taken = trial.create("purchase", {"item": "tea"}, key="42")
    with mine.begin() as conn:
        inside = trial.engine.within(conn)
        sell(conn)
        with pytest.raises(KeyTaken):
            inside.create("purchase", {"item": "tea"}, key="42")
        with pytest.raises(Refused):
            inside.fire(taken, "approve", actor=ANN)
        inside.create("purchase", {"item": "tea"}, key="43")
    assert sales(mine) == ["tea"]
    assert trial.engine.find("purchase", "43") is not None
    assert trial.get(taken).seq == 1


def test_a_call_that_fails_half_way_is_undone_and_the_user_may_go_on(trial: Trial, mine: sa.Engine) -> None:
    def half(unit: Unit) -> None:
        creating.create(unit, MACHINE, {"item": "coffee"}, ANN)
        unit.flush()
        raise ChangedMind

    with mine.begin() as conn:
        sell(conn)
        with pytest.raises(ChangedMind):
            trial.engine.within(conn).write(half)
        it = trial.engine.within(conn).create("purchase", {"item": "tea"}).id
    assert (trial.engine.verify().instances, sales(mine)) == (1, ["tea"])
    assert trial.data(it)["item"] == "tea"


def test_the_users_own_savepoint_takes_the_engines_part_back_with_it(trial: Trial, mine: sa.Engine) -> None:
    with mine.begin() as conn:
        kept = trial.engine.within(conn).create("purchase", {"item": "tea"}).id
        with conn.begin_nested() as savepoint:
            gone = trial.engine.within(conn).create("purchase", {"item": "coffee"}).id
            savepoint.rollback()
    assert trial.state(kept) == "drafting"
    with pytest.raises(NotFound):
        trial.get(gone)


def test_a_review_is_decided_and_a_dead_letter_closed_in_the_users_transaction(trial: Trial, mine: sa.Engine) -> None:
    it = trial.create("purchase", {"item": "tea"})
    trial.run_until_idle()
    (review,) = trial.engine.reviews.waiting()
    with mine.connect() as conn:
        trial.engine.within(conn).reviews.decide(review.id, "reject", actor=ANN, answer={"amount": 1})
        conn.rollback()
    assert (trial.engine.reviews.get(review.id).status, trial.state(it)) == ("open", "review")
    with mine.begin() as conn:
        trial.engine.within(conn).reviews.decide(review.id, "reject", actor=ANN, answer={"amount": 1})
    assert (trial.engine.reviews.get(review.id).status, trial.state(it)) == ("decided", "rejected")


def test_an_orm_session_is_a_transaction_of_the_users_too(trial: Trial, mine: sa.Engine) -> None:
    with Session(mine) as session:
        session.execute(sa.insert(sale).values(item="tea"))
        it = trial.engine.within(session.connection()).create("purchase", {"item": "tea"}).id
        session.commit()
    assert (trial.state(it), sales(mine)) == ("drafting", ["tea"])


def test_others_write_as_soon_as_the_users_transaction_ends(trial: Trial, mine: sa.Engine) -> None:
    with ThreadPoolExecutor(1) as other:
        with mine.begin() as conn:
            trial.engine.within(conn).create("purchase", {"item": "tea"})
            waiting = other.submit(trial.create, "purchase", {"item": "coffee"})
        waiting.result(DEADLINE)
    assert trial.engine.verify().instances == 2


def test_a_worker_is_notified_of_new_work_when_the_user_commits_and_only_then(postgres_url: str) -> None:
    heard: list[str] = []
    came = threading.Event()

    def hear(queues: frozenset[str]) -> None:
        heard.extend(queues)
        if "committed" in queues:
            came.set()

    mine = sa.create_engine(postgres_url)
    with open_store(postgres_url) as here, open_store(postgres_url) as there:
        engine = Engine(here, [MACHINE])
        listening = threading.Event()
        there.subscribe(lambda queues: listening.set())
        there.listen()
        assert listening.wait(DEADLINE)
        there.subscribe(hear)
        for queue, end in (("rolled back", "rollback"), ("x" * 200, "commit"), ("committed", "commit")):
            with mine.connect() as conn:
                engine.within(conn).create("purchase", {"item": "tea"}, queue=queue)
                getattr(conn, end)()
        assert came.wait(DEADLINE)
        assert "rolled back" not in heard
    mine.dispose()


# -- in a program that awaits


async def test_an_awaited_engine_does_what_the_engine_does(store: Store) -> None:
    clock = VirtualClock()
    engine = AsyncEngine(Engine(store, [MACHINE], clock=clock))
    it = (await engine.create("purchase", {"item": "tea"}, key="42")).id
    assert not (await engine.create_or_get("purchase", {"item": "tea"}, key="42")).new
    found = await engine.find("purchase", "42")
    assert found is not None
    assert found.id == it
    await engine.pause(it, actor=ANN)
    assert (await engine.explain(it)).waits_for == "person"
    await engine.resume(it, actor=ANN)
    with pytest.raises(Refused):
        await engine.fire(it, "approve", actor=ANN)
    assert (await engine.fire(it, "reject", actor=ANN)).state == "rejected"
    assert (await engine.at(it, START)).state == "rejected"
    assert [row.kind for row in await engine.history(it)] == ["created", "paused", "resumed", "moved"]
    assert (await engine.get(it)).finished_at == clock.now()
    assert await engine.call(engine.engine.reviews.waiting) == []
    assert (await engine.verify()).problems == ()
    await engine.close()


async def test_many_awaited_calls_run_at_the_same_time(store: Store) -> None:
    engine = AsyncEngine(Engine(store, [MACHINE]))
    made = await asyncio.gather(*(engine.create("purchase", {"item": str(n)}) for n in range(50)))
    assert len({one.id for one in made}) == 50
    assert (await engine.verify()).instances == 50
    await engine.close()


async def test_the_event_loop_goes_on_while_a_call_waits_for_the_database(mine: sa.Engine, store: Store) -> None:
    engine = AsyncEngine(Engine(store, [MACHINE]))
    it = (await engine.create("purchase", {"item": "tea"})).id
    with mine.begin() as conn:
        engine.engine.within(conn).pause(it, actor=ANN)
        waiting = asyncio.ensure_future(engine.resume(it, actor=ANN))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done(), "it waits for our transaction, and we are here all the same"
    assert (await asyncio.wait_for(waiting, DEADLINE)).paused_at is None
    await engine.close()


@pytest.mark.parametrize("fails", [False, True])
async def test_ones_own_transaction_in_a_program_that_awaits(mine: sa.Engine, store: Store, fails: bool) -> None:
    engine = AsyncEngine(Engine(store, [MACHINE]))

    def both() -> UUID:
        with mine.begin() as conn:
            it = engine.engine.within(conn).create("purchase", {"item": "tea"}).id
            sell(conn)
            if fails:
                raise ChangedMind
            return it

    if fails:
        with pytest.raises(ChangedMind):
            await engine.call(both)
    else:
        assert (await engine.get(await engine.call(both))).state == "drafting"
    assert sales(mine) == ([] if fails else ["tea"])
    assert (await engine.verify()).instances == (0 if fails else 1)
    await engine.close()
