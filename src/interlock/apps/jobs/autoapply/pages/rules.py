"""Rules: the list, the editor with what a rule would have taken of the stored postings, and what it decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.api.access import workspace_of_rule
from interlock.apps.jobs.autoapply.pages import rule_form, wording
from interlock.apps.jobs.autoapply.queueing import rule_changes
from interlock.apps.jobs.autoapply.records import applications, decisions, rules
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.review import deciding
from interlock.apps.jobs.autoapply.rules import ApplyRule, RuleError, check_rule, daily_limit
from interlock.apps.jobs.autoapply.rules.criteria import WEEKDAYS
from interlock.apps.jobs.finder.pages.frame import ROOT, JobsFrame, acting, seen_workspace, show
from interlock.apps.jobs.finder.sources import KINDS
from interlock.dashboard.forms import Done, Form, Posted
from interlock.dashboard.site import Reader, Visitor
from interlock.engine import Refused
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.http.waiting_slots import counted_for

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
SHOWN = 40
"""Postings of each list of a preview."""
DECIDED = 20
PATH = f"{ROOT}/apply-rules"


@router.get("/ui/jobs/apply-rules")
async def listed(v: Reader, workspace: Text = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        made = applications.counts_by_rule(conn, jobs.workspace)
        return {
            "rows": [(row, wording.criteria(row.rule), made.get(row.id, {})) for row in rules.of(conn, jobs.workspace)],
            "most": rule_changes.MOST_RULES,
        }

    return await show(v, "rules.html", workspace, read, folder="apply", daily_limit=daily_limit)


@router.get("/ui/jobs/apply-rules/new")
async def new(v: Reader, workspace: Text = "") -> Response:
    """The editor of a rule that is not stored yet. An empty rule shows what there is to take."""
    place = seen_workspace(v, workspace)
    return await _editor(v, place, None, rule_form.fields_of(None))


@router.get("/ui/jobs/apply-rules/{id}")
async def rule(v: Reader, id: UUID, workspace: Text = "", decided: Text = "", after: UUID | None = None) -> Response:
    """`decided` is `taken`, `not` or the name of a check that blocks."""

    def read(conn: sa.Connection) -> tuple[str, RuleRow]:
        place = workspace_of_rule(conn, id, v.who)
        return place, rules.existing(conn, place, id)

    place, row = await v.service.read(read)
    return await _editor(v, place, row, rule_form.fields_of(row.rule), decided=decided, after=after)


@router.post("/ui/jobs/apply-rules/new")
async def add(form: Posted) -> Response:
    """Show what a new rule would take, or store it."""
    place = acting(form)
    if form["do"] == "preview":
        return await _editor(form.v, place, None, rule_form.given(form))
    _one_of(form["do"], "save")
    wanted = await _wanted(form, place, None)
    if isinstance(wanted, Response):
        return wanted
    actor = form.v.who.actor_in(place)

    def job(unit: Unit) -> Done:
        made = rule_changes.add(unit, place, wanted, actor)
        return Done(said="Stored. It decides about the stored matches within seconds.", to=f"{PATH}/{made.id}")

    return await form.do(job, "write_rule")


@router.post("/ui/jobs/apply-rules/{id}")
async def change(form: Posted, id: UUID) -> Response:
    """Show what a changed rule would take, store it, pause or resume it, or delete it."""
    v, wanted = form.v, form["do"]
    _one_of(wanted, "preview", "save", "pause", "resume", "delete")

    def read(conn: sa.Connection) -> tuple[str, RuleRow]:
        place = workspace_of_rule(conn, id, v.who, write=True)
        return place, rules.existing(conn, place, id)

    place, row = await v.service.read(read)
    actor = v.who.actor_in(place)
    if wanted == "preview":
        return await _editor(v, place, row, rule_form.given(form))
    if wanted == "save":
        checked = await _wanted(form, place, row)
        if isinstance(checked, Response):
            return checked
        seen = form["seen"]

        def job(unit: Unit) -> Done:
            before = rules.find(unit.conn, place, id, lock=True)
            if before is None or str(before.changed_at) != seen:
                raise Refused("the rule was changed since you opened this page; load it again", [])
            rule_changes.replace(unit, place, id, checked, actor)
            return Done(said="Stored. It decides about the stored matches again.", to=f"{PATH}/{id}")

        return await form.do(job, "write_rule")

    def other(unit: Unit) -> Done:
        if wanted == "delete":
            rules.delete(unit, place, id, actor.name)
            return Done(said=f"Deleted: {row.name}. Its applications stay and continue.", to=PATH)
        many = deciding.pause_rule if wanted == "pause" else deciding.resume_rule
        done = many(unit, place, id, actor)
        words = "Paused" if wanted == "pause" else "Resumed"
        return Done(said=f"{words}: {row.name}, with {wording.many(done.applications, 'application')}.")

    return await form.do(other, "write_rule")


def _one_of(wanted: str, *known: str) -> None:
    if wanted not in known:
        raise BadRequest(f"{wanted[:40]!r} cannot be done with a rule; there are {', '.join(known)}")


async def _wanted(form: Form, place: str, row: RuleRow | None) -> ApplyRule | Response:
    """The rule that the form describes, or the form again with what is wrong in it."""
    fields = rule_form.given(form)
    try:
        return check_rule(rule_form.values_of(fields))
    except RuleError as error:
        return await _editor(form.v, place, row, fields, problems=str(error).split("\n"))


async def _editor(
    v: Visitor,
    place: str,
    row: RuleRow | None,
    fields: Mapping[str, Any],
    *,
    problems: list[str] | None = None,
    decided: str = "",
    after: UUID | None = None,
) -> Response:
    found, wrong = None, problems or []
    if not problems:
        try:
            # A rule needs a name to be stored, and none to show what it takes.
            asked = check_rule(rule_form.values_of({**fields, "name": fields["name"] or "new"}))
        except RuleError as error:
            wrong = str(error).split("\n")
        else:
            found = await _preview(v, place, asked)

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        return {} if row is None else _decided(conn, jobs, row, decided, after)

    return await show(
        v,
        "rule.html",
        place,
        read,
        folder="apply",
        status=422 if problems else 200,
        row=row,
        fields=fields,
        problems=wrong,
        refused=bool(problems),
        preview=found,
        most_previewed=rule_changes.MOST_ON_PAGE,
        shown=SHOWN,
        kinds=list(KINDS),
        days=WEEKDAYS,
        periods=rule_form.PERIODS,
        decided=decided,
        check_words=wording.check_words,
    )


async def _preview(v: Visitor, place: str, rule: ApplyRule) -> dict[str, Any]:
    return await v.service.heavy.run(
        v.request,
        counted_for(v.who),
        lambda stop: v.service.engine.read(
            lambda conn: rule_changes.preview_of(conn, place, rule, stopped=stop.is_set, most=rule_changes.MOST_ON_PAGE)
        ),
    )


def _decided(conn: sa.Connection, jobs: JobsFrame, row: RuleRow, decided: str, after: UUID | None) -> Mapping[str, Any]:
    """What the rule decided, with every check, and how many postings each check excludes."""
    wanted: dict[str, Any] = {}
    if decided in ("taken", "not"):
        wanted["taken"] = decided == "taken"
    elif decided:
        wanted["blocked_by"] = decided
    made = decisions.page(conn, jobs.workspace, rule=row.id, after=after, limit=DECIDED + 1, **wanted)
    names = decisions.posting_names(conn, jobs.workspace, [one.posting_id for one in made])
    older = made[DECIDED - 1].id if len(made) > DECIDED else None
    return {
        "decisions": [(one, names.get(one.posting_id, ("", ""))) for one in made[:DECIDED]],
        "blocked": decisions.blocked_counts(conn, row.id),
        "next": jobs.url(f"/apply-rules/{row.id}", decided=decided, after=older) + "#decisions" if older else "",
        "made": applications.counts_by_rule(conn, jobs.workspace).get(row.id, {}),
    }
