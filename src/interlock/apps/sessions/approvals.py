"""Approvals: a tool call that needs a person waits in the review inbox and on the session's page.

Only the decision of a review answers it. The agent's lines are stored as text and never read for an answer, so nothing
that an agent, a file or a tool prints can approve a call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.sessions.agents.values import Decision, ToolCall
from interlock.apps.sessions.conversation.entries import tool_name
from interlock.apps.sessions.conversation.hiding import RunSecrets
from interlock.apps.sessions.machine import TOOL_CALL
from interlock.apps.sessions.models import Session, ToolAnswer
from interlock.engine import secrets
from interlock.engine.questions import QuestionClosed
from interlock.worker import Task

ALLOW, DENY = "allow", "deny"
LONGEST_INPUT = 60_000
"""Characters of an input, as JSON, that a person can be asked about."""
TITLE = 180


class Approvals:
    """The questions of one run. An instance is what `run` calls for each tool call that needs a person."""

    def __init__(self, task: Task[Session], prompt_id: UUID, timeout: timedelta, secrets_of_run: RunSecrets) -> None:
        self._task, self._prompt_id, self._timeout = task, prompt_id, timeout
        self._secrets = secrets_of_run
        self._asked: dict[str, UUID] = {}

    def __call__(self, call: ToolCall) -> Decision | None:
        """The decision; None while nobody has decided."""
        shown = self._secrets.hide(_shown(call.tool_input))
        if len(shown) > LONGEST_INPUT:
            return Decision(
                False,
                f"The input has {len(shown):,} characters; nobody can check more than {LONGEST_INPUT:,}. "
                "Use several smaller calls.",
            )
        # The input is part of it: an answer to one call is none to another of the same id.
        asked = json.dumps([str(self._prompt_id), call.request_id, call.tool, call.tool_input], sort_keys=True)
        name = f"tool_call_{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
        try:
            return self._answer(name, call, shown)
        except QuestionClosed:
            return Decision(False, "The question was closed without an answer.")

    def _answer(self, name: str, call: ToolCall, shown: str) -> Decision | None:
        asked = self._asked.get(name)
        if asked is None:
            found = self._task.open_question(
                name,
                TOOL_CALL,
                {
                    "deadline": self._timeout,
                    "default": DENY,
                    "default_form": {"reason": _late(self._timeout)},
                    "evidence": {
                        "tool": _line(call.tool, 200),
                        "input": shown,
                        "tool_use_id": _line(call.tool_use_id, 200),
                        "prompt_id": str(self._prompt_id),
                        "session": self._task.data.title,
                    },
                    "title": self._titled(call),
                },
            )
            asked = self._asked[name] = found.id
            if found.answer is None:
                return None
            return _decision(found.answer.decision, found.answer.form)
        answer = self._task.answer_to(name, asked, idle=False)
        return None if answer is None else _decision(answer.decision, answer.form)

    def _titled(self, call: ToolCall) -> str:
        """The question in one line: the tool, then what it is called with."""
        tool = tool_name(call.tool)
        given = _line(self._secrets.hide(call.title), TITLE).removeprefix(f"{tool}: ")
        return f"May the agent use {tool}? {given}".strip()


def _decision(decision: str, form: Mapping[str, Any]) -> Decision:
    said = ToolAnswer.model_validate(form)
    if decision != ALLOW:
        return Decision(False, said.reason or "A person denied the call.")
    return Decision(True, said.reason, said.input)


def _late(timeout: timedelta) -> str:
    return f"Nobody answered within {timeout.total_seconds() / 60:g} minutes, so the call is denied."


def _shown(tool_input: Mapping[str, Any]) -> str:
    """The input as a person reads it. Secrets that the service knows are hidden."""
    return json.dumps(secrets.without_known(dict(tool_input)), indent=1, ensure_ascii=False, default=str)


def _line(text: str, most: int) -> str:
    """One line without control characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"
