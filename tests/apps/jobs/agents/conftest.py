"""A service with the claims application for each test, and an agent of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from interlock.store import Store, open_store
from tests.apps.jobs.agents.claims_service import ClaimsService, Kind, agent, job, served


@pytest.fixture
def service(sqlite_url: str) -> Iterator[ClaimsService]:
    with open_store(sqlite_url, durability="normal") as store, served(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[ClaimsService]:
    """A service on each of the two databases."""
    with served(store) as made:
        yield made


@pytest.fixture(params=["threads", "asyncio"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
async def kit(kind: Kind, service: ClaimsService) -> AsyncIterator[Any]:
    """An agent of each kind, and a job that waits for it."""
    made = agent(kind, service)
    await made.add([job()])
    yield made
    await made.close()
