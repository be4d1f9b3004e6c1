"""A desk a test, on SQLite unless the test is about the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.http.desk import Desk, opened


@pytest.fixture
def desk(sqlite_url: str) -> Iterator[Desk]:
    with open_store(sqlite_url, durability="normal") as store, opened(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Desk]:
    """A desk on each of the two databases."""
    with opened(store) as made:
        yield made
