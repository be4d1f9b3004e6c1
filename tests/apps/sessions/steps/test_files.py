"""What a session leaves on the disk, and what must not get out of the service."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from interlock.apps.sessions.conversation.hiding import RunSecrets
from interlock.apps.sessions.loans.session_loans import open_loan, sandbox_of
from interlock.apps.sessions.steps.tidying import tidy
from interlock.engine.retention.erasing import Erasing
from interlock.machine import OWNER, Actor
from interlock.store.application_tables import other_rows
from tests.support.sessions import Sessions
from tests.support.waiting import eventually

from .test_life import SLOW

KEY = "key-of-the-agent-0123"


def test_item_and_token_of_a_sandbox_are_in_no_answer(sessions: Sessions) -> None:
    """Trap A17."""
    sessions.set(return_after=3600)
    made = sessions.start("One")
    sessions.go_on(10)
    it = UUID(made["id"])
    loan = sessions.engine.read(lambda conn: open_loan(conn, it))
    assert loan is not None
    lent = sessions.engine.read(lambda conn: sandbox_of(conn, loan.id))
    assert lent is not None
    shown = sessions.look(it)
    assert shown["sbx_config"]["borrow_token"] == "[hidden]"
    assert shown["sbx_config"]["item"]["mcp_json_string"] == "[hidden]"
    paths = [f"/sessions/{it}", "/sessions", f"/sessions/{it}/prompts", f"/prompts/{made['prompt_id']}/messages"]
    paths += [f"/api/instances/{one}{rest}" for one in (it, loan.id) for rest in ("", "/history", "/explain")]
    for path in paths:
        answer = sessions.api.get(path, "owner")
        assert answer.status_code == 200, path
        assert lent.token not in answer.text
        assert "mcpServers" not in answer.text
    exported = str(sessions.engine.read(lambda conn: [row for _, row in other_rows(conn)]))
    assert "'token': '[hidden]'" in exported
    assert lent.token not in exported
    assert "mcpServers" not in exported


def test_keys_of_the_agent_are_hidden_in_what_it_prints(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    command = ["sh", "-c", 'printf \'{"type":"said","text":"%s"}\\n\' "$AGENT_KEY"']
    sessions.set(agents={"chatty": {"command": command, "own_tools": False, "env": ["AGENT_KEY"]}})
    made = sessions.start("One", agent="chatty")
    sessions.go_on(10)
    (line,) = sessions.messages(made["prompt_id"])
    assert line["data"]["text"] == "[hidden]"


def test_keys_of_the_agent_are_hidden_in_how_a_prompt_ended_too(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    script = """printf '{"type":"said","text":"it is %s"}\n' "$AGENT_KEY"; echo "bad key $AGENT_KEY" >&2; exit 3"""
    lines = {"answer": {"when": {"type": "said"}, "field": "text"}}
    agent = {"command": ["sh", "-c", script], "own_tools": False, "env": ["AGENT_KEY"], "lines": lines}
    sessions.set(agents={"chatty": agent})
    made = sessions.start("One", agent="chatty")
    sessions.go_on(10)
    (prompt,) = sessions.prompts(made["id"])
    assert (prompt["answer"], "bad key [hidden]" in prompt["sentence"]) == ("it is [hidden]", True)
    assert KEY not in sessions.api.get(f"/api/instances/{made['id']}/history", "owner").text


ASKING = """
import json, os
asked = {"command": "curl -u me:" + os.environ["AGENT_KEY"]}
request = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t1", "input": asked}
print(json.dumps({"type": "control_request", "request_id": "r1", "request": request}), flush=True)
input(); input()
"""


def test_keys_of_the_agent_are_hidden_in_what_it_asks(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    (tmp_path / "asking.py").write_text(ASKING)
    command = [sys.executable, str(tmp_path / "asking.py")]
    sessions.set(agents={"asking": {"kind": "claude", "command": command, "env": ["AGENT_KEY"]}})
    made = sessions.start("One", agent="asking")
    with sessions.working():
        (asked,) = eventually(lambda: sessions.look(made["id"])["approvals"])
        assert (KEY in str(asked), "[hidden]" in asked["title"], "[hidden]" in asked["input"]) == (False, True, True)
        sessions.api.post(f"/sessions/{made['id']}/cancel", who="member")
        eventually(lambda: sessions.look(made["id"])["result"])


@pytest.mark.parametrize("value", ['a"quoted\\key', "ключ-сервиса"])
def test_a_secret_is_hidden_as_json_spells_it(value: str) -> None:
    hide = RunSecrets([value, "short"]).hide
    for text in (value, json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert hide(f"{text} short").replace('"', "") == "[hidden] short"
    assert RunSecrets().hide(value) == value


def test_long_lines_are_cut_with_a_way_to_see_all(sessions: Sessions) -> None:
    program = 'import json; print(json.dumps({"type": "tool", "output": "x" * 2_000_000}))'
    sessions.set(agents={"long": {"command": ["python3", "-c", program], "own_tools": False}})
    made = sessions.start("One", agent="long")
    sessions.go_on(10)
    (line,) = sessions.messages(made["prompt_id"])
    assert (line["cut"], line["data"], line["size"] > 2_000_000, len(line["text"])) == (True, None, True, 4096)
    whole = sessions.api.get(f"/prompts/{made['prompt_id']}/messages/1", "viewer").json()
    assert (whole["cut"], len(whole["data"]["output"])) == (False, 2_000_000)
    assert sessions.api.get(f"/prompts/{made['prompt_id']}/messages/2", "viewer").status_code == 404


def test_files_of_runs_that_are_over_are_removed_and_those_of_others_stay(sessions: Sessions) -> None:
    runs = sessions.folder / "files" / "runs"
    made = sessions.start(SLOW)
    with sessions.working():
        eventually(lambda: sessions.messages(made["prompt_id"]))
        left = runs / str(uuid4())
        left.mkdir()
        (runs / "notes").mkdir()
        tidy(sessions.engine)
        assert sorted(os.listdir(runs)) == sorted([made["prompt_id"], "notes"])
        sessions.api.post(f"/sessions/{made['id']}/cancel", who="member")
        eventually(lambda: sessions.look(made["id"])["result"])


def test_the_home_of_an_erased_session_is_removed(sessions: Sessions) -> None:
    made = [sessions.start(f"Task {n}")["id"] for n in range(2)]
    sessions.go_on()
    homes = sessions.folder / "files" / "homes"
    assert sorted(os.listdir(homes)) == sorted(made)
    Erasing(sessions.engine, Actor(OWNER, "chief"), "asked for in a letter").one(UUID(made[0]))
    tidy(sessions.engine)
    assert os.listdir(homes) == [made[1]]
