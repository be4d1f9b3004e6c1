"""The action log, and the latest checkpoint."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from interlock.dashboard import formatting
from interlock.dashboard.filters import cursor_of
from interlock.dashboard.site import Reader, render
from interlock.engine import secrets
from interlock.engine.audit import checkpoints
from interlock.http.problems import BadRequest
from interlock.people import OPERATORS, NotAllowed, actions
from interlock.store import Micros, micros

router = APIRouter(include_in_schema=False)
PAGES = {"bulk.": "/ui/bulk/", "review.": "/ui/reviews?review=", "instance.": "/ui/instances/"}
"""The pages of targets, by the first part of the action."""


@router.get("/ui/audit")
async def show_audit(
    v: Reader,
    actor: str = "",
    what: str = "",
    workspace: str = "",
    first: Annotated[str, Query(alias="from", max_length=40)] = "",
    last: Annotated[str, Query(alias="to", max_length=40)] = "",
    after: str = "",
) -> Response:
    if not v.may("manage", OPERATORS):
        mine = sorted(w for w in v.workspaces if v.may("manage", w))
        if not mine:
            raise NotAllowed("the audit log is only for owners of a workspace")
        workspace = workspace if workspace in mine else mine[0]
    position, since, until = cursor_of(after), _day(first), _day(last, 1)
    page = await v.service.read(
        lambda conn: actions.page(
            conn,
            actor=actor or None,
            what=what.strip() or None,
            workspace=workspace or None,
            since=since,
            until=until,
            after=position,
            limit=100,
        )
    )
    proof = await v.service.read(checkpoints.coverage) if v.may("manage", OPERATORS) else None
    filters = {"actor": actor, "what": what, "workspace": workspace, "from": first, "to": last}
    return await render(
        v,
        "audit.html",
        page=page,
        filters=filters,
        proof=proof,
        kept=v.service.settings.audit.file,
        target_of=target_of,
        details_of=details_of,
    )


def _day(text: str, more: int = 0) -> Micros | None:
    """The start of a day in UTC, or of a later one."""
    if not text:
        return None
    try:
        return micros(datetime.combine(date.fromisoformat(text) + timedelta(days=more), time(), UTC))
    except (ValueError, OverflowError):
        raise BadRequest(f"{text[:40]!r} is not a date; write it as 2026-01-31") from None


def target_of(one: actions.Action) -> tuple[str, str]:
    """What was acted on, as a person reads it, and its page if it has one."""
    try:
        id = UUID(one.target)
    except ValueError:
        return one.target, ""
    page = next((page for start, page in PAGES.items() if one.what.startswith(start)), "")
    named = one.details.get("rule") or one.details.get("name")
    return str(named) if named else formatting.short_id(id), f"{page}{id}" if page else ""


def details_of(one: actions.Action) -> list[tuple[str, str]]:
    """The details by name, in words."""
    shown = secrets.shown(one.details)
    if isinstance(agent := shown.get("browser"), str):
        shown = {**shown, "browser": formatting.browser(agent)}
    return [(name.replace("_", " "), _text(value)) for name, value in shown.items()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items() if part not in (None, ""))
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
