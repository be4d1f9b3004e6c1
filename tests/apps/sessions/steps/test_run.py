"""A prompt from the request to the commit on the branch, on both databases."""

from __future__ import annotations

from interlock.config import AiSettings
from interlock.watch import costs
from tests.support.sessions import Sessions


def test_a_prompt_is_worked_on_in_a_worktree_and_its_work_is_on_the_branch(both: Sessions) -> None:
    made = both.start("Write down the opening hours")
    both.go_on()
    assert both.path(made["id"]) == ["pending", "in_progress", "needs_review", "needs_review_ip_returned"]
    shown = both.look(made["id"])
    assert (shown["result"], shown["sbx_config"], shown["waiting_prompts"]) == ("done", None, 0)
    (prompt,) = both.prompts(made["id"])
    assert (prompt["inbox_status"], prompt["reason"]) == ("done", "done")
    assert prompt["sentence"].startswith("The agent finished in ")
    assert prompt["cost_usd"] > 0
    assert prompt["usage"]["input_tokens"] > 0
    lines = both.messages(prompt["id"])
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
    assert (lines[-1]["kind"], lines[-1]["data"]["type"]) == ("result/success", "result")
    diff = both.api.get(f"/sessions/{made['id']}/diff", "viewer").json()
    assert {one["path"] for one in diff["files"]} == {"CHANGELOG.md", "notes/write-down-the-opening-hours.md"}
    patch = both.api.get(f"/sessions/{made['id']}/patch", "viewer")
    assert "Subject: [PATCH] Write down the opening hours" in patch.text
    assert both.engine.verify().problems == ()


def test_what_an_agent_costs_counts_and_a_spent_budget_runs_no_prompt(sessions: Sessions) -> None:
    made = sessions.start("Write down the opening hours")
    sessions.go_on()
    [first] = sessions.prompts(made["id"])
    [row] = sessions.engine.read(lambda conn: costs.by_day(conn, [costs.ALL], sessions.engine.clock.now()))
    assert (row.machine, row.task, row.model, row.calls) == ("session", "prompt", "demo", 1)
    assert round(row.cost / costs.BILLION, 6) == first["cost_usd"]
    assert (row.input_tokens > 0, row.output_tokens > 0) == (True, True)
    sessions.engine.core.settings["ai"] = AiSettings.model_validate({"budgets": {"sessions": {"day": 0.0001}}})
    other = sessions.start("Write down the prices")
    sessions.go_on()
    [second] = sessions.prompts(other["id"])
    assert (second["inbox_status"], second["reason"], second["cost_usd"]) == ("failed", "not_run", None)
    assert "the budget of sessions for the day is spent" in second["sentence"]
