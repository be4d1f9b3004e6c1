"""The data of a session and a loan. Prompts, messages and secrets are stored elsewhere and named here."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


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
    result: Result | None = None
    error: str | None = None


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
    """The effect whose answer contains item and token: secrets stay there and are never copied."""
    operation_id: str | None = None
    """The allocator's name for the return. Accepted does not mean done, so it is polled until it ends."""
    lent: bool | None = None
    """Whether a sandbox was lent; None while that is unknown."""
    resolution: Resolution | None = None
