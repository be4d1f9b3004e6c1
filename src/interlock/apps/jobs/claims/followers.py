"""Automatic consequences: a run that ends moves its job, a job that is moved ends its run, leases expire.

The followers apply to the agents' endpoints, to events that a person fires, and to reviews that a person decides.
The sweep finds runs whose agent is gone.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.machine import (
    APPLIED,
    DISCOVERED,
    EXPIRED,
    FAILED,
    LOST,
    PENDING,
    QUEUED,
    REJECTED,
    SUBMITTED,
    SUCCESS,
    VERIFY,
    job,
    run,
)
from interlock.apps.jobs.tables import job_index, job_tag
from interlock.engine import Engine, Instance, leases
from interlock.engine.application import (
    SYSTEM_ACTOR,
    Unit,
    ask,
    change,
    error_summary,
    find,
    find_by_key,
    fire,
    instances,
    must_raise,
    set_aside,
)
from interlock.machine import AGENT, WORKER, Actor, Edge
from interlock.store.sql import upsert

log = logging.getLogger("interlock.claims")

VERIFYING = timedelta(days=1)
"""How long the lock is kept for a run that a person has to verify. The sweep renews it until somebody has."""


def _verifier(run_id: str) -> str:
    return f"verify:{run_id}"


@job.entering(DISCOVERED)
def _index_job(unit: Unit, posting: Instance, edge: Edge, _: Actor) -> None:
    """Index a new job by board, number and tags, whoever created it."""
    if edge.source:
        return
    unit.insert(
        job_index,
        instance_id=posting.id,
        workspace=posting.workspace,
        board=posting.data["board"],
        job_id=posting.data["job_id"],
    )
    for tag in sorted(set(posting.data["tags"])):
        unit.insert(job_tag, workspace=posting.workspace, tag=tag, instance_id=posting.id)


@job.entering(QUEUED)
def _require_lease(unit: Unit, posting: Instance, edge: Edge, actor: Actor) -> None:
    if edge.on != "claim":
        return
    name = steps.lock_of(posting)
    held = unit.leases.get(name) or leases.find(unit.conn, unit.now, name)
    if held is None or held.holder != posting.data["run_id"]:
        raise steps.Conflict(
            f"job {posting.key!r} is claimed by a run that holds {name!r}; "
            'claim it with POST /api/crawler/jobs {"action": "run", …}'
        )


@job.entering(DISCOVERED, APPLIED, EXPIRED, REJECTED)
def _end_its_run(unit: Unit, posting: Instance, edge: Edge, actor: Actor) -> None:
    """Somebody other than the run moved a claimed job, so the run ends or is verified."""
    if edge.source != QUEUED:
        return
    found = find_by_key(unit, posting.workspace, run.name, posting.data["run_id"] or "")
    if found is None or found.state not in steps.LIVE:
        return
    unit.lock(found.id)
    why = f"{actor} moved its job to {posting.state}"
    if found.state == PENDING:
        fire(unit, found.id, "lose", SYSTEM_ACTOR, reason=why)
    elif edge.to == APPLIED:
        fire(unit, found.id, "succeed", actor, reason=why)
    elif edge.to == DISCOVERED:
        fire(unit, found.id, "fail", actor, data={"error": why}, reason=why)
    else:
        _ask_to_verify(unit, found)


@run.entering(SUBMITTED)
def _renew_lease(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    if found.parent is not None and actor.kind in {AGENT, WORKER}:
        steps.heartbeat(unit, found)


@run.entering(SUCCESS, FAILED, LOST)
def _move_its_job(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    if found.parent is None:
        return
    _release_lock(unit, found, actor)
    posting = unit.lock(found.parent)
    if posting.state != QUEUED or posting.data["run_id"] != found.key:
        return
    if edge.to == SUCCESS:
        fire(unit, posting.id, "apply", actor, payload={"run": str(found.id)})
    elif not _has_other_run(unit, found):
        fire(unit, posting.id, "release", actor, payload={"run": str(found.id)})


def _has_other_run(unit: Unit, found: Instance) -> bool:
    """Whether another run of the same job is open."""
    siblings = instances(unit.conn, run.name, children_of=found.parent, states=steps.LIVE, limit=2)
    return any(one.id != found.id for one in siblings)


def _release_lock(unit: Unit, found: Instance, actor: Actor) -> None:
    """Release the lock. Raises Conflict for an agent or worker that no longer holds it."""
    name, holders = steps.lock_of(found), (str(found.key), _verifier(str(found.key)))
    late = actor.kind in {AGENT, WORKER}
    if late:
        freed = leases.free(unit.conn, name, holders[:1], unexpired_at=unit.now)
    else:
        freed = leases.free(unit.conn, name, holders)
    if late and not freed:
        raise steps.Conflict(f"run {found.key!r} does not hold the lease {name!r} any more; nothing was changed")
    if mirror := unit.core.mirror:
        unit.after_commit += [partial(mirror.release, name, holder) for holder in holders]


def _ask_to_verify(unit: Unit, found: Instance) -> None:
    """The application may have been sent: ask a person, and let nobody else apply until then."""
    name, verifier = steps.lock_of(found), _verifier(str(found.key))
    leases.hand_over(unit.conn, unit.now, name, (str(found.key), verifier), verifier, VERIFYING)
    if mirror := unit.core.mirror:
        unit.after_commit.append(partial(mirror.release, name, str(found.key)))
        unit.after_commit.append(partial(_show_in_redis, mirror, name, verifier))
    if found.data["requires_verification"]:
        return
    why = {"reason": "its lease ran out after it had reported a submission"}
    change(unit, found, {"requires_verification": True}, SYSTEM_ACTOR, kind="reported", payload=why)
    evidence = {"board": found.data["board"], "job": found.data["job_id"], "agent": found.data["agent"]}
    ask(unit, found, "requires_verification", VERIFY, state=SUBMITTED, evidence=evidence)


def _show_in_redis(mirror: leases.Mirror, name: str, holder: str) -> None:
    mirror.take(name, holder, VERIFYING)


# -- expired leases


def expired_locks(conn: sa.Connection, now: int, limit: int = 200) -> list[str]:
    """Names of apply locks whose holder did not renew them."""
    return leases.run_out(conn, now, ("lock:apply:%", "lock@%:apply:%"), limit)


def expire(unit: Unit, name: str) -> bool:
    """End or verify the run of an expired lease; False when it was renewed or ended meanwhile."""
    lease = leases.read_row(unit.conn, name)
    if lease is None or lease.instance_id is None:
        return False
    seen = find(unit.conn, lease.instance_id, machine=run.name)
    parent = seen.parent if seen is not None else None
    unit.lock_many([i for i in (parent, lease.instance_id) if i is not None])
    lease = leases.read_row(unit.conn, name, lock=True)
    if lease is None or not lease.ran_out(unit.now) or lease.instance_id not in unit.known:
        return False
    found = unit.lock(lease.instance_id)
    if found.state == PENDING:
        steps.lose(unit, found)
    elif found.state == SUBMITTED:
        _ask_to_verify(unit, found)
    else:
        leases.free(unit.conn, name, [str(lease.holder)])
    return True


def sweep(engine: Engine) -> bool:
    """A duty of every worker: runs whose agent is gone are lost, or a person verifies them."""
    names = engine.read(lambda conn: expired_locks(conn, engine.clock.now()))
    for name in names:
        try:
            engine.write(partial(expire, name=name), name="expire_lease")
        except BaseException as error:
            if must_raise(error):
                raise
            # Its run waits for a person. The lock stays, or somebody else would apply; the sweep continues.
            log.error("the lease %r ran out and its run cannot be moved: %s", name, error_summary(error))
            engine.write(partial(_set_run_aside, name=name, error=error), name="expire_lease")
    return len(names) == 200


def _set_run_aside(unit: Unit, name: str, error: BaseException) -> None:
    lease = leases.read_row(unit.conn, name)
    if lease is not None and lease.instance_id is not None:
        set_aside(unit, unit.lock(lease.instance_id), error, "lease")
    leases.postpone(unit.conn, unit.now, name, VERIFYING)


def retag(unit: Unit, posting: Instance, tags: list[str]) -> None:
    """Replace the tags under which the job is found."""
    unit.conn.execute(sa.delete(job_tag).where(job_tag.c.instance_id == posting.id))
    rows = [{"workspace": posting.workspace, "tag": tag, "instance_id": posting.id} for tag in sorted(set(tags))]
    if rows:
        unit.conn.execute(upsert(job_tag).on_conflict_do_nothing(), rows)
