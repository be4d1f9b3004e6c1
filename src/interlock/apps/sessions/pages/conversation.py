"""A session as a conversation, one prompt in full, and one message in full."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from interlock.apps.sessions.agents.config import LineRules
from interlock.apps.sessions.conversation import messages, prompts
from interlock.apps.sessions.conversation.entries import Entry, entries, with_text
from interlock.apps.sessions.conversation.prompts import Prompt
from interlock.apps.sessions.conversation.visible import Shown, shown, visible
from interlock.apps.sessions.loans.session_loans import LeaseView, lease_of
from interlock.apps.sessions.machine import session
from interlock.apps.sessions.pages.approving import approvals_of
from interlock.apps.sessions.pages.frame import ROOT, STATUS_WORDS, SessionOnPage, bytes_of, look, show
from interlock.apps.sessions.settings import settings_in
from interlock.dashboard.site import Reader
from interlock.engine import NotFound, secrets

router = APIRouter(include_in_schema=False)
PROMPTS = 100
"""Prompts of a session that its page names."""
LINES = 300
"""Lines that a session's page shows, those of the newest prompts."""
AT_ONCE = 400
"""Lines of a page with one prompt."""
WHOLE = 1_000_000
"""Characters of one message that its page shows."""
Id = Annotated[UUID, Path()]


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and what the agent did about it."""

    prompt: Prompt
    text: Shown
    entries: Sequence[Entry]
    before: int
    """Lines before the first one that is shown."""
    tokens: int
    repeats: bool
    """Whether the agent's answer is the last thing that is shown."""

    @property
    def files(self) -> list[tuple[str, str]]:
        return [
            (visible(str(one.get("name", "")))[:200], bytes_of(int(one.get("size") or 0)))
            for one in self.prompt.attachments
        ]


@dataclass(frozen=True, slots=True)
class Spent:
    """What the prompts of a session cost together."""

    dollars: float | None
    tokens: int
    turns: int


@router.get(f"{ROOT}/{{id}}")
async def session_page(v: Reader, id: Id) -> Response:
    settings = settings_in(v.service.engine.setting("sessions"))

    def read(conn: sa.Connection) -> dict[str, Any]:
        seen = look(conn, v, id)
        listed = prompts.latest(conn, id, PROMPTS)
        return {
            "one": seen,
            "turns": _turns(conn, listed, settings.rules_of(seen.data.agent)),
            "earlier": listed[0].number - 1 if listed else 0,
            "waiting": [one for one in listed if one.waits],
            "spent": _spent(conn, id, listed),
            "approvals": approvals_of(conn, seen),
            "lease": lease_of(conn, id),
        }

    found = await v.service.read(read)
    seen: SessionOnPage = found["one"]
    context = {
        **found,
        "agent": seen.data.agent or settings.agent,
        "limits": {"turns": settings.max_turns, "dollars": settings.max_budget_usd},
        "machine": v.service.engine.registry.get(session.name),
        "states": STATUS_WORDS,
        "lease_said": _lease_said(found["lease"]),
    }
    return await show(v, "session.html", context)


def _turns(conn: sa.Connection, listed: Sequence[Prompt], rules: LineRules | None) -> list[Turn]:
    """The prompts with their newest lines, within a limit for the page."""
    left, found = LINES, []
    for one in reversed(listed):
        lines = messages.latest(conn, one.id, left) if left and one.agent_at is not None else []
        left -= len(lines)
        before = lines[0].seq - 1 if lines else (messages.last_seq(conn, one.id) if one.agent_at is not None else 0)
        found.append(_turn(conn, one, lines, before, rules))
    return found[::-1]


def _turn(
    conn: sa.Connection, prompt: Prompt, lines: Sequence[messages.Message], before: int, rules: LineRules | None
) -> Turn:
    read = entries(with_text(conn, lines), rules)
    said = [one.body.text.strip() for one in read if one.kind == "words" and one.body]
    repeats = bool(said) and prompt.answer is not None and visible(prompt.answer).strip()[:2000] == said[-1][:2000]
    return Turn(prompt, shown(prompt.text, 6000, 80), read, before, _tokens(prompt), repeats)


def _tokens(prompt: Prompt) -> int:
    return sum(one for one in prompt.usage.values() if isinstance(one, int))


def _spent(conn: sa.Connection, session_id: UUID, listed: Sequence[Prompt]) -> Spent:
    every = list(listed)
    while every and every[0].number > 1:
        before = every[0].number - PROMPTS - 1
        every = [
            one
            for one in prompts.of_session(conn, session_id, after=max(before, 0), limit=PROMPTS)
            if one.number < every[0].number
        ] + every
    known = [one.cost_usd for one in every if one.cost_usd is not None]
    return Spent(sum(known) if known else None, sum(map(_tokens, every)), sum(one.turns or 0 for one in every))


def _lease_said(lease: LeaseView | None) -> str:
    """What the state of the sandbox means for people."""
    if lease is None:
        return "None yet: one is borrowed when the first prompt is worked on."
    match lease.state:
        case "borrowing":
            return "Borrowing one failed; it is tried again." if lease.error else "It waits for a free sandbox."
        case "held":
            return "This session holds it. It goes back when the agent has ended and no prompt waits."
        case "returning":
            return "It is on its way back to the pool."
        case "stuck":
            return "It could not be given back, and a person has to settle it."
    return "It went back to the pool; the work is on the branch."


@router.get(f"{ROOT}/{{id}}/prompts/{{prompt}}")
async def prompt_page(v: Reader, id: Id, prompt: Id, after: Annotated[int, Query(ge=0)] = 0) -> Response:
    """One prompt with its lines in order, some at a time."""
    settings = settings_in(v.service.engine.setting("sessions"))

    def read(conn: sa.Connection) -> dict[str, Any]:
        seen, found = look(conn, v, id), _prompt(conn, id, prompt)
        lines = messages.of_prompt(conn, prompt, after=after, limit=AT_ONCE)
        last = messages.last_seq(conn, prompt)
        return {
            "one": seen,
            "turn": _turn(conn, found, lines, 0, settings.rules_of(seen.data.agent)),
            "last": last,
            "first": lines[0].seq if lines else 0,
            "until": lines[-1].seq if lines else 0,
            "next": lines[-1].seq if lines and lines[-1].seq < last else None,
            "before": max(0, after - AT_ONCE) if after else None,
        }

    return await show(v, "prompt.html", await v.service.read(read))


@router.get(f"{ROOT}/{{id}}/messages/{{message}}")
async def message_page(v: Reader, id: Id, message: Id, download: bool = False) -> Response:
    """One line that the agent printed, in full."""

    def read(conn: sa.Connection) -> tuple[SessionOnPage, messages.Message, str]:
        seen = look(conn, v, id)
        found = messages.get(conn, message)
        if found.session_id != id:
            raise NotFound(f"session {id} has no message {message}")
        return seen, found, messages.whole(conn, found)

    seen, found, text = await v.service.read(read)
    if download:
        headers = {"Content-Disposition": f'attachment; filename="message-{found.seq}.txt"'}
        content = secrets.hide(text).encode("utf-8", "replace")
        return Response(content, media_type="text/plain; charset=utf-8", headers=headers)
    data = messages.parsed(text)
    parts = _texts(data) if data is not None else []
    pretty = json.dumps(data, indent=2, ensure_ascii=False) if data is not None else text
    context = {
        "one": seen,
        "message": found,
        "parts": [(name, shown(part, WHOLE, 50_000)) for name, part in parts],
        "whole": shown(pretty, WHOLE, 50_000),
        "size": bytes_of(len(text.encode("utf-8", "replace"))),
    }
    return await show(v, "message.html", context)


def _texts(data: Any) -> list[tuple[str, str]]:
    """The longer texts in a message as they are, without the marks of JSON."""
    found: list[tuple[str, str]] = []
    queue: list[tuple[str, Any]] = [("", data)]
    while queue and len(found) < 20:
        name, value = queue.pop(0)
        if isinstance(value, dict):
            queue += [(str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            queue += [(name, one) for one in value]
        elif isinstance(value, str) and ("\n" in value or len(value) > 200):
            found.append((name, value))
    return found


def _prompt(conn: sa.Connection, session_id: UUID, prompt_id: UUID) -> Prompt:
    found = prompts.get(conn, prompt_id)
    if found.session_id != session_id:
        raise NotFound(f"session {session_id} has no prompt {prompt_id}")
    return found


@router.get(f"{ROOT}/{{id}}/prompts/{{prompt}}/lines")
async def prompt_lines(v: Reader, id: Id, prompt: Id) -> Response:
    """The lines as the agent printed them, one JSON value a line; long ones as they are stored."""

    def read(conn: sa.Connection) -> bytes:
        look(conn, v, id)
        _prompt(conn, id, prompt)
        found, after, size = [], 0, 0
        while size < 32 * WHOLE:
            some = messages.of_prompt(conn, prompt, after=after, limit=AT_ONCE)
            if not some:
                break
            for one in some:
                found.append(secrets.hide(messages.whole(conn, one)))
                size += len(found[-1])
            after = some[-1].seq
        return ("\n".join(found) + "\n").encode("utf-8", "replace")

    headers = {"Content-Disposition": f'attachment; filename="prompt-{prompt}.jsonl"'}
    return Response(await v.service.read(read), media_type="application/x-ndjson; charset=utf-8", headers=headers)
