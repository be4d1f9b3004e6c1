"""Bulk actions: one action for all that match a filter, in batches, with progress, until it is done or stopped.

The filter is kept as it was at the start, together with the newest id and the moment: what comes later is not
touched. A batch takes the next ids in order, does each item alone, and moves on in the same transaction; a process
that dies in the middle has done nothing of its batch, so no item is done twice. An item that is refused is counted,
with the reason, and holds up none beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar
from uuid import UUID

import pydantic
import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import actions, deadletters, firing, pausing, values
from interlock.engine.deadletters import Filter
from interlock.engine.errors import InvalidData, NotFound, Refused, items_own
from interlock.engine.failing import message_of
from interlock.engine.listing import BIGGEST_PAGE, MOST, WHOSE, Count, Where
from interlock.engine.starters import Starter, lost
from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros, StoreError
from interlock.store.errors import sort
from interlock.store.service_tables import bulk as B
from interlock.store.tables import dead_letter as D
from interlock.store.tables import instance as I

T = TypeVar("T", Where, Filter)
Chosen = Where | Filter | Mapping[str, Any]
"""A filter, or its fields as JSON has them."""
SAMPLE = 5
BATCH = 100
MOST_PROBLEMS = 20
HINT = "*bulk"
"""Hinted beside the queues when a bulk action was started; no queue has this name."""
ANY_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_where, _filter = pydantic.TypeAdapter(Where), pydantic.TypeAdapter(Filter)


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


# -- filters as JSON


def where_from_json(given: Mapping[str, Any]) -> Where:
    """The filter for instances; a field or value that it does not take is refused by name."""
    return _from_json(Where, _where, given)


def filter_from_json(given: Mapping[str, Any]) -> Filter:
    """The filter for dead letters; a field or value that it does not take is refused by name."""
    return _from_json(Filter, _filter, given)


def to_json(chosen: Where | Filter) -> dict[str, Any]:
    """The fields that are set, as JSON has them: a duration is ISO 8601, a label is a pair."""
    dumped = (
        _where.dump_python(chosen, mode="json")
        if isinstance(chosen, Where)
        else _filter.dump_python(chosen, mode="json")
    )
    return {name: value for name, value in dumped.items() if value is not None}


def _from_json(kind: type[T], adapter: pydantic.TypeAdapter[T], given: Mapping[str, Any]) -> T:
    names = [one.name for one in fields(kind)]
    wrong = sorted(set(given) - set(names))
    if wrong:
        raise InvalidData(f"the filter has no field {', '.join(map(repr, wrong))}; it takes {', '.join(names)}")
    try:
        return adapter.validate_json(json.dumps(dict(given)))
    except (pydantic.ValidationError, TypeError, ValueError) as error:
        if not isinstance(error, pydantic.ValidationError):
            raise InvalidData(f"the filter is no JSON: {error}") from error
        places = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'filter'}: {e['msg']}" for e in error.errors())
        raise InvalidData(f"the filter cannot be used: {places}") from error


# -- what is done


def _retry_all(unit: Unit, instance_id: UUID, actor: Actor, reason: str) -> None:
    instance = unit.lock(instance_id)
    query = sa.select(D.c.id).where(D.c.instance_id == instance_id, D.c.status == "open").order_by(D.c.id)
    letters = unit.conn.execute(query).scalars().all()
    if not letters:
        raise Refused(f"{instance.machine} {instance_id} has no open dead letter")
    for letter in letters:
        deadletters.retry(unit, letter, actor, reason=reason)


Item = Callable[[Unit, UUID, Actor, str, Mapping[str, Any]], object]
ACTIONS: Mapping[str, Mapping[str, Item]] = {
    "instances": {
        "pause": lambda unit, id_, actor, reason, _: pausing.pause(unit, id_, actor, reason=reason),
        "resume": lambda unit, id_, actor, reason, _: pausing.resume(unit, id_, actor, reason=reason),
        "cancel": lambda unit, id_, actor, reason, _: firing.cancel(unit, id_, actor, reason=reason),
        "fire": lambda unit, id_, actor, reason, given: firing.fire(
            unit, id_, given["event"], actor, reason=reason, data=given.get("data")
        ),
        "retry": lambda unit, id_, actor, reason, _: _retry_all(unit, id_, actor, reason),
    },
    "dead_letters": {
        "retry": lambda unit, id_, actor, reason, _: deadletters.retry(unit, id_, actor, reason=reason),
        "resolve": lambda unit, id_, actor, reason, _: deadletters.close(unit, id_, "resolved", actor, note=reason),
        "discard": lambda unit, id_, actor, reason, _: deadletters.close(unit, id_, "discarded", actor, note=reason),
    },
}


def _checked(target: str, action: str, chosen: Chosen, arguments: Mapping[str, Any]) -> Where | Filter:
    known = ACTIONS.get(target)
    if known is None:
        raise InvalidData(f"a bulk action is done to {' or '.join(ACTIONS)}, not to {target!r}")
    if action not in known:
        raise InvalidData(f"there is no bulk action {action!r} for {target}; there are {', '.join(known)}")
    takes = {"event", "data"} if action == "fire" else set()
    extra = sorted(set(arguments) - takes)
    if extra:
        raise InvalidData(f"the action {action!r} does not take {', '.join(map(repr, extra))}")
    if action == "fire":
        if not isinstance(arguments.get("event"), str):
            raise InvalidData("the action 'fire' needs the event's name as its argument `event`")
        if not isinstance(arguments.get("data"), Mapping | None):
            raise InvalidData("the argument `data` is a mapping of fields")
    kind = Where if target == "instances" else Filter
    if isinstance(chosen, Mapping):
        chosen = where_from_json(chosen) if kind is Where else filter_from_json(chosen)
    if not isinstance(chosen, kind):
        raise InvalidData(f"{target} are chosen by a {kind.__name__}, not by a {type(chosen).__name__}")
    if not set(to_json(chosen)) - WHOSE:
        raise InvalidData(
            f"an empty filter would take all {target.replace('_', ' ')}; name a machine, a state, an error"
        )
    return chosen


def _matching(chosen: Where | Filter, workspaces: Collection[str] | None, now: Micros) -> sa.Select[UUID]:
    """The ids of what matches, among what there was at that moment."""
    if isinstance(chosen, Where):
        query = sa.select(I.c.id).where(*chosen.conditions(now), I.c.created_at <= now)
        return query if workspaces is None else query.where(I.c.workspace.in_(workspaces))
    query = sa.select(D.c.id).where(*chosen.conditions(), D.c.status == "open", D.c.at <= now)
    return query if workspaces is None else query.where(D.c.workspace.in_(workspaces))


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
    query = _matching(_checked(target, action, chosen, arguments or {}), workspaces, now)
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
    checked = _checked(target, action, chosen, given)
    query = _matching(checked, workspaces, unit.now)
    column = query.selected_columns[0]
    newest = unit.conn.execute(query.order_by(column.desc()).limit(1)).scalar()
    found = preview(unit.conn, unit.now, target, action, checked, arguments=given, workspaces=workspaces)
    kept = {"where": to_json(checked), "workspaces": sorted(workspaces) if workspaces is not None else None}
    if actor.roles is not None:
        kept["roles"] = sorted(actor.roles)  # as they were at the start, like the filter
    if starter is not None:
        kept["starter"] = starter.told()
    named = checked.workspace or (next(iter(workspaces)) if workspaces is not None and len(workspaces) == 1 else None)
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
    told = canonical([*problems, [shortened(why, 500), 1, str(found.id)]])
    over = {"status": "stopped", "problems": told, "updated_at": unit.now, "finished_at": unit.now}
    unit.conn.execute(sa.update(B).where(B.c.id == found.id).values(**over))
    return get(unit.conn, found.id)


def _next_ids(unit: Unit, found: Bulk, batch: int) -> Sequence[UUID]:
    stored = found.filter["where"]
    chosen = where_from_json(stored) if found.target == "instances" else filter_from_json(stored)
    query = _matching(chosen, found.filter["workspaces"], found.created_at)
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
        if not items_own(error) and (isinstance(error, StoreError | KeyboardInterrupt) or sort(error) is not None):
            raise
        # Which item it was is the example's to say: without ids, equal reasons are one.
        told = ANY_ID.sub("…", shortened(message_of(error) or type(error).__name__, 500))
        before = problems.get(told)
        if before is not None:
            problems[told] = replace(before, count=before.count + 1)
        elif len(problems) < MOST_PROBLEMS:
            problems[told] = Problem(told, 1, str(item_id))
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
    told = values.anything(stored or "[]")
    if isinstance(told, list) and all(isinstance(one, list) and len(one) == 3 for one in told):
        return tuple(Problem(str(problem), int(count), str(example)) for problem, count, example in told)
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
