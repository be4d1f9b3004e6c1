"""Both versions are served at once; running applications are moved from one to the other, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.review import deciding, scheduling
from interlock.apps.jobs.world import World
from interlock.engine import Engine, Instance
from interlock.engine.versions import migrating
from interlock.engine.versions.batches import Report
from interlock.store import moment, open_store
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.applicant import ANN, HERE
from tests.apps.jobs.finder.seekers import NOW

from .sending import WorldApplicant, open_world_applicant

pytestmark = pytest.mark.soak("postgresql")

LATER = timedelta(hours=5)
TO_VERSION_1 = {"validating": "queued", "scheduled": "paused"}


@contextmanager
def started(url: str, world: World, *, planned: bool, after: WorldApplicant | None = None) -> Iterator[WorldApplicant]:
    """A process with the setting; `after` another, at the time at which that one stopped."""
    with (
        open_store(url, durability="normal", wakeup="poll") as store,
        open_world_applicant(store, world, planned=planned) as made,
    ):
        if after is not None:
            made.trial.clock.advance(moment(after.engine.clock.now()) - NOW)
        yield made
        assert broken_laws(made.engine) == []


def migrate(engine: Engine, **options: Any) -> Report:
    way = migrating.route(engine, "application", **options)
    return migrating.apply(engine, way, ANN, patience=0)


def get(applicant: WorldApplicant, it: UUID) -> Instance:
    return applicant.trial.get(it)


def test_applications_of_version_1_go_on_beside_those_of_version_2(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        old = before.apply()
        sent = before.apply(before.opening("customs-fullstack"))
        before.approve(sent)
    with started(url, world, planned=True, after=before) as applicant:
        new = applicant.apply(applicant.opening("yard-supervisor"))
        assert (get(applicant, old).version, get(applicant, new).version) == (1, 2)
        for it in (old, new):
            applicant.approve(it)
            assert applicant.trial.state(it) == "submitted"
        assert "validating" not in applicant.trial.path(old)
        applicant.engine.write(lambda unit: deciding.withdraw(unit, HERE, sent, ANN))
        assert applicant.trial.state(sent) == "withdrawn", "also what was sent under version 1 can be withdrawn"
    with started(url, world, planned=False, after=applicant) as after:
        after.engine.write(lambda unit: deciding.withdraw(unit, HERE, new, ANN))
        assert after.trial.state(new) == "withdrawn"


def test_running_applications_are_moved_to_version_2_where_they_stand(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        review = before.apply()
        queued = before.choose(before.opening("customs-fullstack"))
        paused = before.choose(before.opening("yard-supervisor"))
        before.engine.write(lambda unit: deciding.pause(unit, HERE, paused, ANN))
        done = {it: before.trial.state(it) for it in (review, queued, paused)}
    with started(url, world, planned=True, after=before) as applicant:
        report = migrate(applicant.engine)
        assert (report.moved.total(), report.refusals) == (3, 0)
        assert {it: applicant.trial.state(it) for it in done} == done
        assert {get(applicant, it).version for it in done} == {2}
        applicant.trial.run_until_idle()
        assert "validating" in applicant.trial.path(queued)
        at = moment(applicant.engine.clock.now()) + LATER
        packet = applicant.trial.data(review)["packet_hash"]
        applicant.engine.write(lambda unit: scheduling.schedule(unit, HERE, review, at, ANN, packet_hash=packet))
        applicant.trial.run_until_idle()
        assert applicant.trial.state(review) == "scheduled"
        applicant.trial.advance(LATER)
        assert applicant.trial.state(review) == "submitted"


def test_a_migration_is_undone_where_nothing_has_happened_since(url: str, world: World) -> None:
    with started(url, world, planned=False) as before:
        it = before.apply()
        known = get(before, it)
    with started(url, world, planned=True, after=before) as applicant:
        migrate(applicant.engine)
        report = migrating.back(applicant.engine, "application", ANN, patience=0)
        assert (report.moved.total(), report.refusals) == (1, 0)
        assert (get(applicant, it).version, get(applicant, it).state, get(applicant, it).data) == (
            1,
            known.state,
            known.data,
        )
        applicant.approve(it)
        assert applicant.trial.state(it) == "submitted"


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
    with started(url, world, planned=False, after=before) as applicant:
        plan = migrating.plan(applicant.engine, migrating.route(applicant.engine, "application", source=2))
        assert plan.refusals == 2, "those in states that version 1 does not have"
        report = migrate(applicant.engine, source=2, renamed=TO_VERSION_1)
        assert (report.moved.total(), report.refusals) == (3, 0)
        assert {get(applicant, it).version for it in (waiting, validating, early)} == {1}
        assert [applicant.trial.data(it)["scheduled_for"] for it in (waiting, early)] == [None, None]
        assert (applicant.trial.state(waiting), applicant.row(waiting).status) == ("paused", "paused")
        applicant.trial.run_until_idle()
        assert applicant.trial.state(validating) == "requires_review"
        assert applicant.trial.state(early) == "requires_review", "it waits for no time any more"
        assert applicant.arrived == []
        applicant.engine.write(lambda unit: deciding.resume(unit, HERE, waiting, ANN))
        applicant.trial.run_until_idle()
        assert (applicant.trial.state(waiting), len(applicant.arrived)) == ("submitted", 1), (
            "its packet had been approved"
        )
