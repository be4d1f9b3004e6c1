"""The pages of sessions, and sessions that were really run by the scripted agent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from interlock.apps.sessions.conversation import prompts
from interlock.apps.sessions.tables import session_message, session_prompt
from interlock.engine import artifacts
from interlock.engine.application import Unit
from tests.support.api import BY
from tests.support.sessions import Sessions
from tests.support.site import Site

ROOT = "/ui/sessions"


@dataclass
class Pages:
    """The pages, and what happens behind them."""

    sessions: Sessions
    site: Site

    def get(self, path: str, who: str = "member", **options: Any) -> str:
        found = self.site.get(path, who, **options)
        assert found.status_code == 200, found.text
        text: str = found.text
        return text

    def page(self, session_id: str | UUID, who: str = "member") -> str:
        return self.get(f"{ROOT}/{session_id}", who)

    def send(self, session_id: str | UUID, what: str, who: str = "member", **fields: Any) -> Any:
        """Fill in a form of the session's page."""
        url = f"{ROOT}/{session_id}"
        return self.site.send(url, f"{url}/{what}", fields, who)

    def start(self, prompt: str, **body: Any) -> str:
        found: str = self.sessions.start(prompt, **body)["id"]
        return found

    def run(self, prompt: str, **body: Any) -> str:
        """A session whose first prompt was worked on."""
        made = self.start(prompt, **body)
        self.sessions.go_on(10)
        return made

    def prompt_id(self, session_id: str | UUID) -> str:
        found: str = self.sessions.prompts(session_id)[-1]["id"]
        return found

    def printed(self, session_id: str | UUID, *lines: Any) -> list[UUID]:
        """Lines that an agent printed for the newest prompt: JSON values, or texts that are none."""
        prompt_id = UUID(self.prompt_id(session_id))

        def store(unit: Unit) -> list[UUID]:
            made = []
            unit.conn.execute(session_prompt.update().where(session_prompt.c.id == prompt_id).values(agent_at=unit.now))
            for seq, line in enumerate(lines, 1000):
                text = prompts.storable(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False))
                kept = None
                if len(text) > 32_768:
                    kept = artifacts.keep(
                        unit,
                        UUID(str(session_id)),
                        f"line-{seq}",
                        text.encode(),
                        media_type="application/json",
                        actor=BY,
                    )
                kind = str(line.get("type")) if isinstance(line, dict) else "text"
                made.append(uuid7())
                unit.insert(
                    session_message,
                    id=made[-1],
                    prompt_id=prompt_id,
                    instance_id=UUID(str(session_id)),
                    seq=seq,
                    kind=kind,
                    data=text[:4096] if kept else text,
                    size=len(text),
                    artifact=kept,
                    created_at=unit.now,
                )
            return made

        return self.sessions.engine.write(store, name="test")


@pytest.fixture
def pages(sessions: Sessions) -> Pages:
    return Pages(sessions, Site(sessions.api))


def said(text: str, **more: Any) -> dict[str, Any]:
    """A line in which the agent says something."""
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}, **more}


def used(name: str, given: Any, call: str = "c1") -> dict[str, Any]:
    """A line in which the agent uses a tool."""
    block = {"type": "tool_use", "id": call, "name": name, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def answered(text: Any, call: str = "c1", *, failed: bool = False) -> dict[str, Any]:
    """A line with a tool's answer."""
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
    return {"type": "user", "message": {"role": "user", "content": [block]}}
