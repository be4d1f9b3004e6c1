"""The evidence that a reviewer marked, looked up in the file before the decision's transaction begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.models import Evidence, FieldDecision
from interlock.apps.contracts.reading import Box, Document, Span
from interlock.apps.contracts.review.words_at import words_at
from interlock.engine import Instance, InvalidData, artifacts

if TYPE_CHECKING:
    from starlette.requests import Request

    from interlock.http.service import Service  # workers import this module and need no endpoints

Places = Mapping[str, dict[str, Any]]
"""By field: the quote, its page and characters, its boxes."""
_looked_up: ContextVar[Places | None] = ContextVar("looked_up", default=None)


async def look_up(
    service: Service,
    request: Request,
    caller: str,
    find: Callable[[sa.Connection], Instance],
    decisions: Sequence[FieldDecision],
) -> Places:
    """Look up the text at the marked places; `find` returns the contract if the caller may read it."""
    pointed = {one.field: one.evidence for one in decisions if one.evidence is not None}
    if not pointed:
        return {}

    def read(conn: sa.Connection) -> tuple[Mapping[str, Any], Document | None, bytes]:
        instance = find(conn)
        data = instance.data
        if not data.get("text"):
            return data, None, b""
        return data, stored.document(conn, instance.id, data), artifacts.read(conn, instance.id, data["pdf"])

    data, document, original = await service.read(read)
    if document is None:
        return {}  # nothing is extracted yet, so there is nothing to decide
    from interlock.apps.contracts.ingest import viewing

    return await viewing.look(service, request, caller, lambda: _placed(data, document, original, pointed))


@contextmanager
def known(places: Places) -> Iterator[None]:
    """Make these places available to a decision inside the block."""
    before = _looked_up.set(places)
    try:
        yield
    finally:
        _looked_up.reset(before)


def place(document: Document, field: str, evidence: Evidence) -> dict[str, Any]:
    """The looked-up place. Characters of a page need no lookup, but then have no boxes."""
    if (shown := (_looked_up.get() or {}).get(field)) is not None:
        return shown
    if evidence.box is not None:
        raise InvalidData(f"{field}: a rectangle works only at /workflows/…/review; use start and end here")
    return {**_quoted(document, _span(document, field, evidence)), "boxes": []}


def _placed(
    data: Mapping[str, Any], document: Document, original: bytes, pointed: Mapping[str, Evidence]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for field, evidence in pointed.items():
        if evidence.box is None:
            span: Span | None = _span(document, field, evidence)
        else:
            _page(document, field, evidence)
            span = words_at(stored.reader(), document, evidence.page, Box(*evidence.box), original)
        if span is None:
            raise InvalidData(f"{field}: there is no text under the rectangle on page {evidence.page}")
        found[field] = _quoted(document, span)
    stored.with_boxes(data, document, original, found)
    return found


def _page(document: Document, field: str, evidence: Evidence) -> None:
    if evidence.page > len(document.pages):
        raise InvalidData(f"{field}: page {evidence.page} is not in the document, which has {len(document.pages)}")


def _span(document: Document, field: str, evidence: Evidence) -> Span:
    _page(document, field, evidence)
    start, end = evidence.start or 0, evidence.end or 0
    if not start < end <= len(document.page(evidence.page).text):
        raise InvalidData(f"{field}: characters {start} to {end} are not on page {evidence.page}")
    return Span(evidence.page, start, end)


def _quoted(document: Document, span: Span) -> dict[str, Any]:
    return {
        "quote": document.page(span.page).text[span.start : span.end],
        "page": span.page,
        "start": span.start,
        "end": span.end,
    }
