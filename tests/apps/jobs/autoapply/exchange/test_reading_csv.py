"""Past applications are read as trackers write them; a row that cannot be read is named with its line."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.exchange.reading_csv import MOST_BYTES, MOST_ROWS, ParsedFile, Unreadable, read_past

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def read(text: str, *, day_first: bool | None = None, encoding: str = "utf-8") -> ParsedFile:
    return read_past(text.encode(encoding), NOW, day_first=day_first)


def test_a_tracker_is_understood() -> None:
    found = read(
        "Company,Job Title,URL,Date Applied,Status,Platform,Salary,Notes\n"
        'Kind Boats GmbH,"Cook, senior",https://kind.example/1?utm_source=x,2026-03-01,Interview soon,Lever,,nice\n'
        "Grim Corp,Baker,,2026-04-05T10:00:00Z,Rejected,,,\n"
    )
    assert (found.columns["Job Title"], found.ignored, found.bad) == ("title", ("Salary",), ())
    first, second = found.rows
    assert (first.company, first.title, first.url) == ("Kind Boats GmbH", "Cook, senior", "https://kind.example/1")
    assert (first.applied_at.date(), first.stage, first.ending) == (date(2026, 3, 1), Stage.INTERVIEW, None)
    assert (first.source, first.notes, first.line) == ("Lever", "nice", 2)
    assert (second.stage, second.ending, second.url) == (Stage.CLOSED, Ending.REJECTED, None)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Firma;Stelle;Datum\nMöwe & Söhne;Koch;01.03.2026\n", "utf-8-sig"),
        ("Firma\tStelle\tDatum\nMöwe & Söhne\tKoch\t01.03.2026\n", "cp1252"),
        ("Firma|Stelle|Datum\r\nMöwe & Söhne|Koch|1.3.26\r\n", "utf-16"),
    ],
)
def test_separators_and_encodings_are_recognised(text: str, encoding: str) -> None:
    [one] = read(text, encoding=encoding).rows
    assert (one.company, one.title, one.applied_at.date()) == ("Möwe & Söhne", "Koch", date(2026, 3, 1))


@pytest.mark.parametrize(
    ("said", "day_first", "wanted"),
    [
        ("2026-03-04", None, date(2026, 3, 4)),
        ("04.03.2026", None, date(2026, 3, 4)),
        ("25/03/2026", None, date(2026, 3, 25)),
        ("03/25/2026", None, date(2026, 3, 25)),
        ("03/04/2026", True, date(2026, 4, 3)),
        ("03/04/2026", False, date(2026, 3, 4)),
        ("04/04/2026", None, date(2026, 4, 4)),
        ("2026/03/04", None, date(2026, 3, 4)),
        ("4 Mar 2026", None, date(2026, 3, 4)),
        ("March 4, 2026", None, date(2026, 3, 4)),
    ],
)
def test_dates_are_read_and_never_guessed(said: str, day_first: bool | None, wanted: date) -> None:
    [one] = read(f'company,title,date\nA Boat,Cook,"{said}"', day_first=day_first).rows
    assert one.applied_at.date() == wanted


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",Cook,2026-03-01", "the company is missing"),
        ("GmbH & Co,,2026-03-01", "neither an address nor a title"),
        ("A Boat,Cook,", "the date is missing"),
        ("A Boat,Cook,03/04/2026", "may be two days"),
        ("A Boat,Cook,31.02.2026", "is not a date"),
        ("A Boat,Cook,2027-01-01", "has not come yet"),
        ("A Boat,Cook,01.01.1970", "too long ago"),
        ("A Boat,Cook,soon", "is not a date"),
        ("A Boat,Cook,2026-03-01,Wishlist", "nothing was sent"),
        ("Indeed,Cook,2026-03-01", "is not a company"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_read(row: str, reason: str) -> None:
    found = read(f"company,title,date,status\nGood Boats,Cook,2026-03-01,\n{row}\nFine Boats,Cook,2026-03-02,")
    assert [one.company for one in found.rows] == ["Good Boats", "Fine Boats"]
    [bad] = found.bad
    assert (bad.line, reason in bad.reason) == (3, True), bad.reason


@pytest.mark.parametrize(
    ("status", "stage", "ending"),
    [
        ("Applied", Stage.SUBMITTED, None),
        ("Phone screen", Stage.SCREENING, None),
        ("2nd interview", Stage.INTERVIEW, None),
        ("Offer!", Stage.OFFER, None),
        ("Absage", Stage.CLOSED, Ending.REJECTED),
        ("ghosted", Stage.CLOSED, Ending.NO_ANSWER),
        ("Accepted offer", Stage.CLOSED, Ending.ACCEPTED),
        ("I withdrew", Stage.CLOSED, Ending.WITHDRAWN),
    ],
)
def test_words_of_a_status(status: str, stage: Stage, ending: Ending | None) -> None:
    [one] = read(f"company,title,date,status\nA Boat,Cook,2026-03-01,{status}").rows
    assert (one.stage, one.ending, one.remarks) == (stage, ending, ())


def test_an_unknown_status_is_remarked() -> None:
    [one] = read("company,title,date,status\nA Boat,Cook,2026-03-01,purple").rows
    assert one.stage is Stage.SUBMITTED
    assert "purple" in one.remarks[0]


def test_what_is_no_such_file_says_what_it_lacks() -> None:
    for text in ("", "a,b,c\n1,2,3", "company,title\nA,B", "\0\0\0", '{"json": true}'):
        with pytest.raises(Unreadable, match="no column for"):
            read(text)
    with pytest.raises(Unreadable, match="at most"):
        read_past(b"x" * (MOST_BYTES + 1), NOW)


def test_limits_of_rows_and_cells() -> None:
    found = read("company,title,date\n" + "A Boat,Cook,2026-03-01\n" * (MOST_ROWS + 5))
    assert len(found.rows) == MOST_ROWS
    assert "only 10,000 rows" in found.bad[-1].reason
    [one] = read(f'company,title,date,notes\n{"x" * 1000},{"y" * 1000},2026-03-01,"{"z" * 30_000}"').rows
    assert (len(one.company), len(one.title), len(one.notes)) == (200, 300, 20_000)


@given(st.binary(max_size=2000))
def test_no_file_breaks_it(content: bytes) -> None:
    for head in (b"", b"company,title,date\n", b"\xff\xfe"):
        try:
            read_past(head + content, NOW)
        except Unreadable:
            continue
