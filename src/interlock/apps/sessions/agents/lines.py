"""Splits what an agent prints into numbered lines, whatever it prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from interlock.apps.sessions.agents.values import Line

MAX_LINE = 8 * 1024 * 1024
"""Bytes of a line that are kept; Claude Code prints lines of more than 1 MB."""
MAX_KIND = 60


class LineReader:
    """Turns chunks of bytes into lines. The numbers depend on the bytes alone, not on how they were cut."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._parts: list[bytes] = []
        self._size = 0
        self._seq = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that this chunk completes."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield from self._take()
        self._add(rest)

    def finish(self) -> Iterator[Line]:
        """The last line, if the agent ended in the middle of one."""
        yield from self._take()

    def _add(self, part: bytes) -> None:
        room = self._max - min(self._size, self._max)
        if part[:room]:
            self._parts.append(part[:room])
        self._size += len(part)

    def _take(self) -> Iterator[Line]:
        content, cut = b"".join(self._parts), self._size > self._max
        self._parts, self._size = [], 0
        if not content.strip():
            return
        self._seq += 1
        yield parse(self._seq, content, cut=cut)


def parse(seq: int, content: bytes, *, cut: bool = False) -> Line:
    """One line. NUL, which PostgreSQL cannot store, and bytes that are no UTF-8 become U+FFFD."""
    text = content.rstrip(b"\r").decode("utf-8", "replace").replace("\0", "\ufffd")
    data = None if cut or not text.lstrip().startswith("{") else _object(text)
    return Line(seq, text, data, _kind(data), cut)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Half of a surrogate pair, where a tool's output was cut, is JSON for the agent and not for orjson.
        try:
            found = json.loads(text)
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def _kind(data: dict[str, Any] | None) -> str:
    if data is None:
        return "text"
    kind, subtype = data.get("type"), data.get("subtype")
    if not isinstance(kind, str) or not kind:
        return "unknown"
    return (f"{kind}/{subtype}" if isinstance(subtype, str) and subtype else kind)[:MAX_KIND]
