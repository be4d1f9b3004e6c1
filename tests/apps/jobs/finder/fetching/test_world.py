"""The polite client in the demo world: every source is read whole, and each fault is the error that it should be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from interlock.apps.jobs.finder.fetching import CutOff, Fetcher, RobotsUnknown, TooManyRedirects, Unreachable
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.sources.detection import detect
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.testing import VirtualClock

BOARD = "/greenhouse-host/tidewater"


@pytest.fixture(scope="module")
def one_world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture
def world(one_world: World) -> World:
    one_world.faults.clear()
    return one_world


async def fetched(world: World, path: str) -> Answer:
    fetcher = Fetcher(JobsSettings(private_hosts=[world.host]))
    try:
        return await fetcher.fetch(Request(world.url + path))
    finally:
        await fetcher.aclose()


async def crawled(fetcher: Fetcher, world: World, url: str) -> Parsed:
    board = detect(url, [world.host])
    assert board is not None, url
    run = Crawl(adapter_of(board.ats), board)
    while (request := run.next()) is not None:
        run.take(request, await fetcher.fetch(request), VirtualClock().time)
    return run.result()


async def test_every_board_is_read_whole(world: World) -> None:
    fetcher = Fetcher(JobsSettings(private_hosts=[world.host]))
    boards = {
        source["url"]
        for company in world.described()["companies"]
        for source in company["sources"]
        if source["kind"] not in ("feed", "api", "jsonld", "html", "jobvite")
    }
    found = await asyncio.gather(*(crawled(fetcher, world, url) for url in boards))
    await fetcher.aclose()
    assert {one.verdict for one in found} == {"complete"}
    assert sum(len(one.postings) for one in found) > 20


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("cut_off", CutOff),
        ("redirect_loop", TooManyRedirects),
        ("lost_answer", Unreachable),
    ],
)
async def test_a_fault_of_the_exchange_is_an_error(world: World, fault: str, error: type[Exception]) -> None:
    world.faults.add(fault, BOARD)
    with pytest.raises(error):
        await fetched(world, BOARD)


@pytest.mark.parametrize(("fault", "status"), [("404", 404), ("429", 429), ("500", 500), ("html", 200)])
async def test_a_fault_of_the_server_is_an_answer(world: World, fault: str, status: int) -> None:
    world.faults.add(fault, BOARD)
    assert (await fetched(world, BOARD)).status == status


async def test_a_site_that_recovers_is_read_at_once(world: World) -> None:
    fetcher = Fetcher(JobsSettings(private_hosts=[world.host]))
    world.faults.add("500", "/")
    with pytest.raises(RobotsUnknown):
        await fetcher.fetch(Request(world.url + BOARD))
    world.faults.clear()
    assert (await fetcher.fetch(Request(world.url + BOARD))).status == 200
    await fetcher.aclose()
