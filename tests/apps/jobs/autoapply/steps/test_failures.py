"""Each row of the specification's table of errors, with the real steps, in virtual time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from interlock import ai
from interlock.apps.jobs.autoapply.records import logs
from interlock.apps.jobs.autoapply.steps import prepare
from tests.apps.jobs.autoapply.applicant import HERE

from .sending import WorldApplicant

MINUTES = [15, 30, 60]


def waits(applicant: WorldApplicant, it: UUID, most: int = 8) -> list[float]:
    """How long it waited before each attempt, in minutes, until it is given up."""
    found: list[float] = []
    while applicant.trial.state(it) != "withdrawn" and len(found) < most:
        row = applicant.row(it)
        assert row.scheduled_for is not None, row
        found.append((row.scheduled_for - applicant.engine.clock.now()) / 60_000_000)
        applicant.trial.advance(timedelta(minutes=found[-1]))
    return found


def mails(applicant: WorldApplicant) -> list[str]:
    return [one.recipient for one in applicant.engine.outbox.page().messages if "given up" in one.subject]


def test_an_external_site_that_cannot_be_reached(applicant: WorldApplicant) -> None:
    queued = applicant.take(applicant.rule(require_user_approval=False), applicant.opening())
    assert queued.application is not None
    it = queued.application.id
    applicant.world.faults.add("server_error", "/tidewater/jobs/")
    applicant.trial.run_until_idle()
    assert applicant.trial.state(it) == "failed"
    assert waits(applicant, it) == MINUTES
    row = applicant.row(it)
    assert (row.withdraw_reason, row.attempt_count, applicant.arrived) == ("retries_exhausted", 4, [])
    assert "SiteUnreachable" in str(row.last_error)
    assert mails(applicant) == ["mika@sand.example"]
    assert "failed" in {one.status for one in applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it))}
    [letter] = applicant.engine.dead_letters.find()
    assert letter.instance_id == it


@pytest.mark.parametrize(
    ("error", "pauses"),
    [
        (ai.ModelTimeout("no answer within 60 s"), MINUTES),
        (ai.ModelQuota("429"), [60] * 5),
    ],
    ids=["timeout", "quota"],
)
def test_a_model_that_does_not_write_the_letter(
    applicant: WorldApplicant, monkeypatch: pytest.MonkeyPatch, error: Exception, pauses: list[float]
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(ai, "configured", lambda _: True)
    monkeypatch.setattr(prepare, "letter_with_model", fails)
    it = applicant.apply()
    assert waits(applicant, it) == pauses
    assert applicant.row(it).withdraw_reason == "retries_exhausted"
    assert mails(applicant) == ["mika@sand.example"]


def test_an_address_that_may_not_be_asked_is_withdrawn_without_a_retry(applicant: WorldApplicant) -> None:
    posting = applicant.finder.settled("http://127.0.0.1:9/jobs/1", company="Nowhere")
    it = applicant.apply(posting)
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "invalid_url")
    assert (mails(applicant), applicant.engine.dead_letters.find()) == ([], [])


def test_a_quota_of_the_user_pauses_until_exactly_its_reset(applicant: WorldApplicant) -> None:
    first = applicant.apply()
    applicant.approve(first)
    second = applicant.opening("customs-fullstack")
    applicant.trial.advance(hours=5)
    other = applicant.apply(second)
    applicant.engine.write(
        lambda unit: prepare_limit(unit, other),
    )
    applicant.approve(other)
    assert applicant.trial.state(other) == "paused"
    row = applicant.row(other)
    assert row.scheduled_for is not None
    assert (row.scheduled_for - applicant.engine.clock.now()) / 3_600_000_000 == 19
    assert row.attempt_count == 0, "its turn had not come; that is no failure"
    applicant.trial.advance(hours=19)
    assert (applicant.trial.state(other), len(applicant.arrived)) == ("submitted", 2)


def prepare_limit(unit: object, it: UUID) -> None:
    """One application a day for this seeker."""
    from interlock.engine.application import SYSTEM_ACTOR, Unit, change

    assert isinstance(unit, Unit)
    change(unit, unit.lock(it), {"daily_limit": 1}, SYSTEM_ACTOR)
