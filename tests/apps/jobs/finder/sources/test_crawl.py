"""A crawl ends, says how much it saw, and loses nothing on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources import workday as workday_module
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request, Verdict
from interlock.apps.jobs.finder.sources.crawl import Crawl
from tests.apps.jobs.finder.answers import NOW, SMARTRECRUITERS, TEAMTAILOR, board

Server = Callable[[Request], Answer]


def crawl(kind: str, server: Server, **limits: int) -> tuple[Parsed, int]:
    run = Crawl(adapter_of(kind), board(kind), **limits)
    asked = 0
    while (request := run.next()) is not None:
        asked += 1
        assert asked < 2000, "the crawl does not end"
        run.take(request, server(request), NOW)
    return run.result(), asked


def answer(value: Any, status: int = 200) -> Answer:
    return Answer(orjson.dumps(value), status=status)


def workday_rows(numbers: range) -> list[dict[str, Any]]:
    return [{"title": f"Hand {n}", "externalPath": f"/job/Kiel/Hand_R-{n}"} for n in numbers]


def workday(there: int, total_on_all: bool = False, clamp: int | None = None, facets: Any = ()) -> Server:
    """A board with so many postings, of which a clamp shows the first, and the first page again beyond them."""

    def serve(request: Request) -> Answer:
        body = request.body or {}
        start, last = body["offset"], there
        if body["appliedFacets"]:
            (wanted,) = body["appliedFacets"]["places"]
            start, last = start + int(wanted), int(wanted) + 30
        elif clamp:
            last = min(there, clamp)
            start = start if start < clamp else 0
        said = last - int((body["appliedFacets"] or {"places": ["0"]})["places"][0])
        total = said if body["offset"] == 0 or total_on_all else 0
        rows = workday_rows(range(start, min(start + body["limit"], last)))
        return answer({"total": total, "jobPostings": rows, "facets": list(facets)})

    return serve


def test_the_total_of_the_first_page_holds_for_all() -> None:
    found, asked = crawl("workday", workday(45))
    assert (found.verdict, len(found.postings), asked) == (Verdict.COMPLETE, 45, 3)
    assert (found.counts.listed, found.counts.total) == (45, 45)


def test_a_board_that_is_clamped_is_split_by_a_facet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workday_module, "CLAMP", 60)
    facets = [
        {
            "facetParameter": "locationMainGroup",
            "values": [
                {
                    "facetParameter": "places",
                    "values": [{"id": str(n), "count": 30} for n in range(0, 90, 30)],
                }
            ],
        },
        {"facetParameter": "few", "values": [{"id": "a", "count": 3}]},
    ]
    found, _ = crawl("workday", workday(90, clamp=60, facets=facets))
    assert (found.verdict, len(found.postings), found.counts.total) == (Verdict.COMPLETE, 90, 90)


def test_a_board_that_repeats_its_first_page_is_capped_and_never_complete() -> None:
    def endless(request: Request) -> Answer:
        return answer({"total": 5000, "jobPostings": workday_rows(range(20))})

    found, asked = crawl("workday", endless)
    assert (found.verdict, len(found.postings), asked) == (Verdict.CAPPED, 20, 2)


def test_ids_that_change_in_each_answer_end_at_the_limit_of_pages() -> None:
    numbers = iter(range(10**6))

    def changing(request: Request) -> Answer:
        rows = [{**SMARTRECRUITERS["content"][0], "id": str(next(numbers))} for _ in range(10)]
        return answer({"totalFound": 10**6, "content": rows})

    found, asked = crawl("smartrecruiters", changing, most_pages=7)
    assert (found.verdict, asked, len(found.postings)) == (Verdict.CAPPED, 7, 70)
    found, asked = crawl("smartrecruiters", changing, most_postings=25)
    assert (found.verdict, asked) == (Verdict.CAPPED, 3)


def test_a_page_that_leads_to_itself_is_asked_for_once() -> None:
    def circle(request: Request) -> Answer:
        return answer({"items": TEAMTAILOR["items"], "next_url": request.url})

    found, asked = crawl("teamtailor", circle)
    assert (found.verdict, asked, len(found.postings)) == (Verdict.PARTIAL, 1, 1)


@pytest.mark.parametrize("status", [429, 500])
def test_a_page_that_fails_leaves_a_partial_crawl_with_what_was_read(status: int) -> None:
    whole = workday(45)
    found, _ = crawl(
        "workday", lambda request: Answer(b"", status=status) if request.note["before"] else whole(request)
    )
    assert (found.verdict, len(found.postings)) == (Verdict.PARTIAL, 20)
    found, _ = crawl("workday", lambda request: Answer(b"", status=status))
    assert (found.verdict, found.postings) == (Verdict.FAILED, ())


def test_fewer_rows_than_the_source_says_are_partial() -> None:
    found, _ = crawl("greenhouse", lambda request: answer({"jobs": [{"id": 1, "title": "Cook"}], "meta": {"total": 3}}))
    assert (found.verdict, found.reasons) == (Verdict.PARTIAL, ("1 rows of 3",))


def test_a_crawl_that_stops_in_the_middle_is_partial() -> None:
    run = Crawl(adapter_of("workday"), board("workday"))
    request = run.next()
    assert request is not None
    run.take(request, workday(45)(request), NOW)
    found = run.result()
    assert (found.verdict, len(found.postings), len(found.follow)) == (Verdict.PARTIAL, 20, 1)


def test_an_empty_board_is_complete_only_where_an_unknown_one_looks_different() -> None:
    found, _ = crawl("recruitee", lambda request: answer({"offers": []}))
    assert found.verdict is Verdict.COMPLETE
    found, _ = crawl("ashby", lambda request: answer({"jobs": []}))
    assert found.verdict is Verdict.PARTIAL
