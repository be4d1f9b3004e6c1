"""Bulk actions: preview, start, progress and stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard import formatting
from interlock.dashboard.filters import NAMES, Filters, in_words
from interlock.dashboard.forms import Done, Form, posted
from interlock.dashboard.site import Reader, Visitor, render
from interlock.dashboard.views import view_for
from interlock.engine import Instance, actions, bulk, bulk_actions, listing
from interlock.engine.unit import Unit, load
from interlock.http.api.bulk import bulk_actor, must_see, starter, where_allowed
from interlock.http.caller import require
from interlock.http.parameters import takes
from interlock.http.problems import BadRequest
from interlock.machine import InterlockError, Machine
from interlock.people import NotAllowed
from interlock.store import StoreError
from interlock.store import tables as t

router = APIRouter(include_in_schema=False)
MOST_CHOSEN = 200


@dataclass(frozen=True, slots=True)
class Action:
    """An action on many objects, and its effect."""

    name: str
    verb: str
    done: str
    means: str


ACTIONS: Mapping[str, Sequence[Action]] = {
    "instances": (
        Action(
            "pause",
            "Pause",
            "paused",
            "No step runs until they are resumed; running handlers are asked to stop.",
        ),
        Action("resume", "Resume", "resumed", "They continue where they were paused."),
        Action("cancel", "Cancel", "cancelled", "Each moves to its machine's state for cancelled work."),
        Action("retry", "Retry", "retried", "The failed step of each is repeated; its dead letter is closed."),
        Action("fire", "Fire an event", "moved", "The event is fired for each, as if you fired it one by one."),
    ),
    "dead_letters": (
        Action("retry", "Retry", "retried", "The failed step of each is repeated."),
        Action("resolve", "Resolve", "resolved", "Marks them as fixed elsewhere; the instances keep their state."),
        Action("discard", "Discard", "discarded", "Drops them for good; the instances keep their state."),
    ),
}


def action_of(target: str, name: str) -> Action:
    for one in ACTIONS.get(target, ()):
        if one.name == name:
            return one
    raise BadRequest(f"there is no action {name[:40]!r} for {target[:40].replace('_', ' ')}")


def may_do(v: Visitor, action: str) -> bool:
    return v.may_anywhere("fire" if action == "fire" else "operate")


# -- for selected objects, or for all matches


@router.get("/ui/bulk/new")
@takes("action", "which", "id", "event", *NAMES)
async def preview(v: Reader) -> Response:
    """Preview an action and the number of objects. Changes nothing."""
    given = v.request.query_params
    action, filters = action_of("instances", given.get("action", "")), Filters.of(given)
    allowed = where_allowed(v.who, action.name, filters.workspace or None)
    ids = _ids(given.getlist("id")) if given.get("which") != "all" else []
    if given.get("which") != "all" and not ids:
        raise BadRequest("nothing is selected; select some instances, or all matches")
    if not ids and not filters.chosen.keys() - {"workspace"}:
        raise BadRequest("this would affect every instance; set a filter first, such as a machine, a state or an error")
    where = filters.where(allowed)

    def read(conn: sa.Connection) -> tuple[int, bool, list[Instance]]:
        if ids:
            found = [i for i in _load(conn, ids) if i.workspace in allowed]
            return len(found), True, found
        # Counted like a list, which never reads a million rows for an exact number.
        count = listing.count(conn, where, v.now)
        return count.n, count.exact, listing.page(conn, where, v.now, limit=bulk.SAMPLE, oldest=True).instances

    n, exact, sample = await v.service.read(read)
    registry = v.service.engine.registry
    machines = {registry.get(i.machine) for i in sample} | {registry.get(filters.machine)}
    return await render(
        v,
        "bulk_new.html",
        action=action,
        filters=filters,
        ids=[i.id for i in sample] if ids else [],
        n=n,
        exact=exact,
        sample=[(i, view_for(registry, i).title(i)) for i in sample],
        events=_events(machines),
        chosen=bool(ids),
        event=given.get("event", ""),
    )


def _ids(given: Sequence[str]) -> list[UUID]:
    try:
        return list(dict.fromkeys(UUID(one) for one in given[:MOST_CHOSEN]))
    except ValueError:
        raise BadRequest("one of the selected ids is invalid; load the page again") from None


def _load(conn: sa.Connection, ids: Sequence[UUID]) -> list[Instance]:
    return load(
        conn, conn.execute(sa.select(t.instance).where(t.instance.c.id.in_(ids)).order_by(t.instance.c.id)).all()
    )


def _events(machines: set[Machine | None]) -> list[str]:
    """The events that people can fire on these machines."""
    found = {e.on for m in machines if m for e in m.edges if {"user", "owner"} & set(e.by)}
    return sorted(found | {a.on for m in machines if m for a in m.arms if {"user", "owner"} & set(a.by)})


@router.post("/ui/bulk")
async def start(request: Request) -> Response:
    """Run the action on the selected objects, or start it for all matches."""
    form = await posted(request)
    target = form.get("target") or "instances"
    action, ids = action_of(target, form["action"]), _ids(form.many.get("id", []))
    arguments = {"event": form["event"]} if action.name == "fire" else {}
    if ids:
        return await form.do(lambda unit: _some(unit, form, action, ids, arguments), "bulk")

    def run(unit: Unit) -> Done:
        workspace = form.get("workspace") or None
        allowed = where_allowed(form.v.who, action.name, workspace)
        made = bulk.start(
            unit,
            target,
            action.name,
            _chosen(target, form),
            bulk_actor(form.v.who, allowed),
            reason=form.get("reason")[:500],
            arguments=arguments,
            workspaces=allowed,
            starter=starter(form.v.who, allowed),
        )
        return Done(to=f"/ui/bulk/{made.id}")

    return await form.do(run, "bulk")


def _chosen(target: str, form: Form) -> Any:
    if target == "instances":
        return Filters.of(form.fields).where()
    names = ("machine", "fingerprint", "error_type", "step", "workspace")
    return {name: form.get(name) for name in names if form.get(name)}


def _some(unit: Unit, form: Form, action: Action, ids: Sequence[UUID], arguments: Mapping[str, Any]) -> Done:
    """Run each in its own savepoint, so that a refused one does not affect the others."""
    permission, refused = "fire" if action.name == "fire" else "operate", Counter[str]()
    unit.lock_many(ids)
    places = set()
    for one in ids:
        it = unit.lock(one)
        places.add(it.workspace)
        require(form.v.who, permission, it.workspace, f"instance {one}", machine=it.machine)
        actor = form.v.who.actor_in(it.workspace)
        try:
            with unit.savepoint() as inner:
                bulk_actions.ACTIONS["instances"][action.name](inner, one, actor, form.get("reason")[:2000], arguments)
        except StoreError:
            raise
        except InterlockError as error:
            refused[bulk.ANY_ID.sub("…", str(error))[:200]] += 1
    good = len(ids) - refused.total()
    details = {"done": good, "refused": refused.total(), "reason": form.get("reason"), "instances": [*map(str, ids)]}
    for place in sorted(places):
        actor = form.v.who.actor_in(place)
        actions.record(
            unit,
            actor,
            f"{action.name}.selected",
            f"{len(ids)} instances",
            workspace=place,
            details={**details, **arguments},
        )
    described = f"{good} {action.done}."
    for why, n in refused.most_common(3):
        described += f" {n} refused: {why}."
    return Done(said=described)


# -- progress


@router.get("/ui/bulk")
async def bulks(v: Reader, after: UUID | None = None) -> Response:
    page = await v.service.read(lambda conn: bulk.page(conn, workspaces=v.workspaces, after=after))
    return await render(v, "bulks.html", bulks=[(b, described(b)) for b in page.bulks], next=page.next)


def described(one: bulk.Bulk) -> tuple[str, list[str]]:
    """Describe the action and its selection."""
    action = action_of(one.target, one.action)
    verb = f"Fire {formatting.title(str(one.arguments.get('event', '')))}" if one.action == "fire" else action.verb
    chosen = one.filter.get("where", one.filter)
    if one.target == "instances":
        return f"{verb}: instances", in_words(bulk_actions.where_from_json(chosen))
    return f"{verb}: dead letters", [f"{name.replace('_', ' ')} {value}" for name, value in chosen.items()]


@router.get("/ui/bulk/{id}")
async def progress(v: Reader, id: UUID) -> Response:
    found = await v.service.read(lambda conn: bulk.get(conn, id))
    must_see(v.who, found)
    what, chosen = described(found)
    return await render(
        v,
        "bulk.html",
        b=found,
        what=what,
        chosen=chosen,
        action=action_of(found.target, found.action),
        mine=_may_stop(v, found),
    )


def _may_stop(v: Visitor, found: bulk.Bulk) -> bool:
    try:
        return set(found.filter["workspaces"]) <= where_allowed(v.who, found.action)
    except NotAllowed:
        return False


@router.post("/ui/bulk/{id}/stop")
async def stop(request: Request, id: UUID) -> Response:
    form = await posted(request)

    def run(unit: Unit) -> Done:
        found = bulk.get(unit.conn, id)
        must_see(form.v.who, found)
        allowed = where_allowed(form.v.who, found.action)
        if not set(found.filter["workspaces"]) <= allowed:
            raise NotAllowed(f"bulk action {id} is in workspaces where {form.v.who.name} may only read")
        after = bulk.stop(unit, id, bulk_actor(form.v.who, allowed))
        return Done(said=f"Stopped after {after.done:,}; finished ones stay finished.")

    return await form.do(run, "bulk")
