"""A world of sessions for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.apps.sessions.allocator import pool
from interlock.store import Store
from interlock.testing import broken_laws
from tests.apps.sessions.loans.world import SessionWorld


@pytest.fixture
def world(store: Store, tmp_path: Path) -> Iterator[SessionWorld]:
    with SessionWorld(store, tmp_path) as made:
        made.look_after()
        yield made
        assert broken_laws(made.engine) == []
        assert made.engine.read(pool.miscounted) == []
