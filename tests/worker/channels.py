"""Channels that note what they were given, and behave as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable

from interlock.engine.outbox import OutboxMessage

PATIENCE = 20.0


class Noted:
    """A channel that keeps the recipients it delivered to, after whatever `first` does."""

    def __init__(self, first: Callable[[OutboxMessage], None] | None = None) -> None:
        self._first = first
        self._lock = threading.Lock()
        self.got: list[OutboxMessage] = []

    def deliver(self, message: OutboxMessage) -> str:
        if self._first is not None:
            self._first(message)
        with self._lock:
            self.got.append(message)
        return "noted"

    @property
    def recipients(self) -> list[str]:
        with self._lock:
            return sorted(message.recipient for message in self.got)


class Gate:
    """Holds whoever is named back until it is opened."""

    def __init__(self, *held: str) -> None:
        self._held = set(held)
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside: list[str] = []

    def __call__(self, message: OutboxMessage) -> None:
        if message.recipient not in self._held:
            return
        with self._lock:
            self.inside.append(message.recipient)
        assert self._open.wait(PATIENCE), "nobody opened the gate"

    def open(self) -> None:
        self._open.set()
