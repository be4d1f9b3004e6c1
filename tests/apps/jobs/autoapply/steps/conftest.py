"""A demo world for each module, and an applicant whose matches are its openings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.apps.jobs.world import World
from interlock.store import Store
from interlock.testing import VirtualClock

from .sending import WorldApplicant, open_world_applicant


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
def applicant(store: Store, world: World) -> Iterator[WorldApplicant]:
    with open_world_applicant(store, world) as made:
        yield made
