"""A demo world for each module, and trials whose clock moves when the client waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from interlock.apps.jobs import registry
from interlock.apps.jobs.finder.steps import visit
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.store import Store
from interlock.testing import Trial, VirtualClock
from tests.apps.jobs.finder.fetching.site import Site

from .finding import Acme

Made = Callable[..., Trial]


@pytest.fixture(scope="module")
def one_world() -> Iterator[World]:
    with World(clock=VirtualClock()) as made:
        yield made


@pytest.fixture
def world(one_world: World) -> World:
    one_world.faults.clear()
    return one_world


@pytest.fixture
def board(site: Site) -> Acme:
    return Acme(site)


@pytest.fixture
def made(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Makes the trial, with settings of the application."""
    trials: list[Trial] = []

    async def sleep(seconds: float) -> None:
        trials[-1].clock.advance(timedelta(seconds=seconds))

    monkeypatch.setattr(visit, "sleep", sleep)

    def make(*hosts: str, **settings: Any) -> Trial:
        given = JobsSettings(**{"private_hosts": list(hosts), "timeout": 5.0, **settings})
        trials.append(Trial(registry, store=store, settings={"jobs": given}))
        return trials[-1]

    yield make
    for one in trials:
        one.close()


@pytest.fixture
def trial(made: Made, site: Site) -> Trial:
    return made(site.host)
