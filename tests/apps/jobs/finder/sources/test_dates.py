"""Dates as sources write them; what is no date is unknown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.sources.dates import read_date, read_label

NOW = datetime(2026, 3, 1, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "moment", "precision"),
    [
        ("2026-07-29T08:50:01-04:00", datetime(2026, 7, 29, 12, 50, 1, tzinfo=UTC), "exact"),
        ("2018-06-08T02:11:28.000Z", datetime(2018, 6, 8, 2, 11, 28, tzinfo=UTC), "exact"),
        ("2026-08-05 09:41:37 UTC", datetime(2026, 8, 5, 9, 41, 37, tzinfo=UTC), "exact"),
        ("2026-08-05 09:41:37", datetime(2026, 8, 5, 9, 41, 37, tzinfo=UTC), "day"),
        ("2026-08-05", datetime(2026, 8, 5, tzinfo=UTC), "day"),
        ("7/4/2026", datetime(2026, 7, 4, tzinfo=UTC), "day"),
        ("25/12/2026", datetime(2026, 12, 25, tzinfo=UTC), "day"),
        ("04.07.2026", datetime(2026, 7, 4, tzinfo=UTC), "day"),
        ("2026/7/04", datetime(2026, 7, 4, tzinfo=UTC), "day"),
        ("Aug 5, 2026", datetime(2026, 8, 5, tzinfo=UTC), "day"),
        ("5. März 2026", datetime(2026, 3, 5, tzinfo=UTC), "day"),
        ("1er août 2026", datetime(2026, 8, 1, tzinfo=UTC), "day"),
        ("4 de julio de 2026", datetime(2026, 7, 4, tzinfo=UTC), "day"),
        ("Wed, 04 Feb 2026 09:26:20 +0100", datetime(2026, 2, 4, 8, 26, 20, tzinfo=UTC), "exact"),
        (1764205361939, datetime(2025, 11, 27, 1, 2, 41, 939000, tzinfo=UTC), "exact"),
        (1764205361, datetime(2025, 11, 27, 1, 2, 41, tzinfo=UTC), "exact"),
        ("1764205361939", datetime(2025, 11, 27, 1, 2, 41, 939000, tzinfo=UTC), "exact"),
    ],
)
def test_a_date_is_read_with_its_precision(written: object, moment: datetime, precision: str) -> None:
    assert read_date(written) == (moment, precision)


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "soon",
        True,
        0,
        -5,
        7,
        10**30,
        float("nan"),
        float("inf"),
        "0001-01-01",
        "9999-12-31",
        "13/45/2026",
        "31.02.2026",
        "August 2026",
        [],
        {},
    ],
)
def test_what_is_no_date_is_unknown(written: object) -> None:
    assert read_date(written) == (None, "unknown")


@pytest.mark.parametrize(
    ("label", "day", "precision"),
    [
        ("Posted Today", "2026-03-01", "day"),
        ("Posted Yesterday", "2026-02-28", "day"),
        ("Posted 5 Days Ago", "2026-02-24", "day"),
        ("Vor 3 Tagen ausgeschrieben", "2026-02-26", "day"),
        ("Publié il y a 2 jours", "2026-02-27", "day"),
        ("2 weeks ago", "2026-02-15", "approximate"),
        ("1 month ago", "2026-01-30", "approximate"),
        ("20 hours ago", "2026-02-28", "day"),
    ],
)
def test_a_label_is_a_day_counted_back(label: str, day: str, precision: str) -> None:
    moment, how = read_label(label, NOW)
    assert moment is not None
    assert (moment.date().isoformat(), how) == (day, precision)


@pytest.mark.parametrize("label", ["Posted 30+ Days Ago", "Vor 30+ Tagen", "", None, 7, "recently"])
def test_a_label_without_a_day_is_unknown(label: object) -> None:
    assert read_label(label, NOW) == (None, "unknown")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30) | st.integers() | st.floats())
def test_no_value_is_an_error(value: object) -> None:
    read_date(value)
    read_label(value, NOW)
