"""Reads artifacts back: the file, the document, the extraction, the fields."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.contracts import reading
from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.result import Extraction, Found
from interlock.apps.contracts.fields.signals import stored_signals
from interlock.apps.contracts.reading import Box, Document, Reader, Span
from interlock.apps.contracts.reading.errors import ParseTimeout, ReaderDied
from interlock.apps.contracts.reading.pdf import Progress
from interlock.engine import artifacts

DOCUMENT, EXTRACTION, FIELDS, COMPARISON = "document", "extraction.json", "fields.json", "comparison.json"
JSON = "application/json"

_readers: list[Reader] = []
_own: ContextVar[Reader | InProcessReader | None] = ContextVar("own", default=None)
_idle: list[Reader] = []
"""Readers for requests, separate from those of steps: a person who views a page does not delay the work."""
_idle_lock = threading.Lock()
KEPT_IDLE = 2


class InProcessReader:
    """Opens files in this process; only for trusted files."""

    def read(self, data: bytes, filename: str = "", progress: Progress | None = None) -> Document:
        return reading.read(data, filename, progress=progress)

    def render(self, pdf: bytes, page: int, scale: float = 2.0) -> bytes:
        return reading.render(pdf, page, scale)

    def boxes_of(self, document: Document, spans: Sequence[Span], data: bytes) -> list[list[Box]]:
        return reading.boxes_of(document, spans, data)

    def visible(self, document: Document, spans: Sequence[Span], data: bytes) -> list[bool]:
        return reading.visible(document, spans, data)

    def span_at(self, document: Document, page: int, box: Box, data: bytes) -> Span | None:
        return reading.span_at(document, page, box, data)


@contextmanager
def opened_here() -> Iterator[None]:
    """Open files in this process inside the block; for files that we wrote ourselves."""
    before = _own.set(InProcessReader())
    try:
        yield
    finally:
        _own.reset(before)


@contextmanager
def borrowed(stop: threading.Event) -> Iterator[Reader | InProcessReader]:
    """A separate reader, which `reader()` returns inside the block. It stops when `stop` is set."""
    if (own := _own.get()) is not None:
        yield own
        return
    with _idle_lock:
        mine = _idle.pop() if _idle else Reader()
    mine.stop = stop
    before = _own.set(mine)
    try:
        yield mine
    finally:
        _own.reset(before)
        mine.stop = None
        with _idle_lock:
            keep = len(_idle) < KEPT_IDLE
            if keep:
                _idle.append(mine)
        if not keep:
            mine.close()


def reader() -> Reader | InProcessReader:
    """The reader of files: a separate process, started on first use."""
    if (own := _own.get()) is not None:
        return own
    if not _readers:
        _readers.append(Reader())
    return _readers[0]


def document(conn: sa.Connection, id: UUID, data: Mapping[str, Any]) -> Document:
    return Document.load(artifacts.read(conn, id, data["text"]))


def fields(conn: sa.Connection, id: UUID, data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields, or what was extracted so far."""
    digest = data.get("fields") or data.get("extraction")
    found = json.loads(artifacts.read(conn, id, digest)) if digest else {}
    known: dict[str, dict[str, Any]] = found.get("fields", found)
    return known


def packed(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def extraction(content: bytes) -> Extraction:
    """An extraction as `Extraction.json` wrote it."""
    record = json.loads(content)
    read = {name: _found(name, one) for name, one in record["fields"].items()}
    return Extraction(record["vertical"], read, record["signs"], record["fits"])


def _found(name: str, one: Mapping[str, Any]) -> Found:
    others = tuple(
        Candidate(o["extractor"], o["value"], o["normalised"], o["quote"], Span(o["page"], o["start"], o["end"]))
        for o in one["alternatives"]
    )
    return Found(
        name,
        one["value"],
        one["normalised"],
        one["quote"],
        one["page"],
        one["start"],
        one["end"],
        stored_signals(one["signals"]),
        one["confidence"],
        alternatives=others,
        basis=one.get("basis", ""),
    )


def unseen(data: Mapping[str, Any], doc: Document, original: bytes, read: Extraction) -> list[str]:
    """The fields whose quotes have invisible words: white, covered, tiny, outside the page.

    All of them if the pages cannot be drawn in time, because then a person could not see them either.
    """
    if data["media_type"] != "application/pdf" or not read.fields:
        return []
    names = list(read.fields)
    spans = [Span(one.page, one.start, one.end) for one in read.fields.values()]
    try:
        seen = reader().visible(doc, spans, original)
    except (ParseTimeout, ReaderDied):
        return names
    return [name for name, shown in zip(names, seen, strict=True) if not shown]


def with_boxes(data: Mapping[str, Any], doc: Document, original: bytes, read: dict[str, dict[str, Any]]) -> None:
    """Add the boxes of its evidence on the page to each field; Word and plain text files have none."""
    places = {name: Span(one["page"], one["start"], one["end"]) for name, one in read.items() if one.get("page")}
    if data["media_type"] != "application/pdf" or not places:
        boxes: list[list[Any]] = [[] for _ in places]
    else:
        boxes = [list(found) for found in reader().boxes_of(doc, list(places.values()), original)]
    for name, found in zip(places, boxes, strict=True):
        read[name]["boxes"] = [[box.left, box.top, box.right, box.bottom] for box in found]
