"""Open dates are in the calendar, and only the secret address opens the feed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.apps.jobs.autoapply.board import calendar
from interlock.store import span
from tests.apps.jobs.autoapply.applicant import HERE, Applicant

from .carded import sent


def test_what_is_open_is_in_the_feed(applicant: Applicant) -> None:
    sent(applicant.engine, "Cook", "Kind Boats")
    sent(applicant.engine, "Baker", "Grim Corp", workspace="north")
    now = applicant.engine.clock.now()
    found = applicant.engine.read(lambda conn: calendar.events(conn, HERE, now))
    assert [(one.title, one.start) for one in found] == [("Follow up: Kind Boats", now + span(timedelta(days=7)))]


def test_an_application_that_waits_for_its_time_is_in_the_feed(applicant: Applicant) -> None:
    now = applicant.engine.clock.now()
    sent(applicant.engine, days=0, status="scheduled", scheduled_for=now + 5)
    [found] = applicant.engine.read(lambda conn: calendar.events(conn, HERE, now))
    assert (found.title, found.start) == ("Application is sent: Kind Boats", now + 5)


def test_a_new_address_replaces_the_old_one_and_only_its_hash_is_stored(applicant: Applicant) -> None:
    first = applicant.engine.write(lambda unit: calendar.make_feed(unit, HERE, "ann"))
    second = applicant.engine.write(lambda unit: calendar.make_feed(unit, HERE, "ann"))

    def opens(secret: str) -> str | None:
        return applicant.engine.read(lambda conn: calendar.workspace_of_feed(conn, secret))

    assert (opens(first), opens(second)) == (None, HERE)
    rows = applicant.engine.read(lambda conn: str(conn.execute(calendar.F.select()).all()))
    assert first not in rows
    assert second not in rows
    assert applicant.engine.write(lambda unit: calendar.remove_feed(unit, HERE))
    assert opens(second) is None


@pytest.mark.parametrize("secret", ["", "x", "a" * 43 + "'", "../" * 20, "é" * 43, "a" * 10_000])
def test_nothing_else_opens_it(applicant: Applicant, secret: str) -> None:
    applicant.engine.write(lambda unit: calendar.make_feed(unit, HERE, "ann"))
    assert applicant.engine.read(lambda conn: calendar.workspace_of_feed(conn, secret)) is None
