"""Agents in the configuration: `[sessions.agents.NAME]`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from interlock.config import Table


class LineRule(Table):
    """Which lines of a command mean something, and where in them the value is."""

    when: dict[str, str] = Field(
        default_factory=dict, description="Fields, as a.b.c, and the text that each must have."
    )
    field: str = Field(
        "", description="The field with the value, as a.b.0.c; of several, as `a.b or c.d`, the first that is there."
    )
    after: str = Field(
        "", max_length=200, description="Instead, for a line that is no JSON: how it begins. The rest is the value."
    )


class LineRules(Table):
    """How the lines of a command are read. A line that no rule names is kept as it is."""

    separator: str = Field(
        "",
        max_length=200,
        description="A line that stands before each object, where objects span several lines; else each line is one.",
    )
    conversation: LineRule | None = Field(None, description="Names the conversation, to resume it.")
    answer: LineRule | None = Field(None, description="Has a text of the agent; the last one is its answer.")
    done: LineRule | None = Field(None, description="Says that the work is done.")
    failed: LineRule | None = Field(None, description="Says that the work failed, and why.")
    cost_usd: LineRule | None = Field(None, description="Has the cost of the prompt, in US dollars.")
    input_tokens: LineRule | None = Field(None, description="Has the tokens that were read.")
    output_tokens: LineRule | None = Field(None, description="Has the tokens that were written.")


class AgentConfig(Table):
    """An agent that sessions can use."""

    kind: Literal["demo", "claude", "command"] = Field(
        "command", description="`demo` is the scripted agent, `claude` Claude Code, `command` any other program."
    )
    command: list[str] = Field(
        default_factory=list,
        description="The program and its arguments; {prompt}, {conversation}, {mcp_config} and {home} are filled in.",
    )
    resume: list[str] = Field(
        default_factory=list, description="The same for later prompts; without it each prompt is a new conversation."
    )
    prompt_on_stdin: bool = Field(False, description="Whether the prompt is written to its standard input.")
    own_tools: bool = Field(
        True,
        description="Whether it has tools of its own: then it runs inside the sandbox's confinement, or not at all.",
    )
    network: bool = Field(True, description="Whether a program with tools of its own reaches the network.")
    model: str = Field("", description="The model that it uses.")
    env: list[str] = Field(
        default_factory=list, description="Variables of the service's environment that are passed on, such as its key."
    )
    lines: LineRules = Field(default_factory=LineRules, description="How its lines are read.")

    @model_validator(mode="after")
    def _complete(self) -> AgentConfig:
        if self.kind == "command" and not self.command:
            raise ValueError("an agent of the kind `command` needs `command`: the program and its arguments")
        return self

    @property
    def rules(self) -> LineRules | None:
        """How its lines are read; None for those that speak Claude Code's format."""
        return self.lines if self.kind == "command" else None


DEMO = AgentConfig(kind="demo", own_tools=False)
CLAUDE = AgentConfig(kind="claude", own_tools=False, env=["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"])
BUILT_IN = {"demo": DEMO, "claude": CLAUDE}
"""Agents that need no configuration."""
