"""What an intruder finds: a service with people of every kind, with and without pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.support.api import EVERY, Desk, opened
from tests.support.site import Site


@pytest.fixture
def desk(sqlite_url: str) -> Iterator[Desk]:
    with open_store(sqlite_url, durability="normal") as store, opened(store, applications=EVERY) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Desk]:
    """A desk on each of the two databases."""
    with opened(store) as made:
        yield made


@pytest.fixture
def site(desk: Desk) -> Site:
    return Site(desk)
