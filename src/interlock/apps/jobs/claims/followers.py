"""What follows by itself: a run that ends takes its job along, a job that is moved ends its run, leases run out.

The followers hold for the agents' endpoints as they do for an event that a person fires or a review that a person
decides. The sweep looks for runs whose agent is gone.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from uuid import UUID

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
from interlock.engine import Engine, Instance, firing, isolation, last_resort, leases, moves
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.machine import AGENT, WORKER, Actor, Edge
from interlock.store import span
from interlock.store.jobs import job_index, job_tag
from interlock.store.sql import upsert
from interlock.store.tables import instance as I
from interlock.store.tables import lease as L

log = logging.getLogger("interlock.claims")

VERIFYING = timedelta(days=1)
"""How long the lock is kept for a run that a person has to verify; it is taken anew as long as nobody has."""


def _verifier(run_id: str) -> str:
    return f"verify:{run_id}"


@job.entering(DISCOVERED)
def _find_it(unit: Unit, posting: Instance, edge: Edge, _: Actor) -> None:
    """A new job is found by its board and number, whoever made it."""
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
def _only_with_its_lease(unit: Unit, posting: Instance, edge: Edge, actor: Actor) -> None:
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
    """Somebody else than the run moved a claimed job: the run cannot go on as if nothing had happened."""
    if edge.source != QUEUED:
        return
    found = steps.find(unit, posting.workspace, run.name, posting.data["run_id"] or "")
    if found is None or found.state not in steps.LIVE:
        return
    unit.lock(found.id)
    why = f"{actor} moved its job to {posting.state}"
    if found.state == PENDING:
        firing.fire(unit, found.id, "lose", SYSTEM_ACTOR, reason=why)
    elif edge.to == APPLIED:
        firing.fire(unit, found.id, "succeed", actor, reason=why)
    elif edge.to == DISCOVERED:
        firing.fire(unit, found.id, "fail", actor, data={"error": why}, reason=why)
    else:
        _ask(unit, found)


@run.entering(SUBMITTED)
def _still_holds(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    if found.parent is not None and actor.kind in {AGENT, WORKER}:
        steps.heartbeat(unit, found)


@run.entering(SUCCESS, FAILED, LOST)
def _its_job_goes_on(unit: Unit, found: Instance, edge: Edge, actor: Actor) -> None:
    if found.parent is None:
        return
    _let_go(unit, found, actor)
    posting = unit.lock(found.parent)
    if posting.state != QUEUED or posting.data["run_id"] != found.key:
        return
    if edge.to == SUCCESS:
        firing.fire(unit, posting.id, "apply", actor, payload={"run": str(found.id)})
    elif not _others(unit, found):
        firing.fire(unit, posting.id, "release", actor, payload={"run": str(found.id)})


def _others(unit: Unit, found: Instance) -> bool:
    """Whether another run of the same job is under way."""
    others = sa.select(I.c.id).where(I.c.parent == found.parent, I.c.state.in_(steps.LIVE), I.c.id != found.id)
    return unit.conn.execute(others.limit(1)).first() is not None


def _let_go(unit: Unit, found: Instance, actor: Actor) -> None:
    """Only its holder releases the lock; an agent that does not hold it any more comes too late."""
    name, holders = steps.lock_of(found), (str(found.key), _verifier(str(found.key)))
    mine = sa.and_(L.c.name == name, L.c.holder.in_(holders))
    late = actor.kind in {AGENT, WORKER}
    if late:
        mine = sa.and_(mine, L.c.holder == holders[0], L.c.until > unit.now)
    freed = unit.conn.execute(sa.update(L).where(mine).values(holder=None, until=None, instance_id=None)).rowcount
    if late and freed != 1:
        raise steps.Conflict(f"run {found.key!r} does not hold the lease {name!r} any more; nothing was changed")
    if mirror := unit.core.mirror:
        unit.after_commit += [partial(mirror.release, name, holder) for holder in holders]


def _ask(unit: Unit, found: Instance) -> None:
    """The application may be out there: a person finds out, and until then nobody else can apply."""
    name, verifier = steps.lock_of(found), _verifier(str(found.key))
    unit.conn.execute(
        sa.update(L)
        .where(L.c.name == name, L.c.holder.in_((str(found.key), verifier)))
        .values(holder=verifier, fence=L.c.fence + 1, until=unit.now + span(VERIFYING))
    )
    if mirror := unit.core.mirror:
        unit.after_commit.append(partial(mirror.release, name, str(found.key)))
        unit.after_commit.append(partial(_show, mirror, name, verifier))
    if found.data["requires_verification"]:
        return
    change = moves.change_data(run, found, {"requires_verification": True})
    unit.record(
        found,
        "reported",
        SYSTEM_ACTOR,
        payload={**change, "reason": "its lease ran out after it had reported a submission"},
    )
    evidence = {"board": found.data["board"], "job": found.data["job_id"], "agent": found.data["agent"]}
    moves.open_review(unit, found, "requires_verification", VERIFY, state=SUBMITTED, evidence=evidence)


def _show(mirror: leases.Mirror, name: str, holder: str) -> None:
    mirror.take(name, holder, VERIFYING)


# -- leases that ran out


def over(conn: sa.Connection, now: int, limit: int = 200) -> list[str]:
    """Names of apply locks that somebody held and did not renew."""
    query = sa.select(L.c.name).where(L.c.holder.is_not(None), L.c.until <= now).order_by(L.c.until).limit(limit)
    ours = sa.or_(L.c.name.startswith("lock:apply:", autoescape=True), L.c.name.like("lock@%:apply:%"))
    return list(conn.execute(query.where(ours)).scalars())


def expire(unit: Unit, name: str) -> bool:
    """What happens to a run whose lease ran out; False when it was renewed or ended meanwhile."""
    row = unit.conn.execute(sa.select(L).where(L.c.name == name)).first()
    if row is None or row.instance_id is None:
        return False
    parent = unit.conn.execute(sa.select(I.c.parent).where(I.c.id == row.instance_id)).scalar()
    unit.lock_many([i for i in (parent, row.instance_id) if i is not None])
    row = unit.conn.execute(sa.select(L).where(L.c.name == name).with_for_update()).one()
    if row.holder is None or row.until > unit.now or row.instance_id not in unit.known:
        return False
    found = unit.lock(row.instance_id)
    if found.state == PENDING:
        steps.lose(unit, found)
    elif found.state == SUBMITTED:
        _ask(unit, found)
    else:
        unit.conn.execute(sa.update(L).where(L.c.name == name).values(holder=None, until=None, instance_id=None))
    return True


def sweep(engine: Engine) -> bool:
    """A duty of every worker: runs whose agent is gone are lost, or asked about."""
    names = engine.read(lambda conn: over(conn, engine.clock.now()))
    for name in names:
        try:
            engine.write(partial(expire, name=name), name="expire_lease")
        except BaseException as error:
            if isolation.passes(error):
                raise
            # Its run waits for a person. The lock stays, or somebody else would apply; the others are looked at.
            log.error("the lease %r ran out and its run cannot be moved: %s", name, isolation.named(error))
            engine.write(partial(_give_up, name=name, error=error), name="expire_lease")
    return len(names) == 200


def _give_up(unit: Unit, name: str, error: BaseException) -> None:
    its: UUID | None = unit.conn.execute(sa.select(L.c.instance_id).where(L.c.name == name)).scalar()
    if its is not None:
        last_resort.set_aside(unit, unit.lock(its), error, "lease")
    unit.conn.execute(sa.update(L).where(L.c.name == name).values(until=unit.now + span(VERIFYING)))


def retag(unit: Unit, posting: Instance, tags: list[str]) -> None:
    """Find it by these tags from now on."""
    unit.conn.execute(sa.delete(job_tag).where(job_tag.c.instance_id == posting.id))
    rows = [{"workspace": posting.workspace, "tag": tag, "instance_id": posting.id} for tag in sorted(set(tags))]
    if rows:
        unit.conn.execute(upsert(job_tag).on_conflict_do_nothing(), rows)
