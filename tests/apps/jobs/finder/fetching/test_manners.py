"""How the client behaves as a guest: its name, robots.txt, the rate per host, pauses, redirects, stored answers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from interlock import __version__
from interlock.apps.jobs.finder.fetching import Forbidden, HostBusy, Known, RobotsUnknown, TooManyRedirects
from interlock.apps.jobs.finder.fetching.pacing import MemoryPacer, pause
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.settings import JobsSettings
from interlock.testing import VirtualClock

from .conftest import Made
from .site import HOLD, Site, SiteRequest, answer

PAGE = {"Accept": "text/html"}
HERE = "http://jobs.example.com"


async def test_the_client_says_who_it_is(client: Made, site: Site) -> None:
    await client(contact="mailto:me@example.org").fetch(Request(HERE))
    assert {one.headers["user-agent"] for one in site.asked} == {f"Interlock/{__version__} (+mailto:me@example.org)"}
    site.clear()
    await client().fetch(Request(HERE, headers={"User-Agent": "Mozilla/5.0", "Cookie": "a=b", "X-Mine": "c"}))
    assert {one.headers["user-agent"] for one in site.asked} == {f"Interlock/{__version__}"}
    assert "cookie" not in site.asked[-1].headers
    assert site.asked[-1].headers["x-mine"] == "c"


@pytest.mark.parametrize("contact", ["a\r\nX: y", "me@example.org)", "with space"])
def test_a_contact_fits_into_the_header(contact: str) -> None:
    with pytest.raises(ValueError, match="mail address or a URL"):
        JobsSettings(contact=contact)


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nX-C: d"}, {"X A": "b"}, {"X-A": "é"}, {"": "b"}])
async def test_a_header_cannot_smuggle_another(client: Made, site: Site, headers: dict[str, str]) -> None:
    with pytest.raises(Forbidden, match="header"):
        await client().fetch(Request(HERE, headers=headers))
    assert site.asked == []


async def test_what_robots_txt_disallows_is_not_fetched(client: Made, site: Site) -> None:
    site.routes["/robots.txt"] = answer("User-agent: *\nDisallow: /private\n\nUser-agent: interlock\nDisallow: /not-us")
    site.routes["/private"] = answer("x")
    fetcher = client()
    assert (await fetcher.fetch(Request(HERE + "/private"))).body == b"x", "the group that names us counts"
    with pytest.raises(Forbidden, match=r"robots\.txt disallows http://jobs\.example\.com/not-us/1"):
        await fetcher.fetch(Request(HERE + "/not-us/1"))
    assert site.paths() == ["/robots.txt", "/private"], "it is read once, and the page not at all"


async def test_a_redirect_to_what_is_disallowed_is_not_followed(client: Made, site: Site) -> None:
    site.routes["/robots.txt"] = answer("User-agent: *\nDisallow: /b\n")
    site.routes["/a"] = answer(status=301, location="/b")
    with pytest.raises(Forbidden, match="disallows"):
        await client().fetch(Request(HERE + "/a"))


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_site_without_robots_txt_allows_everything(client: Made, site: Site, status: int) -> None:
    site.routes["/robots.txt"] = answer("User-agent: *\nDisallow: /\n", status)
    site.routes["/"] = answer("x")
    assert (await client().fetch(Request(HERE))).body == b"x"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_site_whose_robots_txt_fails_is_left_alone_for_now(
    client: Made, site: Site, clock: VirtualClock, status: int
) -> None:
    site.routes["/robots.txt"], site.routes["/"] = answer(status=status), answer("x")
    fetcher = client()
    for _ in range(2):
        with pytest.raises(RobotsUnknown, match=f"answered {status}") as raised:
            await fetcher.fetch(Request(HERE))
        assert raised.value.retry_after is not None
    assert site.paths() == ["/robots.txt"], "it is not asked again at once"
    site.routes["/robots.txt"] = answer("")
    clock.advance(raised.value.retry_after)
    assert (await fetcher.fetch(Request(HERE))).body == b"x"


async def test_robots_txt_that_breaks_off_is_unknown(client: Made, site: Site) -> None:
    site.routes["/robots.txt"] = lambda _: [answer("User-agent", content_length="100")]
    with pytest.raises(RobotsUnknown, match="broke off"):
        await client().fetch(Request(HERE))


async def test_a_pause_before_robots_txt_is_no_failure_of_it(client: Made, site: Site, clock: VirtualClock) -> None:
    pacer = MemoryPacer(clock)
    await pacer.block("jobs.example.com", 700.0)
    fetcher = client(pacer)
    with pytest.raises(HostBusy):
        await fetcher.fetch(Request(HERE))
    clock.advance(timedelta(seconds=200))
    assert (await fetcher.fetch(Request(HERE))).status == 404


async def test_robots_txt_lives_for_hours(client: Made, site: Site, clock: VirtualClock) -> None:
    fetcher = client()
    for hours in (0, 11, 2):
        clock.advance(timedelta(hours=hours))
        await fetcher.fetch(Request(HERE))
    assert site.paths().count("/robots.txt") == 2


async def test_only_the_beginning_of_an_endless_robots_txt_is_read(client: Made, site: Site) -> None:
    rules = b"User-agent: *\nDisallow: /a\n" + b"# comment\n" * 60_000 + b"Disallow: /b\n"
    site.routes["/robots.txt"] = answer(rules)
    fetcher = client()
    with pytest.raises(Forbidden):
        await fetcher.fetch(Request(HERE + "/a"))
    assert (await fetcher.fetch(Request(HERE + "/b"))).status == 404


async def test_the_lists_of_a_known_system_are_read_whatever_robots_txt_says_of_its_pages(
    client: Made, site: Site
) -> None:
    site.routes["/robots.txt"] = answer("User-agent: *\nDisallow: /\n")
    fetcher = client()
    await fetcher.fetch(Request("http://boards-api.greenhouse.io/v1/boards/acme/jobs"))
    assert site.paths() == ["/v1/boards/acme/jobs"]
    with pytest.raises(Forbidden, match="disallows"):
        await fetcher.fetch(Request("http://boards.greenhouse.io/acme", headers=PAGE))


async def test_requests_to_one_host_keep_their_distance(client: Made, site: Site, slept: list[float]) -> None:
    fetcher = client(rate=2.0)
    for path in ("/a", "/b", "/c"):
        await fetcher.fetch(Request(HERE + path))
    assert slept == [2.0, 2.0, 2.0], "robots.txt is a request as well"
    await fetcher.fetch(Request("http://other.example.com/"))
    assert slept[3:] == [2.0], "another host has its own rate"


async def test_a_crawl_delay_counts_when_it_is_longer(client: Made, site: Site, slept: list[float]) -> None:
    for delay, wanted in (("7", 7.0), ("0.1", 1.0), ("9999", 30.0), ("nan", 1.0), ("-5", 1.0), ("soon", 1.0)):
        slept.clear()
        site.routes["/robots.txt"] = answer(f"User-agent: *\nCrawl-delay: {delay}\n")
        fetcher = client()
        for path in ("/a", "/b"):
            await fetcher.fetch(Request(HERE + path))
        assert slept == [1.0, wanted], delay


async def test_a_private_host_has_no_rate(client: Made, site: Site, slept: list[float]) -> None:
    fetcher = client()
    for _ in range(5):
        await fetcher.fetch(Request(site.url("/")))
    assert slept == []


async def test_those_who_wait_for_a_host_are_served_one_after_the_other() -> None:
    pacer = MemoryPacer(VirtualClock())
    assert [await pacer.reserve("a", 2.0) for _ in range(3)] == [0.0, 2.0, 4.0]
    assert await pacer.reserve("a", 2.0, most=5.0) == 6.0, "too long, so nothing is reserved"
    assert await pacer.reserve("a", 2.0) == 6.0
    await pacer.block("a", 3.0)
    assert await pacer.reserve("a", 2.0) == 8.0, "a pause does not shorten the queue"
    await pacer.block("a", 60.0)
    assert await pacer.reserve("a", 2.0) == 60.0


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_names_a_pause_is_left_alone_so_long(
    client: Made, site: Site, slept: list[float], status: int
) -> None:
    site.routes["/"] = answer("slow down", status, Retry_After="17")
    fetcher = client()
    found = await fetcher.fetch(Request(site.url("/")))
    assert (found.status, found.body) == (status, b"slow down")
    await fetcher.fetch(Request(site.url("/")))
    assert slept == [17.0]


async def test_a_429_without_a_pause_has_one_of_its_own(client: Made, site: Site, slept: list[float]) -> None:
    site.routes["/"] = answer("slow down", 429)
    fetcher = client()
    for _ in range(2):
        await fetcher.fetch(Request(site.url("/")))
    assert slept == [5.0]


async def test_a_pause_that_is_too_long_to_wait_for_is_an_error_with_its_time(client: Made, site: Site) -> None:
    site.routes["/"] = answer("later", 429, Retry_After="1200")
    fetcher = client()
    await fetcher.fetch(Request(site.url("/")))
    with pytest.raises(HostBusy, match="1200 s") as raised:
        await fetcher.fetch(Request(site.url("/")))
    assert raised.value.retry_after == timedelta(seconds=1200)
    assert site.paths() == ["/robots.txt", "/"]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("30", 30.0),
        (" 30 ", 30.0),
        ("0", 1.0),
        ("99999999999999999999", 3600.0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 1.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("soon", 1.0),
        ("-5", 1.0),
        ("", 1.0),
        ("٣", 1.0),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(header: str | None, seconds: float | None) -> None:
    assert pause(header, 1445412480.0) == seconds


async def test_a_stored_answer_is_asked_for_again_only_if_it_changed(client: Made, site: Site) -> None:
    def route(asked: SiteRequest) -> list[object]:
        is_known = asked.headers.get("if-none-match") == '"v1"'
        return [answer(status=304, etag='"v1"') if is_known else answer("x", etag='"v1"')]

    site.routes["/"] = route
    fetcher = client()
    first = await fetcher.fetch(Request(site.url("/")))
    assert (first.status, first.header("ETag")) == (200, '"v1"')
    second = await fetcher.fetch(
        Request(site.url("/")), known=Known(first.header("ETag"), "Wed, 21 Oct 2015 07:28:00 GMT")
    )
    assert (second.status, second.body) == (304, b"")
    assert site.asked[-1].headers["if-modified-since"] == "Wed, 21 Oct 2015 07:28:00 GMT"
    hostile = Known('"v1"\r\nX-Evil: 1', None)
    await fetcher.fetch(Request(site.url("/")), known=hostile)
    assert "x-evil" not in site.asked[-1].headers


async def test_redirects_are_followed_to_another_host_and_counted(client: Made, site: Site) -> None:
    site.routes["/0"] = answer(status=301, location="http://www.example.com/1#part")
    for number in range(1, 5):
        site.routes[f"/{number}"] = answer(status=302, location=f"/{number + 1}")
    site.routes["/5"] = answer("there")
    found = await client().fetch(Request(HERE + "/0", headers={"X-Token": "secret", **PAGE}))
    assert (found.body, found.url) == (b"there", "http://www.example.com/5")
    assert [one.headers.get("x-token") for one in site.asked if one.path == "/0"] == ["secret"]
    assert not any("x-token" in one.headers for one in site.asked if one.path != "/0"), "another host gets no secrets"
    site.routes["/5"] = answer(status=302, location="/6")
    with pytest.raises(TooManyRedirects, match="more than 5 times"):
        await client().fetch(Request(HERE + "/0"))


async def test_a_board_of_a_known_system_is_not_left_by_a_redirect(client: Made, site: Site) -> None:
    site.routes["/acme"] = answer(status=302, location="http://job-boards.greenhouse.io/acme2")
    site.routes["/acme2"] = answer(status=302, location="http://careers.example.com/")
    found = await client().fetch(Request("http://boards.greenhouse.io/acme"))
    assert (found.status, found.url) == (302, "http://job-boards.greenhouse.io/acme2")
    assert found.header("Location") == "http://careers.example.com/"


async def test_a_post_is_sent_as_json_and_not_redirected(client: Made, site: Site) -> None:
    site.routes["/jobs"] = answer(status=303, location="/other")
    found = await client().fetch(Request(site.url("/jobs"), "POST", body={"limit": 20}))
    assert found.status == 303
    assert (site.asked[-1].path, site.asked[-1].body) == ("/jobs", b'{"limit":20}')
    assert site.asked[-1].headers["content-type"] == "application/json"


async def test_no_cookie_is_kept(client: Made, site: Site) -> None:
    site.routes["/"] = answer("x", set_cookie="a=b")
    fetcher = client()
    for _ in range(2):
        found = await fetcher.fetch(Request(site.url("/")))
        assert "set-cookie" not in found.headers
    assert not any("cookie" in one.headers for one in site.asked)


async def test_a_public_host_has_two_requests_at_once_at_most(client: Made, site: Site) -> None:
    async def asked(number: int) -> None:
        async with asyncio.timeout(10):
            while site.paths().count("/") < number:
                await asyncio.sleep(0.001)

    site.routes["/"] = lambda _: [HOLD]
    fetcher = client(rate=0)
    await fetcher.fetch(Request(HERE + "/first"))
    waiting = [asyncio.create_task(fetcher.fetch(Request(HERE))) for _ in range(3)]
    await asked(2)
    assert site.paths().count("/") == 2
    waiting[0].cancel()
    await asked(3)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
