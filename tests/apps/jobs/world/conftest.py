"""One world for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from interlock.apps.jobs.world import World

from .crawling import CLOCK, client


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(clock=CLOCK) as made:
        yield made


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    with client() as made:
        yield made


@pytest.fixture(autouse=True)
def calm(world: World) -> Iterator[None]:
    """No test leaves faults or applications behind."""
    yield
    world.faults.clear()
    world.received.clear()
