"""Bulk actions: one action for all items that match a filter, in batches, with progress, until done or stopped.

The filter is stored as it was at the start, with the newest id and the time: later items are not touched. A batch takes
the next ids in order, handles each item alone, and advances the cursor in the same transaction. A process that dies has
done nothing of its batch, so no item is done twice. A refused item is counted, with the reason, and does not stop the
others.
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
from interlock.engine.starters import Starter, why_stopped
from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros, StoreError
from interlock.store.errors import translated
from interlock.store.service_tables import bulk as B
from interlock.store.tables import dead_letter as D

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

SAMPLE = 5
BATCH = 100
MOST_PROBLEMS = 20
HINT = "*bulk"
"""The hint that a bulk action was started. It is sent like the name of a queue; no queue has it."""
ANY_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason for refusals, how many items have it, and one of them."""

    problem: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Bulk:
    """A stored bulk action."""

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
    """How many items matched at the start, counted up to 10,000."""
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
    """The items that an action would be applied to."""

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
    """The number of items, counted as far as a listing counts, and the first few of them."""
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
    """Start a bulk action; a worker runs its batches. An empty filter, or a workspace alone, is refused.

    With a `starter`, each batch checks first whether they still have the right, and stops if not.
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
        kept["roles"] = sorted(actor.roles)  # stored at the start, like the filter
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
    """Run one batch of the bulk action that waited longest. None if there is none, or other processes have it."""
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
    if why := _unusable(found) or why_stopped(unit.conn, found.filter.get("starter"), unit.now):
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
    """Why it can never go on: its row cannot be read."""
    for part in (found.filter, found.arguments):
        if isinstance(part, values.Unreadable):
            return part.why
    known = found.action in ACTIONS.get(found.target, {}) and {"where", "workspaces"} <= found.filter.keys()
    return "" if known else f"there is no action {found.action!r} for {found.target!r}"


def _give_up(unit: Unit, found: Bulk, why: str) -> Bulk:
    """Stop it, with the reason. Otherwise it would be tried again and again and delay the others."""
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
    # Lock all instances first, in the order of their ids, so that two batches cannot deadlock.
    of_letters = sa.select(D.c.instance_id).where(D.c.id.in_(ids))
    unit.lock_many(ids if found.target == "instances" else unit.conn.execute(of_letters).scalars())
    return ids


def _actor(found: Bulk) -> Actor:
    """Who started it, with the roles that they had then."""
    roles = found.filter.get("roles")
    return replace(Actor.parse(found.actor), roles=None if roles is None else frozenset(roles))


def _one(unit: Unit, found: Bulk, item_id: UUID, problems: dict[str, Problem]) -> bool:
    do = ACTIONS[found.target][found.action]
    reason = f"{found.reason} (bulk action {found.id})".strip()
    try:
        with unit.savepoint() as inner:
            do(inner, item_id, _actor(found), reason, found.arguments)
    except BaseException as error:  # a refusal, or application code such as a guard
        if not is_item_error(error) and (
            isinstance(error, StoreError | KeyboardInterrupt) or translated(error) is not None
        ):
            raise
        # Without ids, equal reasons are counted together; the example names one item.
        problem = ANY_ID.sub("…", shortened(message_of(error) or type(error).__name__, 500))
        before = problems.get(problem)
        if before is not None:
            problems[problem] = replace(before, count=before.count + 1)
        elif len(problems) < MOST_PROBLEMS:
            problems[problem] = Problem(problem, 1, str(item_id))
        return False
    return True


def stop(unit: Unit, bulk_id: UUID, actor: Actor) -> Bulk:
    """Stop it. What is done stays done. Stopping twice changes nothing."""
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
    """Bulk actions, the newest first. `workspaces` restricts them to those that touch no other workspace."""
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
    """Actions for all items that match a filter."""

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
        """The number of items, and the first few of them."""
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
        """Start a bulk action. Workers run it in the background."""
        return self._engine.write(
            lambda unit: start(
                unit, target, action, chosen, actor, reason=reason, arguments=arguments, workspaces=workspaces
            ),
            name="bulk_start",
        )

    def step(self, batch: int = BATCH) -> Bulk | None:
        """Run one batch of a running bulk action; None if there is none."""
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
