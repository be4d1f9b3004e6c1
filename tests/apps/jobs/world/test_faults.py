"""Each fault ends in the verdict that it should, and what was read before it is kept."""

from __future__ import annotations

from urllib.parse import urljoin

import httpx2
import pytest

from interlock.apps.jobs.finder.sources import SYSTEMS, adapter_of
from interlock.apps.jobs.finder.sources import workday as reading
from interlock.apps.jobs.finder.sources.answer import Parsed
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.sources.detection import detect, sources_in
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.data.generated import LARGE, large_board
from interlock.apps.jobs.world.faults import FAULTS
from interlock.apps.jobs.world.identity import code, number, uuid
from interlock.apps.jobs.world.systems import workday as playing

from .crawling import CLOCK, crawl, send

GREENHOUSE = "/greenhouse-host/tidewater"
WORKDAY = "/workday-host/lumenfield/Lumenfield_Careers"


def crawled(http: httpx2.Client, world: World, path: str) -> Parsed:
    board = detect(world.url + path, [world.host])
    assert board is not None
    return crawl(http, adapter_of(board.ats), board)


def switch(http: httpx2.Client, world: World, fault: object, path: str, **more: object) -> None:
    assert http.post(f"{world.url}/_faults", json={"fault": fault, "path": path, **more}).status_code == 201


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("404", "the board is gone, or never was"),
        ("429", "the server asks for a pause"),
        ("500", "the server answered 500"),
        ("html", "HTML instead of JSON"),
        ("redirect_loop", "the server sends elsewhere"),
        ("cut_off", "the server answered 599"),
        ("lost_answer", "the server answered 599"),
    ],
)
def test_a_board_that_cannot_be_read_is_failed(http: httpx2.Client, world: World, fault: str, reason: str) -> None:
    switch(http, world, fault, "/greenhouse-host/")
    found = crawled(http, world, GREENHOUSE)
    assert (found.verdict, found.postings) == ("failed", ())
    assert reason in found.reasons[0]
    assert http.delete(f"{world.url}/_faults").status_code == 204
    assert crawled(http, world, GREENHOUSE).verdict == "complete"


def test_retry_after_is_reported(http: httpx2.Client, world: World) -> None:
    switch(http, world, "429", "/", seconds=7)
    got = http.get(f"{world.url}/tidewater")
    assert (got.status_code, got.headers["Retry-After"]) == (429, "7")


def test_a_body_that_is_cut_off_is_shorter_than_it_says(http: httpx2.Client, world: World) -> None:
    switch(http, world, "cut_off", "/tidewater")
    with pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection"):
        http.get(f"{world.url}/tidewater")


def test_a_fault_happens_as_often_as_configured(http: httpx2.Client, world: World) -> None:
    switch(http, world, "404", "/tidewater", times=2)
    assert [http.get(f"{world.url}/tidewater").status_code for _ in range(3)] == [404, 404, 200]
    (listed,) = http.get(f"{world.url}/_faults").json()["faults"]
    assert (listed["fault"], listed["times"], listed["seen"]) == ("not_found", 0, 2)
    assert http.get(f"{world.url}/lumenfield").status_code == 200


def test_a_slow_answer_comes_after_its_time(http: httpx2.Client, world: World) -> None:
    switch(http, world, "slow", "/tidewater", seconds=600)
    with pytest.raises(httpx2.ReadTimeout):
        http.get(f"{world.url}/tidewater", timeout=0.05)
    world.faults.clear()
    switch(http, world, "slow", "/tidewater", seconds=0.01)
    assert http.get(f"{world.url}/tidewater").status_code == 200


def test_the_list_breaks_off_in_the_middle(http: httpx2.Client, world: World) -> None:
    whole = crawled(http, world, WORKDAY)
    assert (whole.verdict, len(whole.postings)) == ("complete", 45)
    board = detect(world.url + WORKDAY, [world.host])
    assert board is not None
    run = Crawl(adapter_of("workday"), board)
    first = run.next()
    assert first is not None
    run.take(first, send(http, first), CLOCK.time)
    switch(http, world, "500", "/workday-host/")
    while (request := run.next()) is not None:
        run.take(request, send(http, request), CLOCK.time)
    assert (run.result().verdict, len(run.result().postings)) == ("partial", 20)


@pytest.mark.parametrize("kind", ["workday", "smartrecruiters"])
def test_a_total_of_the_first_page_alone_is_enough(http: httpx2.Client, world: World, kind: str) -> None:
    path = f"/{kind}-host/dozens" + ("/Careers" if kind == "workday" else "")
    switch(http, world, "total_once", f"/{kind}-host/")
    found = crawled(http, world, path)
    assert (found.verdict, found.counts.total, len(found.postings)) == ("complete", 130, 130)


def test_a_list_that_is_clamped_is_read_in_parts(
    http: httpx2.Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reading, playing):
        monkeypatch.setattr(module, "CLAMP", 100)
    switch(http, world, "clamp", "/workday-host/")
    found = crawled(http, world, "/workday-host/dozens/Careers")
    assert (found.verdict, len(found.postings)) == ("complete", 130)


def test_ids_that_change_name_the_same_postings(http: httpx2.Client, world: World) -> None:
    before = crawled(http, world, GREENHOUSE)
    switch(http, world, "changing_ids", "/greenhouse-host/")
    first, second = crawled(http, world, GREENHOUSE), crawled(http, world, GREENHOUSE)
    ids = [{one.external_id for one in found.postings} for found in (before, first, second)]
    assert all(not one & other for one, other in ((ids[0], ids[1]), (ids[1], ids[2])))
    assert [one.content_hash for one in first.postings] == [one.content_hash for one in second.postings]
    assert all(http.get(one.url or "").status_code == 200 for one in second.postings)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_board_in_many_pages_is_read_whole(http: httpx2.Client, world: World, kind: str) -> None:
    (large,) = [one for one in world.described()["special"]["large"] if (one["kind"], one["postings"]) == (kind, 130)]
    found = crawled(http, world, large["url"].removeprefix(world.url))
    assert (found.verdict, len(found.postings)) == ("complete", 130)


@pytest.mark.parametrize(("name", "many"), LARGE.items())
def test_the_large_boards_have_an_id_for_each_opening(name: str, many: int) -> None:
    board = large_board("workday", name)
    assert board is not None
    for ids in (number, uuid, code):
        assert len({str(ids(one.key))[2:] for one in board.openings}) == many


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"fault": "earthquake"}, "'earthquake' is not a fault; there are not_found"),
        ({"fault": "404", "path": "x"}, "path"),
        ({"fault": "404", "times": 0}, "times"),
        ({}, "fault"),
    ],
)
def test_a_wrong_fault_is_refused(http: httpx2.Client, world: World, body: dict[str, object], message: str) -> None:
    got = http.post(f"{world.url}/_faults", json=body)
    assert got.status_code == 422
    assert message in got.json()["error"]


def test_the_faults_are_listed_with_what_they_do(http: httpx2.Client, world: World) -> None:
    assert http.get(f"{world.url}/_faults").json() == {"faults": [], "kinds": FAULTS}
    for words in (
        "404",
        429,
        "429 + Retry-After",
        "slow",
        "cut off",
        "HTML instead of JSON",
        "total only on the first page",
        "clamp at 2,000",
        "ids that change",
        "Answer-Lost",
        "answer lost after the POST was accepted",
    ):
        switch(http, world, words, "/nowhere", count=1, retry_after=2)


def test_the_looping_company_leads_to_itself_by_new_addresses(http: httpx2.Client, world: World) -> None:
    loop = world.described()["special"]["loop"]
    careers = f"{loop['website']}/careers"
    boards = sources_in(http.get(careers).text, careers, [world.host])
    assert [one.ats for one in boards] == ["greenhouse", "feed"]
    first, second = (crawl(http, adapter_of("greenhouse"), boards[0]) for _ in range(2))
    assert not {one.url for one in first.postings} & {one.url for one in second.postings}
    page = http.get(first.postings[0].url or "").text
    site = next(text for text in page.split('"') if "/ouroboros/again/" in text)
    assert http.get(site).headers["Location"] == loop["website"]
    feed = crawl(http, adapter_of("feed"), boards[1])
    assert feed.postings[0].url == careers
    assert http.get(feed.postings[1].url or "").headers["Location"] == careers
    with pytest.raises(httpx2.TooManyRedirects):
        http.get(loop["redirects"], follow_redirects=True)
    assert urljoin(careers, "/ouroboros/moved") == loop["redirects"]
