"""The bulk actions: what each does to one item, its arguments, and the items that a filter selects."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import pydantic
import sqlalchemy as sa

from interlock.engine import deadletters, firing, pausing
from interlock.engine.deadletters import Filter
from interlock.engine.errors import InvalidData, Refused
from interlock.engine.listing import VISIBILITY, Where
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store import Micros
from interlock.store.tables import dead_letter as D
from interlock.store.tables import instance as I

if TYPE_CHECKING:
    pass

T = TypeVar("T", Where, Filter)
Chosen = Where | Filter | Mapping[str, Any]
"""A filter, or its fields as JSON values."""
_where = pydantic.TypeAdapter(Where)
_filter = pydantic.TypeAdapter(Filter)
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


def where_from_json(given: Mapping[str, Any]) -> Where:
    """The filter for instances. Unknown fields and wrong values are refused by name."""
    return _from_json(Where, _where, given)


def filter_from_json(given: Mapping[str, Any]) -> Filter:
    """The filter for dead letters. Unknown fields and wrong values are refused by name."""
    return _from_json(Filter, _filter, given)


def to_json(chosen: Where | Filter) -> dict[str, Any]:
    """The fields that are set, as JSON values: durations in ISO 8601, labels as pairs."""
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
            raise InvalidData(f"the filter is not JSON: {error}") from error
        places = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'filter'}: {e['msg']}" for e in error.errors())
        raise InvalidData(f"the filter cannot be used: {places}") from error


def _retry_all(unit: Unit, instance_id: UUID, actor: Actor, reason: str) -> None:
    instance = unit.lock(instance_id)
    query = sa.select(D.c.id).where(D.c.instance_id == instance_id, D.c.status == "open").order_by(D.c.id)
    letters = unit.conn.execute(query).scalars().all()
    if not letters:
        raise Refused(f"{instance.machine} {instance_id} has no open dead letter")
    for letter in letters:
        deadletters.retry(unit, letter, actor, reason=reason)


def checked(target: str, action: str, chosen: Chosen, arguments: Mapping[str, Any]) -> Where | Filter:
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
            raise InvalidData("the argument `data` must be a mapping of fields")
    kind = Where if target == "instances" else Filter
    if isinstance(chosen, Mapping):
        chosen = where_from_json(chosen) if kind is Where else filter_from_json(chosen)
    if not isinstance(chosen, kind):
        raise InvalidData(f"{target} are chosen by a {kind.__name__}, not by a {type(chosen).__name__}")
    if not set(to_json(chosen)) - VISIBILITY:
        raise InvalidData(
            f"an empty filter would select all {target.replace('_', ' ')}; name a machine, a state, an error"
        )
    return chosen


def matching(chosen: Where | Filter, workspaces: Collection[str] | None, now: Micros) -> sa.Select[UUID]:
    """The ids of the items that match, among those that existed at that time."""
    if isinstance(chosen, Where):
        query = sa.select(I.c.id).where(*chosen.conditions(now), I.c.created_at <= now)
        return query if workspaces is None else query.where(I.c.workspace.in_(workspaces))
    query = sa.select(D.c.id).where(*chosen.conditions(), D.c.status == "open", D.c.at <= now)
    return query if workspaces is None else query.where(D.c.workspace.in_(workspaces))
