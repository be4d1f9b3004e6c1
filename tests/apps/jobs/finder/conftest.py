"""A site for each module, which answers as a test says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apps.jobs.finder.fetching.site import Site, running


@pytest.fixture(scope="module")
def one_site() -> Iterator[Site]:
    with running() as site:
        yield site


@pytest.fixture
def site(one_site: Site) -> Site:
    one_site.clear()
    return one_site
