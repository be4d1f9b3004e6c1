"""Bulk actions: one action for all that match a filter, in batches, with progress, until it is done or stopped.

The filter is kept as it was at the start, together with the newest id and the moment: what comes later is not
touched. A batch takes the next ids in order, does each item alone, and moves on in the same transaction; a process
that dies in the middle has done nothing of its batch, so no item is done twice. An item that is refused is counted,
with the reason, and holds up none beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import actions, values
from interlock.engine.bulk_actions import ACTIONS, Chosen, checked, filter_from_json, matching, to_json, where_from_json
from interlock.engine.error_details import message_of
from interlock.engine.errors import InvalidData, NotFound, Refused, is_item_error
from interlock.engine.listing import BIGGEST_PAGE, MOST, Count
from interlock.engine.starters import Starter, lost
from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros, StoreError
from interlock.store.errors import sort
from interlock.store.service_tables import bulk as B
from interlock.store.tables import dead_letter as D

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

SAMPLE = 5
BATCH = 100
MOST_PROBLEMS = 20
HINT = "*bulk"
"""Hinted beside the queues when a bulk action was started; no queue has this name."""
ANY_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why items were refused, how many, and one of them."""

    problem: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Bulk:
    """A bulk action as it stands in the database."""

    id: UUID
    workspace: str | None
    target: str
    action: str
    filter: dict[str, Any]
    arguments: dict[str, Any]
    actor: str
    reason: str
    status: str
    total: int
    """How many matched at the start; counted up to 10,000."""
    done: int
    refused: int
    problems: tuple[Problem, ...]
    after_id: UUID | None
    upto_id: UUID
    created_at: Micros
    updated_at: Micros
    finished_at: Micros | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would be done to."""

    count: Count
    sample: list[UUID]
    """The first few."""


@dataclass(frozen=True, slots=True)
class BulkPage:
    """One page of the bulk actions."""

    bulks: list[Bulk]
    next: UUID | None
    """The cursor of the next page; None on the last."""


def preview(
    conn: sa.Connection,
    now: Micros,
    target: str,
    action: str,
    chosen: Chosen,
    *,
    arguments: Mapping[str, Any] | None = None,
    workspaces: Collection[str] | None = None,
) -> Preview:
    """How many it would be, counted as far as a listing counts, and the first few."""
    query = matching(checked(target, action, chosen, arguments or {}), workspaces, now)
    column = query.selected_columns[0]
    n: int = conn.execute(sa.select(sa.func.count()).select_from(query.limit(MOST + 1).subquery())).scalar_one()
    return Preview(Count(min(n, MOST), n <= MOST), list(conn.execute(query.order_by(column).limit(SAMPLE)).scalars()))


def start(
    unit: Unit,
    target: str,
    action: str,
    chosen: Chosen,
    actor: Actor,
    *,
    reason: str = "",
    arguments: Mapping[str, Any] | None = None,
    workspaces: Collection[str] | None = None,
    starter: Starter | None = None,
) -> Bulk:
    """Begin; whoever looks first does the first batch. An empty filter is refused, and a workspace alone is empty.

    With a `starter` each batch asks whether they still may; it stops where not.
    """
    given = dict(arguments or {})
    values.text(reason, "the reason")
    wanted = checked(target, action, chosen, given)
    query = matching(wanted, workspaces, unit.now)
    column = query.selected_columns[0]
    newest = unit.conn.execute(query.order_by(column.desc()).limit(1)).scalar()
    found = preview(unit.conn, unit.now, target, action, wanted, arguments=given, workspaces=workspaces)
    kept = {"where": to_json(wanted), "workspaces": sorted(workspaces) if workspaces is not None else None}
    if actor.roles is not None:
        kept["roles"] = sorted(actor.roles)  # as they were at the start, like the filter
    if starter is not None:
        kept["starter"] = starter.as_values()
    named = wanted.workspace or (next(iter(workspaces)) if workspaces is not None and len(workspaces) == 1 else None)
    made = uuid7()
    unit.conn.execute(
        sa.insert(B).values(
            id=made,
            workspace=named,
            target=target,
            action=action,
            filter=canonical(kept),
            arguments=fitting(canonical(given, "arguments"), "the arguments"),
            actor=str(actor),
            reason=shortened(reason, 500),
            status="running" if newest else "done",
            total=found.count.n,
            upto_id=newest or made,
            created_at=unit.now,
            updated_at=unit.now,
            finished_at=None if newest else unit.now,
        )
    )
    actions.record(
        unit,
        actor,
        "bulk.start",
        str(made),
        workspace=named,
        details={"target": target, "action": action, "filter": kept["where"], "total": found.count.n},
    )
    unit.ready.add(HINT)
    return get(unit.conn, made)


def step(unit: Unit, batch: int = BATCH) -> Bulk | None:
    """Do one batch of the running bulk action that waited longest; None when there is none, or others have it."""
    row = unit.conn.execute(
        sa.select(B)
        .where(sa.text("status = 'running'"))
        .order_by(B.c.updated_at, B.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).first()
    if row is None:
        return None
    found = _read(row)
    if why := _unusable(found) or lost(unit.conn, found.filter.get("starter"), unit.now):
        return _give_up(unit, found, why)
    ids = _next_ids(unit, found, batch)
    problems = {one.problem: one for one in found.problems}
    refused = sum(not _one(unit, found, id_, problems) for id_ in ids)
    over = len(ids) < batch
    unit.conn.execute(
        sa.update(B)
        .where(B.c.id == found.id)
        .values(
            done=found.done + len(ids) - refused,
            refused=found.refused + refused,
            problems=canonical([[p.problem, p.count, p.example] for p in problems.values()]) if problems else None,
            after_id=ids[-1] if ids else found.after_id,
            updated_at=unit.now,
            status="done" if over else "running",
            finished_at=unit.now if over else None,
        )
    )
    return get(unit.conn, found.id)


def _unusable(found: Bulk) -> str:
    """Why it can never go on: somebody wrote into its row what cannot be read."""
    for part in (found.filter, found.arguments):
        if isinstance(part, values.Unreadable):
            return part.why
    known = found.action in ACTIONS.get(found.target, {}) and {"where", "workspaces"} <= found.filter.keys()
    return "" if known else f"there is no action {found.action!r} for {found.target!r}"


def _give_up(unit: Unit, found: Bulk, why: str) -> Bulk:
    """Stop it, with the reason: it would else be tried for ever, and hold up the others."""
    problems = [[p.problem, p.count, p.example] for p in found.problems]
    listed = canonical([*problems, [shortened(why, 500), 1, str(found.id)]])
    over = {"status": "stopped", "problems": listed, "updated_at": unit.now, "finished_at": unit.now}
    unit.conn.execute(sa.update(B).where(B.c.id == found.id).values(**over))
    return get(unit.conn, found.id)


def _next_ids(unit: Unit, found: Bulk, batch: int) -> Sequence[UUID]:
    stored = found.filter["where"]
    chosen = where_from_json(stored) if found.target == "instances" else filter_from_json(stored)
    query = matching(chosen, found.filter["workspaces"], found.created_at)
    column = query.selected_columns[0]
    query = query.where(column <= found.upto_id)
    if found.after_id is not None:
        query = query.where(column > found.after_id)
    ids = unit.conn.execute(query.order_by(column).limit(batch)).scalars().all()
    # All instances first, in the order of their ids: two batches never wait for each other.
    of_letters = sa.select(D.c.instance_id).where(D.c.id.in_(ids))
    unit.lock_many(ids if found.target == "instances" else unit.conn.execute(of_letters).scalars())
    return ids


def _actor(found: Bulk) -> Actor:
    """Whoever started it, with the roles that they had."""
    roles = found.filter.get("roles")
    return replace(Actor.parse(found.actor), roles=None if roles is None else frozenset(roles))


def _one(unit: Unit, found: Bulk, item_id: UUID, problems: dict[str, Problem]) -> bool:
    do = ACTIONS[found.target][found.action]
    reason = f"{found.reason} (bulk action {found.id})".strip()
    try:
        with unit.savepoint() as inner:
            do(inner, item_id, _actor(found), reason, found.arguments)
    except BaseException as error:  # a refusal, or a guard of the application's own
        if not is_item_error(error) and (isinstance(error, StoreError | KeyboardInterrupt) or sort(error) is not None):
            raise
        # Which item it was is the example's to say: without ids, equal reasons are one.
        problem = ANY_ID.sub("…", shortened(message_of(error) or type(error).__name__, 500))
        before = problems.get(problem)
        if before is not None:
            problems[problem] = replace(before, count=before.count + 1)
        elif len(problems) < MOST_PROBLEMS:
            problems[problem] = Problem(problem, 1, str(item_id))
        return False
    return True


def stop(unit: Unit, bulk_id: UUID, actor: Actor) -> Bulk:
    """Do nothing more; what is done stays done. Stopping twice changes nothing."""
    found = get(unit.conn, bulk_id, lock=True)
    if found.status == "done":
        raise Refused(f"bulk action {bulk_id} is done already")
    if found.status == "running":
        over = {"status": "stopped", "updated_at": unit.now, "finished_at": unit.now}
        unit.conn.execute(sa.update(B).where(B.c.id == bulk_id).values(**over))
        actions.record(unit, actor, "bulk.stop", str(bulk_id), workspace=found.workspace)
    return get(unit.conn, bulk_id)


# -- looking


def _read(row: sa.Row[Any]) -> Bulk:
    found = dict(row._mapping)
    for name in ("filter", "arguments"):
        found[name] = values.readable(found[name])
    found["problems"] = _problems(found["problems"])
    return Bulk(**found)


def _problems(stored: str | None) -> tuple[Problem, ...]:
    rows = values.anything(stored or "[]")
    if isinstance(rows, list) and all(isinstance(one, list) and len(one) == 3 for one in rows):
        return tuple(Problem(str(problem), int(count), str(example)) for problem, count, example in rows)
    return (Problem("its problems cannot be read", 0, ""),)


def get(conn: sa.Connection, bulk_id: UUID, *, lock: bool = False) -> Bulk:
    query = sa.select(B).where(B.c.id == bulk_id)
    row = conn.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no bulk action {bulk_id}")
    return _read(row)


def page(
    conn: sa.Connection,
    *,
    status: str | None = None,
    workspaces: Collection[str] | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> BulkPage:
    """The newest first; of somebody's workspaces those that touch no other."""
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    query = sa.select(B).order_by(B.c.id.desc()).limit(limit + 1)
    if status is not None:
        query = query.where(B.c.status == status)
    if workspaces is not None:
        query = query.where(sa.or_(B.c.workspace.in_(workspaces), B.c.workspace.is_(None)))
    if after is not None:
        query = query.where(B.c.id < after)
    found = [_read(row) for row in conn.execute(query)]
    shown = [one for one in found[:limit] if visible(one, workspaces)]
    return BulkPage(shown, found[limit - 1].id if len(found) > limit else None)


def visible(found: Bulk, workspaces: Collection[str] | None) -> bool:
    """Whether it touches only these workspaces; None means all."""
    if workspaces is None:
        return True
    touched = [found.workspace] if found.workspace is not None else found.filter.get("workspaces")
    return touched is not None and set(touched) <= set(workspaces)


def anything_running(conn: sa.Connection) -> bool:
    return conn.execute(sa.select(B.c.id).where(sa.text("status = 'running'")).limit(1)).first() is not None


class Bulks:
    """One action for all that match a filter."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def preview(
        self,
        target: str,
        action: str,
        chosen: Chosen,
        *,
        arguments: Mapping[str, Any] | None = None,
        workspaces: Collection[str] | None = None,
    ) -> Preview:
        """How many it would be, and the first few."""
        now = self._engine.clock.now()
        return self._engine.read(
            lambda conn: preview(conn, now, target, action, chosen, arguments=arguments, workspaces=workspaces)
        )

    def start(
        self,
        target: str,
        action: str,
        chosen: Chosen,
        *,
        actor: Actor,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
        workspaces: Collection[str] | None = None,
    ) -> Bulk:
        """Begin; it is done in the background."""
        return self._engine.write(
            lambda unit: start(
                unit, target, action, chosen, actor, reason=reason, arguments=arguments, workspaces=workspaces
            ),
            name="bulk_start",
        )

    def step(self, batch: int = BATCH) -> Bulk | None:
        """Do one batch of a running one; None when there is none."""
        return self._engine.write(lambda unit: step(unit, batch), name="bulk")

    def stop(self, bulk_id: UUID, *, actor: Actor) -> Bulk:
        return self._engine.write(lambda unit: stop(unit, bulk_id, actor), name="bulk_stop")

    def get(self, bulk_id: UUID) -> Bulk:
        return self._engine.read(lambda conn: get(conn, bulk_id))

    def page(
        self,
        *,
        status: str | None = None,
        workspaces: Collection[str] | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> BulkPage:
        return self._engine.read(
            lambda conn: page(conn, status=status, workspaces=workspaces, after=after, limit=limit)
        )
