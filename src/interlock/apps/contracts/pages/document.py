"""The document beside a form: its addresses, the words under a drag, and the search in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from interlock.apps.contracts.ingest import stored, viewing
from interlock.apps.contracts.pages import entered as entering
from interlock.apps.contracts.review.page_search import LONGEST, Hit, search
from interlock.apps.contracts.review.words_at import words_at
from interlock.apps.contracts.workflow.step_calls import kept, seen
from interlock.dashboard.site import Reader, Visitor
from interlock.engine import Instance, NotFound, artifacts
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.http.waiting_slots import counted_for

router = APIRouter(include_in_schema=False)
PDF = "application/pdf"
PageNumber = Annotated[int | None, Query(ge=1, le=100_000)]
APage = Annotated[int, Query(ge=1, le=100_000)]
BoxText = Annotated[str, Query(max_length=100)]
Words = Annotated[str, Query(max_length=LONGEST)]


@dataclass(frozen=True, slots=True)
class PageContext:
    """The page's addresses, and what its reader may do."""

    layout: str
    action: str
    images: str
    """The parts of an image's address before and after the page number."""
    query: str
    text: str
    """The address for the text under a rectangle."""
    find: str
    """The address for the search in the document."""
    may: bool
    """The reader may decide, now or after claiming it."""
    taken_by: str
    """Another person who has claimed it."""
    mine: bool
    """The reader has claimed it, or needs not."""

    @property
    def deciding(self) -> bool:
        return self.may and self.mine and not self.taken_by


def page_context(id: UUID, action: str, *, may: bool, taken_by: str, mine: bool) -> PageContext:
    """The addresses for somebody who is logged in."""
    return PageContext(
        layout="base.html",
        action=action,
        images=f"/workflows/{id}/pages/",
        query="?scale=2",
        text=f"/ui/contracts/{id}/text?",
        find=f"/ui/contracts/{id}/find?",
        may=may,
        taken_by=taken_by,
        mine=mine,
    )


def instance_of(conn: sa.Connection, id: UUID, v: Visitor) -> Instance:
    """The contract, if the reader may see it."""
    return seen(conn, id, v.who)


@router.get("/ui/contracts/{id}/text")
async def text(v: Reader, id: UUID, page: APage, box: BoxText) -> Response:
    """The words under a rectangle dragged on a page."""
    instance = await v.service.read(lambda conn: instance_of(conn, id, v))
    return await under(v.service, v.request, counted_for(v.who), instance, page, box)


@router.get("/ui/contracts/{id}/find")
async def find(v: Reader, id: UUID, q: Words, page: APage = 1) -> Response:
    """Where the words stand."""
    instance = await v.service.read(lambda conn: instance_of(conn, id, v))
    return await found(v.service, v.request, counted_for(v.who), instance, q, page)


async def under(service: Service, request: Request, caller: str, instance: Instance, page: int, box: str) -> Response:
    """The words under a rectangle (in points from the top left), with their exact boxes."""
    from interlock.apps.contracts.reading import Box, Span

    wanted = entering.evidence(f"{page}@{box}")
    if wanted is None or wanted.box is None:
        raise BadRequest(f"{box[:60]!r} is not a rectangle; use left,top,right,bottom in points")
    document, original = await service.read(lambda conn: _opened(conn, instance, page))
    if instance.data["media_type"] != PDF:
        raise NotFound(f"{instance.data['filename']} has no pages to drag on")
    rectangle = Box(*wanted.box)

    def look() -> tuple[Span | None, list[Box]]:
        reader = stored.reader()
        span = words_at(reader, document, page, rectangle, original)
        return span, reader.boxes_of(document, [span], original)[0] if span is not None else []

    span, boxes = await viewing.look(service, request, caller, look)
    if span is None:
        return JSONResponse({"quote": "", "place": "", "page": page, "boxes": []})
    return JSONResponse(
        {
            "quote": document.page(page).text[span.start : span.end],
            "place": f"{page}:{span.start}-{span.end}",
            "page": page,
            "boxes": [[b.left, b.top, b.right, b.bottom] for b in boxes],
        }
    )


async def found(service: Service, request: Request, caller: str, instance: Instance, q: str, page: int) -> Response:
    """The places of the words; for those on `page` also their boxes."""
    document, original = await service.read(lambda conn: _opened(conn, instance, page))
    hits = await service.call(search, document, q)
    here = [one.span for one in hits if one.span.page == page]
    boxes: list[Any] = []
    if here and instance.data["media_type"] == PDF:
        lines = await viewing.look(service, request, caller, lambda: stored.reader().boxes_of(document, here, original))
        boxes = [[[b.left, b.top, b.right, b.bottom] for b in some] for some in lines]
    return JSONResponse({"hits": [_hit(one) for one in hits], "page": page, "boxes": boxes})


def _hit(one: Hit) -> dict[str, Any]:
    return {"page": one.span.page, "start": one.span.start, "end": one.span.end, "text": one.found}


def _opened(conn: sa.Connection, instance: Instance, page: int) -> tuple[Any, bytes]:
    data = instance.data
    if not kept(instance).data["text"]:
        raise NotFound(f"{data['filename']} is not read yet")
    document = stored.document(conn, instance.id, data)
    if page > len(document.pages):
        raise NotFound(f"{data['filename']} has no page {page}; it has {len(document.pages)}")
    return document, artifacts.read(conn, instance.id, data["pdf"]) if data["media_type"] == PDF else b""
