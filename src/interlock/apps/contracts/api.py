"""The workflow endpoints, as specified. They arm steps and wait; only workers run them."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import Path, Query, Request
from fastapi.responses import Response

from interlock.apps.contracts.fields.calibration_store import providers, put_provider
from interlock.apps.contracts.fields.providers import Provider
from interlock.apps.contracts.ingest import intake, stored, viewing
from interlock.apps.contracts.machine import FAILED, REJECTED, TIMED_OUT, contract
from interlock.apps.contracts.reading.limits import DEFAULT as LIMITS
from interlock.apps.contracts.review import evidence_places, links
from interlock.apps.contracts.steps import comparable, vertical_of
from interlock.apps.contracts.workflow import step_calls, windmill
from interlock.apps.contracts.workflow.answers import ANSWERS, Envelope, EnvelopedRoute, envelope, open_review
from interlock.apps.contracts.workflow.bodies import CompareBody, IngestBody, ProviderBody, ReviewBody, uploaded
from interlock.apps.contracts.workflow.step_calls import (
    Done,
    WrongState,
    kept,
    locked,
    must_have_data,
    seen,
    settings_of,
    show_workflow,
    write_once,
)
from interlock.engine import (
    AlreadyDecided,
    Instance,
    InvalidData,
    NotFound,
    artifacts,
    reviews,
)
from interlock.engine.application import HistoryRow, Unit, close_dead_letters, create, fire, history
from interlock.http.caller import PUBLIC, Caller, TheService, need, require_operator, workspace_of
from interlock.http.direct import Router
from interlock.http.waiting_slots import counted_for
from interlock.http.writing import Write
from interlock.machine import Actor
from interlock.people import OPERATORS, Principal, in_workspace
from interlock.store import moment

LATER: dict[int | str, dict[str, Any]] = {202: {"model": Envelope, "description": "Still running; ask again"}}
router = Router(prefix="/workflows", tags=["contracts"], route_class=EnvelopedRoute, responses=ANSWERS)
router.takes("/ingest", 2 * LIMITS.bytes)  # base64 is a third more than the file
flows = Router(prefix="/flows", tags=["contracts"])
Wait = Annotated[float | None, Query(ge=0, le=3600, description="Seconds to wait for the step before 202.")]
Id = Annotated[UUID, Path(description="The workflow's id.")]


# -- reading


@router.get("/{id}", summary="One workflow", response_model=Envelope)
async def get_workflow(service: TheService, who: Caller, id: Id) -> Response:
    return await show_workflow(service, who, id)


@router.get("/{id}/log", summary="The history of a workflow", response_model=Envelope)
async def get_log(service: TheService, who: Caller, id: Id) -> Response:
    def look(conn: sa.Connection) -> list[dict[str, Any]]:
        seen(conn, id, who)
        return [
            {
                "seq": row.seq,
                "at": moment(row.at).isoformat(),
                "kind": row.kind,
                "from": row.from_state,
                "to": row.to_state,
                "event": row.event,
                "actor": row.actor,
                "metadata": _metadata(row),
            }
            for row in history(conn, id, limit=1000)
        ]

    return await service.read(lambda conn: envelope({"workflowId": str(id), "log": look(conn)}))


def _metadata(row: HistoryRow) -> dict[str, Any]:
    """The payload of a move; for one to `failed` also the step where it resumes, under its specified name."""
    payload = dict(row.payload)
    return payload | {"failed_at_step": payload.get("step")} if row.to_state == FAILED else payload


@router.get(
    "/{id}/pages/{number}",
    summary="A page as an image",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def get_page(
    request: Request,
    service: TheService,
    who: Caller,
    id: Id,
    number: Annotated[int, Path(ge=1, le=100_000)],
    scale: Annotated[float, Query(ge=0.5, le=3)] = 2.0,
) -> Response:
    """PNG, for PDFs only; Word and plain text files have no page images."""

    def look(conn: sa.Connection) -> tuple[bytes, dict[str, Any]]:
        found = kept(seen(conn, id, who))
        if found.data["media_type"] != "application/pdf" or number > (found.data["pages"] or 0):
            raise NotFound(f"workflow {id} has no page {number} to show")
        return artifacts.read(conn, id, found.data["pdf"]), found.data

    original, _ = await service.read(look)
    image = await viewing.image(service, request, counted_for(who), original, number, scale)
    return Response(image, media_type="image/png")


@router.get("/{id}/pages/{number}/text", summary="A page's text", response_model=Envelope)
async def get_text(
    service: TheService, who: Caller, id: Id, number: Annotated[int, Path(ge=1, le=100_000)]
) -> Response:
    def look(conn: sa.Connection) -> dict[str, Any]:
        found = kept(seen(conn, id, who))
        document = stored.document(conn, id, found.data) if found.data["text"] else None
        if document is None or number > len(document.pages):
            raise NotFound(f"workflow {id} has no page {number}")
        page = document.page(number)
        return {
            "page": number,
            "text": page.text,
            "width": page.width,
            "height": page.height,
            "source": page.source,
            "quality": page.quality,
        }

    return await service.read(lambda conn: envelope(look(conn)))


# -- ingest


@router.post(
    "/ingest",
    summary="Ingest a contract",
    response_model=Envelope,
    status_code=201,
    responses={200: {"model": Envelope}, 202: {"model": Envelope}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": IngestBody.model_json_schema()},
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file"],
                        "properties": {
                            "file": {"type": "string", "format": "binary"},
                            "vertical": {"type": "string"},
                            "drive": {"type": "boolean"},
                            "compareWith": {"type": "string"},
                            "workspace": {"type": "string"},
                        },
                    }
                },
            },
        }
    },
)
async def ingest(request: Request, service: TheService, write: Write, wait: Wait = None) -> Response:
    """201 for a new workflow, 200 for a known file. The answer comes when the file has been read."""
    content, body = await uploaded(request)
    settings = settings_of(service)
    workspace = workspace_of(write.who, body.workspace)
    for permission in ("read", "create"):
        in_workspace(write.who, workspace)
        need(write.who, permission, workspace, contract.name)
    named = "filename" in body.model_fields_set  # the name that it has otherwise promises nothing
    file = await service.call(lambda: intake.inspect(content, body.filename, body.vertical, settings, named=named))

    def take(unit: Unit) -> Done:
        if body.compareWith:
            comparable(unit.conn, body.compareWith, workspace, settings)
        actor = write.who.actor_in(workspace)
        taken = intake.take_in(unit, file, actor, workspace=workspace, drive=body.drive, compare_with=body.compareWith)
        if not taken.new:
            step_calls.begin(unit, unit.lock(taken.id), step_calls.INGEST, actor, {}, settings)
        return Done(id=taken.id, new=taken.new)

    made = await service.write_as(
        write.who, take, "create"
    )  # whatever the idempotency key: the same file is the same workflow
    return await step_calls.until(write, made.id, step_calls.INGEST, wait, done=201 if made.new else 200)


# -- steps


@router.post("/{id}/extract", summary="Extract and validate the fields", response_model=Envelope, responses=LATER)
async def extract_step(write: Write, id: Id, wait: Wait = None) -> Response:
    """`needsReview` says whether a review is needed. 202 if it takes longer than `wait`."""
    return await step_calls.call(write, id, step_calls.EXTRACT, wait)


@router.post("/{id}/compare", summary="Compare a workflow", response_model=Envelope, responses=LATER)
async def compare_step(write: Write, id: Id, body: CompareBody | None = None, wait: Wait = None) -> Response:
    """Compares with `with`, or `compareWith` of the ingest, or the vertical's default."""
    wanted = {"compare_with": body.with_} if body is not None and body.with_ else None
    return await step_calls.call(write, id, step_calls.COMPARE, wait, wanted)


@router.post("/{id}/retry", summary="Retry the failed step now", response_model=Envelope)
async def retry_step(service: TheService, write: Write, id: Id) -> Response:
    def again(unit: Unit) -> Done:
        instance = locked(unit, id, write.who, "fire")
        fire(unit, id, "retry", write.who.actor_in(instance.workspace))
        return Done(id=id)

    await write_once(write, again, "fire")
    return await show_workflow(service, write.who, id)


@router.post(
    "/{id}/reprocess", summary="Reprocess a rejected or timed-out workflow", response_model=Envelope, status_code=201
)
async def reprocess(service: TheService, write: Write, id: Id) -> Response:
    """Creates a new workflow for the same file, linked to the old one. The pages are not read again."""

    def again(unit: Unit) -> Done:
        return Done(id=process_again(unit, id, write.who).id)

    made = await write_once(write, again, "create")
    return await show_workflow(service, write.who, made.id, 201)


def process_again(unit: Unit, id: UUID, who: Principal) -> Instance:
    """A new workflow for the same file, linked to the old one."""
    old = locked(unit, id, who, "create")
    if old.state not in {REJECTED, TIMED_OUT}:
        raise WrongState(f"workflow {id} is {old.state}; only a rejected or timed-out one can be reprocessed")
    must_have_data(old)
    same = ("filename", "vertical", "drive", "media_type", "size", "pdf", "text", "pages", "compare_with")
    data = {name: old.data[name] for name in same} | {"origin": str(id)}
    actor = who.actor_in(old.workspace)
    made = create(
        unit,
        contract,
        data,
        actor,
        key=old.key,
        workspace=old.workspace,
        labels={"vertical": data["vertical"]},
        parent=old,
        take_key_from=old if old.unique_key else None,
        by_application=True,
    )
    artifacts.link_all(unit, id, made.id)
    close_dead_letters(unit, old, actor, "retried")
    return made


# -- review


@router.post("/{id}/review", summary="Decide a review", response_model=Envelope)
async def review(service: TheService, write: Write, id: Id, body: ReviewBody) -> Response:
    """409 if somebody else has decided it, or the workflow has changed since `expected_seq`."""

    places = await evidence_places.look_up(
        service, write.request, counted_for(write.who), lambda conn: seen(conn, id, write.who), body.fields
    )

    def job(unit: Unit) -> Done:
        with evidence_places.known(places):
            decide(unit, id, body, write.who)
        return Done(id=id)

    await write_once(write, job, "review")
    return await show_workflow(service, write.who, id)


def decide(unit: Unit, id: UUID, body: ReviewBody, who: Principal) -> None:
    """Decide as the caller. Raises AlreadyDecided if somebody else has decided it."""
    instance = locked(unit, id, who, "review")
    decide_as(unit, instance, body, who.actor_in(instance.workspace))


def decide_as(unit: Unit, instance: Instance, body: ReviewBody, actor: Actor, *, only: UUID | None = None) -> None:
    """Decide its open review; `only` this one, for a caller with a link to it."""
    if body.action not in {"approve", "correct", "reject"}:
        raise InvalidData(f"action: {body.action!r} is not one of approve, correct, reject")
    if body.action == "correct" and not body.fields:
        raise InvalidData("fields: name each field to correct, with its right value")
    task = open_review(unit.conn, instance)
    if task is None or only not in {None, task.id}:
        if reviews.decided(unit.conn, reviews.ReviewFilter(instance_id=instance.id), limit=1):
            raise AlreadyDecided(f"workflow {instance.id} is {instance.state}: its review is over")
        raise WrongState(f"workflow {instance.id} is {instance.state}; it has no open review")
    answer = {"decisions": [one.model_dump(mode="json") for one in body.fields], "review_note": body.notes}
    reviews.decide(unit, task.id, body.action, actor, answer=answer, reason=body.notes, expected_seq=body.expected_seq)


@router.get("/{id}/resume-link", summary="A signed link to the review", response_model=Envelope)
async def resume_link(service: TheService, who: Caller, id: Id) -> Response:
    """Whoever has the link can decide in the caller's name, until the review is decided or its deadline has passed.

    The link becomes invalid when the token or login that requested it ends.
    """

    def make(unit: Unit) -> str:
        instance = locked(unit, id, who, "review")
        task = open_review(unit.conn, instance)
        if task is None:
            raise WrongState(f"workflow {id} is {instance.state}; there is no review to resume")
        return links.signed(unit, instance, task, who)

    path = await service.write_as(who, make, "write")
    return envelope({"workflowId": str(id), "url": service.address + path})


@router.post("/{id}/resume", summary="Decide with a signed link", response_model=Envelope, openapi_extra=PUBLIC)
async def resume(
    request: Request,
    service: TheService,
    id: Id,
    body: ReviewBody,
    by: Annotated[str, Query(max_length=250)],
    via: Annotated[str, Query(max_length=100)],
    until: Annotated[int, Query(ge=0, le=2**62)],
    review: UUID,
    signature: Annotated[str, Query(max_length=100)],
) -> Response:
    """Needs only the link, which works once. 403 if it was changed or has expired, 409 if the review is decided."""

    link, now = links.Link(review, by, via, until, signature), service.engine.clock.now()
    places = await evidence_places.look_up(
        service, request, f"link {review}", lambda conn: links.opened(conn, id, link, now)[0], body.fields
    )

    def go_on(unit: Unit) -> dict[str, Any]:
        instance, actor = links.checked(unit, id, link)
        with evidence_places.known(places):
            decide_as(unit, instance, body, actor, only=review)
        return {"workflowId": str(id), "state": instance.state}

    return envelope(await service.write(go_on, "review"))


# -- providers


@router.get("/providers/{vertical}", summary="Providers with their aliases and ranges", response_model=Envelope)
async def get_providers(service: TheService, who: Caller, vertical: str) -> Response:
    """The same for every workspace."""
    wanted = vertical_of(vertical, settings_of(service))
    found = await service.read(lambda conn: providers(conn, wanted))
    return envelope({"providers": [one.model_dump(mode="json") for one in (found.providers if found else ())]})


@router.put("/providers/{vertical}/{name}", summary="Add or change a provider", response_model=Envelope)
async def put_one_provider(
    service: TheService,
    write: Write,
    vertical: str,
    name: Annotated[str, Path(min_length=1, max_length=200)],
    body: ProviderBody,
) -> Response:
    """For owners of the first workspace. It applies from the next validation on."""
    require_operator(write.who, "manage")
    wanted = vertical_of(vertical, settings_of(service))
    list_name = wanted.providers
    if list_name is None:
        raise InvalidData(f"the vertical {vertical!r} has no providers")
    made = Provider(name=name, aliases=tuple(body.aliases), ranges=body.ranges)
    actor = write.who.actor_in(OPERATORS)
    await service.write_as(write.who, lambda unit: put_provider(unit, list_name, made, actor), "write")
    return envelope(made.model_dump(mode="json"))


@flows.get(
    "/process-contract.yaml",
    summary="The workflow for Windmill, as an OpenFlow",
    response_class=Response,
    responses={200: {"content": {"application/yaml": {"schema": {"type": "object"}}}}},
)
async def windmill_flow(service: TheService, who: Caller) -> Response:
    """The flow calls this service at every step, with a token that is one of its inputs."""
    return Response(windmill.text(service.address), media_type="application/yaml")
