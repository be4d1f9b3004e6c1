"""Each fault of a source ends in its verdict with counts, closes nothing, and loses nothing that was read."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from interlock.apps.jobs.world import World
from interlock.testing import Trial

from .conftest import Made
from .finding import active_at, crawl, crawls, items, rows, the_source

pytestmark = pytest.mark.soak("postgresql")
SMALL = "/recruitee-host/quillstack"
PAGED = "/lever-host/dozens"
"""130 postings on two pages."""


IN_THE_MIDDLE = ("cut_off", "too_many_requests")
if os.environ.get("INTERLOCK_SOAK"):
    IN_THE_MIDDLE += ("not_found", "server_error", "html")


@pytest.fixture
def trial(made: Made, world: World) -> Trial:
    return made(world.host)


FAILS = {
    "429": "pause",
    "500": "500",
    "cut_off": "(?i)cut off|complete|lost|connection",
    "html": "HTML instead of JSON",
    "redirect_loop": "redirects more than",
    "404": "gone",
}


def test_a_fault_at_the_first_page_fails_the_crawl_and_loses_nothing(trial: Trial, world: World) -> None:
    source_id = active_at(trial, world.url + SMALL)
    assert (crawls(trial)[-1]["verdict"], crawls(trial)[-1]["new"]) == ("complete", 3)
    for fault, reason in FAILS.items():
        world.faults.add(fault, "/recruitee-host/", seconds=30.0)
        for _ in range(2):
            assert crawl(trial, source_id).state == "FAILED"
            trial.advance(days=2)
        last = crawls(trial)[-1]
        assert last["verdict"] == "failed"
        assert re.search(reason, " ".join(last["reasons"])), last
        assert the_source(trial).consecutive_failures == 2
        assert {one.state for one in rows(trial)} == {"open"}, "nothing is closed"
        world.faults.clear()
        if fault != "404":  # after which it is gone
            crawl(trial, source_id)
            again = crawls(trial)[-1]
            assert (again["verdict"], again["unchanged"]) == ("complete", 3)
            assert the_source(trial).consecutive_failures == 0
    assert the_source(trial).status == "disabled"
    assert len(rows(trial)) == len(items(trial, "listing")) == 3


def test_a_board_whose_feed_is_off_is_read_from_its_careers_page(trial: Trial, world: World) -> None:
    world.faults.add("404", "/personio-host/nordlicht/xml")
    active_at(trial, world.url + "/personio-host/nordlicht/")
    last = crawls(trial)[-1]
    assert (last["verdict"], last["parsed"]) == ("complete", len(rows(trial))), last
    assert all("<p>" in row.posting and row.outcome != "failed" for row in rows(trial)), "the texts are on their pages"
    assert the_source(trial).last_scraped_status == "complete"


def test_a_fault_that_passes_costs_a_retry(trial: Trial, world: World) -> None:
    source_id = active_at(trial, world.url + SMALL)
    for fault in ("500", "cut_off", "html"):
        world.faults.add(fault, "/recruitee-host/", times=1)
        item = crawl(trial, source_id)
        assert item.state == "SUCCESS"
        assert [entry.kind for entry in trial.engine.history(item.id)].count("moved") == 5
        assert crawls(trial)[-1]["verdict"] == "complete"
        assert the_source(trial).consecutive_failures == 0


@pytest.mark.soak
def test_an_answer_that_takes_too_long_fails_the_crawl(made: Made, world: World) -> None:
    trial = made(world.host, timeout=1.0, max_retries=0)
    source_id = active_at(trial, world.url + SMALL)
    world.faults.add("slow", "/recruitee-host/", seconds=30.0)
    assert crawl(trial, source_id).state == "FAILED"
    assert "not complete after 1 s" in crawls(trial)[-1]["reasons"][0]


def test_a_fault_in_the_middle_of_the_pages_makes_the_crawl_partial(trial: Trial, world: World) -> None:
    source_id = active_at(trial, world.url + PAGED)
    assert crawls(trial)[-1]["parsed"] == 130
    pages: list[str] = []
    take = world.faults.take

    for fault in IN_THE_MIDDLE:

        def second_page(method: str, path: str, fault: str = fault) -> Any:
            listing = path == "/lever-host/v0/postings/dozens"
            pages.append(path)
            if listing and len([one for one in pages if one == "/lever-host/v0/postings/dozens"]) % 2 == 0:
                world.faults.add(fault, path, seconds=3000.0 if fault == "too_many_requests" else 1.0)
            found = take(method, path)
            world.faults.clear()
            return found

        pages.clear()
        world.faults.take = second_page  # type: ignore[method-assign]
        try:
            item = crawl(trial, source_id)
        finally:
            world.faults.take = take  # type: ignore[method-assign]
        last = crawls(trial)[-1]
        assert (item.state, last["verdict"]) == ("SUCCESS", "partial"), (fault, last)
        assert 0 < last["parsed"] < 130, (fault, last)
        assert {one.state for one in rows(trial)} == {"open"}
        trial.advance(days=2)
    assert the_source(trial).consecutive_failures == 0, "partial is neither success nor failure"
    crawl(trial, source_id)
    assert crawls(trial)[-1]["unchanged"] == 130
    assert len({item.key for item in items(trial, "listing")}) == len(items(trial, "listing")) == 130


@pytest.mark.soak
def test_a_total_that_only_the_first_page_tells_is_complete(trial: Trial, world: World) -> None:
    world.faults.add("total_once", "/workday-host/")
    active_at(trial, world.url + "/workday-host/dozens/Careers")
    assert crawls(trial)[-1]["verdict"] == "complete", crawls(trial)[-1]
    assert crawls(trial)[-1]["parsed"] == 130
