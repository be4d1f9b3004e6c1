"""Actions on instances: fire an event, pause, resume, cancel, force, erase; and store an artifact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.engine import Instance, NotFound, artifacts, firing, pausing, review_access
from interlock.engine.retention import erasing
from interlock.engine.unit import Unit
from interlock.http import problems
from interlock.http.api.instances import aware, shown_to
from interlock.http.batching import Batcher
from interlock.http.caller import Caller, TheService, require, visible
from interlock.http.models import ArtifactOut, InstanceOut, Receipt
from interlock.http.problems import BadRequest
from interlock.http.writing import Write, Writer, answered
from interlock.machine import Actor, InterlockError
from interlock.people import NotAllowed, NotAuthenticated, Principal
from interlock.people.caller_check import confirm
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
    return await write(lambda unit: _moved(unit, write.who, id, permission, expected, job), name=name)


def _moved(
    unit: Unit, who: Principal, id: UUID, permission: str, expected: int | None, job: Job
) -> InstanceOut | Receipt:
    instance = unit.lock(id)
    require(who, permission, instance.workspace, f"instance {id}", machine=instance.machine)
    with without_details(who, instance):
        firing.check_seq(instance, expected)
        return shown_to(who, job(unit, who.actor_in(instance.workspace)))


@router.post("/{id}/events", summary="Fire an event", response_model=InstanceOut | Receipt)
async def fire_event(write: Write, id: UUID, body: Event) -> Response:
    """409 lists the allowed events; 403 means that it is allowed, but not to you."""
    if write.key is None:
        shared = await write.service.singleton(EventBatcher).fire(EventRequest(write.who, id, body))
        if shared is not None:
            return answered(200, shared)
    return await write(lambda unit: _fired(unit, write.who, id, body), name="fire")


def _fired(unit: Unit, who: Principal, id: UUID, body: Event) -> InstanceOut | Receipt:
    def fire(unit: Unit, actor: Actor) -> Instance:
        return firing.fire(unit, id, body.event, actor, reason=body.reason, data=body.data)

    return _moved(unit, who, id, "fire", body.expected_seq, fire)


class EventRequest(NamedTuple):
    """An event that somebody asks for."""

    who: Principal
    id: UUID
    body: Event


class EventBatcher(Batcher[EventRequest, bytes]):
    """The events of one process that wait for the next transaction. SQLite's one writer shares commits already."""

    async def fire(self, asked: EventRequest) -> bytes | None:
        """The answer, after the commit; None if the event must be fired alone."""
        return None if self._service.engine.store.one_writer else await self.submit(asked)

    async def _make(self, asked: Sequence[EventRequest]) -> Sequence[bytes | Exception | None]:
        try:
            return await self._service.write(partial(fire_together, asked=asked), "fire")
        except StoreError:  # the outcome may be unknown, so none of them is fired again
            raise
        except Exception:  # nothing was committed: each alone finds out what is wrong
            return [None] * len(asked)


def fire_together(unit: Unit, asked: Sequence[EventRequest]) -> list[bytes | Exception | None]:
    """Fire events of different instances that nobody else has locked. For each its answer or the error of its own.

    None for what goes alone: a caller who may have lost a right, an instance that is locked or has ended, a second
    event of one instance, and a machine with followers or limits, which read and lock more.
    """
    made: list[bytes | Exception | None] = [None] * len(asked)
    callers = {id(one.who): one.who for one in asked}
    trusted = {number for number, who in callers.items() if _is_confirmed(unit, who)}
    wanted: dict[UUID, int] = {}
    for number, one in enumerate(asked):
        if id(one.who) in trusted:
            wanted.setdefault(one.id, number)
    free = [instance for instance in unit.lock_free(wanted) if _is_simple(unit, instance)]
    review_access.read_together(unit, [instance.id for instance in free])
    for instance in free:
        number = wanted[instance.id]
        who, _, body = asked[number]
        try:
            with unit.attempt(instance):
                made[number] = _fired(unit, who, instance.id, body).model_dump_json(by_alias=True).encode()
        except StoreError:
            raise
        except InterlockError as error:
            made[number] = error
        except Exception:
            made[number] = None
    return made


def _is_confirmed(unit: Unit, who: Principal) -> bool:
    try:
        confirm(unit, who)
    except (NotAuthenticated, NotAllowed):
        return False
    return True


def _is_simple(unit: Unit, instance: Instance) -> bool:
    """Whether its events change nothing but its own rows, and none of their statements waits for others."""
    machine = unit.core.served.get((instance.machine, instance.version))
    return machine is not None and not machine.followers and not machine.limits and instance.finished_at is None


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
