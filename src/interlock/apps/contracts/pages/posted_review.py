"""A posted review page: the requested decision, and what is wrong with it, before the workflow sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.pages import entered as entering
from interlock.apps.contracts.pages.entered import Given
from interlock.apps.contracts.pages.sheet import sheet
from interlock.apps.contracts.review.page_search import LONGEST
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.workflow.bodies import ReviewBody
from interlock.dashboard.formatting import person
from interlock.engine import Instance, OpenReview, OutOfDate, ReviewClaimed
from interlock.machine import InterlockError

LONGEST_NOTE = 10_000


@dataclass(frozen=True, slots=True)
class PostedReview:
    """What a reviewer posted: a decision, or another view of the page."""

    body: ReviewBody | None = None
    """The decision for the workflow; None if the page is only shown again, with everything entered."""
    given: Mapping[str, Given] = field(default_factory=dict)
    notes: str = ""
    field: str = ""
    page: int | None = None
    message: str = ""
    status: int = 200
    words: str = ""
    """Words to find in the document."""


def asked(
    conn: sa.Connection, instance: Instance, settings: ContractSettings, form: Mapping[str, str], seq: int | None
) -> PostedReview:
    """Parse the form. Errors are shown at their field, and nothing that was entered is lost."""
    plain = sheet(conn, instance, settings)
    given = entering.read(plain.vertical, form, {row.name: row.value for row in plain.rows})
    notes = form.get("notes", "")[:LONGEST_NOTE]
    chosen, page = form.get("field", ""), _number(form.get("page", ""))
    words = form.get("q", "")[:LONGEST]
    if "take" in form:
        given = entering.taken(given, form["take"], stored.fields(conn, instance.id, instance.data))
        return PostedReview(given=given, notes=notes, field=form["take"].partition(":")[0])
    if "look" in form:
        kind, _, what = form["look"].partition(":")
        if kind == "page":
            return PostedReview(given=given, notes=notes, field=chosen, page=_number(what), words=words)
        if kind == "find" or (words and what == chosen):  # Enter in the search sends the form's first button
            return PostedReview(given=given, notes=notes, field=chosen, page=page, words=words)
        return PostedReview(given=given, notes=notes, field=what)
    whole = sheet(conn, instance, settings, given=given)

    def refused(message: str, at: str = "") -> PostedReview:
        return PostedReview(given=given, notes=notes, field=at or chosen, page=page, message=message, status=422)

    if wrong := [row for row in whole.rows if row.given.error]:
        return refused("Nothing was decided. " + "; ".join(row.given.error for row in wrong) + ".", wrong[0].name)
    decision = form.get("decision", "")
    if decision not in {"approve", "reject"}:
        return refused("Nothing was decided: choose Approve or Reject.")
    if decision == "approve" and whole.undecided:
        names = ", ".join(row.label for row in whole.undecided)
        return refused(f"Nothing was decided. A decision is missing for: {names}.", whole.undecided[0].name)
    if decision == "reject" and not notes.strip():
        return refused("Nothing was decided. Enter a note with the reason for the rejection.")
    fields = entering.decisions(given)
    corrects = decision == "approve" and any(one.action != "accept" for one in fields)
    body = ReviewBody(action="correct" if corrects else decision, fields=fields, notes=notes, expected_seq=seq)
    return PostedReview(body=body, given=given, notes=notes, field=chosen, page=page)


def message_of(error: InterlockError, *, still_open: bool, task: OpenReview | None = None) -> tuple[str, int]:
    """The message for a refusal of the workflow, and the HTTP status."""
    if not still_open:
        why = "its deadline has passed"
        if task is not None and task.status == "decided":
            why = f"{person(task.decided_by or '')} has already decided ({task.decision})"
        return f"Your decision was not accepted: {why}.", 409
    match error:
        case ReviewClaimed():
            return (
                "Somebody else has claimed this review: your decision was not accepted. Your input is still here.",
                409,
            )
        case OutOfDate():
            return "The contract has changed since you opened this page. Check it and decide again.", 409
    return f"Nothing was decided. {str(error)[:1].upper()}{str(error)[1:]}.", 422


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < len(text) < 7 else None
