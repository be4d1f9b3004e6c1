"""The application of sessions: on both databases where a test is about state, else on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.store import Store, open_store
from tests.support.sessions import Sessions, open_sessions


@pytest.fixture
def sessions(sqlite_url: str, tmp_path: Path) -> Iterator[Sessions]:
    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_sessions(store, tmp_path / "sessions") as made,
    ):
        yield made


@pytest.fixture
def both(store: Store, tmp_path: Path) -> Iterator[Sessions]:
    """The application on each of the two databases."""
    with open_sessions(store, tmp_path / "sessions") as made:
        yield made
