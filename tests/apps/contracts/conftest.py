"""A house for a test: on both databases where it is about state, else on SQLite. One reader serves them all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.support.contracts import House, close_reader, open_house


@pytest.fixture(scope="session")
def reader() -> Iterator[None]:
    yield
    close_reader()


@pytest.fixture
def house(sqlite_url: str, reader: None) -> Iterator[House]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_house(store) as made:
        yield made


@pytest.fixture
def both(store: Store, reader: None) -> Iterator[House]:
    """A house on each of the two databases."""
    with open_house(store) as made:
        yield made
