"""What an agent does: it claims a job with a run that holds the lease, and reports while it holds it.

Job, run and lease change together, in one transaction. What a report changes for the job, and what a moved job
changes for its run, is in `followers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.claims.machine import (
    DISCOVERED,
    FAILED,
    PENDING,
    QUEUED,
    SUBMITTED,
    SUCCESS,
    job,
    run,
)
from interlock.engine import (
    EngineError,
    Forbidden,
    Instance,
    KeyTaken,
    Lease,
    LeaseTaken,
    NotFound,
    Refused,
    leases,
)
from interlock.engine.application import (
    SYSTEM_ACTOR,
    Unit,
    change,
    create,
    find_by_key,
    fire,
    free_keys,
    lock_by_keys,
)
from interlock.machine import Actor, WorkError
from interlock.people import OPERATORS
from interlock.store import Micros, moment

LEASE = timedelta(seconds=300)
LIVE = (PENDING, SUBMITTED)
REPORTS = {SUBMITTED: "submit", SUCCESS: "succeed", FAILED: "fail"}


class Conflict(Refused):
    """Somebody else has the job, or the run is over."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.args = (message,)  # no list of allowed events: none would help


class NotClaimable(EngineError):
    """A job in this status cannot be claimed."""


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A claim as an agent sends it."""

    run_id: str
    board: str
    job_id: str
    variant_id: str | None = None
    artifacts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentClaim:
    """A claim request with its agent and workspace."""

    workspace: str
    request: ClaimRequest
    agent: Actor

    @property
    def lock(self) -> str:
        return lock_name(self.workspace, self.request.board, self.request.job_id)


class MustClaimAlone(Exception):
    """These claims cannot share a transaction; each has to be made alone."""


def job_key(board: str, job_id: str) -> str:
    """Ids are scoped by board; a board has no colon."""
    return f"{board}:{job_id}"


def lock_name(workspace: str, board: str, job_id: str) -> str:
    """The name that agents know from Redis; workspaces other than the first have their own locks."""
    place = "lock" if workspace == OPERATORS else f"lock@{workspace}"
    return f"{place}:apply:{board}:{job_id}"


def lock_of(instance: Instance) -> str:
    return lock_name(instance.workspace, instance.data["board"], instance.data["job_id"])


# -- claims and reports


def claim_many(unit: Unit, asked: Sequence[AgentClaim]) -> list[Instance | None]:
    """Make claims of many agents in one transaction; None for each that must be made alone.

    Raises MustClaimAlone when a conflict shows only after the first write; then no claim is made.
    """
    postings: dict[tuple[str, str | None], Instance] = {}
    free: set[tuple[str, str]] = set()
    for workspace in sorted({one.workspace for one in asked}):
        mine = [one.request for one in asked if one.workspace == workspace]
        jobs = [job_key(request.board, request.job_id) for request in mine]
        postings |= {(workspace, found.key): found for found in lock_by_keys(unit, workspace, job.name, jobs)}
        runs = free_keys(unit, workspace, run.name, [request.run_id for request in mine])
        free |= {(workspace, run_id) for run_id in runs}
    begun: list[tuple[Instance, Instance] | None] = []
    for one in asked:
        posting = postings.pop((one.workspace, job_key(one.request.board, one.request.job_id)), None)
        if posting is None or posting.state != DISCOVERED or (one.workspace, one.request.run_id) not in free:
            begun.append(None)
            continue
        free.remove((one.workspace, one.request.run_id))
        try:
            with unit.attempt(posting):
                begun.append((posting, _begin(unit, posting, one.request, one.agent)))
        except (EngineError, WorkError):
            begun.append(None)
    made = [(one, *pair) for one, pair in zip(asked, begun, strict=True) if pair is not None]
    if made:
        unit.leases |= leases.take_many(
            unit.conn, unit.now, [(one.lock, one.request.run_id, its.id) for one, _, its in made], LEASE
        )
    for one, posting, its in made:
        if one.lock not in unit.leases:
            raise MustClaimAlone
        _claimed(unit, posting, its, one.agent)
    return [pair[1] if pair is not None else None for pair in begun]


def refusals(conn: sa.Connection, now: Micros, asked: Sequence[AgentClaim]) -> list[Conflict | None]:
    """The claims that are refused because another run holds the job; None for those that need a closer look."""
    found = leases.find_many(conn, now, [one.lock for one in asked])
    holders = [found.get(one.lock) for one in asked]
    return [
        _held_by_another(held) if held is not None and held.holder != one.request.run_id else None
        for one, held in zip(asked, holders, strict=True)
    ]


def _held_by_another(held: Lease) -> Conflict:
    return Conflict(
        f"Job already has an active application: run {held.holder} holds it until "
        f"{moment(held.until):%H:%M:%S} UTC unless it renews"
    )


def _begin(unit: Unit, posting: Instance, request: ClaimRequest, agent: Actor) -> Instance:
    data = {
        "run_id": request.run_id,
        "board": request.board,
        "job_id": request.job_id,
        "agent": agent.name,
        "variant_id": request.variant_id,
        "artifacts": dict(request.artifacts),
    }
    return create(
        unit, run, data, agent, key=request.run_id, workspace=posting.workspace, parent=posting, by_application=True
    )


def _claimed(unit: Unit, posting: Instance, begun: Instance, agent: Actor) -> None:
    fire(unit, posting.id, "claim", agent, data={"run_id": begun.key}, payload={"run": str(begun.id)})


def _use_of(unit: Unit, run_id: UUID) -> str:
    """What a run id was used for, as far as that is still known."""
    try:
        other = unit.lock(run_id)
    except NotFound:
        return "by a run that was removed since"
    if "job_id" not in other.data:
        return "by a run that was erased since"
    return f"for job {other.data['job_id']!r} on board {other.data['board']!r}, and is {other.state}"


def claim(unit: Unit, workspace: str, request: ClaimRequest, agent: Actor) -> Instance:
    """Claim a job; returns the run that holds it. Repeating the same request returns the same run."""
    posting = find_by_key(unit, workspace, job.name, job_key(request.board, request.job_id))
    if posting is None:
        raise NotFound(f"there is no job {request.job_id!r} on board {request.board!r}; add it first")
    if posting.state == QUEUED:
        mine = _claimed_before(unit, posting, request, agent)
        if mine is not None:
            return mine
        _expire_if_over(unit, posting)
    if posting.state != DISCOVERED:
        raise NotClaimable(
            f"job {request.job_id!r} on board {request.board!r} is {posting.state}; "
            "only a discovered one can be claimed"
        )
    try:
        begun = _begin(unit, posting, request, agent)
    except KeyTaken as taken:
        what = _use_of(unit, taken.existing)
        raise Conflict(f"run_id {request.run_id!r} was used {what}; use a new one for each claim") from None
    name = lock_of(posting)
    try:
        unit.leases[name] = leases.take(unit.conn, unit.now, name, request.run_id, LEASE, begun.id)
    except LeaseTaken as taken:
        raise Conflict(f"Job already has an active application: {taken}") from None
    _claimed(unit, posting, begun, agent)
    return begun


def _claimed_before(unit: Unit, posting: Instance, request: ClaimRequest, agent: Actor) -> Instance | None:
    if posting.data["run_id"] != request.run_id:
        return None
    held = leases.find(unit.conn, unit.now, lock_of(posting))
    mine = find_by_key(unit, posting.workspace, run.name, request.run_id)
    if held is None or held.holder != request.run_id or mine is None or mine.data["agent"] != agent.name:
        raise Conflict(f"run {request.run_id!r} does not hold the job any more; nothing was claimed")
    return mine


def _expire_if_over(unit: Unit, posting: Instance) -> None:
    """Expire the present run if its lease is over and the sweeper has not come by yet."""
    held = leases.find(unit.conn, unit.now, lock_of(posting))
    if held is not None:
        raise _held_by_another(held)
    # Not locked: whoever decides about the run has locked it and waits for the job, which is locked here.
    other = find_by_key(unit, posting.workspace, run.name, posting.data["run_id"] or "", lock=False)
    if other is not None and other.state == PENDING:
        other = unit.lock(other.id)
    if other is not None and other.state == SUBMITTED:
        raise Conflict(
            f"Job already has an active application: run {other.key} reported a submission and vanished, "
            "so a person has to verify it first"
        )
    if other is not None and other.state == PENDING:
        lose(unit, other)


def lose(unit: Unit, found: Instance) -> None:
    fire(unit, found.id, "lose", SYSTEM_ACTOR, reason="its lease ran out before it reported a submission")


def report(
    unit: Unit,
    workspace: str,
    run_id: str,
    agent: Actor,
    *,
    status: str | None = None,
    artifacts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> Instance:
    """Apply an agent's report about its run: its status, what it sent. Every report renews the lease."""
    found = find_by_key(unit, workspace, run.name, run_id, lock=False)
    if found is None:
        raise NotFound(f"there is no run {run_id!r}")
    # The job first: locks are taken in order of ids.
    ends = status in {SUCCESS, FAILED} and found.parent is not None
    unit.lock_many([found.parent, found.id] if ends and found.parent is not None else [found.id])
    found = unit.lock(found.id)
    if found.erased:
        raise Conflict(f"run {run_id!r} is {found.state} and its data was erased; nothing was changed")
    if agent.name != found.data["agent"]:
        raise Conflict(f"run {run_id!r} is of agent {found.data['agent']!r}; no other agent reports for it")
    if found.state not in LIVE:
        if status == found.state:
            return found  # repeated; nothing changes
        raise Conflict(f"run {run_id!r} is {found.state}; nothing was changed")
    data: dict[str, Any] = {"artifacts": dict(artifacts)} if artifacts else {}
    if status in (None, found.state):
        heartbeat(unit, found)
        _add(unit, found, data, agent)
        return found
    if status not in REPORTS:
        raise Conflict(f"run {run_id!r} is {found.state}; an agent cannot report {status!r}")
    if error is not None and status == FAILED:
        data["error"] = error
    try:
        return fire(unit, found.id, REPORTS[status], agent, data=data or None)
    except Forbidden as late:
        raise Conflict(f"run {run_id!r} waits for a person to verify it; nothing was changed") from late


def _add(unit: Unit, found: Instance, data: Mapping[str, Any], agent: Actor) -> None:
    change(unit, found, data, agent, kind="reported", merges=("artifacts",))


def heartbeat(unit: Unit, found: Instance) -> None:
    """Renew the lease. Raises Conflict when the run no longer holds it."""
    name, holder = lock_of(found), str(found.key)
    if not leases.prolong(unit.conn, unit.now, name, holder, LEASE):
        raise Conflict(f"run {holder!r} does not hold the lease {name!r} any more; nothing was changed")
    if mirror := unit.core.mirror:
        unit.after_commit.append(partial(mirror.renew, name, holder, LEASE))
