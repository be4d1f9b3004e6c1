"""What a session leaves on the disk, and what must not get out of the service."""

from __future__ import annotations

import os
from uuid import UUID, uuid4

import pytest

from interlock.apps.sessions.loans.session_loans import open_loan, sandbox_of
from interlock.apps.sessions.steps.tidying import tidy
from interlock.engine.retention.erasing import Erasing
from interlock.machine import OWNER, Actor
from tests.support.sessions import Sessions
from tests.support.waiting import eventually

from .test_life import SLOW


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


def test_keys_of_the_agent_are_hidden_in_what_it_prints(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "key-of-the-agent-0123")
    command = ["sh", "-c", 'printf \'{"type":"said","text":"%s"}\\n\' "$AGENT_KEY"']
    sessions.set(agents={"chatty": {"command": command, "own_tools": False, "env": ["AGENT_KEY"]}})
    made = sessions.start("One", agent="chatty")
    sessions.go_on(10)
    (line,) = sessions.messages(made["prompt_id"])
    assert line["data"]["text"] == "[hidden]"


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
