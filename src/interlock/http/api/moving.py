"""Actions on instances: fire an event, pause, resume, cancel, force, erase; and store an artifact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import Instance, NotFound, artifacts, firing, pausing
from interlock.engine.retention import erasing
from interlock.engine.unit import Unit
from interlock.http import problems
from interlock.http.api.instances import aware, shown_to
from interlock.http.caller import Caller, TheService, require, visible
from interlock.http.models import ArtifactOut, InstanceOut, Receipt
from interlock.http.problems import BadRequest
from interlock.http.writing import Write, Writer
from interlock.machine import Actor, InterlockError
from interlock.people import Principal
from interlock.store import Micros, StoreError

router = APIRouter(prefix="/api/instances", tags=["instances"])
SHOWN_AS_THEY_ARE = {"application/json", "application/pdf", "image/png", "image/jpeg", "text/plain"}
MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,100}")
Reason = Annotated[str, Field(max_length=2000, description="Why; the history keeps it.", examples=["looks right"])]


class Event(BaseModel):
    """An event to fire."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"event": "clear", "reason": "looks right", "expected_seq": 4}]},
    )

    event: str = Field(min_length=1, max_length=200, examples=["clear"])
    reason: Reason = ""
    data: dict[str, Any] | None = Field(None, description="Fields that the event accepts.")
    expected_seq: int | None = Field(None, ge=0, le=2**62, description="Refuse if the instance has changed since.")


class Why(BaseModel):
    """A reason."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "the carrier is on strike"}]})

    reason: Reason = ""
    expected_seq: int | None = Field(None, ge=0, le=2**62)


class PauseWhy(Why):
    """A reason, and an optional time to resume."""

    resume_at: datetime | None = Field(None, description="Resume automatically at this time, with a time zone.")


class Force(BaseModel):
    """An owner's override."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"to": "shipped", "reason": "by hand"}]})

    to: str = Field(min_length=1, max_length=200, examples=["shipped"])
    reason: str = Field(min_length=1, max_length=2000, examples=["it was shipped by hand"])
    expected_seq: int | None = Field(None, ge=0, le=2**62)


class Erase(BaseModel):
    """The reason of an erasure, and a search text."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "asked to be forgotten"}]})

    reason: str = Field(min_length=1, max_length=2000, examples=["asked to be forgotten"])
    value: str | None = Field(
        None, min_length=3, max_length=1000, description="Keys that contain it are erased, too.", examples=["ann"]
    )
    expected_seq: int | None = Field(None, ge=0, le=2**62)


Job = Callable[[Unit, Actor], Instance]


@contextmanager
def without_details(who: Principal, instance: Instance) -> Iterator[None]:
    """Reduce a refusal to its kind for callers who may not read the instance: the details would reveal it."""
    try:
        yield
    except StoreError:
        raise
    except InterlockError as error:
        if who.may("read", instance.workspace, instance.machine):
            raise
        refusal = problems.of(error).problem
        raise BadRequest(
            f"instance {instance.id} does not accept this now; only those who may read it see why",
            status=refusal.status,
            kind=refusal.type,
        ) from None


async def _move(write: Writer, id: UUID, permission: str, expected: int | None, job: Job, name: str) -> Response:
    def run(unit: Unit) -> InstanceOut | Receipt:
        instance = unit.lock(id)
        require(write.who, permission, instance.workspace, f"instance {id}", machine=instance.machine)
        with without_details(write.who, instance):
            firing.check_seq(instance, expected)
            return shown_to(write.who, job(unit, write.who.actor_in(instance.workspace)))

    return await write(run, name=name)


@router.post("/{id}/events", summary="Fire an event", response_model=InstanceOut | Receipt)
async def fire_event(write: Write, id: UUID, body: Event) -> Response:
    """409 lists the allowed events; 403 means that it is allowed, but not to you."""

    def fire(unit: Unit, actor: Actor) -> Instance:
        return firing.fire(unit, id, body.event, actor, reason=body.reason, data=body.data)

    return await _move(write, id, "fire", body.expected_seq, fire, "fire")


@router.post("/{id}/pause", summary="Pause an instance", response_model=InstanceOut)
async def pause_instance(write: Write, id: UUID, body: PauseWhy) -> Response:
    until: Micros | None = aware(body.resume_at, "resume_at")

    def pause(unit: Unit, actor: Actor) -> Instance:
        return pausing.pause(unit, id, actor, reason=body.reason, resume_at=until)

    return await _move(write, id, "operate", body.expected_seq, pause, "pause")


@router.post("/{id}/resume", summary="Resume an instance", response_model=InstanceOut)
async def resume_instance(write: Write, id: UUID, body: Why) -> Response:
    def resume(unit: Unit, actor: Actor) -> Instance:
        return pausing.resume(unit, id, actor, reason=body.reason)

    return await _move(write, id, "operate", body.expected_seq, resume, "resume")


@router.post("/{id}/cancel", summary="Cancel an instance", response_model=InstanceOut)
async def cancel_instance(write: Write, id: UUID, body: Why) -> Response:
    def cancel(unit: Unit, actor: Actor) -> Instance:
        return firing.cancel(unit, id, actor, reason=body.reason)

    return await _move(write, id, "operate", body.expected_seq, cancel, "fire")


@router.post(
    "/{id}/force",
    summary="Force an instance into any state",
    response_model=InstanceOut,
)
async def force_instance(write: Write, id: UUID, body: Force) -> Response:
    def force(unit: Unit, actor: Actor) -> Instance:
        return firing.force(unit, id, body.to, actor, body.reason)

    return await _move(write, id, "force", body.expected_seq, force, "fire")


@router.post("/{id}/erase", summary="Erase an instance's data", response_model=InstanceOut)
async def erase_instance(write: Write, id: UUID, body: Erase) -> Response:
    """409 while it is unfinished: its data is still needed."""

    def erase(unit: Unit, actor: Actor) -> Instance:
        erasing.erase(unit, id, actor, body.reason, value=body.value)
        return unit.lock(id)

    return await _move(write, id, "force", body.expected_seq, erase, "erase")


Name = Annotated[str, Path(min_length=1, max_length=200, examples=["letter.pdf"])]


@router.put(
    "/{id}/artifacts/{name}",
    summary="Store an artifact; the body is its content",
    response_model=ArtifactOut,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def put_artifact(request: Request, service: TheService, write: Write, id: UUID, name: Name) -> Response:
    content = await request.body()
    if not content:
        raise BadRequest(f"the body is empty; send the content of {name!r}")
    media_type = request.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()
    if not MEDIA_TYPE.fullmatch(media_type):
        raise BadRequest(f"the content type {media_type[:80]!r} is invalid; use one such as application/pdf")

    def keep(unit: Unit) -> ArtifactOut:
        instance = unit.lock(id)
        require(write.who, "fire", instance.workspace, f"instance {id}", machine=instance.machine)
        with without_details(write.who, instance):
            if artifacts.is_from_step(unit.conn, id, name):
                by = f"{name!r} of instance {id} was kept by the work of {instance.machine!r}"
                raise BadRequest(f"{by}; keep yours by another name", status=409, kind="name-taken")
            actor = write.who.actor_in(instance.workspace)
            digest = artifacts.keep(unit, id, name, content, media_type=media_type, actor=actor)
        kept = artifacts.Artifact(name, media_type, digest, "", unit.now, len(content))
        return ArtifactOut.of(kept)

    return await write(keep, name="artifact")


@router.get(
    "/{id}/artifacts/{name}",
    summary="The content of an artifact",
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
    response_class=Response,
)
async def get_artifact(service: TheService, who: Caller, id: UUID, name: Name) -> Response:
    await visible(service, who, id)
    found = [a for a in await service.read(lambda conn: artifacts.of(conn, id)) if a.name == name]
    if not found:
        raise NotFound(f"instance {id} has no artifact {name!r}")
    content = await service.read(lambda conn: artifacts.read(conn, id, found[-1].hash))
    # Content from others is never run: only harmless types are shown inline, the rest is downloaded.
    shown = found[-1].media_type in SHOWN_AS_THEY_ARE
    headers = {
        "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}",
        "ETag": f'"{found[-1].hash}"',
    }
    return Response(content, headers=headers, media_type=found[-1].media_type if shown else "application/octet-stream")
