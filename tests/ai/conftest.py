"""A lab a test: on SQLite, unless the test is about what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.ai.lab import Lab, opened


@pytest.fixture
def lab(sqlite_url: str) -> Iterator[Lab]:
    with open_store(sqlite_url, durability="normal") as store, opened(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Lab]:
    """A lab on each of the two databases."""
    with opened(store) as made:
        yield made
