"""A list that a system refuses in one place is asked for in the other place where it is."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Verdict
from interlock.apps.jobs.finder.sources.crawl import Crawl

from . import answers
from .answers import LISTS, NOW, board, body

OTHERS = {
    "greenhouse": ("https://boards-api.eu.greenhouse.io/v1/boards/nordlicht/jobs?content=true", answers.GREENHOUSE, 2),
    "personio": (
        "https://nordlicht.jobs.personio.de/?language=en",
        '<!doctype html><a class="job-box" href="/job/1"><h3>Boatswain</h3></a>',
        1,
    ),
    "teamtailor": ("https://nordlicht.teamtailor.com/jobs.rss?offset=0&per_page=100", answers.TEAMTAILOR_RSS, 1),
    "workable": (
        "https://apply.workable.com/api/v3/accounts/nordlicht/jobs",
        {"total": 1, "results": [{"shortcode": "AB12CD34EF", "title": "Doctor"}]},
        1,
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_list_that_is_refused_is_read_in_its_other_place(kind: str) -> None:
    where, value, many = OTHERS[kind]

    def crawl(there: Any) -> tuple[Parsed, list[str]]:
        run, asked = Crawl(adapter_of(kind), board(kind)), []
        while (request := run.next()) is not None:
            asked.append(request.url)
            found = there if request.url == where else None
            run.take(request, Answer(body(found) if found else b"", status=200 if found else 404), NOW)
        return run.result(), asked

    found, asked = crawl(value)
    assert (found.verdict, len(found.postings), asked[1:]) == (Verdict.COMPLETE, many, [where]), found.reasons
    nowhere, _ = crawl(None)
    assert (nowhere.verdict, nowhere.reasons) == (Verdict.FAILED, ("the board is gone, or never was",))


def test_a_posting_of_greenhouse_is_looked_for_in_europe_as_well() -> None:
    adapter, at = adapter_of("greenhouse"), board("greenhouse")
    request = adapter.detail(at, adapter.parse(Answer(body(LISTS["greenhouse"])), at, NOW).postings[0])
    assert request is not None
    other = adapter.instead(at, Answer(b"", status=404, request=request))
    assert other is not None
    assert other.url.replace(".eu.", ".") == request.url != other.url
    assert adapter.instead(at, Answer(b"", status=404, request=other)) is None
    assert adapter.instead(at, Answer(b"", status=500, request=request)) is None
