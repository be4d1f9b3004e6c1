"""What an application may use of the engine in its followers, endpoints and duties.

Everything here works inside a transaction: a follower is given its `Unit`, an endpoint gets one from `Writer`, anything
else from `engine.write(job)`. Functions that only look take a connection, `unit.conn` or that of `engine.read(job)`.
With these names an application never reads the engine's tables itself, so that those may change.

Beside them applications use the names of `interlock.engine`, and the functions of `artifacts`, `leases`, `questions`,
`reviews` and `schedules`. Everything else in the engine is its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import moves, workers
from interlock.engine.audit.replaying import Row as HistoryRow
from interlock.engine.audit.replaying import history
from interlock.engine.creating import create
from interlock.engine.errors import NotFound
from interlock.engine.failing import close_dead_letters
from interlock.engine.finishing import require_claim
from interlock.engine.firing import fire, under_way
from interlock.engine.instance import Instance
from interlock.engine.isolation import error_summary, must_raise
from interlock.engine.keys import find_free as free_keys
from interlock.engine.keys import lock_by_keys
from interlock.engine.last_resort import set_aside
from interlock.engine.lineage import spawn
from interlock.engine.moves import send
from interlock.engine.unit import SYSTEM_ACTOR, Unit, load
from interlock.machine import Actor, Patch, Review
from interlock.store import Micros
from interlock.store.prepared import Prepared
from interlock.store.tables import instance as I

__all__ = [
    "SYSTEM_ACTOR",
    "HistoryRow",
    "Unit",
    "ask",
    "change",
    "close_dead_letters",
    "create",
    "error_summary",
    "find",
    "find_by_key",
    "fire",
    "free_keys",
    "get",
    "history",
    "instances",
    "is_served",
    "lock_by_keys",
    "must_raise",
    "require_claim",
    "send",
    "set_aside",
    "spawn",
    "under_way",
]

_BY_ID = Prepared(sa.select(I).where(I.c.id == sa.bindparam("id", type_=sa.Uuid)))
_BY_KEY = sa.select(I).where(
    I.c.workspace == sa.bindparam("workspace"),
    I.c.machine == sa.bindparam("machine"),
    I.c.unique_key == sa.bindparam("key"),
)
_SEEN_BY_KEY, _LOCKED_BY_KEY = Prepared(_BY_KEY), Prepared(_BY_KEY.with_for_update())


# -- looking


def find(conn: sa.Connection, instance_id: UUID, *, machine: str, workspace: str | None = None) -> Instance | None:
    """The instance, if it is one of this machine, and of this workspace where one is named."""
    found = load(conn, _BY_ID.rows(conn, id=instance_id))
    if not found or found[0].machine != machine or workspace not in (None, found[0].workspace):
        return None
    return found[0]


def get(conn: sa.Connection, instance_id: UUID, *, machine: str, workspace: str | None = None) -> Instance:
    """The same; NotFound where there is none."""
    found = find(conn, instance_id, machine=machine, workspace=workspace)
    if found is None:
        raise NotFound(f"there is no {machine} {instance_id}")
    return found


def find_by_key(unit: Unit, workspace: str, machine: str, key: str, *, lock: bool = True) -> Instance | None:
    """Whoever has the business key now; locked until the commit, or only looked at."""
    for known in unit.known.values():
        if (known.machine, known.key, known.workspace) == (machine, key, workspace):
            return known
    row = (_LOCKED_BY_KEY if lock else _SEEN_BY_KEY).first(unit.conn, workspace=workspace, machine=machine, key=key)
    if row is None:
        return None
    return unit.adopt([row])[0] if lock else load(unit.conn, [row])[0]


def instances(
    conn: sa.Connection,
    machine: str,
    *,
    workspace: str | None = None,
    states: Sequence[str] | None = None,
    ids: Sequence[UUID] | None = None,
    among: sa.Select[tuple[UUID]] | None = None,
    children_of: sa.Select[tuple[UUID]] | UUID | None = None,
    after: UUID | None = None,
    newest_first: bool = False,
    limit: int = 100,
) -> list[Instance]:
    """Instances of a machine, the oldest first. `among` and `children_of` are queries for ids in tables of your own.

    `after` is the id of the last one of the page before.
    """
    query = sa.select(I).where(I.c.machine == machine)
    if workspace is not None:
        query = query.where(I.c.workspace == workspace)
    if ids is not None:
        query = query.where(I.c.id.in_(ids))
    if among is not None:
        wanted = among.subquery()
        query = query.join(wanted, wanted.c[0] == I.c.id)
    if isinstance(children_of, UUID):
        query = query.where(I.c.parent == children_of)
    elif children_of is not None:
        query = query.where(I.c.parent.in_(children_of))
    if states is not None:
        query = query.where(I.c.state == states[0] if len(states) == 1 else I.c.state.in_(states))
    if after is not None:
        query = query.where(I.c.id < after if newest_first else I.c.id > after)
    order = I.c.id.desc() if newest_first else I.c.id
    return load(conn, conn.execute(query.order_by(order).limit(limit)).all())


def is_served(conn: sa.Connection, now: Micros, queue: str) -> bool:
    """Whether a process is alive that works on this queue."""
    return any(queue in worker.queues and worker.until > now for worker in workers.alive(conn))


# -- changing


def change(
    unit: Unit,
    instance: Instance,
    patch: Patch,
    actor: Actor,
    *,
    kind: str = "amended",
    merges: tuple[str, ...] = (),
    payload: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Change data without a move, with a history row of this kind; what was set. None, and no row, if nothing changed.

    To the fields in `merges` it adds, as `Transition(merges=)` does. The instance has to be locked.
    """
    made = moves.change_data(unit.machine(instance), instance, patch, merges)
    if not any(made.values()):
        return None
    unit.record(instance, kind, actor, payload={**made, **(payload or {})})
    changed: dict[str, Any] = made["set"]
    return changed


def ask(
    unit: Unit,
    instance: Instance,
    name: str,
    review: Review,
    *,
    evidence: Mapping[str, Any] | None = None,
    state: str | None = None,
) -> UUID:
    """Open a review. With `state` it belongs to that state, and closes when the instance leaves it.

    A review with a form, or with `state`, has to be one of the machine's `reviews`.
    """
    return moves.open_review(unit, instance, name, review, state=state, evidence=evidence)
