"""The data of a session and a loan. Prompts, messages and secrets are stored elsewhere and named here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Result(StrEnum):
    """How the agent's last work ended; a failure must not look like finished work."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Session(BaseModel):
    """A conversation with an agent about one branch of one repository."""

    model_config = ConfigDict(extra="forbid")

    user_id: str = ""
    title: str = "Untitled Session"
    repo: str = ""
    branch: str = ""
    target_branch: str = "main"
    parent_session: str | None = None
    prompt_id: str | None = None
    """The prompt that is worked on, or was last; each prompt is claimed once."""
    loan_id: str | None = None
    """The loan of the sandbox that it works in."""
    agent_session: str | None = None
    """The agent's own name for the conversation, to resume it."""
    fork_of: str | None = None
    """The agent's conversation that this one continues, at its first prompt."""
    start_from: str = ""
    """The branch of the session that this one forks; empty to start from the target branch."""
    home: str = ""
    """The session whose agents' home folder it shares, because it forks one of its conversations."""
    agent: str = ""
    """Which agent of the configuration works; empty for the default one."""
    result: Result | None = None
    error: str | None = None
    published: str | None = None
    """What came of the last push or merge of its branch."""


class ToolAnswer(BaseModel):
    """What a person says about a call of a tool, besides allowing or denying it."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=2000, title="Reason", description="The agent reads it if you deny the call.")
    changed_input: str = Field(
        "",
        max_length=100_000,
        title="Changed input",
        description="The input to use instead, as JSON; empty allows the call as it is.",
    )

    @field_validator("changed_input", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        """Programs send the input as they would call the tool: as an object."""
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value

    @field_validator("changed_input")
    @classmethod
    def _object(cls, value: str) -> str:
        if value.strip() and not isinstance(_parsed(value), dict):
            raise ValueError('must be a JSON object with the whole input, such as {"command": "ls"}')
        return value

    @property
    def input(self) -> Mapping[str, Any] | None:
        """The changed input; None if the call is allowed as it is."""
        found = _parsed(self.changed_input) if self.changed_input.strip() else None
        return found if isinstance(found, dict) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class Resolution(StrEnum):
    """How a stuck loan was settled by a person."""

    RESOLVED = "resolved"
    RELEASED_BY_FORCE = "released_by_force"
    DISCARDED = "discarded"


class Loan(BaseModel):
    """One sandbox, borrowed once."""

    model_config = ConfigDict(extra="forbid")

    session_id: str = ""
    allocator: str = ""
    borrow_effect: str | None = None
    """The key of the effect of the borrow. Item and token are secrets and are in neither."""
    saved: bool = False
    """Whether the work is on the branch and the sandbox is empty. Until then it is not given back."""
    returns: int = 0
    """Returns that were begun and failed."""
    operation_id: str | None = None
    """The allocator's name for the return. Accepted does not mean done, so it is polled until it ends."""
    return_began: int | None = None
    """When that return began, in microseconds since 1970."""
    lent: bool | None = None
    """Whether a sandbox was lent; None while that is unknown."""
    resolution: Resolution | None = None
