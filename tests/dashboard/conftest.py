"""A site a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import open_store
from tests.support.api import opened
from tests.support.site import Site


@pytest.fixture
def site(sqlite_url: str) -> Iterator[Site]:
    with open_store(sqlite_url, durability="normal") as store, opened(store) as desk:
        yield Site(desk)
