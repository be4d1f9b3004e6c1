"""Each row of the specification's table of errors, with the real steps, in virtual time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from interlock import ai
from interlock.apps.jobs.autoapply.records import logs
from interlock.apps.jobs.autoapply.steps import prepare
from tests.apps.jobs.autoapply.office import HERE

from .sending import Desk

MINUTES = [15, 30, 60]


def waits(desk: Desk, it: UUID, most: int = 8) -> list[float]:
    """How long it waited before each attempt, in minutes, until it is given up."""
    found: list[float] = []
    while desk.trial.state(it) != "withdrawn" and len(found) < most:
        row = desk.row(it)
        assert row.scheduled_for is not None, row
        found.append((row.scheduled_for - desk.engine.clock.now()) / 60_000_000)
        desk.trial.advance(timedelta(minutes=found[-1]))
    return found


def mails(desk: Desk) -> list[str]:
    return [one.recipient for one in desk.engine.outbox.page().messages if "given up" in one.subject]


def test_an_external_site_that_cannot_be_reached(desk: Desk) -> None:
    queued = desk.take(desk.rule(require_user_approval=False), desk.opening())
    assert queued.application is not None
    it = queued.application.id
    desk.world.faults.add("server_error", "/tidewater/jobs/")
    desk.trial.run_until_idle()
    assert desk.trial.state(it) == "failed"
    assert waits(desk, it) == MINUTES
    row = desk.row(it)
    assert (row.withdraw_reason, row.attempt_count, desk.arrived) == ("retries_exhausted", 4, [])
    assert "SiteUnreachable" in str(row.last_error)
    assert mails(desk) == ["mika@sand.example"]
    assert "failed" in {one.status for one in desk.engine.read(lambda conn: logs.page(conn, HERE, application=it))}
    [letter] = desk.engine.dead_letters.find()
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
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception, pauses: list[float]
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(ai, "configured", lambda _: True)
    monkeypatch.setattr(prepare, "letter_with_model", fails)
    it = desk.apply()
    assert waits(desk, it) == pauses
    assert desk.row(it).withdraw_reason == "retries_exhausted"
    assert mails(desk) == ["mika@sand.example"]


def test_an_address_that_may_not_be_asked_is_withdrawn_without_a_retry(desk: Desk) -> None:
    posting = desk.finder.settled("http://127.0.0.1:9/jobs/1", company="Nowhere")
    it = desk.apply(posting)
    assert (desk.trial.state(it), desk.row(it).withdraw_reason) == ("withdrawn", "invalid_url")
    assert (mails(desk), desk.engine.dead_letters.find()) == ([], [])


def test_a_quota_of_the_user_pauses_until_exactly_its_reset(desk: Desk) -> None:
    first = desk.apply()
    desk.approve(first)
    second = desk.opening("customs-fullstack")
    desk.trial.advance(hours=5)
    other = desk.apply(second)
    desk.engine.write(
        lambda unit: prepare_limit(unit, other),
    )
    desk.approve(other)
    assert desk.trial.state(other) == "paused"
    row = desk.row(other)
    assert row.scheduled_for is not None
    assert (row.scheduled_for - desk.engine.clock.now()) / 3_600_000_000 == 19
    assert row.attempt_count == 0, "its turn had not come; that is no failure"
    desk.trial.advance(hours=19)
    assert (desk.trial.state(other), len(desk.arrived)) == ("submitted", 2)


def prepare_limit(unit: object, it: UUID) -> None:
    """One application a day for this seeker."""
    from interlock.engine.application import SYSTEM_ACTOR, Unit, change

    assert isinstance(unit, Unit)
    change(unit, unit.lock(it), {"daily_limit": 1}, SYSTEM_ACTOR)
