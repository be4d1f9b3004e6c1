"""Tidying: rows that served their purpose go in small steps; no limit, fence or lease is weaker for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.config import Settings
from interlock.engine import Engine, finishing, workers
from interlock.engine.cleanup import clean_up
from interlock.machine import FINAL, SYSTEM, WAITING, Concurrent, Go, LimitReached, Machine, State, Transition, Window
from interlock.store import Store, tables
from interlock.testing import Trial
from interlock.worker.keeper import Keeper
from tests.support.machines import by_hand, claim_one, job, trial_of
from tests.support.racing import race

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
door = by_hand(
    Machine(
        "door",
        initial="outside",
        states=[State("outside", WAITING, waits_for="a place"), State("inside"), State("gone", FINAL)],
        transitions=[
            Transition("outside", "inside", on="enter", by=SYSTEM, takes=("entries",)),
            Transition("inside", "gone", on="leave"),
        ],
        limits=[Window("entries", "{room}", 1, HOUR), Concurrent("seats", "{room}", 1, ("inside",))],
    )
)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, door) as trial:
        yield trial


def count(engine: Engine, table: sa.Table) -> int:
    return int(engine.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()))


def enter(trial: Trial, room: str = "a") -> UUID:
    it = trial.create("door", {"room": room})
    trial.engine.fire(it, "enter")
    return it


# -- limits


def test_uses_go_a_day_after_their_window_and_keys_with_them(trial: Trial) -> None:
    for room in "abc":
        enter(trial, room)
    trial.clock.advance(HOUR + DAY - timedelta(microseconds=1))
    assert clean_up(trial.engine) == {}
    trial.clock.advance(timedelta(microseconds=1))
    gone = clean_up(trial.engine)
    assert (gone["limit_use"], count(trial.engine, tables.limit_use)) == (3, 0)
    assert count(trial.engine, tables.limit_key) == 0
    assert clean_up(trial.engine) == {}


def test_a_use_that_counts_stays_and_the_limit_with_it(trial: Trial) -> None:
    enter(trial)
    clean_up(trial.engine)
    with pytest.raises(LimitReached):
        enter(trial)


def test_a_use_whose_limit_no_code_here_knows_stays_for_more_than_a_year(trial: Trial, store: Store) -> None:
    enter(trial)
    other = Engine(store, [job()], clock=trial.clock)
    trial.clock.advance(399 * DAY)
    assert clean_up(other) == {}
    trial.clock.advance(2 * DAY)
    assert clean_up(other)["limit_use"] == 1


def test_a_slot_that_nobody_works_under_goes_and_one_that_is_used_stays(trial: Trial) -> None:
    it = enter(trial)
    claim = claim_one(trial)
    clean_up(trial.engine)
    assert count(trial.engine, tables.limit_slot) == 1
    trial.finish(claim, Go("gone"))
    trial.engine.store.write(
        lambda conn: conn.execute(sa.insert(tables.limit_slot).values(key="seats/a", instance_id=it, at=0))
    )
    assert clean_up(trial.engine)["limit_slot"] == 1
    assert count(trial.engine, tables.limit_slot) == 0


def test_a_limit_holds_while_its_key_is_tidied_away(trial: Trial) -> None:
    """Whoever waits for the lock of a key whose row goes must hold the row that comes after it."""
    engine = trial.engine
    rooms = [str(n) for n in range(12)]
    if engine.store.dialect == "postgresql":
        rows = [{"key": f"entries/{room}"} for room in rooms]
        engine.store.write(lambda conn: conn.execute(sa.insert(tables.limit_key), rows))
    guests = {room: engine.create_many("door", [{"room": room}] * 6) for room in rooms}
    done = threading.Event()

    def go(number: int) -> dict[str, int]:
        entered = dict.fromkeys(rooms, 0)
        if number == 0:
            while not done.is_set():
                clean_up(engine)
            return entered
        for room in rooms:
            try:
                engine.fire(guests[room][number - 1], "enter")
                entered[room] += 1
            except LimitReached:
                continue
        if number == 1:
            done.set()
        return entered

    found = race(7, go)
    assert {room: sum(one[room] for one in found) for room in rooms} == dict.fromkeys(rooms, 1)


# -- leases


def test_a_lease_that_is_free_for_long_goes_and_its_fence_still_grows(trial: Trial) -> None:
    engine, clock = trial.engine, trial.clock
    for _ in range(3):
        held = engine.leases.take("printer", "ann", HOUR)
        engine.leases.release(held)
    assert held.fence == 3
    clock.advance(29 * DAY)
    young = engine.leases.take("scanner", "ann", HOUR)
    engine.leases.release(young)
    clock.advance(DAY)
    assert clean_up(engine) == {}, "the first round only remembers the fence"
    clock.advance(HOUR)
    assert clean_up(engine) == {"lease": 1}
    again = engine.leases.take("printer", "bob", HOUR)
    assert again.fence > held.fence
    assert engine.leases.find("printer") == again
    assert engine.leases.take("new", "bob", HOUR).fence > held.fence


def test_a_lease_that_is_held_or_belongs_to_an_instance_stays(trial: Trial) -> None:
    engine, clock = trial.engine, trial.clock
    it = trial.create("door", {"room": "a"})
    engine.leases.take("held", "ann", 1000 * DAY)
    engine.leases.take("run out", "ann", HOUR, instance_id=it)
    for _ in range(3):
        clock.advance(31 * DAY)
        assert clean_up(engine) == {}
    assert engine.leases.find("held") is not None


# -- workers and progress


def test_workers_that_are_long_gone_go_unless_they_hold_something(trial: Trial, tmp_path: Path) -> None:
    engine, clock = trial.engine, trial.clock
    for n, status in enumerate(("stopped", "lost", "lost", "alive"), 1):
        engine.store.write(
            lambda conn, n=n: workers.start(
                conn, clock.now(), UUID(int=n), host="h", pid=n, queues=["door"], lock_file=None
            )
        )
        if status != "alive":
            engine.store.write(lambda conn, n=n, status=status: workers.mark(conn, UUID(int=n), status))
    enter(trial)
    assert len(engine.claim(UUID(int=3), ["door"], 1)) == 1
    clock.advance(7 * DAY)
    assert clean_up(engine)["worker"] == 0
    clock.advance(timedelta(seconds=20))
    assert clean_up(engine)["worker"] == 2
    left = {worker.id for worker in engine.read(workers.every)}
    assert {UUID(int=n) for n in range(1, 5)} & left == {UUID(int=3), UUID(int=4)}


def test_the_lock_file_of_a_worker_that_is_long_gone_goes_with_it(sqlite_url: str) -> None:
    with Trial([door], store=sqlite_url) as trial:
        store = trial.engine.store
        path = store.take_lock(UUID(int=1))
        assert path is not None
        store.drop_lock(path)
        Path(path).touch()  # as a process that was killed leaves it
        store.write(
            lambda conn: workers.start(conn, trial.clock.now(), UUID(int=1), host="h", pid=1, queues=[], lock_file=path)
        )
        store.write(lambda conn: workers.mark(conn, UUID(int=1), "lost"))
        trial.clock.advance(8 * DAY)
        clean_up(trial.engine)
        assert not Path(path).exists()


def test_progress_of_handlers_that_ended_goes(trial: Trial) -> None:
    for room in "ab":
        enter(trial, room)
    ended, running = trial.claim(2)
    for claim in (ended, running):
        trial.write(lambda unit, claim=claim: finishing.progress(unit, claim, 0.5, "half"))
    trial.finish(ended, Go("gone"))
    trial.clock.advance(DAY)
    assert clean_up(trial.engine)["progress"] == 1
    assert count(trial.engine, tables.progress) == 1


# -- in small steps


def test_each_step_is_bounded_and_it_stops_when_asked(trial: Trial) -> None:
    for n in range(7):
        enter(trial, str(n))
    trial.clock.advance(2 * DAY)
    rests: list[float] = []
    gone = clean_up(trial.engine, batch=2, stopping=lambda: len(rests) == 1, rest=rests.append)
    assert gone["limit_use"] == 2
    assert clean_up(trial.engine, batch=2)["limit_use"] == 5


def test_the_keeper_tidies_even_where_nothing_else_is_ever_removed(trial: Trial, tmp_path: Path) -> None:
    enter(trial)
    trial.clock.advance(2 * DAY)
    Keeper(trial.engine, Settings(data=tmp_path)).once()
    assert count(trial.engine, tables.limit_use) == 0
