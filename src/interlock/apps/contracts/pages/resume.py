"""A signed link in a browser: the review page without a login, for one review only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from interlock.apps.contracts import naming
from interlock.apps.contracts.api import decide_as
from interlock.apps.contracts.ingest import viewing
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.claiming import claimed_by_other
from interlock.apps.contracts.pages.document import PDF, APage, BoxText, PageContext, PageNumber, Words, found, under
from interlock.apps.contracts.pages.posted_review import PostedReview, asked
from interlock.apps.contracts.pages.review import FieldName, shown
from interlock.apps.contracts.pages.sheet import Sheet
from interlock.apps.contracts.review import evidence_places, links
from interlock.apps.contracts.workflow.step_calls import kept, settings_of
from interlock.dashboard.site import plain
from interlock.engine import AlreadyDecided, EngineError, Instance, NotFound, artifacts
from interlock.engine.application import Unit
from interlock.http.caller import PUBLIC, TheService
from interlock.http.parameters import takes
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.machine import Actor, InterlockError
from interlock.people import NotAllowed

router = APIRouter(prefix="/workflows", include_in_schema=False)
BIGGEST = 200_000
REFUSALS: dict[type[InterlockError], tuple[int, str]] = {
    NotAllowed: (403, "This link is not valid"),
    AlreadyDecided: (409, "This review is over"),
    NotFound: (404, "Not found"),
}


@router.get("/{id}/resume", openapi_extra=PUBLIC)
@takes(*links.PARTS)
async def opened(
    service: TheService, request: Request, id: UUID, field: FieldName = "", page: PageNumber = None, q: Words = ""
) -> Response:
    """The page of the link's review, or why the link is invalid."""
    return await _shown(service, request, id, PostedReview(field=field, page=page, words=q))


@router.post("/{id}/resume/form", openapi_extra=PUBLIC)
@takes(*links.PARTS)
async def posted(service: TheService, request: Request, id: UUID) -> Response:
    """The posted form of that page. It is authorised only by the signature in its address, never by a cookie."""
    form = await request.form(max_files=0, max_fields=500, max_part_size=BIGGEST)
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    given = fields.get("seq", "")
    seq = int(given) if given.isdecimal() and len(given) < 18 else None
    settings = settings_of(service)
    try:
        link = links.Link.of(request.query_params)
        want = await service.read(
            lambda conn: asked(conn, _instance(conn, service, id, link)[0], settings, fields, seq)
        )
    except (NotAllowed, NotFound, AlreadyDecided) as error:
        return await refused(request, error)
    body = want.body
    if body is None:
        return await _shown(service, request, id, want)

    def job(unit: Unit) -> None:
        instance, actor = links.checked(unit, id, link)
        with evidence_places.known(places):
            decide_as(unit, instance, body, actor, only=link.review)

    try:
        places = await evidence_places.look_up(
            service, request, f"link {link.review}", lambda conn: _instance(conn, service, id, link)[0], body.fields
        )
        await service.write(job, "review")
    except (NotAllowed, AlreadyDecided) as error:
        return await refused(request, error)
    except (EngineError, BadRequest) as error:
        return await _shown(service, request, id, want, error)
    # The link is used up: its page now only says that the review was decided.
    return RedirectResponse(f"/workflows/{id}/resume?{link.query}", 303)


@router.get("/{id}/resume/pages/{number}", openapi_extra=PUBLIC)
@takes(*links.PARTS)
async def image(
    service: TheService, request: Request, id: UUID, number: Annotated[int, Path(ge=1, le=100_000)]
) -> Response:
    link = links.Link.of(request.query_params)

    def look(conn: sa.Connection) -> bytes:
        instance, _ = _instance(conn, service, id, link)
        if instance.data["media_type"] != PDF or number > (instance.data["pages"] or 0):
            raise NotFound(f"workflow {id} has no page {number} that could be shown")
        return artifacts.read(conn, id, instance.data["pdf"])

    original = await service.read(look)
    made = await viewing.image(service, request, f"link {link.review}", original, number, 2.0)
    return Response(made, media_type="image/png")


@router.get("/{id}/resume/text", openapi_extra=PUBLIC)
@takes(*links.PARTS)
async def text(
    service: TheService, request: Request, id: UUID, page: Annotated[int, Query(ge=1, le=100_000)], box: BoxText
) -> Response:
    link = links.Link.of(request.query_params)
    instance = await service.read(lambda conn: _instance(conn, service, id, link)[0])
    return await under(service, request, f"link {link.review}", instance, page, box)


@router.get("/{id}/resume/find", openapi_extra=PUBLIC)
@takes(*links.PARTS)
async def find(service: TheService, request: Request, id: UUID, q: Words, page: APage = 1) -> Response:
    link = links.Link.of(request.query_params)
    instance = await service.read(lambda conn: _instance(conn, service, id, link)[0])
    return await found(service, request, f"link {link.review}", instance, q, page)


def _instance(conn: sa.Connection, service: Service, id: UUID, link: links.Link) -> tuple[Instance, Actor]:
    found, actor = links.opened(conn, id, link, service.engine.clock.now())
    if not kept(found).data.get("fields"):
        raise NotFound(f"there is no workflow {id} to review")
    return found, actor


async def _shown(
    service: Service, request: Request, id: UUID, want: PostedReview, error: InterlockError | None = None
) -> Response:
    settings = settings_of(service)
    now = service.engine.clock.now()

    def look(conn: sa.Connection) -> tuple[Instance, Actor, Sheet, Mapping[str, Any]]:
        instance, actor = _instance(conn, service, id, link)
        return (instance, actor, *shown(conn, instance, settings, want, error))

    try:
        link = links.Link.of(request.query_params)
        who = f"link {link.review}"
        await viewing.alternatives(service, request, who, lambda conn: _instance(conn, service, id, link)[0])
        instance, actor, made, more = await service.read(look)
    except (NotAllowed, NotFound, AlreadyDecided) as wrong:
        return await refused(request, wrong)
    place = PageContext(
        layout="contracts/alone.html",
        action=f"/workflows/{id}/resume/form?{link.query}",
        images=f"/workflows/{id}/resume/pages/",
        query=f"?{link.query}",
        text=f"/workflows/{id}/resume/text?{link.query}&",
        find=f"/workflows/{id}/resume/find?{link.query}&",
        may=made.open and made.review is not None and made.review.id == link.review,
        taken_by=claimed_by_other(made.review, str(actor), now),
        mine=True,  # whoever has the link decides with it, and takes nothing before
    )
    return await plain(
        request,
        "contracts/review.html",
        layout=place.layout,
        s=made,
        p=place,
        it=instance,
        now=now,
        me=str(actor),
        called=naming.called(instance.data),
        params=dict(request.query_params),
        machine=service.engine.registry.get(contract.name),
        csrf="",
        said="",
        **more,
    )


async def refused(request: Request, error: InterlockError) -> Response:
    """A page that says why the link is invalid."""
    message = str(error)
    status, title = next(answer for kind, answer in REFUSALS.items() if isinstance(error, kind))
    return await plain(
        request, "contracts/refused.html", status=status, title=title, detail=f"{message[:1].upper()}{message[1:]}."
    )
