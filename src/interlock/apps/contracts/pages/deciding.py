"""A posted review page: what it asks for, and why it cannot be done, before the workflow is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.pages import given as entering
from interlock.apps.contracts.pages.given import Given
from interlock.apps.contracts.pages.sheet import sheet
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.workflow.bodies import ReviewBody
from interlock.engine import Instance, OutOfDate, ReviewClaimed
from interlock.machine import InterlockError

LONGEST_NOTE = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody sent: a decision, or a wish to see the page again in another way."""

    body: ReviewBody | None = None
    """What the workflow is asked to do; None where the page is only shown again, with all that was entered."""
    given: Mapping[str, Given] = field(default_factory=dict)
    notes: str = ""
    field: str = ""
    page: int | None = None
    message: str = ""
    status: int = 200


def asked(
    conn: sa.Connection, instance: Instance, settings: ContractSettings, form: Mapping[str, str], seq: int | None
) -> Asked:
    """Read the form; whatever is wrong with it is said of the field, and nothing that was entered is lost."""
    plain = sheet(conn, instance, settings)
    given = entering.read(plain.vertical, form, {row.name: row.value for row in plain.rows})
    notes = form.get("notes", "")[:LONGEST_NOTE]
    chosen, page = form.get("field", ""), _number(form.get("page", ""))
    if "take" in form:
        given = entering.taken(given, form["take"], stored.fields(conn, instance.id, instance.data))
        return Asked(given=given, notes=notes, field=form["take"].partition(":")[0])
    if "look" in form:
        kind, _, what = form["look"].partition(":")
        if kind == "page":
            return Asked(given=given, notes=notes, field=chosen, page=_number(what))
        return Asked(given=given, notes=notes, field=what)
    whole = sheet(conn, instance, settings, given=given)

    def refused(message: str, at: str = "") -> Asked:
        return Asked(given=given, notes=notes, field=at or chosen, page=page, message=message, status=422)

    if wrong := [row for row in whole.rows if row.given.error]:
        return refused("Nothing was decided. " + "; ".join(row.given.error for row in wrong) + ".", wrong[0].name)
    decision = form.get("decision", "")
    if decision not in {"approve", "reject"}:
        return refused("Nothing was decided: choose Approve or Reject.")
    if decision == "approve" and whole.undecided:
        names = ", ".join(row.label for row in whole.undecided)
        return refused(f"Nothing was decided. A decision is missing for: {names}.", whole.undecided[0].name)
    if decision == "reject" and not notes.strip():
        return refused("Nothing was decided. Say in the note why it is rejected.")
    fields = entering.decisions(given)
    corrects = decision == "approve" and any(one.action != "accept" for one in fields)
    body = ReviewBody(action="correct" if corrects else decision, fields=fields, notes=notes, expected_seq=seq)
    return Asked(body=body, given=given, notes=notes, field=chosen, page=page)


def message_of(error: InterlockError, *, still_open: bool) -> tuple[str, int]:
    """A refusal of the workflow as the page says it."""
    if not still_open:
        return "Yours was not taken: it was decided before, or its time was over.", 409
    match error:
        case ReviewClaimed():
            return "Somebody else is at it now: yours was not taken. What you entered is still here.", 409
        case OutOfDate():
            return "It has changed since you opened this page. Look at it once more, and decide again.", 409
    return f"Nothing was decided. {str(error)[:1].upper()}{str(error)[1:]}.", 422


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < len(text) < 7 else None
