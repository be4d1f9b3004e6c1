"""A site a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import open_store
from tests.dashboard.site import Site
from tests.http.desk import opened


@pytest.fixture
def site(sqlite_url: str) -> Iterator[Site]:
    with open_store(sqlite_url, durability="normal") as store, opened(store) as desk:
        yield Site(desk)
