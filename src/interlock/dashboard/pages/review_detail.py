"""What the inbox shows of one review: the evidence, what each decision does, and who may decide."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa

from interlock.dashboard import schema, timeline
from interlock.dashboard.decisions import leads
from interlock.dashboard.evidence import Shown, needs_content, preview
from interlock.dashboard.formatting import ago
from interlock.dashboard.site import Visitor
from interlock.dashboard.views import Block, ViewContext, view_for
from interlock.engine import EngineError, Instance, OpenReview, artifacts
from interlock.http.api.reviews import may_decide, role_of
from interlock.people import accounts
from interlock.store import SECOND, Micros, micros

MOST_INLINE = 60_000
"""The longest text, in bytes, that is shown inside the evidence; images and PDF files are loaded by themselves."""
TURNS = {"reject", "refuse", "no", "discard", "cancel", "send_back", "deny", "decline", "did_not_arrive"}
"""Names of rejecting decisions, which get the key r and an outlined button."""


async def detail(v: Visitor, chosen: OpenReview) -> dict[str, Any]:
    """Everything about the selected review that its page shows."""
    engine = v.service.engine
    instance: Instance = await v.service.call(engine.get, chosen.instance_id)
    why = await v.service.call(engine.explain, chosen.instance_id)
    view = view_for(engine.registry, instance)

    def read(conn: sa.Connection) -> tuple[list[Block], dict[str, Shown]]:
        kept = artifacts.of(conn, chosen.instance_id)
        blocks = view.evidence(ViewContext(instance, chosen, kept, partial(artifacts.read, conn, instance.id)))
        named = {block.artifact for block in blocks if block.kind == "artifact"}
        inline = [one for one in kept if one.name in named and (one.size <= MOST_INLINE or not needs_content(one))]
        # The newest of a name is the last.
        newest = {one.name: one for one in inline}
        return blocks, {name: preview(conn, instance.id, one, view) for name, one in newest.items()}

    blocks, files = await v.service.read(read)
    machine = engine.registry.get(chosen.machine)
    names = list(chosen.decisions)
    good = [n for n in names if n not in TURNS and chosen.decisions[n] not in TURNS]
    return {
        "instance": instance,
        "machine": machine,
        "why": why,
        "title": view.review_title(chosen, instance),
        "key": view.key(instance),
        "summary": view.summary(chosen, instance),
        "blocks": blocks,
        "files": files,
        "fields": schema.fields(chosen.form, {**instance.data, **(chosen.answer or {})}),
        "primary": good[0] if good else None,
        "turned": next((n for n in names if n not in good), None),
        "decisions": names,
        "leads": {**leads(machine, instance, chosen), **view.leads(chosen, instance)},
        "coming": [
            f"{timeline.upcoming_sentence(c.what).rstrip('.')}, {ago(micros(c.at), v.now)}" for c in why.upcoming
        ],
        "snoozed": (chosen.snoozed_until or 0) > v.now,
        "snoozes": _snoozes(chosen, v.now),
        "people": await v.service.read(lambda conn: _people(conn, chosen)),
        "may": _may(v, chosen),
        "claimed_by": claimed_by_other(v, chosen),
        "review_page": view.review_page(chosen, instance),
    }


SNOOZES = (("an hour", 3600), ("four hours", 4 * 3600), ("a day", 24 * 3600), ("a week", 7 * 24 * 3600))


def _snoozes(chosen: OpenReview, now: Micros) -> list[tuple[str, int]]:
    """For how long it can be snoozed: it must be back before it is due."""
    return [
        (words, seconds)
        for words, seconds in SNOOZES
        if chosen.due_at is None or now + seconds * SECOND < chosen.due_at
    ]


def _people(conn: sa.Connection, chosen: OpenReview) -> list[str]:
    """The names of those who may decide it."""
    return [
        person.name
        for person in accounts.everyone(conn, chosen.workspace)
        if person.disabled_at is None and person.roles[chosen.workspace].includes(role_of(chosen))
    ]


def _may(v: Visitor, chosen: OpenReview) -> bool:
    try:
        may_decide(v.who, chosen)
    except EngineError:
        return False
    return True


def claimed_by_other(v: Visitor, chosen: OpenReview) -> str:
    """Who has claimed it, if that is somebody else."""
    me = str(v.who.actor_in(chosen.workspace))
    claimed = chosen.claimed_by is not None and (chosen.claimed_until or 0) > v.now
    return chosen.claimed_by or "" if claimed and chosen.claimed_by != me else ""
