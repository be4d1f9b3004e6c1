"""Calendar files are valid for the programs that read them, whatever their texts are."""

from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from interlock.http.calendar_file import CalendarEvent, calendar_file

NOW = 1_800_000_000_000_000
HOUR = 3_600_000_000


def unfolded(text: str) -> list[str]:
    assert text.endswith("\r\n")
    return text.replace("\r\n ", "").split("\r\n")[:-1]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_text_stays_in_its_line(title: str, place: str) -> None:
    event = CalendarEvent("1@x", title, NOW, NOW, place=place, text=title, url=place)
    text = calendar_file(title, [event])
    assert all(len(line.encode("utf-8", "replace")) <= 75 for line in text.split("\r\n"))
    lines = unfolded(text)
    names = [line.partition(":")[0] for line in lines]
    assert names.count("BEGIN") == names.count("END") == 2
    assert names.count("SUMMARY") == 1
    assert not any(ord(one) < 32 for line in lines for one in line)


def test_an_entry_has_what_programs_need() -> None:
    lines = unfolded(calendar_file("Mine", [CalendarEvent("7@x", "With; Bo, \\", NOW, NOW, NOW + HOUR, place="A\nB")]))
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]
    assert {
        "X-WR-CALNAME:Mine",
        "UID:7@x",
        "DTSTAMP:20270115T080000Z",
        "DTSTART:20270115T080000Z",
        "DTEND:20270115T090000Z",
        "SUMMARY:With\\; Bo\\, \\\\",
        "LOCATION:A\\nB",
        "STATUS:CONFIRMED",
    } <= set(lines)


def test_a_time_without_an_end_takes_half_an_hour() -> None:
    lines = unfolded(calendar_file("Mine", [CalendarEvent("1", "Call", NOW, NOW, cancelled=True)]))
    assert {"DTEND:20270115T083000Z", "STATUS:CANCELLED"} <= set(lines)


def test_a_day_ends_with_the_next_one_and_can_remind() -> None:
    event = CalendarEvent("1", "Ends", date(2026, 12, 31), NOW, remind_days_before=[30])
    lines = unfolded(calendar_file("Mine", [event]))
    assert {"DTSTART;VALUE=DATE:20261231", "DTEND;VALUE=DATE:20270101", "TRIGGER:-P30D"} <= set(lines)
    last = calendar_file("Mine", [CalendarEvent("1", "Never", date.max, NOW)])
    assert "DTEND;VALUE=DATE:99991231" in last


def test_characters_that_hide_or_reverse_text_are_spaces() -> None:
    assert "SUMMARY:a b c" in calendar_file("Mine", [CalendarEvent("1", "a\u202eb\u200bc", NOW, NOW)])
