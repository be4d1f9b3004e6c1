"""A prompt from the request to the commit on the branch, on both databases."""

from __future__ import annotations

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
