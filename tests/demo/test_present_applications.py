"""People and agents of the demo in the present, where applications are really sent."""

from __future__ import annotations

import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.machine import job
from interlock.apps.jobs.demo import applications, claims
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.steps.listings import claim_name
from interlock.engine.application import create
from interlock.machine import AGENT, OWNER, Actor
from interlock.store import open_store
from tests.apps.jobs.autoapply.applicant import HERE, Applicant, open_applicant

ROBOT = Actor(AGENT, "robot")


@pytest.fixture
def applicant(sqlite_url: str) -> Iterator[Applicant]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_applicant(store) as made:
        yield made


def found(applicant: Applicant, board: str, number: str) -> UUID:
    """A job that agents may claim."""
    data, key = {"board": board, "job_id": number}, steps.job_key(board, number)
    return applicant.engine.write(lambda unit: create(unit, job, data, ROBOT, key=key, by_application=True)).id


def test_agents_leave_a_job_to_the_person_who_applies_for_it(applicant: Applicant) -> None:
    posting = applicant.match()
    it = applicant.choose(posting)
    row = applicant.finder.read(lambda conn: postings.find(conn, HERE, posting))
    assert row is not None
    taken, free = found(applicant, *claim_name(row.posting)), found(applicant, "acme", "7")
    rng = random.Random(1)
    for _ in range(50):
        claims.react(applicant.engine, applicant.trial.get(taken), rng)
        assert applicant.trial.state(taken) == "discovered"
    assert applicant.trial.state(free) != "discovered"
    applicant.engine.fire(it, "withdraw", actor=Actor(OWNER, "ann"))
    claims.react(applicant.engine, applicant.trial.get(taken), rng)
    assert applicant.trial.state(taken) != "discovered"


def test_what_is_left_of_the_past_is_never_approved(applicant: Applicant) -> None:
    for seed in range(20):
        it = applicant.engine.create("application", {"user_id": "ann"}, actor=ROBOT, by_application=True).id
        applicant.engine.force(it, "requires_review", actor=Actor(OWNER, "ann"), reason="as in the past")
        applications.react(applicant.engine, applicant.trial.get(it), random.Random(seed))
        assert applicant.trial.state(it) in ("withdrawn", "paused")
        assert applicant.trial.data(it)["withdraw_reason"] in ("rejected_in_review", None)
