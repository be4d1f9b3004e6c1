"""What a run of an agent is given, what it reports while it runs, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.apps.sessions.agents.config import AgentConfig
from interlock.apps.sessions.models import Result
from interlock.machine import InterlockError


class AgentNotStarted(InterlockError):
    """The agent was not started, so running the prompt later is safe: its program or its sandbox is missing."""


class AlreadyStarted(InterlockError):
    """This prompt was started before, on this host: `recover` says how that ended."""


@dataclass(frozen=True)
class Attachment:
    """A file that comes with a prompt."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class TimeLimits:
    """Seconds after which the runner ends an agent."""

    total: float = 3600.0
    """For the whole prompt, without the time that people take for approvals."""
    silence: float = 900.0
    """Without a line, while no approval is open."""
    start: float = 60.0
    """Until the first line."""
    exit: float = 15.0
    """From the result line to the end of the process."""
    interrupt: float = 5.0
    """From the interrupt to SIGTERM."""
    terminate: float = 5.0
    """From SIGTERM to SIGKILL."""
    approval: float = 900.0
    """For a person's answer; then the call is denied."""


@dataclass(frozen=True)
class AgentRun:
    """One prompt for one agent in one sandbox."""

    folder: Path
    """A folder for this prompt alone, on this host. What the agent prints is kept there until `forget`."""
    home: Path
    """The agent's home folder: conversations are kept there, so all prompts of a session have the same one."""
    agent: AgentConfig
    prompt: str
    conversation: str
    """The agent's own name for the conversation: a UUID that the session chose, or what the agent reported."""
    resume: bool = False
    """Whether the agent has had a prompt in this conversation."""
    fork_of: str = ""
    """Another conversation in the same home that this one continues, at its first prompt."""
    attachments: tuple[Attachment, ...] = ()
    mcp_json: str = '{"mcpServers":{}}'
    """The sandbox's tools: `mcp_json_string` of the borrowed item."""
    workspace: Path | None = None
    """The slot of a local sandbox; None for a sandbox that is only reached by its MCP server."""
    allowed_tools: tuple[str, ...] = ()
    """Tools that the agent uses without asking; every other call is put to `approve`, and denied without it."""
    system_prompt: str = ""
    max_turns: int = 40
    max_budget_usd: float = 3.0
    limits: TimeLimits = field(default_factory=TimeLimits)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the agent, such as its key; nothing else of the service's environment reaches it."""
    spent_before_usd: float = 0.0
    """`conversation_cost_usd` of the conversation's last outcome: agents report the sum of a conversation."""


@dataclass(frozen=True)
class Line:
    """One line that the agent printed."""

    seq: int
    """1 for the first line of the prompt; the same line has the same number after a crash."""
    text: str
    data: Mapping[str, Any] | None
    """The JSON object in the line; None if it is something else."""
    kind: str
    """`type` (else `kind`), or `type/subtype`; `text` for a line that is no JSON object."""
    cut: bool = False
    """Whether the line was longer than the limit, and only its beginning is here."""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that needs a person."""

    request_id: str
    tool: str
    tool_input: Mapping[str, Any]
    tool_use_id: str
    title: str
    """The call in one line, for people."""


@dataclass(frozen=True)
class Decision:
    """A person's answer to a tool call."""

    allow: bool
    reason: str = ""
    """The answer to the agent when the call is denied."""
    changed_input: Mapping[str, Any] | None = None
    """The input to use instead."""


OnLine = Callable[[Line], None]
"""Called with every line, in order. What it raises ends the agent and is raised by `run`."""
Approve = Callable[[ToolCall], Decision | None]
"""Called with a tool call, and again about each half second until it answers; None means not yet."""
Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class Usage:
    """Tokens of one prompt."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True)
class Denial:
    """A tool call that was not allowed."""

    tool: str
    tool_use_id: str
    tool_input: Mapping[str, Any]


@dataclass(frozen=True)
class AgentOutcome:
    """How one prompt ended."""

    result: Result
    reason: str
    """A word for programs: one of `REASONS` in `outcome.py`."""
    sentence: str
    """The same for people, with what to do if it failed."""
    answer: str = ""
    """The agent's last words."""
    cost_usd: float | None = None
    """Of this prompt; None if the agent did not say."""
    conversation_cost_usd: float | None = None
    """Of the conversation so far: `spent_before_usd` of its next prompt."""
    usage: Usage = field(default_factory=Usage)
    turns: int | None = None
    exit_code: int | None = None
    """Negative for a signal; None if nobody knows."""
    conversation: str = ""
    """The agent's own name for the conversation; empty if there is none to resume."""
    denials: tuple[Denial, ...] = ()
    mcp_failed: tuple[str, ...] = ()
    """MCP servers that the agent could not reach."""
    last_seq: int = 0
    stderr: str = ""
    """The end of what the agent wrote to its standard error."""
    structured_output: Any = None
