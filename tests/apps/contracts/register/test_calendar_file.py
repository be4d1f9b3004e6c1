"""The calendar as a file: days, names, pages, alarms."""

from __future__ import annotations

from datetime import date
from uuid import UUID

from interlock.apps.contracts.register.calendar import Event, as_file
from interlock.apps.contracts.register.term import Deadline

ID = UUID("01a1f08f-7cd4-7592-b6e8-5f64634bcdc9")


def written(called: str, *, checked: bool = True, basis: str = "") -> str:
    event = Event(ID, called, Deadline("notice", date(2026, 12, 31), basis), checked, 1_700_000_000_000_000)
    return as_file([event], address="https://here.example", name="Contracts", remind_before=[30])


def test_an_event_has_its_day_its_name_and_its_page() -> None:
    lines = written("supply.pdf").split("\r\n")
    assert lines[0] == "BEGIN:VCALENDAR"
    assert lines[-2:] == ["END:VCALENDAR", ""]
    for line in (
        f"UID:{ID}-notice-20261231@interlock",
        "DTSTAMP:20231114T221320Z",
        "DTSTART;VALUE=DATE:20261231",
        "DTEND;VALUE=DATE:20270101",
        "SUMMARY:Last day for notice: supply.pdf",
        "TRIGGER:-P30D",
    ):
        assert line in lines


def test_nothing_in_a_name_becomes_a_line_of_its_own() -> None:
    text = written("x.pdf\r\nATTENDEE:evil; a, b\\c", checked=False).replace("\r\n ", "")
    assert "\r\nATTENDEE" not in text
    assert "SUMMARY:Last day for notice: x.pdf\\nATTENDEE:evil\\; a\\, b\\\\c (not reviewed yet)" in text
