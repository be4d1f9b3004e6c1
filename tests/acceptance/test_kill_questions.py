"""A process is killed while its handler waits for a person, or with the answer in hand: one question, one answer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from interlock.engine import Engine, OpenReview
from interlock.machine import USER, Actor
from interlock.store import open_store
from interlock.testing import broken_laws
from interlock.worker import Worker
from tests.acceptance import askers
from tests.acceptance.askers import Orders
from tests.support.forking import PROCESSES
from tests.support.waiting import eventually

ANN = Actor(USER, "ann")
HOUR, SOON = timedelta(hours=1), timedelta(seconds=1)


@pytest.fixture
def engine(url: str, tmp_path: Path) -> Iterator[Engine]:
    with open_store(url, durability="normal", wakeup="poll") as store:
        yield Engine(store, [askers.machine(tmp_path, HOUR)])


def question(engine: Engine, it: UUID) -> OpenReview:
    def found() -> OpenReview | None:
        return next(iter(engine.reviews.waiting(instance_id=it)), None)

    return eventually(found, what=lambda: str(engine.explain(it)))


def ends(engine: Engine, it: UUID, decision: str, by: str, folder: Path) -> None:
    """A worker that lives ends it with the one answer, and nobody was asked twice."""
    with Worker(engine, concurrency=2, lease=timedelta(seconds=20), sweep_every=0.05):
        eventually(lambda: engine.get(it).state == "done", within=30, what=lambda: str(engine.explain(it)))
    assert engine.get(it).data == {"decision": decision}
    assert set((folder / "answers").read_text().splitlines()) == {f"{decision} {by}"}
    kinds = [row.kind for row in engine.history(it)]
    assert (kinds.count("asked"), kinds.count("reviewed")) == (1, 1)
    assert broken_laws(engine) == []


def test_one_that_is_killed_while_it_waits(engine: Engine, url: str, tmp_path: Path) -> None:
    it = engine.create("asking").id
    process = PROCESSES.Process(target=askers.run, args=(Orders(url, tmp_path, HOUR),), daemon=True)
    process.start()
    first = question(engine, it)
    process.kill()
    process.join(10)
    engine.reviews.decide(first.id, "allow", actor=ANN)
    ends(engine, it, "allow", "user:ann", tmp_path)


@pytest.mark.soak("postgresql-ask:before", "postgresql-extend:before")
@pytest.mark.parametrize("point", ["ask:before", "ask:after", "extend:before", "extend:after", "finish:before"])
def test_one_that_is_killed_at_a_point_of_its_own_commits(engine: Engine, url: str, tmp_path: Path, point: str) -> None:
    it = engine.create("asking").id
    times = 2 if point.startswith("finish") else 1  # a claim is written by that name, too
    process = PROCESSES.Process(target=askers.run, args=(Orders(url, tmp_path, HOUR, point, times),), daemon=True)
    process.start()
    if point.startswith("ask"):
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        with Worker(engine, concurrency=2, lease=timedelta(seconds=20), sweep_every=0.05):
            engine.reviews.decide(question(engine, it).id, "allow", actor=ANN)
    else:
        engine.reviews.decide(question(engine, it).id, "allow", actor=ANN)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    ends(engine, it, "allow", "user:ann", tmp_path)


@pytest.mark.soak("postgresql-tick:before")
@pytest.mark.parametrize("point", ["tick:before", "tick:after"])
def test_one_that_is_killed_while_the_default_is_taken(engine: Engine, url: str, tmp_path: Path, point: str) -> None:
    it = engine.create("asking").id
    process = PROCESSES.Process(target=askers.run, args=(Orders(url, tmp_path, SOON, point),), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    ends(engine, it, "deny", "system", tmp_path)
