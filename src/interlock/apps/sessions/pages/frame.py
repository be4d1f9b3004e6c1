"""What the pages of sessions share: words for states and results, filters for hostile text, and who may do what."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from fastapi.responses import Response

from interlock.apps.sessions.api.access import MACHINE, seen
from interlock.apps.sessions.conversation.index import ARCHIVE, IndexEntry
from interlock.apps.sessions.conversation.visible import UNSEEN, one_line, shown, visible
from interlock.apps.sessions.machine import (
    ARCHIVED,
    IN_PROGRESS,
    NEEDS_REVIEW,
    NEEDS_REVIEW_IP_RETURNED,
    PENDING,
)
from interlock.apps.sessions.models import Session
from interlock.dashboard.site import Visitor, render
from interlock.engine import Instance

ROOT = "/ui/sessions"
STATUS_WORDS = {
    PENDING: "waiting",
    IN_PROGRESS: "working",
    NEEDS_REVIEW: "to review",
    NEEDS_REVIEW_IP_RETURNED: "to review, sandbox returned",
    ARCHIVED: "archived",
}
"""The states as lists name them."""
PROMPT_KINDS = {
    "pending": "wait",
    "active": "work",
    "done": "done",
    "failed": "failed",
    "cancelled": "ended",
    "unknown": "person",
}
PROMPT_WORDS = {"pending": "waits", "active": "working", "unknown": "outcome unknown"}
LEASE_KINDS = {"borrowing": "wait", "held": "work", "returning": "wait", "returned": "done", "stuck": "failed"}
FIRE, CREATE, FORCE = "fire", "create", "force"


@dataclass(frozen=True, slots=True)
class SessionOnPage:
    """A session, as the reader of its page may see it."""

    v: Visitor
    instance: Instance
    entry: IndexEntry

    @property
    def id(self) -> UUID:
        return self.instance.id

    @property
    def data(self) -> Session:
        return Session.model_validate(self.instance.data)

    @property
    def title(self) -> str:
        return one_line(self.data.title, 200) or "Untitled session"

    @property
    def state(self) -> str:
        return self.instance.state

    @property
    def url(self) -> str:
        return f"{ROOT}/{self.id}"

    @property
    def archiving(self) -> bool:
        return self.entry.after_run == ARCHIVE

    @property
    def busy(self) -> bool:
        return self.state in {PENDING, IN_PROGRESS}

    def may(self, permission: str) -> bool:
        return self.v.may(permission, self.instance.workspace, MACHINE)


def status_kind(instance: Instance) -> str:
    """The colour of a session's status: amber waits for a person, green is done."""
    if instance.state == NEEDS_REVIEW:
        return "person"
    if instance.state == NEEDS_REVIEW_IP_RETURNED:
        return "done" if instance.data.get("result") in {None, "done"} else "ended"
    return "ended" if instance.state == ARCHIVED else "wait" if instance.state == PENDING else "work"


def look(conn: sa.Connection, v: Visitor, session_id: UUID) -> SessionOnPage:
    """The session, if the reader may see it. NotFound otherwise."""
    return SessionOnPage(v, *seen(conn, session_id, v.who))


async def show(v: Visitor, template: str, context: Mapping[str, Any], *, status: int = 200) -> Response:
    """Render a page of sessions."""
    given = {
        "root": ROOT,
        "status_words": STATUS_WORDS,
        "prompt_kinds": PROMPT_KINDS,
        "prompt_words": PROMPT_WORDS,
        "lease_kinds": LEASE_KINDS,
        "line": one_line,
        "plain": shown_text,
        "cut": shown,
        "dollars": dollars,
        "status_kind": status_kind,
        **context,
    }
    return await render(v, f"sessions/{template}", status=status, **given)


def shown_text(text: str | None) -> str:
    """A text of bounded size from outside."""
    return visible(text or "")


def dollars(value: float | None) -> str:
    """Money as people read it: small sums keep their digits."""
    if value is None:
        return "—"
    if value >= 1 or value == 0:
        return f"${value:,.2f}"
    return f"${value:.3f}" if value >= 0.01 else f"${value:.4f}"


def spelled_json(text: str) -> str:
    """JSON that means the same, with every invisible character spelled as an escape."""
    return UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def bytes_of(size: int) -> str:
    """A size in bytes for people."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 999_500 else f"{size / 1e6:.1f} MB"


def id_in(text: str) -> UUID | None:
    """The id in a text; None if it is none."""
    try:
        return UUID(text) if re.fullmatch(r"[0-9a-fA-F-]{32,36}", text) else None
    except ValueError:
        return None
