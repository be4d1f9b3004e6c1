"""A trial that asks a model, for each test: on SQLite, unless the test is about what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.store import Store, open_store
from tests.ai.model_trial import ModelTrial


@pytest.fixture
def trial(sqlite_url: str) -> Iterator[ModelTrial]:
    with open_store(sqlite_url, durability="normal") as store, ModelTrial(store) as made:
        yield made


@pytest.fixture
def both(store: Store) -> Iterator[ModelTrial]:
    """A trial on each of the two databases."""
    with ModelTrial(store) as made:
        yield made
