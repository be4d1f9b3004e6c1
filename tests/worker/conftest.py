"""A workshop for each test, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from interlock.machine import Machine
from interlock.store import Clock, Store
from tests.worker.workshop import Workshop

Opener = Callable[..., Workshop]


@pytest.fixture
def workshop(store: Store) -> Iterator[Opener]:
    """Opens workshops; at the end their workers stop, and the laws must hold."""
    opened: list[Workshop] = []

    def make(machines: Machine | Sequence[Machine], *, clock: Clock | None = None) -> Workshop:
        opened.append(Workshop(store, machines, clock=clock))
        return opened[-1]

    yield make
    for one in opened:
        one.stop()
    for one in opened:
        one.laws_hold()
