"""An installation with an owner, on a clock that only the test moves; passwords are hashed quickly."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from interlock.engine import Engine
from interlock.people import People, Person
from interlock.store import Store
from interlock.testing import VirtualClock

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def engine(store: Store, clock: VirtualClock) -> Engine:
    return Engine(store, [], clock=clock)


@pytest.fixture
def people(engine: Engine) -> People:
    return People(engine, hasher=QUICK)


@pytest.fixture
def owner(people: People) -> Person:
    """Whoever owns the installation from its first start."""
    return people.setup()
