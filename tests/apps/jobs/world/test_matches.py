"""What the sample profile makes of the world: enough to apply for, and every reason not to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.scoring import score_row
from interlock.apps.jobs.finder.sources.detection import sources_in
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.exchange import KEY
from interlock.testing.clock import VirtualClock

from .crawling import CLOCK, crawl, source_of, with_detail


@pytest.fixture(scope="module")
def scored(http: httpx2.Client, world: World) -> list[dict[str, Any]]:
    """One result for each opening of the boards and APIs, without the many jobs in the field."""
    seeker, found = Seeker(parse_profile(sample())), {}
    for company in world.described()["companies"]:
        for source in company["sources"]:
            if source["kind"] == "html":
                continue
            adapter, board = source_of(http, world, source)
            for posting in crawl(http, adapter, board, **{"X-Api-Key": KEY}).postings:
                if posting.title and not posting.title[-1].isdecimal():
                    whole = with_detail(http, adapter, board, posting, **{"X-Api-Key": KEY})
                    row = score_row(whole.model_dump(mode="json"), seeker, CLOCK.time)
                    found[(company["name"], posting.title)] = {**row, "employer": company["name"]}
    return list(found.values())


def test_there_are_matches_at_every_company(scored: list[dict[str, Any]]) -> None:
    matches = [one for one in scored if one["state"] == "SUCCESS" and one["score"] >= 80]
    assert len(matches) >= 8
    assert {one["employer"] for one in matches} == {one["employer"] for one in scored}
    assert len({one["score"] for one in matches}) >= 4


def test_postings_are_filtered_for_every_kind_of_reason(scored: list[dict[str, Any]]) -> None:
    filtered = [one["filter_result"] for one in scored if one["state"] == "FILTERED"]
    rejected = {one["rule"] for result in filtered for one in result["hard_rejections"]}
    struck = {one["rule"] for result in filtered for one in result["strikes"]}
    assert {"stop_company", "title_words", "management", "role_type", "workplace", "employment_type"} <= rejected
    assert {"skills", "seniority", "salary", "country", "workplace", "unwanted_skills", "experience", "age"} <= struck


def test_markup_in_a_title_is_gone(scored: list[dict[str, Any]]) -> None:
    (one,) = [one for one in scored if one["title"] == "Senior Python Engineer"]
    assert one["state"] == "FILTERED"


def test_a_careers_page_leads_to_every_board(http: httpx2.Client, world: World) -> None:
    for company in world.described()["companies"]:
        careers = f"{company['website']}/careers"
        page = http.get(careers).text
        boards = {one["kind"] for one in company["sources"]} - {"api", "html", "jsonld"}
        assert {one.ats for one in sources_in(page, careers, [world.host])} == boards
        about = http.get(company["about_page"]).text
        for text in (
            company["industry"],
            company["headquarters"],
            str(company["founded"]),
            f"{company['size']:,} people",
        ):
            assert text in about
        assert company["technologies"][0] in page


def test_a_repost_and_a_second_board_show_the_same_opening(http: httpx2.Client, world: World) -> None:
    keys = [
        (one["title"], company["name"], one["kind"])
        for company in world.described()["companies"]
        for one in company["postings"]
    ]
    assert len({one[:2] for one in keys}) < len(set(keys)) < len(keys)


def test_what_is_not_there_is_a_404(http: httpx2.Client, world: World) -> None:
    for path in (
        "/nowhere",
        "/tidewater/jobs/none",
        "/greenhouse-host/v1/boards/none/jobs",
        "/lever-host/none",
        "/_none",
    ):
        assert http.get(world.url + path).status_code == 404
    assert http.get(f"{world.url}/robots.txt").text.startswith("User-agent: *")
    assert http.get(world.url).status_code == 200


def test_an_answer_that_did_not_change_is_not_sent_again(http: httpx2.Client, world: World) -> None:
    where = f"{world.url}/greenhouse-host/v1/boards/tidewater/jobs?content=true"
    first = http.get(where)
    again = http.get(where, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert http.get(where, headers={"If-None-Match": '"other"'}).status_code == 200
    head = http.head(where)
    assert (head.status_code, head.content) == (200, b"")


def test_openings_grow_old_and_are_not_published_again_each_day(http: httpx2.Client) -> None:
    clock = VirtualClock()
    with World(clock=clock) as world:
        where = f"{world.url}/lever-host/v0/postings/brightwater"
        before = http.get(where).json()
        clock.advance(timedelta(days=3))
        assert http.get(where).json() == before
        page = {"appliedFacets": {}, "limit": 1, "offset": 0, "searchText": ""}
        listed = http.post(
            f"{world.url}/workday-host/lumenfield/wday/cxs/lumenfield/Lumenfield_Careers/jobs", json=page
        ).json()
        assert listed["jobPostings"][0]["postedOn"] == "Posted 5 Days Ago"
