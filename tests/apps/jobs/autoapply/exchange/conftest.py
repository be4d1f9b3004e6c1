"""An office on SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import open_store
from tests.apps.jobs.autoapply.office import Office, open_office


@pytest.fixture
def office(sqlite_url: str) -> Iterator[Office]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_office(store) as made:
        yield made
