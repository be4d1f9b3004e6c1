"""Chance drives the machines while several processes add up; then the sums are those of a full scan."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from interlock.machine import Machine
from interlock.store import tables as t
from interlock.testing import random_walk
from interlock.watch import rollups
from tests.support.racing import DEADLINE
from tests.support.recount import counted, recount, rolled
from tests.support.rollups import STUCK, WALKS, engine_of, roll_all

pytestmark = pytest.mark.slow


@contextmanager
def rolling(url: str, machine: Machine, count: int) -> Iterator[list[BaseException]]:
    """So many others that add up all the time, each with a database connection of its own, in batches of odd sizes."""
    stop, troubles = threading.Event(), []

    def run(number: int) -> None:
        try:
            with engine_of(url, machine) as engine:
                while not stop.wait(0.02):
                    engine.write(lambda unit: rollups.roll(unit, 3 + 4 * number))
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield troubles
    finally:
        stop.set()
        for thread in threads:
            thread.join(DEADLINE)


@pytest.mark.soak(*(f"postgresql-{name}" for name in WALKS if name not in {"stuck job", "parcel"}))
@pytest.mark.parametrize("name", WALKS)
def test_after_a_random_walk_with_several_rollers_the_sums_are_those_of_a_full_scan(url: str, name: str) -> None:
    machine, data = WALKS[name]
    with engine_of(url, machine) as engine:
        with rolling(url, machine, 3) as troubles:
            walk = random_walk(machine, store=url, seed=2, steps=150, data=data)
        assert walk.problems == []
        assert troubles == []
        roll_all(engine)
        slow = engine.read(lambda conn: recount(conn, engine.registry))
        assert engine.read(counted) == slow.present
        assert engine.read(rolled) == slow.sums
        timeless = {key: sums for key, sums in slow.sums.items() if key[2] not in ("dwell", "moved")}
        assert engine.read(lambda conn: rolled(conn, "minute")) == timeless
        finished = sa.select(t.instance.c.id).where(t.instance.c.finished_at.is_not(None))
        assert slow.resting == set(engine.read(lambda conn: conn.execute(finished).scalars().all()))
        assert not engine.read(rollups.behind)


def test_walks_see_every_measure(sqlite_url: str) -> None:
    """Or the test above would prove less than it says."""
    random_walk(STUCK, store=sqlite_url, seed=1, steps=300)
    with engine_of(sqlite_url, STUCK) as engine:
        roll_all(engine)
        assert {measure for _, _, measure, _ in engine.read(rolled)} == {*rollups.BY_MINUTE, "dwell", "moved"}
