"""The life of a session: prompts run one at a time by the scripted agent, in real worktrees of a real repository."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.sessions.conversation import prompts as stored
from interlock.apps.sessions.sandbox.confinement import detect
from interlock.apps.sessions.steps import work
from tests.support.sessions import Sessions, git
from tests.support.waiting import eventually

pytestmark = pytest.mark.soak("postgresql")
SLOW = "Look around. demo: slow 60"


def test_prompts_run_one_at_a_time_in_order_and_each_once(both: Sessions) -> None:
    """Trap A11: a follow-up runs none of the earlier prompts again."""
    made = both.start("One")
    both.prompt(made["id"], "Two")
    both.prompt(made["id"], "Three")
    both.go_on()
    found = both.prompts(made["id"])
    assert [(one["text"], one["inbox_status"]) for one in found] == [(n, "done") for n in ("One", "Two", "Three")]
    assert all(a["ended_at"] <= b["started_at"] for a, b in pairwise(found))
    both.prompt(made["id"], "Four")
    both.go_on()
    log = git("log", "--format=%s", str(both.look(made["id"])["branch"]), cwd=_mirror(both)).splitlines()
    assert log == ["One (4)", "One (3)", "One (2)", "One", "First version"]
    results = [line for one in both.prompts(made["id"]) for line in both.messages(one["id"])]
    assert sum(line["kind"] == "result/success" for line in results) == 4


def _mirror(sessions: Sessions) -> Path:
    (found,) = (sessions.folder / "files" / "repositories").glob("*.git")
    return found


def test_a_follow_up_uses_the_sandbox_that_is_held_and_resumes_the_conversation(sessions: Sessions) -> None:
    """Traps A1 and A18: the loan is not overwritten, and the history is not replayed as a file."""
    sessions.set(return_after=3600)
    made = sessions.start("One")
    sessions.go_on(10)
    first = sessions.look(made["id"])
    assert (first["ui_status"], first["lease"]["state"]) == ("needs_review", "held")
    sessions.prompt(made["id"], "Two")
    sessions.go_on(10)
    second = sessions.look(made["id"])
    assert second["lease"]["loan_id"] == first["lease"]["loan_id"]
    asked = sessions.engine.read(lambda conn: stored.of_session(conn, UUID(made["id"])))
    assert len({one.conversation for one in asked}) == 1
    assert sessions.path(made["id"])[3:] == ["pending", "in_progress", "needs_review"]


def test_the_cost_of_a_prompt_is_what_the_conversation_cost_more(sessions: Sessions) -> None:
    made = sessions.start("One")
    sessions.prompt(made["id"], "Two")
    sessions.go_on()
    one, two = sessions.prompts(made["id"])
    last = sessions.messages(two["id"])[-1]["data"]
    assert last["total_cost_usd"] == pytest.approx(one["cost_usd"] + two["cost_usd"])
    assert sessions.look(made["id"])["cost_usd"] == pytest.approx(last["total_cost_usd"])


def test_a_failure_never_looks_like_finished_work(sessions: Sessions) -> None:
    """Trap A10: the outcome comes from the result line and the exit code."""
    made = sessions.start("Do it. demo: fail")
    sessions.go_on(10)
    shown = sessions.look(made["id"])
    assert (shown["result"], shown["ui_status"]) == ("failed", "needs_review_ip_returned")
    assert "529" in shown["error"]
    (prompt,) = sessions.prompts(made["id"])
    assert (prompt["inbox_status"], prompt["reason"]) == ("failed", "api_error")


def test_an_agent_that_dies_without_a_result_has_failed(sessions: Sessions) -> None:
    made = sessions.start("Do it. demo: crash")
    sessions.go_on(10)
    (prompt,) = sessions.prompts(made["id"])
    assert (prompt["inbox_status"], prompt["reason"]) == ("failed", "killed")
    assert "SIGKILL" in prompt["sentence"]


def test_a_failed_prompt_does_not_stop_the_next_one(sessions: Sessions) -> None:
    made = sessions.start("One. demo: fail")
    sessions.prompt(made["id"], "Two")
    sessions.go_on()
    assert [one["inbox_status"] for one in sessions.prompts(made["id"])] == ["failed", "done"]


def test_the_turns_of_a_prompt_are_limited(sessions: Sessions) -> None:
    sessions.set(max_turns=2)
    made = sessions.start("One")
    sessions.go_on(10)
    (prompt,) = sessions.prompts(made["id"])
    assert (prompt["inbox_status"], prompt["reason"], prompt["turns"]) == ("failed", "max_turns", 2)


# -- what prevents a run


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"agent": "claude"}, "Claude Code is not installed"),
        ({"agent": "absent"}, "no-such-program"),
    ],
)
def test_a_prompt_that_cannot_be_run_says_why_and_gives_its_sandbox_back(
    sessions: Sessions, body: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap A9: every way out of a run moves the session."""
    monkeypatch.setattr("interlock.apps.sessions.agents.launching.claude_program", lambda: None)
    sessions.set(agents={"absent": {"command": ["no-such-program"], "own_tools": False}})
    made = sessions.start("One", **body)
    sessions.go_on()
    shown = sessions.look(made["id"])
    assert (shown["ui_status"], shown["result"]) == ("needs_review_ip_returned", "failed")
    assert said in shown["error"]
    assert sessions.prompts(made["id"])[0]["inbox_status"] == "failed"
    assert shown["lease"]["state"] == "returned"


def test_a_branch_that_is_not_there_is_said_before_a_sandbox_is_borrowed(sessions: Sessions) -> None:
    made = sessions.start("One", target_branch="nowhere")
    sessions.go_on(10)
    shown = sessions.look(made["id"])
    assert (shown["ui_status"], shown["result"], shown["lease"]) == ("needs_review", "failed", None)
    assert "has no branch 'nowhere'; there are: main" in shown["error"]


def test_a_repository_that_is_away_keeps_no_sandbox_from_others(sessions: Sessions) -> None:
    """Trap A12: one poisoned session blocks no other, although there is one sandbox."""
    repos = {**sessions.settings.model_dump()["repos"], "gone/gone": str(sessions.folder / "gone")}
    sessions.set(pool_size=1, repos=repos)
    poisoned = sessions.start("One", repo="gone/gone")
    made = sessions.start("Two")
    sessions.go_on(10)
    assert sessions.look(made["id"])["result"] == "done"
    assert (sessions.state(poisoned["id"]), sessions.look(poisoned["id"])["lease"]) == ("pending", None)
    sessions.go_on(400)
    (prompt,) = sessions.prompts(poisoned["id"])
    assert (prompt["inbox_status"], "git fetch failed" in prompt["sentence"]) == ("failed", True)


def test_a_session_that_waits_for_a_sandbox_says_so(sessions: Sessions) -> None:
    sessions.set(pool_size=0)
    made = sessions.start("One")
    sessions.trial.run_until_idle()
    loan = sessions.look(made["id"])["lease"]["loan_id"]
    said = [
        sessions.api.get(f"/api/instances/{one}/explain", "member").json()["sentence"] for one in (made["id"], loan)
    ]
    assert said[0].endswith(": waits for a sandbox.")
    assert said[1].endswith(": waits in line for a sandbox.")


def test_a_step_that_raises_moves_the_session_and_ends_its_prompt(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap A9, for what nobody foresaw."""

    def broken(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(work, "run_agent", broken)
    made = sessions.start("One")
    sessions.go_on()
    shown = sessions.look(made["id"])
    assert (shown["ui_status"], shown["result"]) == ("needs_review_ip_returned", "failed")
    (prompt,) = sessions.prompts(made["id"])
    assert (prompt["inbox_status"], "a bug" in prompt["sentence"]) == ("failed", True)


def test_a_repository_that_is_away_is_tried_again(sessions: Sessions) -> None:
    source = sessions.folder / "source"
    source.rename(sessions.folder / "away")
    made = sessions.start("One")
    sessions.go_on(10)
    assert sessions.state(made["id"]) == "pending"
    (sessions.folder / "away").rename(source)
    sessions.go_on(60)
    assert sessions.look(made["id"])["result"] == "done"


def test_an_empty_pool_is_waited_for_and_costs_no_attempt(both: Sessions) -> None:
    both.set(pool_size=1, return_after=30)
    made = [both.start(name)["id"] for name in ("One", "Two")]
    both.go_on(10)
    (second,) = [one for one in made if both.look(one)["result"] is None]
    waiting = both.engine.get(UUID(second))
    assert (waiting.state, waiting.failures) == ("pending", {})
    both.go_on(60)
    assert [both.look(one)["result"] for one in made] == ["done", "done"]


# -- cancelling


def _busy(sessions: Sessions, made: dict[str, Any], lines: int = 1) -> str:
    prompt = str(made["prompt_id"])
    eventually(lambda: len(sessions.messages(prompt)) >= lines)
    return prompt


def agents_of(sessions: Sessions) -> list[int]:
    """Processes of agents that run for these sessions."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if str(sessions.folder).encode() in words and b"agents.demo" in words:
            found.append(int(path.parent.name))
    return found


def test_a_running_prompt_is_cancelled_at_once_and_nothing_is_left_running(both: Sessions) -> None:
    """Trap A16: the process group is ended and waited for."""
    made = both.start(SLOW)
    with both.working():
        _busy(both, made)
        assert agents_of(both)
        begun = time.monotonic()
        said = both.api.post(f"/sessions/{made['id']}/cancel", {"reason": "the wrong branch"}, "member").json()
        assert said["message"] == "The agent is being ended"
        assert said["session"]["cancellation_status"] == "requested"
        eventually(lambda: both.look(made["id"])["result"] == "cancelled")
        took = time.monotonic() - begun
        eventually(lambda: both.state(made["id"]) == "needs_review_ip_returned")
    assert took < 10
    assert agents_of(both) == []
    (prompt,) = both.prompts(made["id"])
    assert (prompt["inbox_status"], prompt["reason"]) == ("cancelled", "cancelled")
    assert prompt["sentence"].endswith("Reason: the wrong branch")
    assert both.look(made["id"])["cancellation_status"] == "cancelled"


def test_cancelling_the_running_prompt_leaves_the_next(sessions: Sessions) -> None:
    made = sessions.start(SLOW)
    sessions.prompt(made["id"], "Two")
    with sessions.working():
        prompt = _busy(sessions, made)
        sessions.api.post(f"/prompts/{prompt}/cancel", who="member")
        eventually(lambda: [one["inbox_status"] for one in sessions.prompts(made["id"])] == ["cancelled", "done"])


def test_a_session_archived_while_its_agent_works_is_cancelled_first_and_comes_back_to_review(
    both: Sessions,
) -> None:
    made = both.start(SLOW)
    both.prompt(made["id"], "Two")
    with both.working():
        _busy(both, made)
        said = both.api.post(f"/sessions/{made['id']}/archive", who="member").json()
        assert (said["session"]["ui_status"], said["session"]["archiving"]) == ("in_progress", True)
        refused = both.api.post("/prompts", {"session_id": made["id"], "content": "Three"}, "member")
        assert refused.status_code == 409
        eventually(lambda: both.state(made["id"]) == "archived")
        eventually(lambda: (both.look(made["id"])["lease"] or {}).get("state") == "returned")
    assert both.state(made["id"]) == "archived", "trap A14: a return never un-archives"
    assert [one["inbox_status"] for one in both.prompts(made["id"])] == ["cancelled", "cancelled"]
    assert agents_of(both) == []
    both.api.post(f"/sessions/{made['id']}/unarchive", who="member")
    assert both.path(made["id"])[-3:] == ["needs_review", "archived", "needs_review"]


def test_a_deleted_session_ends_its_agent_and_gives_its_sandbox_back(sessions: Sessions) -> None:
    made = sessions.start(SLOW)
    with sessions.working():
        _busy(sessions, made)
        assert sessions.api.call("member", "DELETE", f"/sessions/{made['id']}").status_code == 200
        eventually(lambda: sessions.state(made["id"]) == "archived")
        eventually(lambda: [one.state for one in sessions.engine.children(UUID(made["id"]))] == ["returned"])
    assert agents_of(sessions) == []


def test_a_session_that_an_owner_forces_away_loses_its_agent(sessions: Sessions) -> None:
    made = sessions.start(SLOW)
    with sessions.working():
        _busy(sessions, made)
        body = {"ui_status": "needs_review_ip_returned", "force": True, "reason": "it hangs"}
        assert sessions.api.call("owner", "PUT", f"/sessions/{made['id']}", body).status_code == 200
        eventually(lambda: not agents_of(sessions))
        eventually(lambda: [one.state for one in sessions.engine.children(UUID(made["id"]))] == ["returned"])
    assert sessions.prompts(made["id"])[0]["inbox_status"] == "cancelled"


def test_what_waits_for_a_sandbox_is_cancelled_too(both: Sessions) -> None:
    both.set(pool_size=0)
    made = both.start("One")
    both.go_on(10)
    both.api.post(f"/sessions/{made['id']}/cancel", who="member")
    both.go_on(10)
    shown = both.look(made["id"])
    assert (shown["ui_status"], shown["result"]) == ("needs_review", "cancelled")
    assert [one.state for one in both.engine.children(UUID(made["id"]))] == ["returned"]


# -- approvals


def test_a_tool_call_waits_for_a_person_and_the_agent_gets_the_answer(both: Sessions) -> None:
    made = both.start("Remove the unused flags")
    with both.working():
        (asked,) = eventually(lambda: both.look(made["id"])["approvals"])
        assert "rm -rf build" in asked["input"]
        assert asked["tool"] == "mcp__sandbox__execute_bash"
        path = f"/api/reviews/{asked['review_id']}/decide"
        assert both.api.post(path, {"decision": "allow"}, "agent").status_code in {403, 404}
        assert both.api.post(path, {"decision": "allow"}, "viewer").status_code == 403
        assert both.api.post(path, {"decision": "allow", "answer": {}}, "reviewer").status_code == 200
        eventually(lambda: both.look(made["id"])["result"])
    (prompt,) = both.prompts(made["id"])
    assert (prompt["inbox_status"], "denied" in prompt["sentence"]) == ("done", False)


def test_the_agent_gets_the_reason_of_a_denied_call(sessions: Sessions) -> None:
    made = sessions.start("Remove the unused flags")
    with sessions.working():
        (asked,) = eventually(lambda: sessions.look(made["id"])["approvals"])
        body = {"decision": "deny", "answer": {"reason": "the flags are used by the mobile app"}}
        assert sessions.api.post(f"/api/reviews/{asked['review_id']}/decide", body, "reviewer").status_code == 200
        eventually(lambda: sessions.look(made["id"])["result"])
    (prompt,) = sessions.prompts(made["id"])
    assert "1 tool call was denied" in prompt["sentence"]
    assert "used by the mobile app" in json.dumps(sessions.messages(prompt["id"]))


def test_a_call_is_allowed_with_another_input(sessions: Sessions) -> None:
    made = sessions.start("Remove the unused flags")
    with sessions.working():
        (asked,) = eventually(lambda: sessions.look(made["id"])["approvals"])
        body = {"decision": "allow", "answer": {"changed_input": {"command": "echo changed-by-a-person"}}}
        assert sessions.api.post(f"/api/reviews/{asked['review_id']}/decide", body, "reviewer").status_code == 200
        eventually(lambda: sessions.look(made["id"])["result"])
    said = json.dumps(sessions.messages(str(made["prompt_id"])))
    assert "changed-by-a-person" in said or "there is no shell here" in said


def test_an_unanswered_call_is_denied_in_time(sessions: Sessions) -> None:
    made = sessions.start("Remove the unused flags")
    with sessions.working():
        eventually(lambda: sessions.look(made["id"])["approvals"])
        sessions.api.clock.advance(timedelta(minutes=16))
        eventually(lambda: sessions.look(made["id"])["result"])
    assert "Nobody answered within 15 minutes" in json.dumps(sessions.messages(str(made["prompt_id"])))


# -- forks


def test_a_fork_has_the_work_and_the_conversation_on_a_branch_of_its_own(sessions: Sessions) -> None:
    made = sessions.start("One")
    sessions.go_on()
    answer = sessions.api.post(f"/sessions/{made['id']}/fork", {"prompt": "Two", "title": "Other way"}, "member")
    assert answer.status_code == 201, answer.text
    forked = answer.json()
    sessions.go_on()
    shown = sessions.look(forked["id"])
    assert (shown["parent"], shown["result"], shown["title"]) == (made["id"], "done", "Other way")
    log = git("log", "--format=%s", shown["branch"], cwd=_mirror(sessions)).splitlines()
    assert log == ["Other way", "One", "First version"]
    assert sessions.look(made["id"])["branch"] != shown["branch"]
    data = sessions.engine.get(UUID(forked["id"])).data
    assert data["home"] == made["id"]
    assert data["fork_of"] == sessions.engine.get(UUID(made["id"])).data["agent_session"]


# -- files


def test_the_agent_reads_the_files_of_a_prompt(sessions: Sessions) -> None:
    made = sessions.start()
    sessions.prompt(made["id"], "Use the notes", attachments=[{"name": "notes.txt", "text": "Earl Grey"}])
    sessions.go_on()
    branch = sessions.look(made["id"])["branch"]
    changed = git("show", "--stat", "--format=", branch, cwd=_mirror(sessions))
    assert "notes/" in changed


def test_no_files_of_a_run_are_left(sessions: Sessions) -> None:
    made = sessions.start("One")
    sessions.go_on()
    assert sessions.look(made["id"])["result"] == "done"
    assert os.listdir(sessions.folder / "files" / "runs") == []


def test_a_branch_is_pushed_and_merged_where_the_repository_allows_it(sessions: Sessions) -> None:
    made = sessions.start("Write the opening hours")
    sessions.go_on()
    pushed = sessions.api.post(f"/sessions/{made['id']}/push", who="member")
    assert pushed.status_code == 200, pushed.text
    branch, source = sessions.look(made["id"])["branch"], sessions.folder / "source"
    assert git("rev-parse", branch, cwd=source) == pushed.json()["commit"]
    merged = sessions.api.post(f"/sessions/{made['id']}/merge", {"message": "Hours"}, "member")
    assert git("log", "-1", "--format=%H %s", "main", cwd=source) == f"{merged.json()['commit']} Hours"
    sessions.set(repos={"harbour/shop": str(source)})
    assert sessions.api.post(f"/sessions/{made['id']}/push", who="member").status_code == 409


# -- any other program

SCRIPT = """
name=$1; prompt=$2
echo '{"type":"thread.started","thread_id":"t-1"}'
echo "$prompt" >> /workspace/asked.txt; echo "$name" >> "$HOME/seen"
printf '{"type":"said","text":"%s, seen %s"}\\n' "$name" "$(wc -l < "$HOME/seen")"
echo '{"type":"turn.completed","usage":{"input_tokens":7}}'
"""
LINES = {
    "conversation": {"when": {"type": "thread.started"}, "field": "thread_id"},
    "answer": {"when": {"type": "said"}, "field": "text"},
    "done": {"when": {"type": "turn.completed"}},
    "input_tokens": {"when": {"type": "turn.completed"}, "field": "usage.input_tokens"},
}


@pytest.mark.skipif(not detect().works, reason="this host cannot confine commands, so no such agent is started")
def test_a_configured_program_works_inside_the_confinement_and_is_resumed_by_its_own_name(sessions: Sessions) -> None:
    run = ["bash", "-c", SCRIPT, "agent"]
    other = {"command": [*run, "first", "{prompt}"], "resume": [*run, "{conversation}", "{prompt}"], "lines": LINES}
    sessions.set(agents={"other": other})
    made = sessions.start("One {home}", agent="other")
    sessions.prompt(made["id"], "Two")
    sessions.go_on()
    found = sessions.prompts(made["id"])
    assert [one["answer"] for one in found] == ["first, seen 1", "t-1, seen 2"], found
    assert [(one["inbox_status"], one["usage"]["input_tokens"]) for one in found] == [("done", 7)] * 2
    diff = sessions.api.get(f"/sessions/{made['id']}/diff", "viewer").json()
    assert "+One {home}\n+Two\n" in diff["diff"]
