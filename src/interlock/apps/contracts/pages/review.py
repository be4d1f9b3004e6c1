"""The review page: fields by risk on the right, their evidence highlighted in the document on the left."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from interlock.apps.contracts.api import decide
from interlock.apps.contracts.ingest import stored, viewing
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages import entered as entering
from interlock.apps.contracts.pages.posted_review import Asked, asked, message_of
from interlock.apps.contracts.pages.sheet import PDF, Sheet, sheet
from interlock.apps.contracts.review import evidence_places
from interlock.apps.contracts.workflow.answers import open_review
from interlock.apps.contracts.workflow.step_calls import kept, settings_of
from interlock.apps.contracts.workflow.step_calls import seen as workflow_of
from interlock.dashboard.formatting import title
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor, render
from interlock.dashboard.views import view_for
from interlock.engine import (
    AlreadyDecided,
    EngineError,
    Forbidden,
    Instance,
    NotFound,
    ReviewClaimed,
    artifacts,
    reviews,
)
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.http.waiting_slots import counted_for
from interlock.machine import InterlockError
from interlock.store import SECOND

router = APIRouter(include_in_schema=False)
NOT_YET = "Its fields are not extracted yet. They appear here as soon as the worker has them."
ALMOST_OVER = 15 * 60 * SECOND
"""A claim that ends within this time is renewed when its holder opens the page again."""
FieldName = Annotated[str, Query(max_length=100)]
PageNumber = Annotated[int | None, Query(ge=1, le=100_000)]
BoxText = Annotated[str, Query(max_length=100)]


@dataclass(frozen=True, slots=True)
class Place:
    """The page's addresses, and what its reader may do."""

    layout: str
    action: str
    images: str
    """The parts of an image's address before and after the page number."""
    query: str
    text: str
    """The address for the text under a rectangle."""
    may: bool
    held: str
    """Another person who has claimed it."""


def seen(conn: sa.Connection, id: UUID, v: Visitor) -> Instance:
    return workflow_of(conn, id, v.who)


@router.get("/ui/contracts/{id}/review")
async def review(v: Reader, id: UUID, field: FieldName = "", page: PageNumber = None) -> Response:
    """Show the review page, and claim the review for a reader who may decide."""
    await _claim(v, id)
    return await _show(v, id, Asked(field=field, page=page))


@router.post("/ui/contracts/{id}/review")
async def post(request: Request, form: Posted, id: UUID) -> Response:
    v = form.v
    settings = settings_of(v.service)
    want = await v.service.read(lambda conn: asked(conn, _ready(seen(conn, id, v)), settings, form.fields, form.seq))
    body = want.body
    if body is None:
        return await _show(v, id, want)

    def job(unit: Unit) -> Done:
        with evidence_places.known(places):
            decide(unit, id, body, v.who)
        after = unit.lock(id)
        name = view_for(v.service.engine.registry, after).title(after)
        return Done(said=f"{name}: {title(after.state)} now.", to="/ui/reviews")

    try:
        places = await evidence_places.look_up(
            v.service, request, counted_for(v.who), lambda conn: seen(conn, id, v), body.fields
        )
        return await form.do(job, "review")
    except (EngineError, BadRequest) as error:
        return await _show(v, id, want, error)


@router.get("/ui/contracts/{id}/text")
async def text(v: Reader, id: UUID, page: Annotated[int, Query(ge=1, le=100_000)], box: BoxText) -> Response:
    """The text under a rectangle dragged on a page."""
    return await under(
        v.service, v.request, counted_for(v.who), await v.service.read(lambda conn: seen(conn, id, v)), page, box
    )


async def under(service: Service, request: Request, caller: str, instance: Instance, page: int, box: str) -> Response:
    """The words under a rectangle (in points from the top left), with their exact boxes."""
    from interlock.apps.contracts.reading import Box, Span

    wanted = entering.evidence(f"{page}@{box}")
    if wanted is None or wanted.box is None:
        raise BadRequest(f"{box[:60]!r} is not a rectangle; use left,top,right,bottom in points")
    data = instance.data

    def look(conn: sa.Connection) -> tuple[Any, bytes]:
        if kept(instance).data["media_type"] != PDF or not data["text"]:
            raise NotFound(f"contract {instance.id} has no pages to drag on")
        document = stored.document(conn, instance.id, data)
        if page > len(document.pages):
            raise NotFound(f"contract {instance.id} has no page {page}")
        return document, artifacts.read(conn, instance.id, data["pdf"])

    document, original = await service.read(look)
    rectangle = Box(*wanted.box)

    def find() -> tuple[Span | None, list[Box]]:
        reader = stored.reader()
        span = reader.span_at(document, page, rectangle, original)
        return span, reader.boxes_of(document, [span], original)[0] if span is not None else []

    span, boxes = await viewing.look(service, request, caller, find)
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


async def _claim(v: Visitor, id: UUID) -> None:
    if v.request.headers.get("x-live") or "prefetch" in v.request.headers.get("sec-purpose", ""):
        return  # nobody has opened it

    def look(conn: sa.Connection) -> reviews.OpenReview | None:
        return open_review(conn, seen(conn, id, v))

    task = await v.service.read(look)
    if task is None or not v.may("review", task.workspace, contract.name):
        return
    actor = v.who.actor_in(task.workspace)
    if task.claimed_by == str(actor) and (task.claimed_until or 0) > v.now + ALMOST_OVER:
        return

    def take(unit: Unit) -> None:
        with suppress(ReviewClaimed, AlreadyDecided, Forbidden):
            reviews.claim(unit, task.id, actor)

    await v.service.write(take, "review")


def later(instance: Instance, sentence: str) -> str:
    """Why there is nothing to show: not yet, or not any more."""
    return f"Its data was erased: {instance.erased}" if instance.erased else sentence


def _ready(instance: Instance) -> Instance:
    if not kept(instance).data.get("fields"):
        raise NotFound(NOT_YET)
    return instance


async def _show(v: Visitor, id: UUID, want: Asked, error: InterlockError | None = None) -> Response:
    settings = settings_of(v.service)

    def look(conn: sa.Connection) -> tuple[Instance, Sheet | None, Mapping[str, Any]]:
        instance = seen(conn, id, v)
        if not instance.data.get("fields"):
            return instance, None, {}
        return (instance, *shown(conn, instance, settings, want, error))

    await viewing.alternatives(v.service, v.request, counted_for(v.who), lambda conn: seen(conn, id, v))
    instance, made, more = await v.service.read(look)
    machine = v.service.engine.registry.get(contract.name)
    if made is None:
        said = later(instance, NOT_YET)
        return await render(v, "contracts/later.html", it=instance, machine=machine, sentence=said)
    me = str(v.who.actor_in(instance.workspace))
    place = Place(
        layout="base.html",
        action=f"/ui/contracts/{id}/review",
        images=f"/workflows/{id}/pages/",
        query="?scale=2",
        text=f"/ui/contracts/{id}/text?",
        may=made.open and v.may("review", instance.workspace, contract.name),
        held=holder(made, me, v.now),
    )
    return await render(
        v, "contracts/review.html", layout=place.layout, s=made, p=place, it=instance, machine=machine, me=me, **more
    )


def shown(
    conn: sa.Connection, instance: Instance, settings: Any, want: Asked, error: InterlockError | None
) -> tuple[Sheet, dict[str, Any]]:
    """The sheet with what was entered, and the messages about it."""
    given, message, status = want.given, want.message, want.status
    made = sheet(conn, instance, settings, field=want.field, page=want.page, given=given)
    lost: list[str] = []
    if error is not None:
        message, status = message_of(error, still_open=made.open)
        blamed = entering.blamed(given, made.vertical, str(error))
        made = sheet(conn, instance, settings, field=want.field, page=want.page, given=blamed)
        lost = [] if made.open else entering.lost(given, made.vertical)
    return made, {"message": message, "status": status, "lost": lost, "notes": want.notes}


def holder(made: Sheet, me: str, now: int) -> str:
    """The other person who has claimed it, if any."""
    review = made.review
    if review is None or not made.open or review.claimed_by in {None, me} or (review.claimed_until or 0) <= now:
        return ""
    return str(review.claimed_by)
