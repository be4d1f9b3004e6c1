"""A desk a test, on SQLite unless the test is about the database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import Store, open_store
from tests.support.api import Desk, opened


@pytest.fixture
def desk(sqlite_url: str) -> Iterator[Desk]:
    with open_store(sqlite_url, durability="normal") as store, opened(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[Desk]:
    """A desk on each of the two databases."""
    with opened(store) as made:
        yield made


@pytest.fixture(scope="module")
def shared(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One desk for all tests of a file that only ask for what is refused."""
    path = tmp_path_factory.mktemp("shared") / "interlock.db"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}", durability="normal") as store, opened(store) as made:
        yield made
