"""What the tests of messages, schedules and bulk actions share: trials and engines on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interlock.engine import Engine
from interlock.store import Clock, Store, open_store
from interlock.testing import Trial, broken_laws
from tests.conformance.machines import INVOICE, PARCEL, job


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    """A trial at whose end the laws must hold, whatever the test did."""
    with Trial([PARCEL, INVOICE, job()], store=store) as made:
        yield made
        assert broken_laws(made.engine) == []


@pytest.fixture
def engines(url: str) -> Iterator[Callable[..., Engine]]:
    """Opens engines on one database, each with a store of its own, as processes have."""
    opened: list[Engine] = []

    def make(clock: Clock | None = None) -> Engine:
        store = open_store(url, durability="normal", wakeup="poll")
        opened.append(Engine(store, [PARCEL, INVOICE, job()], clock=clock))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()
