"""What the lines of a run say so far: the result, the conversation, tokens, denied calls, MCP servers.

Every field comes from a program that may print anything, so each is checked where it is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.apps.sessions.agents.config import LineRule, LineRules
from interlock.apps.sessions.agents.values import Denial, Line, Usage

MAX_ANSWER = 100_000
FAILED_SERVERS = {"failed", "needs-auth", "disconnected", "error"}
REFUSED = {401, 403}
"""Statuses of the model's API that no retry changes: the key is wrong."""


class Transcript:
    """Reads the lines of one run, in order."""

    def __init__(self, rules: LineRules | None = None) -> None:
        self._rules = rules
        self.conversation = ""
        self.answer = ""
        self.result: Mapping[str, Any] | None = None
        """The last result line of an agent that speaks Claude Code's format."""
        self.said_done = False
        self.said_failed: str | None = None
        self.key_refused: int | None = None
        self.denied: dict[str, Denial] = {}
        self.mcp_failed: tuple[str, ...] = ()
        self.error = ""
        """The kind of error that an answer of the model carried."""
        self.last_seq = 0
        self._usages: dict[str, Usage] = {}
        self._cost: float | None = None
        self._tokens: dict[str, int] = {}

    def read(self, line: Line) -> None:
        self.last_seq = line.seq
        if self._rules is not None:
            self._apply(self._rules, line)
            return
        if line.data is None:
            return
        match line.data.get("type"):
            case "system":
                self._system(line.data)
            case "assistant":
                self._assistant(line.data)
            case "result":
                self.result = line.data
                self._names(line.data)

    @property
    def ended(self) -> bool:
        """Whether the agent said how its work ended."""
        return self.result is not None or self.said_done or self.said_failed is not None

    # -- Claude Code's format

    def _names(self, data: Mapping[str, Any]) -> None:
        named = data.get("session_id")
        if isinstance(named, str) and 0 < len(named) <= 200:
            self.conversation = named

    def _system(self, data: Mapping[str, Any]) -> None:
        subtype = data.get("subtype")
        if subtype == "init":
            self._names(data)
            self.mcp_failed = tuple(
                text(one.get("name")) for one in objects(data.get("mcp_servers")) if one.get("status") in FAILED_SERVERS
            )
        elif subtype == "api_retry" and data.get("error_status") in REFUSED:
            self.key_refused = int(data["error_status"])
        elif subtype == "permission_denied":
            self._deny(data)

    def _assistant(self, data: Mapping[str, Any]) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            return
        named = text(message.get("id"))
        if named:
            # One answer of the model comes as several lines with the same id and the same usage.
            self._usages[named] = usage(message.get("usage"))
        words = "".join(text(one.get("text")) for one in objects(message.get("content")) if one.get("type") == "text")
        if words and data.get("parent_tool_use_id") is None:
            self.answer = words[:MAX_ANSWER]
        if isinstance(data.get("error"), str):
            self.error = data["error"][:100]

    def _deny(self, data: Mapping[str, Any]) -> None:
        named, given = text(data.get("tool_use_id")), data.get("tool_input")
        known = self.denied.get(named)
        self.denied[named] = Denial(
            text(data.get("tool_name")) or "a tool",
            named,
            given if isinstance(given, dict) else known.tool_input if known else {},
        )

    def denials(self) -> tuple[Denial, ...]:
        for one in objects((self.result or {}).get("permission_denials")):
            self._deny(one)
        return tuple(self.denied.values())

    # -- other commands

    def _apply(self, rules: LineRules, data: Line) -> None:
        if (found := by_rule(rules.conversation, data)) is not None and 0 < len(text(found)) <= 200:
            self.conversation = text(found)
        if words := text(by_rule(rules.answer, data)):
            self.answer = words[:MAX_ANSWER]
        if by_rule(rules.done, data) is not None:
            self.said_done, self.said_failed = True, None
        if (found := by_rule(rules.failed, data)) is not None:
            self.said_failed = (text(found) or "no reason given")[:2000]
        if (cost := number(by_rule(rules.cost_usd, data))) is not None:
            self._cost = (self._cost or 0.0) + cost
        for name, rule in (("input", rules.input_tokens), ("output", rules.output_tokens)):
            if (count := number(by_rule(rule, data))) is not None:
                self._tokens[name] = self._tokens.get(name, 0) + int(count)

    # -- tokens and money

    def usage(self) -> Usage:
        """The tokens of this prompt: of the result line if there is one, else of the answers that were seen."""
        if self._rules is not None:
            return Usage(self._tokens.get("input", 0), self._tokens.get("output", 0))
        models = list(self._models())
        if models:
            return _sum(
                Usage(
                    count(one.get("inputTokens")),
                    count(one.get("outputTokens")),
                    count(one.get("cacheReadInputTokens")),
                    count(one.get("cacheCreationInputTokens")),
                )
                for one in models
            )
        if self.result is not None and isinstance(self.result.get("usage"), dict):
            return usage(self.result["usage"])
        return _sum(self._usages.values())

    def costs(self, before: float) -> tuple[float | None, float | None]:
        """The cost of this prompt and of the conversation so far. `before` is what the conversation had cost."""
        if self._rules is not None:
            return self._cost, None if self._cost is None else before + self._cost
        total = number((self.result or {}).get("total_cost_usd"))
        if total is None:
            return None, None
        own = [number(one.get("costUSD")) for one in self._models()]
        if own and all(one is not None for one in own):
            return sum(one for one in own if one is not None), total
        return (total - before if total >= before else total), total

    def _models(self) -> Iterator[Mapping[str, Any]]:
        found = (self.result or {}).get("model_usage_since_last_result")
        if isinstance(found, dict):
            yield from (one for one in found.values() if isinstance(one, dict))


def by_rule(rule: LineRule | None, line: Line) -> Any:
    """What the rule finds in the line; True where it names no field; None if the line is another."""
    if rule is None:
        return None
    if rule.after:
        said = line.text.strip()
        return said.removeprefix(rule.after).strip() if line.data is None and said.startswith(rule.after) else None
    if line.data is None or any(text(_at(line.data, path)) != wanted for path, wanted in rule.when.items()):
        return None
    if not rule.field:
        return True
    return next((found for path in rule.field.split(" or ") if (found := _at(line.data, path)) is not None), None)


def _at(data: Any, path: str) -> Any:
    for name in path.strip().split("."):
        if isinstance(data, list):
            data = data[int(name)] if name.isdecimal() and int(name) < len(data) else None
        else:
            data = data.get(name) if isinstance(data, dict) else None
    return data


def _sum(usages: Any) -> Usage:
    many = list(usages)
    return Usage(
        sum(one.input_tokens for one in many),
        sum(one.output_tokens for one in many),
        sum(one.cache_read_tokens for one in many),
        sum(one.cache_write_tokens for one in many),
    )


def usage(found: Any) -> Usage:
    if not isinstance(found, dict):
        return Usage()
    return Usage(
        count(found.get("input_tokens")),
        count(found.get("output_tokens")),
        count(found.get("cache_read_input_tokens")),
        count(found.get("cache_creation_input_tokens")),
    )


def objects(found: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, list):
        yield from (one for one in found if isinstance(one, dict))


def text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def number(found: Any) -> float | None:
    """A finite number that is not negative and not absurd."""
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return float(found) if math.isfinite(found) and 0 <= found < 1e12 else None


def count(found: Any) -> int:
    return int(number(found) or 0)
