"""Somebody who listens to live events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.support.api import Api

DEADLINE = 20.0


class Listener:
    """Reads a stream in a thread."""

    def __init__(self, url: str, token: str, query: str = "", headers: dict[str, str] | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self.listening = threading.Event()
        self._more = threading.Condition()
        self._client = httpx2.Client(timeout=DEADLINE)
        self._headers = {"Authorization": f"Bearer {token}", **(headers or {})}
        self._thread = threading.Thread(target=self._read, args=(f"{url}/api/events/stream{query}",), daemon=True)
        self._thread.start()

    def _read(self, url: str) -> None:
        try:
            with self._client.stream("GET", url, headers=self._headers) as answer:
                self.status = answer.status_code
                for line in answer.iter_lines():
                    self.listening.set()
                    if line.startswith("data:"):
                        with self._more:
                            self.events.append(json.loads(line[5:]))
                            self._more.notify_all()
        except httpx2.HTTPError:
            pass
        finally:
            self.listening.set()
            self.ended.set()

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.events) >= count, DEADLINE), self.events
            return list(self.events)

    def close(self) -> None:
        self._client.close()


@contextmanager
def listening(url: str, api: Api, who: str = "owner", query: str = "", **headers: str) -> Iterator[Listener]:
    made = Listener(url, api.tokens[who], query, headers)
    assert made.listening.wait(DEADLINE)
    try:
        yield made
    finally:
        made.close()
