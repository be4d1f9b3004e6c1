"""An office on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store

from .office import Office, open_office


@pytest.fixture
def office(store: Store) -> Iterator[Office]:
    with open_office(store) as made:
        yield made
