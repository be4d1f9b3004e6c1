"""The endpoints of agents and crawlers, as specified: /api/crawler/jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from interlock.apps.jobs.claims import followers, steps
from interlock.apps.jobs.claims.batching import ClaimBatcher
from interlock.apps.jobs.claims.bodies import (
    PATCHED,
    POSTED,
    AddBody,
    AddedOut,
    ClaimedOut,
    CrawledJob,
    DecideBody,
    HeartbeatBody,
    JobOut,
    JobsOut,
    LeaseOut,
    Patched,
    Posted,
    ReportBody,
    RunBody,
    RunOut,
    RunsOut,
    StrictRoute,
    claimed,
    read,
)
from interlock.apps.jobs.claims.machine import job, run
from interlock.apps.jobs.claims.redis_view import RedisLock
from interlock.apps.jobs.claims.scopes import CLAIMS
from interlock.apps.jobs.tables import job_index, job_tag
from interlock.engine import Instance, NotFound
from interlock.engine.application import Unit, change, create, find_by_key, fire, instances, lock_by_keys
from interlock.http.caller import Caller, TheService, need, require, workspace_of
from interlock.http.direct import Router
from interlock.http.problems import BadRequest
from interlock.http.writing import Write, Writer, writer
from interlock.machine import AGENT, Actor
from interlock.people import Principal

router = Router(prefix="/api/crawler", tags=["claims"], route_class=StrictRoute)
EVENTS = {"expired": "expire", "rejected": "reject"}
LEASE_SECONDS = int(steps.LEASE.total_seconds())


def acting(who: Principal, workspace: str) -> Actor:
    """Every caller of these endpoints acts as an agent, under their own name."""
    return Actor(AGENT, who.actor_in(workspace).name)


@router.post(
    "/jobs",
    summary="Claim a job, renew a claim, or record jobs",
    response_model=ClaimedOut | RunOut | AddedOut,
    status_code=201,
    responses={200: {"model": RunOut | AddedOut}},
)
async def post_jobs(write: Write, body: Posted) -> Response:
    """`run` answers 201, 409 if somebody else has the job, 400 if it is not `discovered`; other actions answer 200."""
    workspace = workspace_of(write.who, body.workspace)
    require(write.who, CLAIMS, workspace, f"workspace {workspace!r}")
    actor = acting(write.who, workspace)
    match body:
        case RunBody():
            return await _claim(write, workspace, body, actor)
        case HeartbeatBody():
            return await _answer(write, lambda unit: _report(unit, workspace, body, actor), name="heartbeat")
        case _:
            return await _answer(write, lambda unit: _add(unit, workspace, body, actor), name="add_jobs")


@router.directly("POST", "/jobs")
async def post_directly(request: Request) -> Response:
    who = await writer(request)
    return await post_jobs(who, read(POSTED, await request.body()))


@router.directly("PATCH", "/jobs")
async def patch_directly(request: Request) -> Response:
    who = await writer(request)
    return await patch_jobs(who, read(PATCHED, await request.body()))


async def _answer(write: Writer, make: Callable[[Unit], BaseModel], *, name: str, status: int = 200) -> Response:
    try:
        return await write(make, status=status, name=name)
    except steps.NotClaimable as error:
        raise BadRequest(str(error), status=400, kind="job-status") from None


async def _claim(write: Writer, workspace: str, body: RunBody, actor: Actor) -> Response:
    request = steps.ClaimRequest(
        body.run_id, body.board, body.job_id, body.variant_id, body.artifacts.model_dump(mode="json")
    )
    name = steps.lock_name(workspace, body.board, body.job_id)

    if write.key is None:
        begun = await write.service.singleton(ClaimBatcher).claim(steps.AgentClaim(workspace, request, actor))
        if begun is not None:
            return Response(claimed(begun, name, LEASE_SECONDS), 201, media_type="application/json")

    def make(unit: Unit) -> ClaimedOut:
        held: ClaimedOut = ClaimedOut.of(
            steps.claim(unit, workspace, request, actor), lease=LeaseOut(name=name, seconds=LEASE_SECONDS)
        )
        return held

    mirror = write.service.engine.leases.mirror
    if mirror is None:
        return await _answer(write, make, name="claim_job", status=201)
    shown = RedisLock(write.service.engine, workspace, name, body.run_id)
    other = await write.service.call(shown.take)
    if other is not None:
        raise steps.Conflict(f"Job already has an active application: {name!r} is held by {other} in Redis")
    try:
        return await _answer(write, make, name="claim_job", status=201)
    except BaseException:
        await write.service.call(shown.give_back)
        raise


def _report(unit: Unit, workspace: str, body: ReportBody | HeartbeatBody, actor: Actor) -> RunOut:
    report: dict[str, Any] = {}
    if isinstance(body, ReportBody):
        report = {"status": body.status, "error": body.error}
        if body.artifacts is not None:
            report["artifacts"] = body.artifacts.model_dump(mode="json")
    found: RunOut = RunOut.of(steps.report(unit, workspace, body.run_id, actor, **report))
    return found


def _add(unit: Unit, workspace: str, body: AddBody, actor: Actor) -> AddedOut:
    wanted = {steps.job_key(one.board, one.job_id): one for one in body.jobs}
    known = {found.key: found for found in lock_by_keys(unit, workspace, job.name, list(wanted))}
    updated = 0
    for key, seen in wanted.items():
        posting = known.get(key)
        if posting is None:
            labels = {"board": seen.board}
            create(
                unit, job, seen.model_dump(), actor, key=key, workspace=workspace, labels=labels, by_application=True
            )
        elif _update(unit, posting, seen, actor):
            updated += 1
    added = len(wanted) - len(known)
    return AddedOut(added=added, updated=updated, unchanged=len(wanted) - added - updated)


def _update(unit: Unit, posting: Instance, seen: CrawledJob, actor: Actor) -> bool:
    if posting.erased:
        return False  # a crawler that sees the job again must not restore erased data
    said = seen.model_dump(mode="json", exclude_unset=True)
    tags = said.get("tags")
    changed = change(unit, posting, said, actor)
    if changed is None:
        return False
    if tags is not None and "tags" in changed:
        followers.retag(unit, posting, tags)
    return True


@router.patch("/jobs", summary="Report on a run, or expire or reject a job", response_model=RunOut | JobOut)
async def patch_jobs(write: Write, body: Patched) -> Response:
    """Artifacts are added field by field. Answers 409 and changes nothing if the run no longer holds its lease."""
    workspace = workspace_of(write.who, body.workspace)
    require(write.who, CLAIMS, workspace, f"workspace {workspace!r}")
    if isinstance(body, ReportBody):
        actor = acting(write.who, workspace)
        return await _answer(write, lambda unit: _report(unit, workspace, body, actor), name="report_run")
    return await _answer(write, lambda unit: _decide(unit, workspace, body, write.who), name="fire")


def _decide(unit: Unit, workspace: str, body: DecideBody, who: Principal) -> JobOut:
    posting = find_by_key(unit, workspace, job.name, steps.job_key(body.board, body.job_id))
    if posting is None:
        raise NotFound(f"there is no job {body.job_id!r} on board {body.board!r}")
    if body.status not in EVENTS:
        raise steps.Conflict(
            f"a job becomes {body.status!r} by what its runs report, not by hand; by hand it is expired or rejected"
        )
    if posting.state != body.status:
        fire(unit, posting.id, EVENTS[body.status], who.actor_in(workspace), reason=body.reason)
    return JobOut.of(posting)


@router.get("/jobs", summary="List jobs, or the runs of one", response_model=RunsOut | JobsOut)
async def get_jobs(
    service: TheService,
    who: Caller,
    runs_for: Annotated[str | None, Query(min_length=1, max_length=200, examples=["12345"])] = None,
    board: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    status: Annotated[str | None, Query(max_length=100)] = None,
    tag: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    workspace: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """With `runs_for`: every run for that job, on one board or all. Without: jobs, oldest first."""
    place = workspace_of(who, workspace)
    if place not in who.workspaces:
        raise NotFound(f"there is no workspace {place!r}")
    if not who.may(CLAIMS, place):
        need(who, "read", place, job.name)
    if runs_for is not None:
        found: BaseModel = await service.read(lambda conn: _runs(conn, place, runs_for, board))
    else:
        if status is not None and status not in job.states:
            raise BadRequest(f"status {status!r} is none of {', '.join(job.states)}", status=400)
        after = _cursor(cursor)
        found = await service.read(lambda conn: _jobs(conn, place, board, status, tag, after, limit))
    return Response(found.model_dump_json(), media_type="application/json")


def _cursor(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise BadRequest(f"{text!r} is not a cursor; take it from `next` of the page before", status=400) from None


def _runs(conn: sa.Connection, workspace: str, job_id: str, board: str | None) -> RunsOut:
    jobs = sa.select(job_index.c.instance_id).where(job_index.c.workspace == workspace, job_index.c.job_id == job_id)
    if board is not None:
        jobs = jobs.where(job_index.c.board == board)
    return RunsOut(runs=[RunOut.of(found) for found in instances(conn, run.name, children_of=jobs, limit=1000)])


def _jobs(
    conn: sa.Connection,
    workspace: str,
    board: str | None,
    status: str | None,
    tag: str | None,
    after: UUID | None,
    limit: int,
) -> JobsOut:
    found = instances(
        conn,
        job.name,
        workspace=workspace,
        states=None if status is None else (status,),
        among=_wanted(workspace, board, tag),
        after=after,
        limit=limit + 1,
    )
    more = len(found) > limit
    return JobsOut(jobs=[JobOut.of(one) for one in found[:limit]], next=str(found[limit - 1].id) if more else None)


def _wanted(workspace: str, board: str | None, tag: str | None) -> sa.Select[tuple[UUID]] | None:
    """A query for the jobs on this board with this tag; None for all jobs."""
    on_board = sa.select(job_index.c.instance_id).where(job_index.c.workspace == workspace, job_index.c.board == board)
    tagged = sa.select(job_tag.c.instance_id).where(job_tag.c.workspace == workspace, job_tag.c.tag == tag)
    if board is None:
        return tagged if tag is not None else None
    if tag is None:
        return on_board
    return on_board.join(job_tag, job_tag.c.instance_id == job_index.c.instance_id).where(
        job_tag.c.workspace == workspace, job_tag.c.tag == tag
    )
