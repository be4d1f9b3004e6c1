"""One instance: its explanation, its actions, and everything that happened to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.ai import calls
from interlock.dashboard import diagram, evidence, family, formatting, schema, timeline
from interlock.dashboard.kinds import kind_of
from interlock.dashboard.names import called
from interlock.dashboard.pages.instance_actions import accepts
from interlock.dashboard.site import Reader, Visitor, render
from interlock.dashboard.views import View, view_for
from interlock.engine import (
    Instance,
    NotFound,
    artifacts,
    deadletters,
    effects,
    firing,
    lineage,
    outbox,
    reviews,
    secrets,
    visits,
)
from interlock.engine.audit import replaying
from interlock.engine.firing import allowed
from interlock.engine.unit import load
from interlock.http.caller import visible
from interlock.machine import Machine
from interlock.store import micros
from interlock.store import tables as t
from interlock.store.ai import ai_call

router = APIRouter(include_in_schema=False)
TABS = ("timeline", "data", "artifacts", "effects", "family", "messages", "ai")
MOST_RELATIVES = 200
MOST_PREVIEWS = 8
MOST_REPLAYED = 2_000
MOST_MOVES = 500
WHO = {
    "user": "people of the workspace",
    "owner": "owners",
    "agent": "agents",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """An event that this person may fire now."""

    event: str
    to: str | None
    kind: str
    fields: Sequence[schema.Field]
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Relative:
    """An instance of the same lineage, with its depth."""

    instance: Instance
    title: str
    depth: int


def _machine(v: Visitor, instance: Instance) -> Machine | None:
    found = v.service.engine.core.served.get((instance.machine, instance.version))
    return found if found is not None and instance.state in found.states else None


@router.get("/ui/instances/{id}")
async def instance(
    v: Reader,
    id: UUID,
    tab: Annotated[str, Query(max_length=20)] = "timeline",
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    verify: bool = False,
) -> Response:
    it = await visible(v.service, v.who, id)
    machine = _machine(v, it)
    why = await v.service.call(v.service.engine.explain, id)
    chosen = tab if tab in TABS else "timeline"

    def read(conn: sa.Connection) -> dict[str, Any]:
        found: dict[str, Any] = {
            "letters": _open_letters(conn, id),
            "review": _open_review(conn, id),
            "counts": _counts(conn, it),
            "moves": _moves(conn, id),
            "parent": _load(conn, t.instance.c.id == it.parent)[:1] if it.parent else [],
        }
        match chosen:
            case "timeline":
                span = timeline.read(conn, it, before)
                found["line"] = timeline.make(span, it, machine, why, v.now, _data_before(conn, id, span.first))
            case "artifacts":
                found["artifacts"] = _previews(conn, id, view_for(v.service.engine.registry, it))
            case "effects":
                found["effects"] = [e for e in effects.of(conn, id) if e.kind != calls.KIND]
            case "ai":
                found["calls"] = calls.of(conn, id)
            case "family":
                found["family"], found["whole"] = _family(conn, v, it)
                found["lives"] = _lives(conn, v, found["family"], found["whole"])
            case "messages":
                found["messages"] = outbox.page(conn, instance_id=id, workspaces=[it.workspace]).messages
        return found

    found = await v.service.read(read)
    verdict = await v.service.call(v.service.engine.verify, id) if verify else None
    view = view_for(v.service.engine.registry, it)
    choices = _choices(v, it, machine)
    if found["review"] is not None and view.review_page(found["review"], it):
        # The review is decided on its own page, beside the evidence; the same events here would bypass that.
        choices = [c for c in choices if c.event not in found["review"].decisions.values()]
    actor = v.who.actor_in(it.workspace)
    operate = v.may("operate", it.workspace, it.machine)
    cancels = any(machine is not None and c.to == machine.cancel for c in choices)
    return await render(
        v,
        "instance.html",
        it=it,
        machine=machine,
        why=why,
        tab=chosen,
        choices=choices,
        title=view.title(it),
        key=view.key(it),
        parent_title=called(v.service.engine.registry, found["parent"][0]) or str(it.parent)[-8:]
        if found["parent"]
        else "",
        links=view.links(it),
        explanation=timeline.plainly(why, v.now),
        tone=_tone(why, machine, it),
        who_may=_who_may(why, choices),
        coming=[(timeline.upcoming_sentence(c.what), micros(c.at)) for c in why.upcoming if micros(c.at) > v.now],
        labels=it.shown_labels,
        verdict=verdict,
        before=before,
        picture=diagram.for_instance(machine, found.pop("moves"), it) if machine is not None else None,
        can_pause=operate and it.finished_at is None and it.paused_at is None and machine is not None,
        can_resume=operate and it.paused_at is not None,
        can_cancel=operate and machine is not None and not cancels and firing.can_cancel(it, machine, actor),
        can_force=machine is not None and v.may("force", it.workspace, it.machine),
        operate=operate,
        tabs=_tabs(found["counts"]),
        here=f"/ui/instances/{id}",
        kind=kind_of(machine, it.state),
        **found,
    )


# -- the content of the page


def _tone(why: Any, machine: Machine | None, it: Instance) -> str:
    """The colour of the explanation; amber is for people."""
    kind = kind_of(machine, it.state)
    if kind in {"failed", "done", "ended"}:
        return kind
    return "person" if why.waits_for in {"person", "code"} else "work" if why.waits_for == "worker" else ""


def _who_may(why: Any, choices: Sequence[Choice]) -> str:
    """Describe who can act now, and how."""
    parts = []
    if choices:
        parts.append("you: " + ", ".join(formatting.title(c.event) for c in choices))
    mine = {c.event for c in choices}
    others: dict[str, list[str]] = {}
    for one in why.next:
        if one.event not in mine:
            who = " or ".join(WHO[by] for by in ("user", "owner", "agent") if by in one.by)
            if who:
                others.setdefault(who, []).append(formatting.title(one.event))
    parts += [f"{who}: {', '.join(events)}" for who, events in others.items()]
    return "; ".join(parts)


def _choices(v: Visitor, it: Instance, machine: Machine | None) -> list[Choice]:
    if machine is None or not v.may("fire", it.workspace, it.machine):
        return []
    found: dict[str, Choice] = {}
    for one in allowed(it, machine, v.who.actor_in(it.workspace)):
        if one.event not in found:
            kind = kind_of(machine, one.to) if one.to is not None else "work"
            found[one.event] = Choice(one.event, one.to, kind, _fields(machine, it, one.event))
    order = list(found.values())
    forward = next((n for n, c in enumerate(order) if c.kind not in {"ended", "failed"}), None)
    if forward is not None and it.paused_at is None:
        order[forward] = replace(order[forward], primary=True)
    return sorted(order, key=lambda c: (not c.primary, c.kind in {"ended", "failed"}))


def _fields(machine: Machine, it: Instance, event: str) -> list[schema.Field]:
    part = accepts(machine, it, event)
    # Redacted values are left empty, or the placeholder would be sent back as the value.
    known = {name: value for name, value in it.shown_data.items() if secrets.shown({name: value}) == {name: value}}
    return schema.fields(part, known) if part else []


def _counts(conn: sa.Connection, it: Instance) -> dict[str, int]:
    """The number of entries behind each tab."""

    def many(table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
        few = sa.select(sa.literal(1)).select_from(table).where(*where).limit(100).subquery()
        return int(conn.execute(sa.select(sa.func.count()).select_from(few)).scalar_one())

    return {
        "artifacts": many(t.artifact_ref, t.artifact_ref.c.instance_id == it.id),
        "effects": many(
            t.effect, t.effect.c.instance_id.in_(visits.line(conn, it.id, it.parent)), t.effect.c.kind != calls.KIND
        ),
        "ai": many(ai_call, ai_call.c.instance_id == it.id),
        "family": many(t.instance, t.instance.c.root == it.root, t.instance.c.parent.is_not(None)),
        "messages": many(t.outbox, t.outbox.c.instance_id == it.id),
    }


def _tabs(counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    named = (
        ("timeline", "Timeline"),
        ("data", "Data"),
        ("artifacts", "Artifacts"),
        ("effects", "Effects"),
        ("ai", "Model calls"),
        ("family", "Family"),
        ("messages", "Messages"),
    )
    return [(tab, name, counts.get(tab, 0)) for tab, name in named if tab != "ai" or counts["ai"]]


def _moves(conn: sa.Connection, id: UUID) -> list[Any]:
    """The newest part of its path, for the diagram."""
    h = t.history
    query = sa.select(h.c.from_state, h.c.to_state).where(h.c.instance_id == id, h.c.to_state.is_not(None))
    return list(conn.execute(query.order_by(h.c.seq.desc()).limit(MOST_MOVES)))


def _data_before(conn: sa.Connection, id: UUID, first: int) -> dict[str, Any]:
    """The data before a row. With a very long history only later rows are compared."""
    if not 1 < first <= MOST_REPLAYED:
        return {}
    past = replaying.replay(replaying.history(conn, id, limit=first - 1))
    return past.data if past is not None else {}


def _open_letters(conn: sa.Connection, id: UUID) -> list[deadletters.DeadLetter]:
    query = sa.select(t.dead_letter.c.id).where(t.dead_letter.c.instance_id == id, t.dead_letter.c.status == "open")
    return [deadletters.get(conn, one) for one in conn.execute(query.limit(5)).scalars()]


def _open_review(conn: sa.Connection, id: UUID) -> reviews.OpenReview | None:
    query = sa.select(t.review.c.id).where(t.review.c.instance_id == id, t.review.c.status == "open")
    found = conn.execute(query.order_by(t.review.c.id).limit(1)).scalar()
    return reviews.get(conn, found) if found is not None else None


def _load(conn: sa.Connection, *where: sa.ColumnElement[bool]) -> list[Instance]:
    query = sa.select(t.instance).where(*where).order_by(t.instance.c.depth, t.instance.c.id).limit(MOST_RELATIVES + 1)
    return load(conn, conn.execute(query).all())


def _family(conn: sa.Connection, v: Visitor, it: Instance) -> tuple[list[Relative], bool]:
    """All instances with the same root, as a tree with parents before children."""
    found = [
        one
        for one in _load(conn, lineage.family(it.root))
        if one.workspace == it.workspace and v.may("read", one.workspace, one.machine)
    ]
    below: dict[UUID | None, list[Instance]] = {}
    known = {one.id for one in found}
    for one in found[:MOST_RELATIVES]:
        below.setdefault(one.parent if one.parent in known else None, []).append(one)
    registry, line = v.service.engine.registry, []
    todo = [(one, 0) for one in reversed(below.get(None, []))]
    while todo:
        one, depth = todo.pop()
        line.append(Relative(one, view_for(registry, one).title(one), depth))
        todo += [(child, depth + 1) for child in reversed(below.get(one.id, []))]
    return line, len(found) <= MOST_RELATIVES


def _lives(conn: sa.Connection, v: Visitor, relatives: Sequence[Relative], whole: bool) -> family.Lives | None:
    """The family over time; None for an instance without relatives."""
    if len(relatives) < 2:
        return None
    entered = family.moves(conn, [one.instance.id for one in relatives[: family.DRAWN]])
    line = [(one.instance, one.title, one.depth) for one in relatives]
    return family.lives(v.service.engine.registry, line, entered, v.now, whole=whole)


def _previews(conn: sa.Connection, id: UUID, view: View) -> list[evidence.Shown]:
    """The newest first; the first few with their content."""
    found = artifacts.of(conn, id)[::-1]
    return [evidence.preview(conn, id, one, view, content=n < MOST_PREVIEWS) for n, one in enumerate(found[:100])]


@router.get("/ui/instances/{id}/artifacts/{digest}")
async def artifact(v: Reader, id: UUID, digest: str) -> Response:
    """Serve an artifact with headers that forbid active content."""
    await visible(v.service, v.who, id)

    def read(conn: sa.Connection) -> tuple[artifacts.Artifact, bytes]:
        found = next((one for one in artifacts.of(conn, id) if one.hash == digest), None)
        if found is None:
            raise NotFound(f"instance {id} has no artifact {digest[:64]!r}")
        return found, artifacts.read(conn, id, digest)

    return evidence.served(*await v.service.read(read))


# -- actions
