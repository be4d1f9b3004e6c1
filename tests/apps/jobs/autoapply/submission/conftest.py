"""The demo world, on a clock that nobody moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.testing import VirtualClock


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(clock=VirtualClock()) as made:
        yield made


@pytest.fixture(autouse=True)
def calm(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "world" in request.fixturenames:
        world = request.getfixturevalue("world")
        world.faults.clear()
        world.received.clear()


@pytest.fixture
def settings(world: World) -> JobsSettings:
    return JobsSettings.model_validate(
        {"private_hosts": [world.host], "autoapply": {"demo_host": world.host, "submit_timeout": 0.5}, "timeout": 5}
    )
