"""Tool calls that wait for a person: how a session's page shows them, and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path
from fastapi.responses import Response

from interlock.apps.sessions.api.access import locked
from interlock.apps.sessions.approvals import ALLOW, DENY
from interlock.apps.sessions.conversation.entries import in_one_line, tool_name
from interlock.apps.sessions.conversation.visible import Shown, one_line, shown
from interlock.apps.sessions.pages.acting import reason_in
from interlock.apps.sessions.pages.frame import ROOT, SessionOnPage, spelled_json
from interlock.dashboard.forms import Done, Posted
from interlock.engine import NotFound, OpenReview, questions, reviews
from interlock.engine.application import Unit
from interlock.http.problems import BadRequest
from interlock.people import Role
from interlock.store import SECOND, Micros

router = APIRouter(include_in_schema=False)
PREFIX = "tool_call_"
CHANGED = "allow_changed"
LONGEST_INPUT = 100_000


@dataclass(frozen=True, slots=True)
class Approval:
    """A tool call that waits for a person."""

    id: UUID
    tool: str
    line: str
    """What it would do, in one line."""
    fields: Sequence[tuple[str, Shown]]
    input: str
    """The input as JSON that can be changed; nothing in it is invisible."""
    opened_at: Micros
    due_at: Micros | None
    may: bool
    claimed_by: str
    """Who else has claimed it."""

    def seconds_left(self, now: Micros) -> int | None:
        return None if self.due_at is None else max(0, (self.due_at - now) // SECOND)


def approvals_of(conn: sa.Connection, seen: SessionOnPage) -> list[Approval]:
    """Calls of the session that wait, the oldest first."""
    found = [one for one in questions.open_for(conn, seen.id) if one.name.startswith(PREFIX)]
    return [_approval(one, seen) for one in sorted(found, key=lambda one: one.opened_at)]


def _approval(review: OpenReview, seen: SessionOnPage) -> Approval:
    raw = str(review.evidence.get("input", ""))
    try:
        parsed = json.loads(raw)
    except ValueError:
        parsed = None
    given = parsed if isinstance(parsed, dict) else {}
    actor = seen.v.who.actor_in(seen.instance.workspace)
    claimed = review.claimed_by if (review.claimed_until or 0) > seen.v.now and review.claimed_by != str(actor) else ""
    role = seen.v.who.role_in(seen.instance.workspace)
    wanted = Role(review.role) if review.role in set(Role) else Role.OWNER
    return Approval(
        review.id,
        tool_name(str(review.evidence.get("tool", ""))),
        in_one_line(given),
        _fields(given, raw),
        spelled_json(raw),
        review.opened_at,
        review.due_at,
        role is not None and role.includes(wanted),
        claimed or "",
    )


def _fields(given: Mapping[str, Any], raw: str) -> list[tuple[str, Shown]]:
    """The input for a person to check, field by field; as it is where it is no object."""
    if not given:
        return [("input", shown(raw, 6000, 120))] if raw not in {"", "{}"} else []
    texts = {name: value if isinstance(value, str) else json.dumps(value, indent=1) for name, value in given.items()}
    return [(one_line(str(name), 60), shown(value, 6000, 120)) for name, value in list(texts.items())[:20]]


@router.post(f"{ROOT}/{{id}}/approvals/{{review}}")
async def answer(form: Posted, id: Annotated[UUID, Path()], review: Annotated[UUID, Path()]) -> Response:
    """Allow the call, allow it with another input, or deny it."""
    who, chosen = form.v.who, form["decision"]
    if chosen not in {ALLOW, CHANGED, DENY}:
        raise BadRequest(f"{chosen[:40]!r} is not an answer; there are {ALLOW}, {CHANGED} and {DENY}")
    changed = form.get("changed_input").strip() if chosen == CHANGED else ""
    if chosen == CHANGED and not changed:
        raise BadRequest("the changed input is empty; write the whole input as JSON, or allow the call as it is")
    if len(changed) > LONGEST_INPUT:
        raise BadRequest(f"the changed input has {len(changed):,} characters; at most {LONGEST_INPUT:,} fit")
    reason = reason_in(form.get("reason"))

    def job(unit: Unit) -> Done:
        instance = locked(unit, id, who, "review")
        found = reviews.get(unit.conn, review)
        if found.instance_id != id or not found.name.startswith(PREFIX):
            raise NotFound(f"session {id} has no approval {review}")
        decision = DENY if chosen == DENY else ALLOW
        said = {"reason": reason, "changed_input": changed}
        reviews.decide(unit, review, decision, who.actor_in(instance.workspace), answer=said, reason=reason)
        words = {ALLOW: "Allowed", CHANGED: "Allowed with your changes", DENY: "Denied"}
        return Done(said=f"{words[chosen]}: the agent continues", to=f"{ROOT}/{id}")

    return await form.do(job, "review")
