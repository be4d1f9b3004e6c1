"""An answer allows one call. An agent's program that names a second call like the first is not answered by it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.sessions import Sessions
from tests.support.waiting import eventually

PROGRAM = """
import json, sys

def ask(command):
    request = {"subtype": "can_use_tool", "tool_name": "mcp__sandbox__execute_bash", "input": {"command": command}}
    print(json.dumps({"type": "control_request", "request_id": "same", "request": request}), flush=True)
    for line in sys.stdin:
        found = json.loads(line)
        if found["type"] == "control_response":
            return found["response"]["response"]

sys.stdin.readline(), sys.stdin.readline()
print(json.dumps({"type": "system", "subtype": "init"}), flush=True)
first, second = ask("git status"), ask("rm -rf /workspace")
answer = f'{first["behavior"]} {second["behavior"]}'
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": answer}), flush=True)
"""


def test_an_answer_to_one_call_is_none_to_another_of_the_same_id(sessions: Sessions, tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    agent = {"kind": "claude", "command": [sys.executable, str(program)], "own_tools": False}
    sessions.set(agent="twice", agents={"twice": agent})
    made = sessions.start("Look around")
    with sessions.working():
        for command, decision in (("git status", "allow"), ("rm -rf /workspace", "deny")):
            (asked,) = eventually(lambda command=command: _open(sessions, made["id"], command))
            path = f"/api/reviews/{asked['review_id']}/decide"
            assert sessions.api.post(path, {"decision": decision}, "reviewer").status_code == 200
        eventually(lambda: sessions.look(made["id"])["result"])
    (prompt,) = sessions.prompts(made["id"])
    assert prompt["answer"] == "allow deny"


def _open(sessions: Sessions, session_id: str, command: str) -> list[dict[str, str]]:
    return [one for one in sessions.look(session_id)["approvals"] if command in one["input"]]
