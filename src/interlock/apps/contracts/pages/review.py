"""The review page: fields by risk on the right, their evidence highlighted in the document on the left.

Opening the page holds nothing. A reviewer takes the review, which reserves it for half an hour; a button, or leaving
the page, releases it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from interlock.apps.contracts import naming
from interlock.apps.contracts.api import decide
from interlock.apps.contracts.ingest import stored, viewing
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages import entered as entering
from interlock.apps.contracts.pages.claiming import claimed_by_other, has_claimed
from interlock.apps.contracts.pages.document import PageNumber, Words, instance_of, page_context
from interlock.apps.contracts.pages.posted_review import PostedReview, asked, message_of
from interlock.apps.contracts.pages.sheet import Sheet, sheet
from interlock.apps.contracts.review import evidence_places
from interlock.apps.contracts.review.page_search import search
from interlock.apps.contracts.workflow.step_calls import kept, settings_of
from interlock.dashboard.decisions import leads
from interlock.dashboard.formatting import title
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor, render
from interlock.dashboard.views import view_for
from interlock.engine import EngineError, Instance, NotFound
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.http.waiting_slots import counted_for
from interlock.machine import InterlockError

router = APIRouter(include_in_schema=False)
NOT_YET = "Its fields are not extracted yet. They appear here as soon as the worker has them."
FieldName = Annotated[str, Query(max_length=100)]


@router.get("/ui/contracts/{id}/review")
async def review(v: Reader, id: UUID, field: FieldName = "", page: PageNumber = None, q: Words = "") -> Response:
    """Show the review page; it is the same for everybody until somebody takes the review."""
    return await _show(v, id, PostedReview(field=field, page=page, words=q))


@router.post("/ui/contracts/{id}/review")
async def post(request: Request, form: Posted, id: UUID) -> Response:
    v = form.v
    settings = settings_of(v.service)
    want = await v.service.read(
        lambda conn: asked(conn, _ready(instance_of(conn, id, v)), settings, form.fields, form.seq)
    )
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
            v.service, request, counted_for(v.who), lambda conn: instance_of(conn, id, v), body.fields
        )
        return await form.do(job, "review")
    except (EngineError, BadRequest) as error:
        return await _show(v, id, want, error)


def later(instance: Instance, sentence: str) -> str:
    """Why there is nothing to show: not yet, or not any more."""
    return f"Its data was erased: {instance.erased}" if instance.erased else sentence


def _ready(instance: Instance) -> Instance:
    if not kept(instance).data.get("fields"):
        raise NotFound(NOT_YET)
    return instance


async def _show(v: Visitor, id: UUID, want: PostedReview, error: InterlockError | None = None) -> Response:
    settings = settings_of(v.service)

    def look(conn: sa.Connection) -> tuple[Instance, Sheet | None, Mapping[str, Any]]:
        instance = instance_of(conn, id, v)
        if not instance.data.get("fields"):
            return instance, None, {}
        return (instance, *shown(conn, instance, settings, want, error))

    await viewing.alternatives(v.service, v.request, counted_for(v.who), lambda conn: instance_of(conn, id, v))
    instance, made, more = await v.service.read(look)
    machine = v.service.engine.registry.get(contract.name)
    called = naming.called(instance.data) if not instance.erased else naming.NAMELESS
    if made is None:
        said = later(instance, NOT_YET)
        return await render(v, "contracts/later.html", it=instance, machine=machine, sentence=said, called=called)
    me = str(v.who.actor_in(instance.workspace))
    place = page_context(
        id,
        f"/ui/contracts/{id}/review",
        may=made.open and v.may("review", instance.workspace, contract.name),
        taken_by=claimed_by_other(made.review, me, v.now),
        mine=has_claimed(made.review, me, v.now),
    )
    return await render(
        v,
        "contracts/review.html",
        layout=place.layout,
        s=made,
        p=place,
        it=instance,
        machine=machine,
        me=me,
        called=called,
        **more,
    )


def shown(
    conn: sa.Connection, instance: Instance, settings: Any, want: PostedReview, error: InterlockError | None
) -> tuple[Sheet, dict[str, Any]]:
    """The sheet with what was entered, and the messages about it."""
    given, message, status = want.given, want.message, want.status
    made = sheet(conn, instance, settings, field=want.field, page=want.page, given=given)
    lost: list[str] = []
    if error is not None:
        message, status = message_of(error, still_open=made.open, task=made.review)
        blamed = entering.blamed(given, made.vertical, str(error))
        made = sheet(conn, instance, settings, field=want.field, page=want.page, given=blamed)
        lost = [] if made.open else entering.lost(given, made.vertical)
    hits = search(stored.document(conn, instance.id, instance.data), want.words) if want.words.strip() else []
    said = leads(contract, instance, made.review) if made.open and made.review else {}
    more = {
        "leads": said,
        "message": message,
        "status": status,
        "lost": lost,
        "notes": want.notes,
        "words": want.words,
        "hits": hits,
    }
    return made, more
