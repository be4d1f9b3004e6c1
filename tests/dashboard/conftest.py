"""A site a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import open_store
from tests.support.api import open_api
from tests.support.site import Site


@pytest.fixture
def site(sqlite_url: str) -> Iterator[Site]:
    with open_store(sqlite_url, durability="normal") as store, open_api(store) as api:
        yield Site(api)
