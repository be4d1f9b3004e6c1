"""Calendars are valid for programs that read them, and only the secret address opens the feed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.board import calendar
from interlock.apps.jobs.autoapply.board.calendar import Event, calendar_of
from interlock.store import span
from tests.apps.jobs.autoapply.applicant import HERE, Applicant

from .carded import sent

NOW = 1_800_000_000_000_000


def unfolded(text: str) -> list[str]:
    assert text.endswith("\r\n")
    return text.replace("\r\n ", "").split("\r\n")[:-1]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_text_stays_in_its_line(title: str, place: str) -> None:
    text = calendar_of([Event("1@x", title, NOW, None, NOW, place, title)])
    assert all(len(line.encode("utf-8", "replace")) <= 75 for line in text.split("\r\n"))
    lines = unfolded(text)
    names = [line.partition(":")[0] for line in lines]
    assert names.count("BEGIN") == names.count("END") == 2
    assert [name for name in names if name == "SUMMARY"] == ["SUMMARY"]
    assert not any(ord(one) < 32 for line in lines for one in line)


def test_an_entry_has_what_programs_need() -> None:
    lines = unfolded(calendar_of([Event("7@x", "Interview, with; Bo", NOW, NOW + 3_600_000_000, NOW, "A\nB")]))
    assert "UID:7@x" in lines
    assert "DTSTART:20270115T080000Z" in lines
    assert "DTEND:20270115T090000Z" in lines
    assert "SUMMARY:Interview\\, with\\; Bo" in lines
    assert "LOCATION:A\\nB" in lines
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]


def test_what_is_open_is_in_the_feed(applicant: Applicant) -> None:
    sent(applicant.engine, "Cook", "Kind Boats")
    sent(applicant.engine, "Baker", "Grim Corp", workspace="north")
    now = applicant.engine.clock.now()
    found = applicant.engine.read(lambda conn: calendar.events(conn, HERE, now))
    assert [(one.title, one.at) for one in found] == [("Follow up: Kind Boats", now + span(timedelta(days=7)))]


def test_an_application_that_waits_for_its_time_is_in_the_feed(applicant: Applicant) -> None:
    now = applicant.engine.clock.now()
    sent(applicant.engine, days=0, status="scheduled", scheduled_for=now + 5)
    [found] = applicant.engine.read(lambda conn: calendar.events(conn, HERE, now))
    assert (found.title, found.at) == ("Application is sent: Kind Boats", now + 5)


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
