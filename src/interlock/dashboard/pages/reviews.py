"""The review inbox: open reviews, most urgent first, with the evidence for each decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import Response

from interlock.dashboard import schema
from interlock.dashboard.formatting import exact, title
from interlock.dashboard.forms import Done, Form, posted, utc_moment
from interlock.dashboard.pages.review_detail import claimed_by_other, detail
from interlock.dashboard.site import Reader, Visitor, frame, render
from interlock.dashboard.views import view_for
from interlock.engine import EngineError, Instance, OpenReview, firing, review_queue, reviews
from interlock.engine.unit import Unit, load
from interlock.http.api.reviews import assigned, may_decide
from interlock.http.caller import require
from interlock.http.problems import BadRequest
from interlock.store import SECOND, tables

router = APIRouter(include_in_schema=False)
SHOWN = 100
DAY = 24 * 3600 * SECOND
AGES = {"": "any age", "3600": "over an hour", "86400": "over a day", "604800": "over a week"}
PERSONS = {"": "anybody", "me": "me", "nobody": "nobody"}
UNDO_FOR = 600 * SECOND
"""How long a reviewer may undo a decision of theirs. Who may fire events of the machine may do so later, too."""
FILTERS = ("machine", "workspace", "person", "age")


@router.get("/ui/reviews")
async def inbox(
    v: Reader,
    review: str = "",
    machine: str = "",
    workspace: str = "",
    person: str = "",
    age: str = "",
    undo: str = "",
    event: str = "",
) -> Response:
    if person not in PERSONS or age not in AGES:
        raise BadRequest(f"the inbox has no filter {(person if person not in PERSONS else age)[:40]!r}; load it again")
    wanted = reviews.ReviewFilter(
        workspaces=v.workspaces,
        workspace=workspace or None,
        machine=machine or None,
        of_person=v.who.name if person == "me" else None,
        unassigned=person == "nobody",
        opened_before=v.now - int(age) * SECOND if age else None,
    )

    def read(conn: sa.Connection) -> tuple[list[OpenReview], list[OpenReview]]:
        awake = reviews.waiting(conn, replace(wanted, awake_at=v.now), limit=SHOWN + 1)
        return awake, reviews.waiting(conn, replace(wanted, snoozed_at=v.now), limit=SHOWN)

    waiting, snoozed = (
        [r for r in some if v.may("read", r.workspace, r.machine)] for some in await v.service.read(read)
    )
    chosen = await _chosen(v, review, waiting)
    shown = waiting[:SHOWN] + snoozed
    filters = {"machine": machine, "workspace": workspace, "person": person, "age": age}
    return await render(
        v,
        "reviews.html",
        groups=[*_groups(waiting[:SHOWN], v.now), *([("Snoozed", snoozed)] if snoozed else [])],
        count=await _count(v, shown, filters),
        more=len(waiting) > SHOWN,
        chosen=chosen,
        names=await _names(v, shown),
        order=[str(r.id) for r in shown],
        detail=await detail(v, chosen) if chosen is not None else None,
        filters=filters,
        machines=sorted(v.service.engine.registry, key=lambda m: m.title),
        ages=AGES,
        persons=PERSONS,
        undo=await _undo(v, undo, event),
        same=_alike(v, waiting[:SHOWN], chosen),
    )


async def _count(v: Visitor, shown: list[OpenReview], filters: Mapping[str, str]) -> str:
    """The number of open reviews: the same figure as everywhere else."""
    total = (await frame(v)).overview.totals.reviews.open
    if any(filters.values()):
        return f"{len(shown)} of {max(total, len(shown)):,}"
    return f"{total if len(shown) >= SHOWN else len(shown):,}"


async def _chosen(v: Visitor, review: str, waiting: list[OpenReview]) -> OpenReview | None:
    if not review:
        return waiting[0] if waiting else None
    try:
        wanted = UUID(review)
    except ValueError:
        raise BadRequest(f"{review[:60]!r} is not a review; choose one from the list") from None
    found = await v.service.read(lambda conn: reviews.get(conn, wanted))
    require(v.who, "read", found.workspace, f"review {wanted}", machine=found.machine)
    return found


def _groups(waiting: list[OpenReview], now: int) -> list[tuple[str, list[OpenReview]]]:
    late = [r for r in waiting if r.due_at is not None and r.due_at < now]
    soon = [r for r in waiting if r.due_at is not None and now <= r.due_at < now + DAY]
    later = [r for r in waiting if r.due_at is None or r.due_at >= now + DAY]
    return [(name, some) for name, some in (("Overdue", late), ("Within a day", soon), ("Not urgent", later)) if some]


async def _names(v: Visitor, waiting: list[OpenReview]) -> dict[str, tuple[str, str]]:
    """The title of each review, and why a person is asked."""
    ids = list({r.instance_id for r in waiting})
    query = sa.select(tables.instance).where(tables.instance.c.id.in_(ids))
    found = {i.id: i for i in await v.service.read(lambda conn: load(conn, conn.execute(query).all()))} if ids else {}
    registry = v.service.engine.registry
    names = {}
    for one in waiting:
        instance = found.get(one.instance_id)
        if instance is None:
            names[str(one.id)] = one.machine, one.title
            continue
        view = view_for(registry, instance)
        names[str(one.id)] = view.review_title(one, instance), view.summary(one, instance)
    return names


def _alike(v: Visitor, waiting: list[OpenReview], chosen: OpenReview | None) -> list[OpenReview]:
    """Reviews that ask the same question and have no form, which can be decided together."""
    if chosen is None or chosen.form or chosen.status != "open" or chosen.settles:
        return []
    return [
        r
        for r in waiting
        if (r.machine, r.name, r.title, r.workspace) == (chosen.machine, chosen.name, chosen.title, chosen.workspace)
        and not r.form
        and not claimed_by_other(v, r)
    ]


async def _undo(v: Visitor, review_id: str, event: str) -> dict[str, Any] | None:
    """How to undo this decision, if the machine leads back and this person may."""
    try:
        review = await v.service.read(lambda conn: reviews.get(conn, UUID(review_id)))
        instance = await v.service.call(v.service.engine.get, review.instance_id)
    except (ValueError, EngineError):
        return None
    machine = v.service.engine.registry.get(instance.machine)
    if machine is None or not (_is_own(v, review, instance) or v.may("fire", instance.workspace, instance.machine)):
        return None
    actor = v.who.actor_in(instance.workspace)
    open_ = [a for a in firing.allowed(instance, machine, actor) if a.event == event and a.to == instance.previous]
    return {"instance": instance, "review": review, "event": event, "to": open_[0].to} if open_ else None


def _is_own(v: Visitor, review: OpenReview, instance: Instance) -> bool:
    """Whether this person's decision, a moment ago, brought the instance where it is: then it is theirs to undo."""
    return (
        review.instance_id == instance.id
        and review.decided_by == str(v.who.actor_in(review.workspace))
        and review.decided_at is not None
        and v.now - review.decided_at < UNDO_FOR
        and (instance.previous, instance.entered_at) == (review.state, review.decided_at)
        and v.may("review", review.workspace, review.machine)
    )


def _back(form: Form, after: str = "") -> str:
    kept = {name: form.get(name) for name in FILTERS if form.get(name)}
    if after:
        kept["review"] = after
    return "/ui/reviews" + (f"?{urlencode(kept)}" if kept else "")


@router.post("/ui/reviews/{id}/decide")
async def decide(request: Request, id: UUID) -> Response:
    form = await posted(request)
    v = form.v
    decision = form["decision"]

    def job(unit: Unit) -> Done:
        found = reviews.get(unit.conn, id)
        may_decide(v.who, found)
        answer = schema.answer(found.form, form.fields) if found.form else None
        actor = v.who.actor_in(found.workspace)
        reviews.decide(unit, id, decision, actor, answer=answer, reason=form.get("reason"), expected_seq=form.seq)
        instance = unit.lock(found.instance_id)
        machine = unit.machine(instance)
        back = [a for a in firing.allowed(instance, machine, actor) if a.to and a.to == instance.previous]
        to = _back(form, form.get("following"))
        if back:
            to += ("&" if "?" in to else "?") + urlencode({"undo": str(id), "event": back[0].event})
        moved = f", now {title(instance.state)}" if instance.state != found.state else ""
        return Done(said=f"Decided: {title(decision)}{moved}", to=to)

    return await form.do(job, "review")


@router.post("/ui/reviews/{id}/claim")
async def claim(request: Request, id: UUID) -> Response:
    form = await posted(request)

    def job(unit: Unit) -> Done:
        found = reviews.get(unit.conn, id)
        may_decide(form.v.who, found)
        reviews.claim(unit, id, form.v.who.actor_in(found.workspace))
        return Done(said="Claimed for half an hour", to=_back(form, str(id)))

    return await form.do(job, "review")


@router.post("/ui/reviews/{id}/release")
async def release(request: Request, id: UUID) -> Response:
    form = await posted(request)

    def job(unit: Unit) -> Done:
        found = reviews.get(unit.conn, id)
        may_decide(form.v.who, found)
        reviews.release(unit, id, form.v.who.actor_in(found.workspace))
        return Done(said="Released", to=_back(form, str(id)))

    return await form.do(job, "review")


@router.post("/ui/reviews/{id}/assign")
async def assign(request: Request, id: UUID) -> Response:
    form = await posted(request)

    def job(unit: Unit) -> Done:
        after = assigned(unit, form.v.who, id, form.get("to") or None)
        return Done(said=f"Assigned to {after.assigned_to or 'nobody'}", to=_back(form, str(id)))

    return await form.do(job, "review")


@router.post("/ui/reviews/{id}/snooze")
async def snooze(request: Request, id: UUID) -> Response:
    """Put the review to the end of the inbox for a time, or until one, and go to the next."""
    form = await posted(request)
    length = form.get("for")
    if length and not (length.isdecimal() and len(length) < 9):
        raise BadRequest(f"{length[:40]!r} is not a number of seconds")
    until = utc_moment(form.get("until"))

    def job(unit: Unit) -> Done:
        found = reviews.get(unit.conn, id)
        may_decide(form.v.who, found)
        actor = form.v.who.actor_in(found.workspace)
        if not length and until is None:
            review_queue.wake(unit, id, actor)
            return Done(said="No longer snoozed", to=_back(form, str(id)))
        end = unit.now + int(length) * SECOND if length else until
        assert end is not None
        review_queue.snooze(unit, id, end, actor)
        return Done(said=f"Snoozed until {exact(end)}", to=_back(form, form.get("following")))

    return await form.do(job, "review")


@router.post("/ui/reviews/together")
async def together(request: Request) -> Response:
    """Decide several reviews that ask the same question."""
    form = await posted(request)
    v, decision = form.v, form["decision"]
    ids = form.many.get("review", [])[:SHOWN]

    def job(unit: Unit) -> Done:
        done, refused = 0, []
        for text in ids:
            try:
                found = reviews.get(unit.conn, UUID(text))
                may_decide(v.who, found)
                if found.form:
                    raise BadRequest("it has a form; decide it separately")
                with unit.savepoint() as inner:
                    reviews.decide(
                        inner, found.id, decision, v.who.actor_in(found.workspace), reason=form.get("reason")
                    )
                done += 1
            except (EngineError, ValueError) as error:
                refused.append(str(error))
        message = f"{done} decided: {title(decision)}"
        return Done(said=message + (f"; {len(refused)} not: {refused[0]}" if refused else ""), to=_back(form))

    return await form.do(job, "review")


@router.post("/ui/reviews/undo")
async def undo(request: Request) -> Response:
    form = await posted(request)
    v = form.v
    try:
        wanted, decided = UUID(form["instance"]), UUID(form["review"]) if form.get("review") else None
    except ValueError:
        raise BadRequest("that is not the id of an instance and of a review") from None

    def job(unit: Unit) -> Done:
        instance = unit.lock(wanted)
        actor = v.who.actor_in(instance.workspace)
        review = reviews.get(unit.conn, decided) if decided is not None else None
        leads = [a.to for a in firing.allowed(instance, unit.machine(instance), actor) if a.event == form["event"]]
        if review is None or not _is_own(v, review, instance) or leads != [instance.previous]:
            require(v.who, "fire", instance.workspace, f"instance {wanted}", machine=instance.machine)
        firing.fire(unit, wanted, form["event"], actor, reason="undone", expected_seq=form.seq)
        return Done(said=f"Undone: {title(instance.state)} again", to=_back(form))

    return await form.do(job, "fire")
