"""The contracts application: on both databases where a test is about state, else on SQLite, with one reader for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.support.contracts import Contracts, close_reader, open_contracts


@pytest.fixture(scope="session")
def reader() -> Iterator[None]:
    yield
    close_reader()


@pytest.fixture
def contracts(sqlite_url: str, reader: None) -> Iterator[Contracts]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_contracts(store) as made:
        yield made


@pytest.fixture
def both(store: Store, reader: None) -> Iterator[Contracts]:
    """The application on each of the two databases."""
    with open_contracts(store) as made:
        yield made
