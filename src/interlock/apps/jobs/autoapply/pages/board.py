"""The board after applying: its stages, what mail proposes, and one application with its notes, contacts and dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.apps.jobs.autoapply.board import cards, dates, entries
from interlock.apps.jobs.autoapply.board.access import workspace_of_application
from interlock.apps.jobs.autoapply.board.api import date_file as date_as_file
from interlock.apps.jobs.autoapply.board.dates import DateKind
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.apps.jobs.autoapply.mail import proposals
from interlock.apps.jobs.autoapply.mail.statements import LEADS_TO
from interlock.apps.jobs.autoapply.pages.times import asked_time, zone_of
from interlock.apps.jobs.autoapply.records.applications import ApplicationRow
from interlock.apps.jobs.finder.pages.frame import JobsFrame, acting, show
from interlock.dashboard.forms import Done, Form, Posted
from interlock.dashboard.site import Reader
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
IN_STAGE = 40
"""Cards of a stage that the board shows; the others are found by words."""
STAGES = {
    Stage.SUBMITTED: ("work", "Submitted"),
    Stage.SCREENING: ("person", "Screening"),
    Stage.INTERVIEW: ("person", "Interview"),
    Stage.OFFER: ("done", "Offer"),
    Stage.CLOSED: ("ended", "Closed"),
}
"""Stage → the kind that colours it, and its heading."""
LONGEST = 2000


@router.get("/ui/jobs/board")
async def board(v: Reader, workspace: Text = "", q: Text = "") -> Response:
    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        found = {stage: cards.page(conn, jobs.workspace, stages=[stage], q=q, limit=IN_STAGE + 1) for stage in Stage}
        said = proposals.page(conn, jobs.workspace, limit=20)
        return {
            "columns": [(stage, some[:IN_STAGE], len(some) > IN_STAGE) for stage, some in found.items()],
            "counts": cards.counts(conn, jobs.workspace),
            "proposals": [(one, _about(conn, jobs.workspace, one)) for one in said],
        }

    return await show(
        v,
        "board.html",
        workspace,
        read,
        folder="apply",
        q=q,
        stages=STAGES,
        endings=list(Ending),
        leads_to=_leads_to,
    )


def _about(conn: sa.Connection, place: str, one: proposals.Proposal) -> list[ApplicationRow]:
    """The applications that a mail may be about."""
    ids = [one.application_id] if one.application_id is not None else list(one.candidates)
    return [card.application for card in cards.some(conn, place, ids)]


def _leads_to(one: proposals.Proposal) -> str:
    """Where the card goes if the person agrees."""
    leads = LEADS_TO[one.kind]
    if leads is None:
        return ""
    stage, ending = leads
    return STAGES[stage][1].lower() + (f", {ending.replace('_', ' ')}" if ending is not None else "")


@router.get("/ui/jobs/board/{id}")
async def card(v: Reader, id: UUID, workspace: Text = "") -> Response:
    place = await v.service.read(lambda conn: workspace_of_application(conn, id, v.who))

    def read(conn: sa.Connection, jobs: JobsFrame) -> Mapping[str, Any]:
        found = cards.card_of(conn, place, id)
        said = proposals.page(conn, place, state=None, application_id=id, limit=50)
        return {
            "card": found,
            "row": found.application,
            "moves": cards.moves(conn, id)[::-1],
            "notes": entries.notes(conn, id),
            "contacts": entries.contacts(conn, id),
            "dates": dates.of(conn, id),
            "proposals": [(one, [found.application]) for one in said],
            "zone": zone_of(jobs),
        }

    return await show(
        v,
        "card.html",
        place,
        read,
        folder="apply",
        stages=STAGES,
        endings=list(Ending),
        date_kinds=list(DateKind),
        leads_to=_leads_to,
    )


@router.get("/ui/jobs/board/{id}/dates/{date}.ics")
async def date_file(v: Reader, id: UUID, date: UUID) -> Response:
    return await date_as_file(v.service, v.who, id, date)


# -- what a person changes

Do = Callable[[Unit, str, UUID, str, Form], str]


def _move(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    stage = _known(form["stage"], Stage, "stage")
    ending = _known(form.get("ending"), Ending, "ending") if form.get("ending") and stage is Stage.CLOSED else None
    expected = _known(form.get("expected"), Stage, "stage") if form.get("expected") else None
    moved = cards.move_card(
        unit, place, id, stage, actor, ending=ending, reason=form.get("reason").strip()[:LONGEST], expected=expected
    )
    return f"{moved.application.title or 'The application'}: {STAGES[stage][1].lower()}."


def _note(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    text = form["text"].replace("\r\n", "\n").strip()
    if not text:
        raise BadRequest("the note is empty; write something")
    if len(text) > 10_000:
        raise BadRequest(f"the note has {len(text):,} characters; it may have 10,000")
    entries.add_note(unit, cards.application_on_board(unit.conn, place, id), text, actor)
    return "The note is kept."


def _contact(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    given = {name: " ".join(form.get(name).split())[:300] for name in ("name", "role", "email", "phone")}
    if not given["name"]:
        raise BadRequest("the contact has no name; write one")
    row = cards.application_on_board(unit.conn, place, id)
    rest = {name: given[name] or None for name in ("role", "email", "phone")}
    entries.add_contact(unit, row, given["name"], actor, **rest)
    return "The contact is kept."


def _date(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    kind = _known(form["kind"], DateKind, "kind of date")
    what = " ".join(form.get("what").split())[:300] or kind.replace("_", " ")
    at = asked_time(unit.conn, place, form["at"])
    until = asked_time(unit.conn, place, form["until"]) if form.get("until") else None
    row = cards.application_on_board(unit.conn, place, id)
    dates.add(unit, row, kind, what, at, actor, until=until, place=" ".join(form.get("where").split())[:300] or None)
    return "The date is kept."


def _done(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    return f"Done: {dates.finish(unit, place, id, _id(form['date']), actor).what}"


def _put_off(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    return f"Moved: {dates.put_off(unit, place, id, _id(form['date']), asked_time(unit.conn, place, form['at'])).what}"


def _remove_date(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    dates.remove(unit, place, id, _id(form["date"]))
    return "The date is removed."


def _remove_note(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    entries.remove_note(unit, place, id, _id(form["note"]))
    return "The note is removed."


def _remove_contact(unit: Unit, place: str, id: UUID, actor: str, form: Form) -> str:
    entries.remove_contact(unit, place, id, _id(form["contact"]))
    return "The contact is removed."


ACTIONS: dict[str, Do] = {
    "move": _move,
    "note": _note,
    "contact": _contact,
    "date": _date,
    "done": _done,
    "put_off": _put_off,
    "remove_date": _remove_date,
    "remove_note": _remove_note,
    "remove_contact": _remove_contact,
}
"""What a form may do with a card; each returns what is said then."""


@router.post("/ui/jobs/board/{id}")
async def change(form: Posted, id: UUID) -> Response:
    wanted = form["do"]
    if wanted not in ACTIONS:
        raise BadRequest(f"{wanted[:40]!r} cannot be done with a card; there are {', '.join(ACTIONS)}")
    v = form.v
    place = await v.service.read(lambda conn: workspace_of_application(conn, id, v.who, write=True))
    actor = str(v.who.actor_in(place))
    return await form.do(lambda unit: Done(said=ACTIONS[wanted](unit, place, id, actor, form)), "board")


@router.post("/ui/jobs/board")
async def mail(form: Posted) -> Response:
    """Agree or disagree with what a mail says."""
    place, wanted, proposal = acting(form), form["do"], _id(form["proposal"])
    if wanted not in ("accept", "dismiss"):
        raise BadRequest(f"{wanted[:40]!r} cannot be done with a mail; there are accept and dismiss")
    by = str(form.v.who.actor_in(place))
    about = _id(form["application"]) if form.get("application") else None

    def job(unit: Unit) -> Done:
        if wanted == "dismiss":
            proposals.dismiss(unit, place, proposal, by)
            return Done(said="Dismissed. Nothing follows from that mail.")
        _, moved = proposals.accept(unit, place, proposal, by, application_id=about)
        return Done(said=f"{moved.application.title or 'The application'}: {STAGES[moved.stage][1].lower()}.")

    return await form.do(job, "board")


def _known(text: str, kind: Any, what: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise BadRequest(f"{text[:40]!r} is no {what}; there are {', '.join(kind)}") from None


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadRequest(f"{text[:60]!r} is not an id; load the page again") from None
