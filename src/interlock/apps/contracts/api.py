"""The workflow endpoints, as the specification names them. They arm steps and wait; only workers do the work."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import time
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interlock.apps.contracts import flow, links, stored
from interlock.apps.contracts.answers import (
    Envelope,
    Enveloped,
    ErrorOut,
    envelope,
    failure,
    open_review,
    workflow,
)
from interlock.apps.contracts.calibrating import providers, put_provider
from interlock.apps.contracts.fields.providers import Provider
from interlock.apps.contracts.fields.vertical import Range
from interlock.apps.contracts.machine import (
    COMPARING,
    COMPLETED,
    EXTRACTING,
    FAILED,
    PARSING_PDF,
    PENDING,
    REJECTED,
    REVIEW_REQUIRED,
    TIMED_OUT,
    VALIDATED,
    VALIDATING,
    contract,
)
from interlock.apps.contracts.models import Contract, FieldDecision
from interlock.apps.contracts.reading.file import media_type
from interlock.apps.contracts.reading.limits import DEFAULT as LIMITS
from interlock.apps.contracts.steps import DEFAULTS, vertical_of
from interlock.config import ContractSettings
from interlock.engine import Instance, InvalidData, KeyTaken, NotFound, Refused, artifacts, audit, firing, lineage
from interlock.engine import reviews as review_functions
from interlock.engine.unit import Unit, load
from interlock.http.api.instances import workspace_of
from interlock.http.caller import Caller, TheService, require
from interlock.http.service import Service
from interlock.http.writing import Write
from interlock.people import Principal
from interlock.store import moment
from interlock.store.tables import instance as I

router = APIRouter(prefix="/workflows", tags=["contracts"], route_class=Enveloped)
flows = APIRouter(prefix="/flows", tags=["contracts"])
Wait = Annotated[float | None, Query(ge=0, le=3600, description="Seconds to wait for the step; else 202.")]
Id = Annotated[UUID, Path(description="The workflow's id.")]
OVER = (COMPLETED, REJECTED, TIMED_OUT)
POLL = (0.02, 0.5)


def settings_of(service: Service) -> ContractSettings:
    found = service.engine.core.settings.get("contracts")
    return found if isinstance(found, ContractSettings) else DEFAULTS


# -- looking


def _seen(conn: sa.Connection, id: UUID, who: Principal) -> Instance:
    found = load(conn, conn.execute(sa.select(I).where(I.c.id == id, I.c.machine == contract.name)).all())
    if not found:
        raise NotFound(f"there is no workflow {id}")
    require(who, "read", found[0].workspace, f"workflow {id}", machine=contract.name)
    return found[0]


async def _tell(service: Service, who: Principal, id: UUID, status: int = 200) -> Response:
    def look(conn: sa.Connection) -> tuple[dict[str, Any], ErrorOut | None]:
        found = _seen(conn, id, who)
        return workflow(conn, found), None

    data, error = await service.read(look)
    return envelope(data, status, error)


@router.get("/{id}", summary="All of a workflow", response_model=Envelope)
async def get_workflow(service: TheService, who: Caller, id: Id) -> Response:
    return await _tell(service, who, id)


@router.get("/{id}/log", summary="Its history", response_model=Envelope)
async def get_log(service: TheService, who: Caller, id: Id) -> Response:
    def look(conn: sa.Connection) -> list[dict[str, Any]]:
        _seen(conn, id, who)
        return [
            {
                "seq": row.seq, "at": moment(row.at).isoformat(), "kind": row.kind, "from": row.from_state,
                "to": row.to_state, "event": row.event, "actor": row.actor, "metadata": row.payload,
            }
            for row in audit.history(conn, id, limit=1000)
        ]  # fmt: skip

    return envelope({"workflowId": str(id), "log": await service.read(look)})


@router.get("/{id}/pages/{number}", summary="A page as an image", response_class=Response)
async def get_page(
    service: TheService,
    who: Caller,
    id: Id,
    number: Annotated[int, Path(ge=1, le=100_000)],
    scale: Annotated[float, Query(ge=0.5, le=3)] = 2.0,
) -> Response:
    """PNG, for PDFs; a Word file or plain text has no pages to show."""

    def look(conn: sa.Connection) -> tuple[bytes, dict[str, Any]]:
        found = _seen(conn, id, who)
        if found.data["media_type"] != "application/pdf" or number > (found.data["pages"] or 0):
            raise NotFound(f"workflow {id} has no page {number} that could be shown")
        return artifacts.read(conn, found.data["pdf"]), found.data

    original, _ = await service.read(look)
    image = await service.call(stored.reader().render, original, number, scale)
    return Response(image, media_type="image/png", headers={"Cache-Control": "private, max-age=86400"})


@router.get("/{id}/pages/{number}/text", summary="A page's text", response_model=Envelope)
async def get_text(
    service: TheService, who: Caller, id: Id, number: Annotated[int, Path(ge=1, le=100_000)]
) -> Response:
    def look(conn: sa.Connection) -> dict[str, Any]:
        found = _seen(conn, id, who)
        document = stored.document(conn, found.data) if found.data["text"] else None
        if document is None or number > len(document.pages):
            raise NotFound(f"workflow {id} has no page {number}")
        page = document.page(number)
        return {
            "page": number, "text": page.text, "width": page.width, "height": page.height, "source": page.source,
            "quality": page.quality,
        }  # fmt: skip

    return envelope(await service.read(look))


# -- ingest


@router.post(
    "/ingest", summary="Take a contract in", response_model=Envelope, status_code=201,
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
                            "vertical": {"type": "string"}, "drive": {"type": "boolean"},
                            "compareWith": {"type": "string"}, "workspace": {"type": "string"},
                        },
                    }
                },
            },
        }
    },
)  # fmt: skip
async def ingest(request: Request, service: TheService, write: Write, wait: Wait = None) -> Response:
    """201 for a new workflow, 200 when the same file was taken in before; the answer comes once it is read."""
    content, body = await _upload(request)
    settings = settings_of(service)
    workspace = workspace_of(write.who, body.workspace)
    require(write.who, "create", workspace, f"workspace {workspace!r}", machine=contract.name)
    try:
        vertical_of(body.vertical, settings)
    except InvalidData as error:
        raise InvalidData(f"vertical: {error}") from None
    kind = media_type(content, body.filename)
    digest = hashlib.sha256(content).hexdigest()
    key = f"{digest}:{body.vertical}"

    def take(unit: Unit) -> tuple[UUID, bool]:
        data = Contract(
            filename=body.filename, vertical=body.vertical, drive=body.drive, compare_with=body.compareWith,
            media_type=kind, size=len(content), pdf=digest,
        )  # fmt: skip
        actor = write.who.actor_in(workspace)
        try:
            made = lineage.create(
                unit, contract, data, actor, key=key, workspace=workspace, labels={"vertical": body.vertical}
            )
        except KeyTaken as taken:
            return taken.existing, False
        artifacts.keep(unit, made.id, "original", content, media_type=kind, actor=actor)
        return made.id, True

    id, new = await service.write(take, "create")
    return await _until(service, write.who, id, (PENDING, PARSING_PDF), wait, done=201 if new else 200)


# -- steps


@router.post("/{id}/extract", summary="Read its fields and judge them", response_model=Envelope)
async def extract_step(service: TheService, write: Write, id: Id, wait: Wait = None) -> Response:
    """`needsReview` says whether a person has to look; 202 when it takes longer than `wait`."""
    return await _step(service, write.who, id, wait, at=(EXTRACTING, VALIDATING), starts=EXTRACTING)


@router.post("/{id}/compare", summary="Compare it", response_model=Envelope)
async def compare_step(
    service: TheService, write: Write, id: Id, body: CompareBody | None = None, wait: Wait = None
) -> Response:
    wanted = {"compare_with": body.with_} if body is not None and body.with_ else None
    return await _step(service, write.who, id, wait, at=(VALIDATED, COMPARING), starts=VALIDATED, patch=wanted)


@router.post("/{id}/retry", summary="Try the failed step again now", response_model=Envelope)
async def retry_step(service: TheService, write: Write, id: Id) -> Response:
    def again(unit: Unit) -> None:
        instance = unit.lock(id)
        if instance.machine != contract.name:
            raise NotFound(f"there is no workflow {id}")
        require(write.who, "fire", instance.workspace, f"workflow {id}", machine=contract.name)
        firing.fire(unit, id, "retry", write.who.actor_in(instance.workspace))

    await service.write(again, "fire")
    return await _tell(service, write.who, id)


@router.post(
    "/{id}/reprocess", summary="Do a rejected or timed-out one again", response_model=Envelope, status_code=201
)
async def reprocess(service: TheService, write: Write, id: Id) -> Response:
    """A new workflow for the same file, linked to the old one; the pages are not read again."""

    def again(unit: Unit) -> UUID:
        old = unit.lock(id)
        if old.machine != contract.name:
            raise NotFound(f"there is no workflow {id}")
        require(write.who, "create", old.workspace, f"workflow {id}", machine=contract.name)
        if old.state not in {REJECTED, TIMED_OUT}:
            raise Refused(f"workflow {id} is {old.state}; only a rejected or timed-out one is done again")
        kept = ("filename", "vertical", "drive", "media_type", "size", "pdf", "text", "pages", "compare_with")
        data = {name: old.data[name] for name in kept} | {"origin": str(id)}
        made = lineage.create(
            unit, contract, data, write.who.actor_in(old.workspace), key=old.key, workspace=old.workspace,
            labels={"vertical": data["vertical"]}, parent=old, take_key_from=old if old.unique_key else None,
        )  # fmt: skip
        artifacts.link_all(unit, id, made.id)
        return made.id

    made = await service.write(again, "create")
    return await _tell(service, write.who, made, 201)


# -- review


@router.post("/{id}/review", summary="Decide a review", response_model=Envelope)
async def review(service: TheService, write: Write, id: Id, body: ReviewBody) -> Response:
    """409 when somebody decided before, or the workflow moved on since `expected_seq`."""
    await service.write(lambda unit: decide(unit, id, body, write.who), "review")
    return await _tell(service, write.who, id)


def decide(unit: Unit, id: UUID, body: ReviewBody, who: Principal) -> None:
    instance = unit.lock(id)
    if instance.machine != contract.name:
        raise NotFound(f"there is no workflow {id}")
    require(who, "review", instance.workspace, f"workflow {id}", machine=contract.name)
    if body.action not in {"approve", "correct", "reject"}:
        raise InvalidData(f"action: {body.action!r} is none of approve, correct, reject; time runs out by itself")
    if body.action == "correct" and not body.fields:
        raise InvalidData("fields: to correct, say which field and what is right")
    task = open_review(unit.conn, instance)
    if task is None:
        raise Refused(f"workflow {id} is {instance.state}; there is nothing to decide")
    answer = {"decisions": [one.model_dump(mode="json") for one in body.fields], "review_note": body.notes}
    review_functions.decide(
        unit, task.id, body.action, who.actor_in(instance.workspace), answer=answer, reason=body.notes,
        expected_seq=body.expected_seq,
    )  # fmt: skip


@router.get("/{id}/resume-link", summary="A signed link to its review", response_model=Envelope)
async def resume_link(service: TheService, who: Caller, request: Request, id: Id) -> Response:
    """Whoever has it decides in the name of whoever asked for it, until the review's time is over."""

    def make(unit: Unit) -> str:
        instance = unit.lock(id)
        if instance.machine != contract.name:
            raise NotFound(f"there is no workflow {id}")
        require(who, "review", instance.workspace, f"workflow {id}", machine=contract.name)
        task = open_review(unit.conn, instance)
        if task is None:
            raise Refused(f"workflow {id} is {instance.state}; there is no review to resume")
        return links.signed(unit, instance, task, who.actor_in(instance.workspace))

    path = await service.write(make, "write")
    return envelope({"workflowId": str(id), "url": str(request.base_url).rstrip("/") + path})


@router.post("/{id}/resume", summary="Decide by a signed link", response_model=Envelope)
async def resume(
    service: TheService,
    id: Id,
    body: ReviewBody,
    by: Annotated[str, Query(max_length=250)],
    until: Annotated[int, Query(ge=0, le=2**62)],
    review: UUID,
    signature: Annotated[str, Query(max_length=100)],
) -> Response:
    def go_on(unit: Unit) -> dict[str, Any]:
        instance, actor = links.checked(unit, id, review, by, until, signature)
        if body.action not in {"approve", "correct", "reject"}:
            raise InvalidData(f"action: {body.action!r} is none of approve, correct, reject")
        answer = {"decisions": [one.model_dump(mode="json") for one in body.fields], "review_note": body.notes}
        review_functions.decide(
            unit, review, body.action, actor, answer=answer, reason=body.notes, expected_seq=body.expected_seq
        )
        return {"workflowId": str(id), "state": instance.state}

    return envelope(await service.write(go_on, "review"))


# -- providers


@router.get("/providers/{vertical}", summary="Providers with their names and ranges", response_model=Envelope)
async def get_providers(service: TheService, who: Caller, vertical: str) -> Response:
    wanted = vertical_of(vertical, settings_of(service))
    require(who, "read", workspace_of(who, None), "provider")
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
    wanted = vertical_of(vertical, settings_of(service))
    workspace = workspace_of(write.who, None)
    require(write.who, "manage", workspace, "provider")
    list_name = wanted.providers
    if list_name is None:
        raise InvalidData(f"the vertical {vertical!r} looks up no providers")
    made = Provider(name=name, aliases=tuple(body.aliases), ranges=body.ranges)
    await service.write(lambda unit: put_provider(unit, list_name, made, write.who.actor_in(workspace)), "write")
    return envelope(made.model_dump(mode="json"))


@flows.get("/process-contract.yaml", summary="The workflow for Windmill, as an OpenFlow", response_class=Response)
async def windmill_flow(request: Request, who: Caller) -> Response:
    return Response(flow.text(str(request.base_url).rstrip("/")), media_type="application/yaml")
