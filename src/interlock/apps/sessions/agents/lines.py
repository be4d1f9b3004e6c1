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
    """Turns chunks of bytes into lines. The numbers depend on the bytes alone, not on how they were cut.

    With a `separator`, an object may span several lines, as printed with an indent: it begins with `{` alone, and ends
    with `}` alone. It becomes one line, and the separators are left out.
    """

    def __init__(self, separator: str = "", max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._separator = separator.strip().encode()
        self._object = bytearray()
        """An object that has not ended."""
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
        yield from self._object_so_far()

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
        if self._separator:
            yield from self._of_object(content, cut)
        else:
            yield self._numbered(content, cut)

    def _of_object(self, content: bytes, cut: bool) -> Iterator[Line]:
        plain = content.rstrip()
        inside = bool(self._object) and (plain == b"}" or plain[:1] in b" \t") and not cut
        if not inside:
            yield from self._object_so_far()
        if plain.strip() == self._separator:
            return
        if inside or plain == b"{":
            # No text in JSON has a line break, so what stands before each line is only its indent.
            self._object += plain.strip()[: self._max + 1 - len(self._object)]
            if plain == b"}":
                yield from self._object_so_far()
        else:
            yield self._numbered(content, cut)

    def _object_so_far(self) -> Iterator[Line]:
        """The object so far, if there is one."""
        if self._object:
            whole, self._object = bytes(self._object), bytearray()
            yield self._numbered(whole[: self._max], len(whole) > self._max)

    def _numbered(self, content: bytes, cut: bool) -> Line:
        self._seq += 1
        return parse(self._seq, content, cut=cut)


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
    kind, subtype = data.get("type", data.get("kind")), data.get("subtype")
    if not isinstance(kind, str) or not kind:
        return "unknown"
    return (f"{kind}/{subtype}" if isinstance(subtype, str) and subtype else kind)[:MAX_KIND]
