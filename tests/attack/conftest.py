"""What an intruder finds: a service with people of every kind, with and without pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.support.api import APPLICATIONS, Api, open_api
from tests.support.site import Site


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store, applications=APPLICATIONS) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Api]:
    """An API on each of the two databases."""
    with open_api(store) as made:
        yield made


@pytest.fixture
def site(api: Api) -> Site:
    return Site(api)
