"""A town a test, and an agent of each kind in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from interlock.store import Store, open_store
from tests.apps.jobs.agents.town import Kind, Town, agent, job, served


@pytest.fixture
def town(sqlite_url: str) -> Iterator[Town]:
    with open_store(sqlite_url, durability="normal") as store, served(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Town]:
    """A town on each of the two databases."""
    with served(store) as made:
        yield made


@pytest.fixture(params=["threads", "asyncio"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
async def kit(kind: Kind, town: Town) -> AsyncIterator[Any]:
    """An agent of each kind, and a job that waits for it."""
    made = agent(kind, town)
    await made.add([job()])
    yield made
    await made.close()
