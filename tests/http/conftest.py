"""An API for each test, on SQLite unless the test is about the database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import Store, open_store
from tests.support.api import Api, open_api


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Api]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Api]:
    """An API on each of the two databases."""
    with open_api(store) as made:
        yield made


@pytest.fixture(scope="module")
def shared(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One API for all tests of a file that only ask for what is refused."""
    path = tmp_path_factory.mktemp("shared") / "interlock.db"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}", durability="normal") as store, open_api(store) as made:
        yield made
