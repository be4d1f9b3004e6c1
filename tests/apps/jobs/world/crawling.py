"""Crawls of the world over HTTP, with a client that has no manners."""

from __future__ import annotations

from typing import Any

import httpx2

from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.adapter import Adapter
from interlock.apps.jobs.finder.sources.answer import Answer, Parsed, Request
from interlock.apps.jobs.finder.sources.crawl import Crawl
from interlock.apps.jobs.finder.sources.detection import boards_in, detect
from interlock.apps.jobs.finder.sources.discovery import discover
from interlock.apps.jobs.world import World
from interlock.testing.clock import VirtualClock

CLOCK = VirtualClock()


def client() -> httpx2.Client:
    return httpx2.Client(trust_env=False, timeout=10)


def send(http: httpx2.Client, request: Request, **headers: str) -> Answer:
    """The answer to a request. What breaks on the way is an answer of the status 599, as nothing can be read of it."""
    try:
        got = http.request(
            request.method, request.url, headers={**request.headers, **headers}, json=request.body, timeout=10
        )
    except httpx2.HTTPError as error:
        return Answer(b"", request.url, 599, {"Error": type(error).__name__})
    return Answer(got.content, str(got.url), got.status_code, dict(got.headers))


def source_of(http: httpx2.Client, world: World, source: dict[str, Any]) -> tuple[Adapter, Address]:
    """The adapter and the board of a source as `/_world` lists it."""
    kind, url = source["kind"], source["url"]
    if kind == "html":
        found = discover(http.get(url).text, url, CLOCK.time)
        assert found is not None
        return adapter_of(kind, found.config.model_dump()), Address(kind, "", None, {"url": url})
    if kind in ("feed", "api", "jsonld"):
        return adapter_of(kind, source.get("config")), Address(kind, "", None, {"url": url})
    board = detect(url, [world.host])
    assert board is not None, url
    assert board.ats == kind
    if kind == "jobvite":  # its feed wants an id that only the page names
        board = boards_in(http.get(url).text, url, [world.host])[0]
    return adapter_of(kind), board


def crawl(http: httpx2.Client, adapter: Adapter, board: Address, **headers: str) -> Parsed:
    run = Crawl(adapter, board)
    while (request := run.next()) is not None:
        run.take(request, send(http, request, **headers), CLOCK.time)
    return run.result()


def with_detail(http: httpx2.Client, adapter: Adapter, board: Address, posting: Posting, **headers: str) -> Posting:
    """The posting with what its detail adds, where there is one."""
    request = adapter.detail(board, posting)
    if request is None:
        return posting
    found = adapter.parse_detail(send(http, request, **headers), board, posting, CLOCK.time)
    assert found.verdict == "complete", found.reasons
    return found.postings[0]
