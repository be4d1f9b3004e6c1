"""The scripted agent: works without a model, and really changes files through the sandbox's tools.

It speaks Claude Code's protocol, so that everything around it is the same. What it does depends on the prompt alone:

- it lists and reads files, writes the prompt into `notes/`, adds a line to `CHANGELOG.md`, and looks at the difference;
- a prompt with the word delete, remove or drop, or with `demo: ask`, makes it ask before it runs a command;
- `demo: fail` ends with an error of the model's API, `demo: crash` with a signal and no result;
- `demo: slow 20` waits 20 seconds between two steps.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from interlock.apps.sessions.sandbox.files import ToolRefused
from interlock.apps.sessions.sandbox.slot import Slot
from interlock.apps.sessions.sandbox.tools import Tools

SERVER = "sandbox"
NAMES = ("execute_bash", "read_file", "write_file", "edit_file", "delete_file", "list_files", "search_files")
PRICE = 0.0042
"""Dollars that a step pretends to cost."""
TOKENS = {"input_tokens": 850, "output_tokens": 120, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
ASKS = re.compile(r"\b(delete|remove|drop)\b|demo: ask", re.IGNORECASE)
CallTool = Callable[[str, Mapping[str, Any]], str]


class Interrupted(Exception):
    """Somebody asked it to stop."""


class TurnsUsed(Exception):
    """It may take no more turns."""


class DemoAgent:
    """One prompt."""

    def __init__(self, spec: Mapping[str, Any], call: CallTool) -> None:
        self._conversation, self._call = spec["conversation"], call
        self._max_turns, self._spent = spec["max_turns"], spec["spent"]
        self._input: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._turns = 0
        self._denied: list[dict[str, Any]] = []
        self._begun = time.monotonic()
        self._pause = 0.0

    # -- the protocol

    def listen(self) -> None:
        for line in sys.stdin:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                self._input.put(found)
        self._input.put(None)

    def take(self, seconds: float | None = None) -> dict[str, Any] | None:
        """The next message; None if none came in time. Requests to stop raise."""
        try:
            found = self._input.get(timeout=seconds)
        except queue.Empty:
            return None
        if found is None:
            raise Interrupted
        request = found.get("request")
        if found.get("type") == "control_request" and isinstance(request, dict):
            response: dict[str, Any] = {"subtype": "success", "request_id": found.get("request_id"), "response": {}}
            self.say({"type": "control_response", "response": response})
            if request.get("subtype") == "interrupt":
                raise Interrupted
        return found

    def say(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def event(self, kind: str, **more: Any) -> None:
        self.say({"type": kind, **more, "session_id": self._conversation, "uuid": str(uuid4())})

    def assistant(self, *content: dict[str, Any]) -> None:
        named = f"msg_{uuid4().hex[:20]}"
        for block in content:
            message: dict[str, Any] = {
                "id": named,
                "type": "message",
                "role": "assistant",
                "model": "demo",
                "content": [block],
            }
            message |= {"stop_reason": None, "stop_sequence": None, "usage": TOKENS}
            self.event("assistant", message=message, parent_tool_use_id=None)

    def result(self, subtype: str, *, error: bool = False, **more: Any) -> None:
        own = PRICE * self._turns
        usage = {name: count * self._turns for name, count in TOKENS.items()}
        models = {
            "demo": {"inputTokens": usage["input_tokens"], "outputTokens": usage["output_tokens"], "costUSD": own}
        }
        took = round((time.monotonic() - self._begun) * 1000)
        self.event(
            "result",
            subtype=subtype,
            is_error=error,
            num_turns=self._turns,
            duration_ms=took,
            total_cost_usd=self._spent + own,
            usage=usage,
            model_usage_since_last_result=models,
            permission_denials=self._denied,
            **more,
        )

    # -- what it does

    def turn(self, words: str, tool: str = "", given: Mapping[str, Any] | None = None, *, ask: bool = False) -> str:
        """Say something and use a tool; the tool's answer, or why it was not used."""
        if self._turns >= self._max_turns:
            raise TurnsUsed
        self._turns += 1
        deadline = time.monotonic() + self._pause
        while (left := deadline - time.monotonic()) > 0 or not self._input.empty():
            self.take(max(left, 0.001))
        text = {"type": "text", "text": words}
        if not tool:
            self.assistant(text)
            return ""
        use: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{uuid4().hex[:20]}", "name": f"mcp__{SERVER}__{tool}"}
        use["input"] = dict(given or {})
        self.assistant(text, use)
        answer, failed = self._use(use, tool, ask=ask)
        content = [{"type": "tool_result", "tool_use_id": use["id"], "content": answer, "is_error": failed}]
        self.event("user", message={"role": "user", "content": content}, parent_tool_use_id=None)
        return "" if failed else answer

    def _use(self, use: Mapping[str, Any], tool: str, *, ask: bool) -> tuple[str, bool]:
        given = use["input"]
        if ask:
            decision = self._approval(use)
            if decision.get("behavior") != "allow":
                self._denied.append({"tool_name": use["name"], "tool_use_id": use["id"], "tool_input": given})
                return str(decision.get("message") or "denied"), True
            changed = decision.get("updatedInput")
            given = changed if isinstance(changed, dict) else given
        try:
            return self._call(tool, given), False
        except (ToolRefused, OSError, TypeError) as error:
            return str(error), True

    def _approval(self, use: Mapping[str, Any]) -> Mapping[str, Any]:
        named = str(uuid4())
        request = {"subtype": "can_use_tool", "tool_name": use["name"], "input": use["input"]}
        self.say({"type": "control_request", "request_id": named, "request": {**request, "tool_use_id": use["id"]}})
        while True:
            found = self.take()
            response = (found or {}).get("response")
            if isinstance(response, dict) and response.get("request_id") == named:
                inner = response.get("response")
                return inner if isinstance(inner, dict) else {}

    def work(self, prompt: str) -> None:
        slow = re.search(r"demo: slow (\d{1,4})", prompt)
        self._pause = float(slow[1]) if slow else 0.0
        title = next((one.strip() for one in prompt.splitlines() if one.strip()), "Nothing")[:72]
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "note"
        files = self.turn("I look at what is there.", "list_files").splitlines()
        if "README.md" in files:
            self.turn("The README says what this is.", "read_file", {"path": "README.md", "lines": 40})
        if "demo: crash" in prompt:
            os.kill(os.getpid(), signal.SIGKILL)
        if "demo: fail" in prompt:
            words = "API Error: 529 Overloaded. The scripted agent was asked to fail."
            self.assistant({"type": "text", "text": words})
            self.result("success", error=True, result=words, api_error_status=529, terminal_reason="api_error")
            raise SystemExit(1)
        note = f"# {title}\n\nAsked for:\n\n{_quoted(prompt)}\n\nThe scripted agent read {len(files)} files.\n"
        self.turn("I write down what is to be done.", "write_file", {"path": f"notes/{slug}.md", "content": note})
        known = self.turn("The changes have a list.", "search_files", {"text": "- ", "path": "."}) if files else ""
        before = "# Changes\n\n" if "CHANGELOG.md" not in files else ""
        if before:
            self.turn("I start a list of changes.", "write_file", _file("CHANGELOG.md", f"{before}- {title}\n"))
        else:
            self._append("CHANGELOG.md", f"- {title}\n")
        if ASKS.search(prompt):
            command = "rm -rf build && git status --short"
            done = self.turn("This removes files, so I ask first.", "execute_bash", {"command": command}, ask=True)
            self.turn("Done." if done else "I leave the files where they are.")
        else:
            self.turn("I check what has changed.", "execute_bash", {"command": "git status --short"})
        count = len(known.splitlines())
        words = f"I wrote notes/{slug}.md and added a line to CHANGELOG.md; {count} lines of lists were there before."
        self.turn(words)
        self.result("success", result=words, stop_reason="end_turn", terminal_reason="completed")

    def _append(self, path: str, text: str) -> None:
        shown = self.turn("I read the list of changes.", "read_file", {"path": path})
        if re.search(r"\[\d+ more (?:lines|characters)", shown):
            self.turn("The list of changes is too long for me, so I leave it as it is.")
            return
        lines = [line.partition("\t")[2] for line in shown.splitlines() if re.match(r"\d+\t", line)]
        whole = "\n".join(lines) + ("\n" if lines else "") + text
        self.turn("I add a line to it.", "write_file", _file(path, whole))

    def run(self) -> int:
        threading.Thread(target=self.listen, daemon=True).start()
        try:
            message = self.take()
            while message is None or message.get("type") != "user":
                message = self.take()
            servers = [{"name": SERVER, "status": "connected"}]
            tools = [f"mcp__{SERVER}__{name}" for name in NAMES]
            self.event("system", subtype="init", cwd="/workspace", tools=tools, mcp_servers=servers, model="demo")
            self.work(_prompt(message))
        except Interrupted:
            self.result("error_during_execution", error=True, terminal_reason="aborted_tools", errors=["interrupted"])
            return 1
        except TurnsUsed:
            why = [f"Reached maximum number of turns ({self._max_turns})"]
            self.result("error_max_turns", error=True, terminal_reason="max_turns", errors=why)
            return 1
        return 0


def _file(path: str, content: str) -> dict[str, Any]:
    return {"path": path, "content": content}


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines()[:40])


def _prompt(message: Mapping[str, Any]) -> str:
    """The prompt, with the texts of its files after it."""
    content = message.get("message", {}).get("content", "")
    if isinstance(content, list):
        return "\n".join(str(one.get("text", "")) for one in reversed(content) if isinstance(one, dict))
    return str(content)


def _local(workspace: str) -> CallTool:
    tools = Tools(Slot(Path(workspace)))

    def call(name: str, given: Mapping[str, Any]) -> str:
        if name not in NAMES:
            raise ToolRefused(f"there is no tool {name!r}")
        return str(getattr(tools, name)(**given))

    return call


def _by_mcp(mcp_json: str) -> CallTool:
    from interlock.apps.sessions.agents.demo_mcp import connect

    return connect(mcp_json, SERVER)


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    calls = _local(wanted["workspace"]) if wanted["workspace"] else _by_mcp(wanted["mcp_json"])
    code = DemoAgent(wanted, calls).run()
    sys.stdout.flush()
    # A thread may still wait for input.
    os._exit(code)
