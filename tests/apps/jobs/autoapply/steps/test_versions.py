"""Both versions are served at once; running applications are moved from one to the other, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.jobs.autoapply import deciding, scheduling
from interlock.apps.jobs.world import World
from interlock.engine import Engine, Instance
from interlock.engine.versions import migrating
from interlock.engine.versions.batches import Report
from interlock.store import moment, open_store
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.office import ANN, HERE
from tests.apps.jobs.finder.seekers import NOW

from .sending import Desk, open_desk

LATER = timedelta(hours=5)
TO_VERSION_1 = {"validating": "queued", "scheduled": "paused"}


@contextmanager
def started(url: str, world: World, *, planned: bool, after: Desk | None = None) -> Iterator[Desk]:
    """A process with the setting; `after` another, at the time at which that one stopped."""
    with (
        open_store(url, durability="normal", wakeup="poll") as store,
        open_desk(store, world, planned=planned) as made,
    ):
        if after is not None:
            made.trial.clock.advance(moment(after.engine.clock.now()) - NOW)
        yield made
        assert broken_laws(made.engine) == []


def migrate(engine: Engine, **options: Any) -> Report:
    way = migrating.route(engine, "application", **options)
    return migrating.apply(engine, way, ANN, patience=0)


def get(desk: Desk, it: UUID) -> Instance:
    return desk.trial.get(it)


def test_applications_of_version_1_go_on_beside_those_of_version_2(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        old = before.apply()
        sent = before.apply(before.opening("customs-fullstack"))
        before.approve(sent)
    with started(url, world, planned=True, after=before) as desk:
        new = desk.apply(desk.opening("yard-supervisor"))
        assert (get(desk, old).version, get(desk, new).version) == (1, 2)
        for it in (old, new):
            desk.approve(it)
            assert desk.trial.state(it) == "submitted"
        assert "validating" not in desk.trial.path(old)
        desk.engine.write(lambda unit: deciding.withdraw(unit, HERE, sent, ANN))
        assert desk.trial.state(sent) == "withdrawn", "also what was sent under version 1 can be withdrawn"
    with started(url, world, planned=False, after=desk) as after:
        after.engine.write(lambda unit: deciding.withdraw(unit, HERE, new, ANN))
        assert after.trial.state(new) == "withdrawn"


def test_running_applications_are_moved_to_version_2_where_they_stand(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        review = before.apply()
        queued = before.choose(before.opening("customs-fullstack"))
        paused = before.choose(before.opening("yard-supervisor"))
        before.engine.write(lambda unit: deciding.pause(unit, HERE, paused, ANN))
        done = {it: before.trial.state(it) for it in (review, queued, paused)}
    with started(url, world, planned=True, after=before) as desk:
        report = migrate(desk.engine)
        assert (report.moved.total(), report.refusals) == (3, 0)
        assert {it: desk.trial.state(it) for it in done} == done
        assert {get(desk, it).version for it in done} == {2}
        desk.trial.run_until_idle()
        assert "validating" in desk.trial.path(queued)
        at = moment(desk.engine.clock.now()) + LATER
        packet = desk.trial.data(review)["packet_hash"]
        desk.engine.write(lambda unit: scheduling.schedule(unit, HERE, review, at, ANN, packet_hash=packet))
        desk.trial.run_until_idle()
        assert desk.trial.state(review) == "scheduled"
        desk.trial.advance(LATER)
        assert desk.trial.state(review) == "submitted"


def test_a_migration_is_undone_where_nothing_has_happened_since(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        it = before.apply()
        known = get(before, it)
    with started(url, world, planned=True, after=before) as desk:
        migrate(desk.engine)
        report = migrating.back(desk.engine, "application", ANN, patience=0)
        assert (report.moved.total(), report.refusals) == (1, 0)
        assert (get(desk, it).version, get(desk, it).state, get(desk, it).data) == (1, known.state, known.data)
        desk.approve(it)
        assert desk.trial.state(it) == "submitted"


def test_running_applications_of_version_2_are_moved_back_to_version_1(url: str, world: World) -> None:
    with started(url, world, planned=True) as before:
        waiting = before.apply()
        validating = before.choose(before.opening("customs-fullstack"))
        [claim] = before.trial.claim()
        assert (claim.id, before.trial.state(validating)) == (validating, "validating")
        before.engine.give_back([claim])
        early = before.choose(before.opening("yard-supervisor"))
        at = moment(before.engine.clock.now()) + LATER
        packet = before.trial.data(waiting)["packet_hash"]

        def choose(unit: Any) -> None:
            scheduling.schedule(unit, HERE, waiting, at, ANN, packet_hash=packet)
            scheduling.schedule(unit, HERE, early, at, ANN)

        before.engine.write(choose)
        assert before.trial.state(waiting) == "scheduled"
    with started(url, world, planned=False, after=before) as desk:
        plan = migrating.plan(desk.engine, migrating.route(desk.engine, "application", source=2))
        assert plan.refusals == 2, "those in states that version 1 does not have"
        report = migrate(desk.engine, source=2, renamed=TO_VERSION_1)
        assert (report.moved.total(), report.refusals) == (3, 0)
        assert {get(desk, it).version for it in (waiting, validating, early)} == {1}
        assert [desk.trial.data(it)["scheduled_for"] for it in (waiting, early)] == [None, None]
        assert (desk.trial.state(waiting), desk.row(waiting).status) == ("paused", "paused")
        desk.trial.run_until_idle()
        assert desk.trial.state(validating) == "requires_review"
        assert desk.trial.state(early) == "requires_review", "it waits for no time any more"
        assert desk.arrived == []
        desk.engine.write(lambda unit: deciding.resume(unit, HERE, waiting, ANN))
        desk.trial.run_until_idle()
        assert (desk.trial.state(waiting), len(desk.arrived)) == ("submitted", 1), "its packet had been approved"
