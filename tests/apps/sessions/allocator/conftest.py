"""The allocator, on both databases where a test is about what is stored."""

from __future__ import annotations

import pytest

from interlock.store import Store
from tests.apps.sessions.allocator.world import Allocator, open_allocator


@pytest.fixture
def allocator(store: Store) -> Allocator:
    return open_allocator(store)
