"""The blind check: a person reads an approved contract without the machine's values, beside the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter
from fastapi.responses import Response

from interlock.apps.contracts import naming
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import contract
from interlock.apps.contracts.pages.claiming import claimed_by_other, has_claimed, over, reviewer_of, task_of
from interlock.apps.contracts.pages.document import PDF, PageNumber, Words, instance_of, page_context
from interlock.apps.contracts.pages.entered import KINDS
from interlock.apps.contracts.review import blind_sample
from interlock.apps.contracts.review.page_search import LONGEST, Hit, search
from interlock.apps.contracts.steps import vertical_of
from interlock.apps.contracts.workflow.step_calls import kept, settings_of
from interlock.dashboard.forms import Done, Posted
from interlock.dashboard.site import Reader, Visitor, render
from interlock.engine import AlreadyDecided, Instance, InvalidData, NotFound, OpenReview, ReviewClaimed, reviews
from interlock.engine.application import Unit

router = APIRouter(include_in_schema=False)
MOST = 2000


@dataclass(frozen=True, slots=True)
class Question:
    """One field that the reader looks up."""

    name: str
    label: str
    help: str
    kind: str
    value: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class BlindSheet:
    """The page: the file and empty questions. Nothing in it comes from the machine's reading."""

    instance: Instance
    task: OpenReview
    questions: Sequence[Question]
    sizes: Sequence[tuple[float, float]]
    text: str
    page: int
    hits: Sequence[Hit] = ()

    @property
    def pdf(self) -> bool:
        return bool(self.instance.data["media_type"] == PDF)

    @property
    def pages(self) -> int:
        return len(self.sizes)

    @property
    def open(self) -> bool:
        return self.task.status == "open"

    @property
    def empty(self) -> bool:
        return not any(one.value for one in self.questions)

    @property
    def parts(self) -> tuple[str, str, str]:
        return self.text, "", ""

    def size(self) -> tuple[float, float]:
        return self.sizes[self.page - 1] if self.sizes else (0.0, 0.0)


@router.get("/ui/contracts/{id}/blind")
async def blind(v: Reader, id: UUID, page: PageNumber = None, q: Words = "") -> Response:
    return await _show(v, id, page=page, words=q)


@router.post("/ui/contracts/{id}/blind")
async def post(form: Posted, id: UUID) -> Response:
    """Store the answers, or show them again with what is wrong. An empty form needs to be confirmed."""
    v = form.v
    settings = settings_of(v.service)
    given = {name.partition(".")[2]: value.strip() for name, value in form.fields.items() if name.startswith("value.")}
    page, words = _number(form.get("page")), form.get("q")[:LONGEST]
    if "look" in form.fields:
        kind, _, what = form.get("look").partition(":")
        return await _show(v, id, given=given, page=_number(what) if kind == "page" else page, words=words)
    made = await v.service.read(lambda conn: _sheet(conn, instance_of(conn, id, v), settings, given, page, ""))
    decision = form.get("decision")
    if decision not in {blind_sample.DONE, blind_sample.UNREADABLE}:
        return await _show(v, id, given=given, page=page, message="Nothing was sent: choose Done or Unreadable.")
    if decision == blind_sample.DONE:
        if wrong := [one for one in made.questions if one.error]:
            message = "Nothing was sent. " + "; ".join(one.error for one in wrong) + "."
            return await _show(v, id, given=given, page=page, message=message)
        if made.empty and form.get("sure") != "yes":
            message = "Nothing was sent: no field has a value. If the contract says none of this, confirm it below."
            return await _show(v, id, given=given, page=page, message=message, confirm=True)
    answer = {one.name: one.value[:MOST] for one in made.questions if decision == blind_sample.DONE}

    def job(unit: Unit) -> Done:
        instance = reviewer_of(unit, id, v)
        task = task_of(unit.conn, instance, "blind")
        if task is None or task.status != "open":
            return Done(said=over(task), to=f"/ui/contracts/{id}/blind")
        reviews.decide(unit, task.id, decision, v.who.actor_in(task.workspace), answer=answer)
        return Done(said=f"Thank you. Your reading of {naming.file_of(instance.data)} is counted.", to="/ui/reviews")

    try:
        return await form.do(job, "review")
    except (AlreadyDecided, ReviewClaimed, InvalidData) as error:
        text = str(error)
        return await _show(v, id, given=given, page=page, message=f"{text[:1].upper()}{text[1:]}.", status=409)


async def _show(
    v: Visitor,
    id: UUID,
    *,
    given: Mapping[str, str] | None = None,
    page: int | None = None,
    words: str = "",
    message: str = "",
    confirm: bool = False,
    status: int = 0,
) -> Response:
    settings = settings_of(v.service)
    made = await v.service.read(lambda conn: _sheet(conn, instance_of(conn, id, v), settings, given, page, words))
    me = str(v.who.actor_in(made.instance.workspace))
    place = page_context(
        id,
        f"/ui/contracts/{id}/blind",
        may=made.open and v.may("review", made.instance.workspace, contract.name),
        taken_by=claimed_by_other(made.task, me, v.now),
        mine=has_claimed(made.task, me, v.now),
    )
    return await render(
        v,
        "contracts/blind.html",
        status=status or (422 if message else 200),
        layout="base.html",
        s=made,
        p=place,
        file=naming.file_of(made.instance.data),
        message=message,
        confirm=confirm,
        words=words,
        hits=made.hits,
    )


def _sheet(
    conn: sa.Connection,
    instance: Instance,
    settings: Any,
    given: Mapping[str, str] | None,
    page: int | None,
    words: str,
) -> BlindSheet:
    data = kept(instance).data
    task = task_of(conn, instance, "blind")
    if task is None or not data.get("text"):
        raise NotFound(f"{naming.file_of(data)} is in no sample")
    vertical = vertical_of(data["vertical"], settings)
    document = stored.document(conn, instance.id, data)
    shown = min(max(page or 1, 1), max(len(document.pages), 1))
    return BlindSheet(
        instance,
        task,
        _questions(task, vertical, given or {}),
        [(p.width, p.height) for p in document.pages],
        "" if data["media_type"] == PDF else document.page(shown).text,
        shown,
        search(document, words),
    )


def _questions(task: OpenReview, vertical: Vertical, given: Mapping[str, str]) -> list[Question]:
    """The fields that the review asks for, as they were when it was opened."""
    known = {one.name: one for one in vertical.fields}
    found = []
    for name, asked in ((task.form or {}).get("properties") or {}).items():
        definition = known.get(name)
        kind = KINDS.get(definition.type, "") if definition is not None else ""
        one = Question(name, str(asked.get("title") or name), definition.help if definition else "", kind)
        value = given.get(name, "")
        wrong = definition is not None and value and normalise(definition.type, value, vertical.locale) is None
        error = f"{one.label}: {value[:80]!r} is not {kind or 'a value of this field'}" if wrong else ""
        if len(value) > MOST:
            error = f"{one.label}: a value has at most {MOST:,} characters"
        found.append(replace(one, value=value, error=error))
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < len(text) < 7 else None
