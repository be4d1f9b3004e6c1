"""Lines as Claude Code prints them, for tests: each case of a run in the same shapes."""

from __future__ import annotations

import json
from typing import Any

SESSION = "7b6d9c1e-0c55-4f0e-9d7a-3f8f0f1f2a11"


def init(**more: Any) -> dict[str, Any]:
    servers = [{"name": "sandbox", "status": "connected", "source": "dynamic"}]
    return _line("system", subtype="init", cwd="/w", model="claude-sonnet-4-5", mcp_servers=servers) | more


def said(*content: dict[str, Any], named: str = "msg_1", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}
    message = {"id": named, "type": "message", "role": "assistant", "content": list(content), "usage": usage}
    return _line("assistant", message=message, parent_tool_use_id=None) | more


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(tool: str = "mcp__sandbox__execute_bash", number: int = 1) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"command": "ls"}}


def used(answer: str = "README.md", number: int = 1) -> dict[str, Any]:
    block = {"tool_use_id": f"toolu_{number}", "type": "tool_result", "content": [{"type": "text", "text": answer}]}
    return _line("user", message={"role": "user", "content": [block]})


def retried(status: int, attempt: int) -> dict[str, Any]:
    return _line("system", subtype="api_retry", attempt=attempt, max_retries=10, error_status=status)


def result(subtype: str = "success", *, error: bool = False, **more: Any) -> dict[str, Any]:
    models = {"claude-sonnet-4-5": {"inputTokens": 200, "outputTokens": 40, "costUSD": 0.0012}}
    # The key `type` comes near the end here, as the program prints it.
    found = {
        "subtype": subtype,
        "is_error": error,
        "num_turns": 2,
        "total_cost_usd": 0.0012,
        "modelUsage": models,
        "model_usage_since_last_result": models,
        "permission_denials": [],
    }
    return found | more | _line("result")


def _line(kind: str, **more: Any) -> dict[str, Any]:
    return {**more, "type": kind, "session_id": SESSION, "uuid": "0f0e"}


DONE = result(result="All done.", stop_reason="end_turn", terminal_reason="completed")
WHOLE = [init(), said(text("I look.")), said(use()), used(), said(text("All done."), named="msg_2"), DONE]


def spelled(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)
