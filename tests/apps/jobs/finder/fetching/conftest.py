"""A client whose clock moves when it sleeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from interlock.apps.jobs.finder.fetching import Fetcher
from interlock.apps.jobs.settings import JobsSettings
from interlock.testing import VirtualClock

from .site import Net, Site

Made = Callable[..., Fetcher]


@pytest.fixture
def net(site: Site) -> Net:
    return Net(site)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
async def client(site: Site, net: Net, clock: VirtualClock, slept: list[float]) -> AsyncIterator[Made]:
    """Makes clients: of the public internet, which is all the site, and of the site as a private host."""
    made = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(timedelta(seconds=seconds))

    def make(pacer: Any = None, *, most_wait: float = 600.0, **settings: Any) -> Fetcher:
        given = JobsSettings(**{"private_hosts": [site.host], "timeout": 5.0, **settings})
        one = Fetcher(
            given, pacer=pacer, clock=clock, sleep=sleep, resolver=net.resolve, dial=net.dial, most_wait=most_wait
        )
        made.append(one)
        return one

    yield make
    for one in made:
        await one.aclose()
