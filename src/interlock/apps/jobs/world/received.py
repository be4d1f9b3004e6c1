"""The applications that the world received."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime
from typing import Any

from interlock.apps.jobs.world.catalogue import page_address
from interlock.apps.jobs.world.exchange import Submission

MOST = 10_000


class Received:
    """Applications in the order in which they came; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._there: deque[dict[str, Any]] = deque(maxlen=MOST)
        self._last = 0

    def add(self, sent: Submission, base: str, now: datetime) -> None:
        with self._lock:
            self._last += 1
            self._there.append(
                {
                    "number": self._last,
                    "at": now.isoformat(),
                    "by": sent.by,
                    "kind": sent.board.kind,
                    "board": sent.board.name,
                    "company": sent.board.company.name,
                    "key": sent.opening.key,
                    "title": sent.opening.title,
                    "url": page_address(base, sent.board, sent.opening),
                    "fields": dict(sent.fields),
                    "files": [
                        {
                            "field": one.field,
                            "filename": one.filename,
                            "content_type": one.content_type,
                            "size": one.size,
                            "sha256": one.sha256,
                        }
                        for one in sent.files
                    ],
                }
            )

    def list(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._there)

    def clear(self) -> None:
        with self._lock:
            self._there.clear()
