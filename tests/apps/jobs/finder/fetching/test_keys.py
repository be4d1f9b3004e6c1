"""A key goes to the host that it is bound to, to no other, and into nothing that is kept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from interlock.apps.jobs.finder.fetching import Forbidden
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.settings import JobsSettings

from .conftest import Made
from .site import Site, SiteRequest, answer

SECRET = "s3cret/key+1"


def bound(host: str, **how: str) -> dict[str, Any]:
    return {"api_keys": {"FEED_KEY": {"host": host, "secret": SECRET, **how}}}


def asking(url: str) -> Request:
    return Request(url, note={"api_key": "feed_key"})


async def test_a_key_is_sent_as_its_host_wants_it(client: Made, site: Site) -> None:
    await client(**bound(site.host, prefix="Bearer ")).fetch(asking(site.url("/jobs")))
    assert site.asked[-1].headers["authorization"] == f"Bearer {SECRET}"
    await client(**bound(site.host, name="X-Api-Key")).fetch(asking(site.url("/jobs")))
    assert site.asked[-1].headers["x-api-key"] == SECRET
    await client(**bound(site.host, place="query", name="app_key")).fetch(asking(site.url("/jobs?page=2&app_key=old")))
    assert site.asked[-1].path == "/jobs?page=2&app_key=s3cret%2Fkey%2B1"
    assert "/robots.txt" not in site.paths(), "who has a key was invited"


async def test_a_request_that_names_no_key_gets_none(client: Made, site: Site) -> None:
    await client(**bound(site.host)).fetch(Request(site.url("/jobs")))
    assert not any("authorization" in one.headers for one in site.asked)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://other.example.com/", r"is for api\.example\.com, not for other\.example\.com"),
        ("https://api.example.com:8443/", "is for"),
        ("https://api.example.com.evil.example/", "is for"),
        ("http://api.example.com/", "https only"),
    ],
)
async def test_a_key_is_not_sent_elsewhere_or_in_the_clear(client: Made, site: Site, url: str, problem: str) -> None:
    with pytest.raises(Forbidden, match=problem):
        await client(**bound("api.example.com")).fetch(asking(url))
    assert site.asked == []


async def test_a_key_that_is_not_configured_is_named(client: Made) -> None:
    with pytest.raises(Forbidden, match=r"add it as \[jobs\.api_keys\.feed_key\]"):
        await client().fetch(asking("https://api.example.com/"))


@pytest.mark.parametrize("how", [{}, {"place": "query", "name": "app_key"}])
async def test_a_redirect_to_another_host_takes_no_key_along(client: Made, site: Site, how: dict[str, str]) -> None:
    def away(asked: SiteRequest) -> list[object]:
        return [answer(status=302, location=f"http://other.example.com{asked.path}&x=1")]

    site.routes["/jobs"] = lambda asked: away(asked) if "other" not in asked.headers["host"] else [answer("there")]
    found = await client(**bound(site.host, **how)).fetch(asking(site.url("/jobs?a=1")))
    assert found.body == b"there"
    there = [one for one in site.asked if one.headers["host"] == "other.example.com"]
    assert [one.path for one in there] == ["/robots.txt", "/jobs?a=1&x=1"]
    assert SECRET not in str(there)
    assert "authorization" not in there[-1].headers


async def test_an_answer_does_not_repeat_the_key(client: Made, site: Site) -> None:
    site.routes["/jobs"] = lambda asked: [
        answer(f'{{"next": "http://{site.host}{asked.path}", "key": "{SECRET}"}}', x_echo=asked.path)
    ]
    found = await client(**bound(site.host, place="query", name="app_key")).fetch(asking(site.url("/jobs?a=1")))
    assert found.url == site.url("/jobs?a=1")
    assert found.body == f'{{"next": "http://{site.host}/jobs?a=1&app_key=***", "key": "***"}}'.encode()
    assert found.headers["x-echo"] == "/jobs?a=1&app_key=***"


def test_a_key_is_a_secret_of_the_settings() -> None:
    settings = JobsSettings(**bound("API.example.com"))
    key = settings.api_keys["feed_key"]
    assert (key.host, type(key.secret)) == ("api.example.com", SecretStr)
    assert SECRET not in repr(settings)
