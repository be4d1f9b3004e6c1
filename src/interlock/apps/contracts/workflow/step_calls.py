"""Calls of a step: start it, wait while it runs, return its stored answer when it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from fastapi.responses import Response
from pydantic import BaseModel

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
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.steps import DEFAULTS, comparable
from interlock.apps.contracts.workflow.answers import envelope, failure, given_up, workflow
from interlock.engine import Instance, NotFound
from interlock.engine.application import SYSTEM_ACTOR, Unit, change, find, fire, under_way
from interlock.http.caller import credentials, require, still_known
from interlock.http.heavy import CallerGone, TooBusy, gone
from interlock.http.problems import BadRequest
from interlock.http.service import Service
from interlock.http.writing import Writer
from interlock.machine import Actor
from interlock.machine.transitions import PEOPLE
from interlock.people import NotAuthenticated, Principal

LINE = (PENDING, PARSING_PDF, EXTRACTING, VALIDATING, REVIEW_REQUIRED, VALIDATED, COMPARING, COMPLETED)
"""The states of a contract without failures, in order."""
POLL = (0.02, 0.5)
LATER = 2
"""Seconds after which a client should ask again for a running step."""


@dataclass(frozen=True, slots=True)
class Step:
    """The step of an endpoint: its working states. In the first one it may wait for the call."""

    name: str
    states: tuple[str, ...]


INGEST = Step("ingest", (PENDING, PARSING_PDF))
EXTRACT = Step("extract", (EXTRACTING, VALIDATING))
COMPARE = Step("compare", (VALIDATED, COMPARING))


class WrongState(BadRequest):
    """The workflow's state does not allow this."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, status=409, kind="wrong-state")


def settings_of(service: Service) -> ContractSettings:
    found = service.engine.core.settings.get("contracts")
    return found if isinstance(found, ContractSettings) else DEFAULTS


def seen(conn: sa.Connection, id: UUID, who: Principal) -> Instance:
    """The workflow, if the caller may read it."""
    found = find(conn, id, machine=contract.name)
    if found is None:
        raise NotFound(f"there is no workflow {id}")
    require(who, "read", found.workspace, f"workflow {id}", machine=contract.name)
    return found


def kept(instance: Instance) -> Instance:
    """The workflow, if its data is not erased."""
    if instance.erased:
        raise NotFound(f"the data of workflow {instance.id} was erased: {instance.erased}")
    return instance


def must_have_data(instance: Instance) -> None:
    """Refuse a workflow whose data was erased."""
    if instance.erased:
        raise WrongState(f"the data of workflow {instance.id} was erased: {instance.erased}")


def locked(unit: Unit, id: UUID, who: Principal, permission: str) -> Instance:
    """The workflow, locked, if the caller has the permission."""
    try:
        instance = unit.lock(id)
    except NotFound:
        raise NotFound(f"there is no workflow {id}") from None
    if instance.machine != contract.name:
        raise NotFound(f"there is no workflow {id}")
    for needed in ("read", permission):  # the answer shows it
        require(who, needed, instance.workspace, f"workflow {id}", machine=contract.name)
    return instance


class Done(BaseModel):
    """The result of a write: the workflow that its answer shows."""

    id: UUID
    new: bool = True


async def write_once(write: Writer, job: Callable[[Unit], Done], name: str) -> Done:
    """Run the job in one transaction; with an Idempotency-Key only once."""
    if write.key is None:
        return await write.service.write_as(write.who, job, name)
    answer, _ = await write.once(job, write.key, name=name)
    return Done.model_validate_json(answer)


async def show_workflow(service: Service, who: Principal, id: UUID, status: int = 200) -> Response:
    """The whole workflow as an answer."""
    return await service.read(lambda conn: envelope(workflow(conn, seen(conn, id, who)), status))


async def call(
    write: Writer, id: UUID, step: Step, wait: float | None, patch: Mapping[str, Any] | None = None
) -> Response:
    """Start the step, wait for it while it runs, or return its answer when it is done."""
    service = write.service

    def start(unit: Unit) -> Done:
        instance = locked(unit, id, write.who, "fire")
        begin(unit, instance, step, write.who.actor_in(instance.workspace), patch or {}, settings_of(service))
        return Done(id=id)

    await write_once(write, start, "fire")
    return await until(write, id, step, wait)


def begin(
    unit: Unit, instance: Instance, step: Step, actor: Actor, patch: Mapping[str, Any], settings: ContractSettings
) -> None:
    """Start the step, unless it is running or done."""
    must_have_data(instance)
    where = _where(instance)
    if LINE.index(where) < LINE.index(step.states[0]):
        over = instance.state in {REJECTED, TIMED_OUT}
        hint = "do it again with reprocess" if over else f"{step.name} comes after it"
        at = f"{instance.state} at {where}" if instance.state == FAILED else instance.state
        raise WrongState(f"workflow {instance.id} is {at}; {hint}")
    if patch and instance.state in {VALIDATED, FAILED} and where in step.states:
        comparable(unit.conn, patch["compare_with"], instance.workspace, settings)
        change(unit, instance, patch, actor)
    elif patch and any(instance.data[name] != value for name, value in patch.items()):
        raise WrongState(f"workflow {instance.id} is {instance.state}; the comparison can no longer be changed")
    if where not in step.states:
        return
    if instance.state == FAILED:
        # An orchestrator may call a step again; the service decides whether to retry it.
        by = actor if actor.kind in PEOPLE else SYSTEM_ACTOR
        fire(unit, instance.id, "retry", by, reason=f"{actor} called its step again")
    elif instance.state == step.states[0] and not under_way(instance):
        fire(unit, instance.id, "run", actor)


def _where(instance: Instance) -> str:
    """The state that shows what is done: for a failed workflow, the failed step."""
    if instance.state == FAILED or given_up(instance):
        return (instance.failed_step or PARSING_PDF).partition(":")[0]
    return REVIEW_REQUIRED if instance.state in {REJECTED, TIMED_OUT} else instance.state


async def until(write: Writer, id: UUID, step: Step, wait: float | None, *, done: int = 200) -> Response:
    """The answer of a running step: when it is done, or 202 with what is known by then.

    If too many requests wait already, it is 202 at once: the step is started and can no longer be refused.
    """
    service = write.service
    found = await service.read(lambda conn: seen(conn, id, write.who))
    if _at_work(found, step):
        try:
            with service.waits.occupy(write.who):
                found = await _ended(write, found, step, settings_of(service).wait if wait is None else wait)
        except TooBusy:
            pass
    if _at_work(found, step):
        answer = await show_workflow(service, write.who, id, 202)
        answer.headers["Retry-After"] = str(LATER)
        return answer
    # The answer shows the workflow at the end of the step, however far the worker is by now.
    data = await service.read(lambda conn: workflow(conn, found))
    stuck = found.state in step.states and found.error is not None
    if stuck or (_where(found) in step.states and (found.state == FAILED or given_up(found))):
        error = failure(found)
        return await service.call(envelope, data, 503 if error.retryable else 422, error)
    return await service.call(envelope, data, done)


def _at_work(instance: Instance, step: Step) -> bool:
    return instance.state in step.states and under_way(instance)


async def _ended(write: Writer, found: Instance, step: Step, wait: float) -> Instance:
    """Wait for the end of the step or the timeout; stops if the caller disconnects or is disabled."""
    service, shown = write.service, credentials(write.request)
    deadline = time.monotonic() + wait
    nap, longest = POLL
    left = asyncio.ensure_future(gone(write.request))
    try:
        while _at_work(found, step) and (rest := deadline - time.monotonic()) > 0 and not service.stopping:
            await asyncio.wait({left}, timeout=min(nap, rest))
            if left.done():
                raise CallerGone("the caller has disconnected")
            known = await still_known(service, shown)
            if known is None:
                raise NotAuthenticated("the token or the login has ended")
            found = await service.read(partial(seen, id=found.id, who=known))
            nap = min(nap * 1.5, longest)
    finally:
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
    return found
