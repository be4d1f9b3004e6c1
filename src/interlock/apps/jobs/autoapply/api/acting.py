"""Endpoints that do something: the specification's functions, and what a person decides."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from fastapi.responses import Response
from pydantic import BaseModel

from interlock.apps.jobs.autoapply.api.access import endpoint, workspace_of_application, workspace_of_rule
from interlock.apps.jobs.autoapply.api.answers import ChangedOut, EnqueuedOut, SweptOut, WholeApplicationOut
from interlock.apps.jobs.autoapply.api.bodies import (
    AnswersBody,
    EnqueueBody,
    OfApplication,
    PauseBody,
    ScheduleBody,
    SubmitBody,
    SweepBody,
)
from interlock.apps.jobs.autoapply.api.reading import whole
from interlock.apps.jobs.autoapply.queueing import enqueueing, sweeping
from interlock.apps.jobs.autoapply.records import answers
from interlock.apps.jobs.autoapply.review import deciding, scheduling
from interlock.apps.jobs.finder.api.access import Workspace, writable_workspace
from interlock.engine import Instance, NotFound
from interlock.engine.application import Unit
from interlock.http.writing import Write, Writer
from interlock.machine import Actor
from interlock.machine.transitions import PEOPLE


@endpoint("POST", "/enqueue", summary="Queue matches", response_model=EnqueuedOut, status_code=200)
async def enqueue(write: Write, body: EnqueueBody) -> Response:
    """Queue one posting that you chose, or let the rules decide now. 409 with the reason if a posting is not queued."""
    place = writable_workspace(write.who, body.workspace)
    actor = write.who.actor_in(place)
    approval = body.require_user_approval or actor.kind not in PEOPLE  # only a person may do without a person

    def queue(unit: Unit) -> EnqueuedOut:
        if body.posting_id is None:
            judged, queued = sweeping.match_now(unit, place, body.rule_id)
            return EnqueuedOut(judged=judged, queued=queued)
        made = enqueueing.enqueue_by_person(
            unit, place, body.posting_id, actor, again=body.again, require_approval=approval
        )
        assert made.application is not None
        unit.flush()
        return EnqueuedOut(judged=1, queued=1, application=whole(unit.conn, place, made.application.id))

    return await write(queue, name="enqueue")


@endpoint("POST", "/process-queue", summary="Sweep the queue", response_model=SweptOut)
async def process_queue(write: Write, body: SweepBody | None = None) -> Response:
    """Workers prepare queued applications automatically; this finds those that they missed."""
    place = writable_workspace(write.who, body.workspace if body else None)

    def sweep(unit: Unit) -> SweptOut:
        return SweptOut(**sweeping.process_queue(unit, place))

    return await write(sweep, name="sweep_queue")


@endpoint("POST", "/retry-handler", summary="Sweep retries", response_model=SweptOut)
async def retry_handler(write: Write, body: SweepBody | None = None) -> Response:
    """Queue failed applications whose retry was missed; with `application_id`, retry that one now."""
    given = body or SweepBody(workspace=None)
    place = writable_workspace(write.who, given.workspace)
    actor = write.who.actor_in(place)

    def sweep(unit: Unit) -> SweptOut:
        if given.application_id is not None:
            _place(unit, given.application_id, write)
            deciding.resume(unit, place, given.application_id, actor, reason="retried by hand")
            return SweptOut(queued=1)
        return SweptOut(**sweeping.retry_failed(unit, place))

    return await write(sweep, name="sweep_retries")


@endpoint("POST", "/prepare-application", summary="Prepare an application", response_model=WholeApplicationOut)
async def prepare_application(write: Write, body: OfApplication) -> Response:
    """Prepare it now, or again. The answer lists its files once they exist."""
    return await _act(write, body.application_id, deciding.prepare_again, reason=body.reason)


@endpoint(
    "POST",
    "/submit",
    summary="Approve a packet, or report the outcome of a submission",
    response_model=WholeApplicationOut,
)
async def submit(write: Write, body: SubmitBody) -> Response:
    """An approval is for exactly one packet, by its hash; a worker sends it. 409 if the packet has changed."""

    def do(unit: Unit, place: str, id: UUID, actor: Actor, *, reason: str = "") -> Instance:
        if body.packet_hash is not None:
            return deciding.approve(unit, place, id, body.packet_hash, actor, reason=reason)
        if body.outcome is not None:
            kind = body.kind.value if body.kind else None
            return deciding.report(
                unit, place, id, body.outcome, actor, proof=body.proof, kind=kind, retry=body.retry, reason=reason
            )
        return deciding.verify(unit, place, id, bool(body.arrived), actor, reason=reason)

    return await _act(write, body.application_id, do, reason=body.reason)


@endpoint("POST", "/schedule", summary="Choose when an application is sent", response_model=WholeApplicationOut)
async def schedule(write: Write, body: ScheduleBody) -> Response:
    """With the packet's hash it also approves the packet. 409 if the life cycle has no chosen times."""

    def do(unit: Unit, place: str, id: UUID, actor: Actor, *, reason: str = "") -> Instance:
        return scheduling.schedule(unit, place, id, body.at, actor, packet_hash=body.packet_hash, reason=reason)

    return await _act(write, body.application_id, do, reason=body.reason)


@endpoint("POST", "/open-form", summary="Take the claim before you send it by hand", response_model=WholeApplicationOut)
async def open_form(write: Write, body: OfApplication) -> Response:
    """Reserves the job until you report the outcome. 409 if somebody else is applying, or a limit is reached."""

    def do(unit: Unit, place: str, id: UUID, actor: Actor, *, reason: str = "") -> Instance:
        return deciding.open_form(unit, place, id, actor)

    return await _act(write, body.application_id, do, reason=body.reason)


@endpoint("POST", "/reject", summary="Reject a packet", response_model=WholeApplicationOut)
async def reject(write: Write, body: OfApplication) -> Response:
    return await _act(write, body.application_id, deciding.reject, reason=body.reason)


@endpoint("POST", "/later", summary="Pause a packet instead of deciding", response_model=WholeApplicationOut)
async def later(write: Write, body: OfApplication) -> Response:
    return await _act(write, body.application_id, deciding.later, reason=body.reason)


@endpoint("POST", "/withdraw", summary="Withdraw an application", response_model=WholeApplicationOut)
async def withdraw(write: Write, body: OfApplication) -> Response:
    """Possible at any time, also after it was submitted."""
    return await _act(write, body.application_id, deciding.withdraw, reason=body.reason)


@endpoint("POST", "/pause", summary="Pause an application, a rule, or everything", response_model=ChangedOut)
async def pause(write: Write, body: PauseBody) -> Response:
    return await _many(write, body, deciding.pause, deciding.pause_rule, deciding.pause_all)


@endpoint("POST", "/resume", summary="Resume an application, a rule, or everything", response_model=ChangedOut)
async def resume(write: Write, body: PauseBody) -> Response:
    return await _many(write, body, deciding.resume, deciding.resume_rule, deciding.resume_all)


@endpoint(
    "POST", "/applications/{id}/answers", summary="Answer questions of a form", response_model=WholeApplicationOut
)
async def give_answers(write: Write, id: UUID, body: AnswersBody) -> Response:
    """The answers are stored with their scope, and the packet is prepared again with them."""
    given = [
        deciding.Given(one.key, tuple(one.value) if isinstance(one.value, list) else one.value, one.scope)
        for one in body.answers
    ]

    def do(unit: Unit, place: str, id: UUID, actor: Actor, *, reason: str = "") -> Instance:
        return deciding.answer(unit, place, id, given, actor)

    return await _act(write, id, do)


class ForgottenOut(BaseModel):
    forgotten: bool = True


@endpoint("DELETE", "/answers/{id}", summary="Forget a saved answer", response_model=ForgottenOut)
async def forget(write: Write, id: UUID, workspace: Workspace = None) -> Response:
    place = writable_workspace(write.who, workspace)

    def do(unit: Unit) -> ForgottenOut:
        if not answers.forget(unit, place, id):
            raise NotFound(f"there is no saved answer {id}")
        return ForgottenOut()

    return await write(do, name="forget_answer")


def _place(unit: Unit, id: UUID, write: Writer) -> str:
    return workspace_of_application(unit.conn, id, write.who, write=True)


async def _act(write: Writer, id: UUID, do: Callable[..., Instance], *, reason: str = "") -> Response:
    def act(unit: Unit) -> WholeApplicationOut:
        place = _place(unit, id, write)
        do(unit, place, id, write.who.actor_in(place), reason=reason)
        unit.flush()
        return whole(unit.conn, place, id)

    return await write(act, name="fire")


async def _many(
    write: Writer,
    body: PauseBody,
    one: Callable[..., Instance],
    of_rule: Callable[..., deciding.Changed],
    of_all: Callable[..., deciding.Changed],
) -> Response:
    def act(unit: Unit) -> ChangedOut:
        if body.application_id is not None:
            place = _place(unit, body.application_id, write)
            one(unit, place, body.application_id, write.who.actor_in(place), reason=body.reason)
            unit.flush()
            return ChangedOut(applications=1, application=whole(unit.conn, place, body.application_id))
        if body.rule_id is not None:
            place = workspace_of_rule(unit.conn, body.rule_id, write.who, write=True)
            return ChangedOut.of(of_rule(unit, place, body.rule_id, write.who.actor_in(place), reason=body.reason))
        place = writable_workspace(write.who, body.workspace)
        return ChangedOut.of(of_all(unit, place, write.who.actor_in(place), reason=body.reason))

    return await write(act, name="fire")
