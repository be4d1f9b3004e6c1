"""Engines with real workers, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from interlock.machine import Machine
from interlock.store import Clock, Store
from tests.worker.live_engine import LiveEngine

Opener = Callable[..., LiveEngine]


@pytest.fixture
def live_engine(store: Store) -> Iterator[Opener]:
    """Opens engines; at the end their workers stop, and the laws must hold."""
    opened: list[LiveEngine] = []

    def make(machines: Machine | Sequence[Machine], *, clock: Clock | None = None) -> LiveEngine:
        opened.append(LiveEngine(store, machines, clock=clock))
        return opened[-1]

    yield make
    for one in opened:
        one.stop()
    for one in opened:
        one.laws_hold()
