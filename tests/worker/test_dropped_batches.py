"""Claims in place whose worker drops them, or whose clock was set back: none is hidden, and time limits hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import Claim, Fenced, claim_batches, workers
from interlock.machine import Fail, Go
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker.claimer import Claimer
from interlock.worker.loop import Identity
from interlock.worker.port import EnginePort
from interlock.worker.runner import Running
from interlock.worker.watcher import Watcher
from tests.support.machines import job, trial_of

MANY = 20


class OneClaimer:
    """A claimer whose handlers do not run: the test says when they end."""

    def __init__(self, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
        self.me = Identity(trial.new_worker())
        self.trusted = True
        self.claimer = Claimer(trial.engine, self.me, trial.queues, MANY, lambda: self.trusted)
        self.claimer.pause = 0

        def start(claims: Iterable[Claim]) -> list[Running]:
            return [Running(claim, EnginePort(trial.engine, claim), lambda _: None) for claim in claims]

        monkeypatch.setattr(self.claimer.runner, "start", start)


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, job(timeout=timedelta(minutes=15))) as made:
        made.engine.core.claims_in_place = True
        made.engine.create_many("job", [None] * MANY)
        yield made


@pytest.fixture
def one(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Iterator[OneClaimer]:
    made = OneClaimer(trial, monkeypatch)
    made.claimer.once()
    assert len({running.claim.batch for running in made.claimer.running} - {None}) == 1
    yield made
    made.claimer.runner.close()


def claimed(trial: Trial, one: OneClaimer) -> set[UUID]:
    return set(trial.engine.read(lambda conn: workers.claimed_by(conn, one.me.id)))


def test_a_result_that_comes_after_its_claims_were_dropped_hides_no_other_claim(trial: Trial, one: OneClaimer) -> None:
    """Its handler ends at the moment of the drop, as after a pause of the process that nobody noticed."""
    every = list(one.claimer.running)
    late = every[0]
    assert late.report_once()
    one.trusted = False
    with pytest.raises(Fenced):
        one.claimer.once()
    one.trusted, one.claimer.draining = True, True
    one.claimer._came(late, Go("second"))
    one.claimer.once()
    assert trial.get(late.claim.id).state == "second"
    others = {running.claim.id for running in every[1:]}
    assert claimed(trial, one) == others, "so its watcher gives them back"
    trial.clock.advance(timedelta(seconds=2))
    assert trial.write(claim_batches.settle) == 0
    assert claimed(trial, one) == others
    assert not one.claimer._in_batch


def test_a_clock_that_was_set_back_prolongs_no_handler_of_a_batch(trial: Trial, one: OneClaimer) -> None:
    watcher = Watcher(trial.engine, one.me, one.claimer)
    trial.clock.step_back(timedelta(days=2))
    watcher.once()
    assert one.claimer._results == []
    trial.clock.advance(timedelta(minutes=16))
    watcher.once()
    assert len(one.claimer._results) == MANY
    assert all(isinstance(outcome, Fail) for _, outcome in one.claimer._results)
    one.claimer._results = []


def test_a_handler_of_a_batch_learns_that_it_was_stopped_though_the_clock_was_set_back(
    trial: Trial, one: OneClaimer
) -> None:
    watcher = Watcher(trial.engine, one.me, one.claimer)
    trial.clock.step_back(timedelta(days=2))
    trial.engine.take_back([one.me.id])
    watcher.once()
    assert all(running.port.cancelled() for running in one.claimer.running)
