"""The section `[sessions]` of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, SecretStr, field_validator

from interlock.apps.sessions.agents.config import BUILT_IN, AgentConfig, LineRules
from interlock.apps.sessions.repositories.config import Repo, RepoConfig, RepoName, config_of
from interlock.apps.sessions.sandbox.config import SandboxConfig
from interlock.config import Table


def _address(value: str) -> str:
    """An address that may be called: http or https, with a host, without user, password or fragment."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
        parts = urlsplit("")
    if not usable or parts.username is not None or parts.fragment or any(c.isspace() for c in value):
        raise ValueError(
            "must be an http or https address without user, password or fragment, such as https://pool.example.org/on"
        )
    return value


Address = Annotated[str, AfterValidator(_address)]


class Subscriber(Table):
    """A service that is notified of a borrow, a return or a new item."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    post: Address = Field(description="The address that gets `POST {item, params}`.")
    must_succeed: bool = Field(
        False,
        validation_alias=AliasChoices("must_succeed", "mustSucceed", "mustSuceed"),
        description="Whether its failure fails the operation. `mustSucceed` and `mustSuceed` are accepted too.",
    )
    asynchronous: bool = Field(
        False,
        validation_alias=AliasChoices("asynchronous", "async"),
        description="Whether it answers with an `operation_id` and is polled at `/operations/status?id=`.",
    )
    timeout: float = Field(30.0, gt=0, le=3600, description="Seconds that it may take, polls included.")


class Subscribers(Table):
    """Services that are notified of one kind of operation."""

    subscribers: dict[str, Subscriber] = Field(default_factory=dict, description="Subscribers by name.")


class AllocatorSettings(Table):
    """Where sandboxes come from: the allocator in this process, or one elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    url: Address | None = Field(
        None, description="The address of an allocator elsewhere; without it, sandboxes come from this installation."
    )
    token: SecretStr | None = Field(
        None, description="The token of the allocator: sent to `url`, and required by `interlock allocator`."
    )
    pool: str = Field("local", pattern=r"^[a-z0-9_-]{1,50}$", description="The pool that sessions borrow from.")
    shared: bool = Field(
        False,
        description="Whether others borrow from `url` too; then what no loan here holds is no drift.",
    )
    lend_for: float = Field(
        24.0, gt=0, le=8760, description="Hours after which a sandbox that nobody renewed is put into quarantine."
    )
    timeout: float = Field(30.0, gt=0, le=600, description="Seconds that a call to `url` may take.")
    borrow: Subscribers = Field(default_factory=Subscribers, description="Who is notified of a borrow.")
    give_back: Subscribers = Field(
        default_factory=Subscribers,
        validation_alias=AliasChoices("give_back", "return"),
        description="Who is notified of a return; `[sessions.allocator.return.subscribers.NAME]` is the same.",
    )
    submit: Subscribers = Field(default_factory=Subscribers, description="Who is notified of a new item.")


class SessionSettings(Table):
    """How sessions are run."""

    pool_size: int = Field(4, ge=0, le=10_000, description="Local sandboxes, and so sessions that work at once.")
    max_turns: int = Field(40, ge=1, le=10_000, description="Turns that an agent may take for one prompt.")
    max_budget_usd: float = Field(3.0, gt=0, le=100_000, description="Dollars that an agent may spend on one prompt.")
    approval_timeout: float = Field(
        15.0, gt=0, le=10_080, description="Minutes that a tool call waits for a person; then it is denied."
    )
    prompt_timeout: float = Field(60.0, gt=0, le=10_080, description="Minutes that an agent may work on one prompt.")
    repos: dict[RepoName, Repo] = Field(default_factory=dict, description="Repositories by `owner/name`.")
    agent: str = Field(
        "demo", description="The agent of sessions that name none: `demo`, `claude`, or one of `agents`."
    )
    agents: dict[str, AgentConfig] = Field(default_factory=dict, description="Further agents by name.")
    allowed_tools: list[str] = Field(
        default_factory=lambda: ["mcp__sandbox"],
        description="Tools that agents use without asking; `mcp__sandbox` means every tool of the sandbox.",
    )
    return_after: float = Field(
        0.0, ge=0, le=604_800, description="Seconds that a finished session keeps its sandbox for a follow-up prompt."
    )
    sandbox: SandboxConfig = Field(
        default_factory=SandboxConfig, description="What the commands of an agent may use in a local sandbox."
    )
    folder: Path | None = Field(
        None, description="Where local sandboxes, mirrors and agents' files are; else `interlock-sessions` in `data`."
    )
    allocator: AllocatorSettings = Field(default_factory=AllocatorSettings, description="Where sandboxes are borrowed.")

    @field_validator("agent")
    @classmethod
    def _agent(cls, value: str) -> str:
        if not value:
            raise ValueError("must name an agent: demo, claude, or one of `agents`")
        return value

    def agent_named(self, name: str) -> AgentConfig | None:
        """The agent of this name, or the default one for an empty name; None if there is none."""
        named = name or self.agent
        return self.agents.get(named) or BUILT_IN.get(named)

    def rules_of(self, name: str) -> LineRules | None:
        """How lines of the agent of this name are read; None if it speaks Claude Code's format, or is not there."""
        found = self.agent_named(name)
        return None if found is None else found.rules

    def repo_named(self, name: str) -> RepoConfig | None:
        """The repository of this name; None if it is not configured."""
        found = self.repos.get(name)
        return None if found is None else config_of(found)


DEFAULTS = SessionSettings()


def settings_in(found: object) -> SessionSettings:
    """What `task.setting("sessions")` gave; the defaults where nothing was configured."""
    return found if isinstance(found, SessionSettings) else DEFAULTS
