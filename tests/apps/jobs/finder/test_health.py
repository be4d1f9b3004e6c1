"""The health of sources, and postings at the edge of the filter, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.records.health import activity, last_crawls, of_companies
from interlock.apps.jobs.finder.records.nearly import nearly_passed
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict, failed
from interlock.engine.application import Unit
from interlock.store import Store, span
from tests.apps.jobs.finder.rows import Finder, open_finder

DAY = span(timedelta(days=1))


@pytest.fixture
def finder(store: Store) -> Iterator[Finder]:
    with open_finder(store) as made:
        yield made


def crawled(finder: Finder, row: SourceRow, result: Parsed, ago: int, **counts: int) -> None:
    def job(unit: Unit) -> None:
        unit.now -= ago
        sources.crawled(unit, row, uuid4(), unit.now, result, counts, gone=False)

    finder.write(job)


def test_the_activity_of_a_day_adds_up_its_crawls_and_no_older_ones(finder: Finder) -> None:
    row = finder.source()
    crawled(finder, row, Parsed(Verdict.COMPLETE), 2 * DAY, parsed=50, new=50)
    crawled(finder, row, Parsed(Verdict.COMPLETE), DAY // 2, parsed=51, new=2)
    crawled(finder, row, failed("503"), 0)
    found = finder.read(lambda conn: activity(conn, "default", finder.now - DAY))
    assert (found.crawls, found.verdicts) == (2, {"failed": 1, "complete": 1})
    assert found.counts == {"parsed": 51, "new": 2}
    assert finder.read(lambda conn: activity(conn, "north", 0)).crawls == 0


def test_the_last_crawls_of_each_source_come_with_the_newest_first(finder: Finder) -> None:
    rows = [finder.source(board=name) for name in ("kind", "grim")]
    for days in (3, 2, 1):
        crawled(finder, rows[0], Parsed(Verdict.COMPLETE), days * DAY, parsed=days)
    found = finder.read(lambda conn: last_crawls(conn, [one.id for one in rows], 2))
    assert [[one.counts["parsed"] for one in found[row.id]] for row in rows] == [[1, 2], []]


def test_companies_have_their_sources(finder: Finder) -> None:
    kind = finder.company("Kind Boats", "https://kind.example")
    made = finder.source(company_id=kind.id)
    finder.source(board="grim")
    found = finder.read(lambda conn: of_companies(conn, "default", [kind.id]))
    assert [one.id for one in found[kind.id]] == [made.id]
    assert finder.read(lambda conn: of_companies(conn, "default", [])) == {}


def test_what_one_strike_would_have_let_through_nearly_passed(finder: Finder) -> None:
    made = {name: finder.posting(f"https://kind.example/{name}") for name in ("edge", "far", "stopped", "below", "low")}
    strikes = {"threshold": 5, "hard_rejections": [], "strikes": [{"rule": "age"}, {"rule": "salary"}]}
    finder.set(made["edge"], outcome="filtered", filter_result={**strikes, "total_strikes": 5})
    finder.set(made["far"], outcome="filtered", filter_result={**strikes, "total_strikes": 8})
    stopped = {**strikes, "total_strikes": 5, "hard_rejections": [{"rule": "stop_company"}]}
    finder.set(made["stopped"], outcome="filtered", filter_result=stopped)
    finder.set(made["below"], outcome="skipped", match_result={"match_score": 77, "threshold": 80})
    finder.set(made["low"], outcome="skipped", match_result={"match_score": 40, "threshold": 80})
    found = finder.read(lambda conn: nearly_passed(conn, "default", finder.now - DAY))
    assert found.ids == [made["edge"], made["below"]]
    assert found.rules == {"age": 1, "salary": 1, "score": 1}
    later = finder.now + DAY
    assert finder.read(lambda conn: nearly_passed(conn, "default", later)).ids == []
