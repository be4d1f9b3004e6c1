"""A demo world for each module, and an office whose matches are its openings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.apps.jobs.world import World
from interlock.store import Store
from interlock.testing import VirtualClock

from .sending import Desk, open_desk


@pytest.fixture(scope="module")
def one_world() -> Iterator[World]:
    with World(clock=VirtualClock()) as made:
        yield made


@pytest.fixture
def world(one_world: World) -> World:
    one_world.faults.clear()
    one_world.received.clear()
    return one_world


@pytest.fixture
def desk(store: Store, world: World) -> Iterator[Desk]:
    with open_desk(store, world) as made:
        yield made
