"""The pages of sessions: the list, starting one, the conversation, and what people do on it."""

from __future__ import annotations

from html import unescape
from uuid import UUID, uuid4

from interlock.apps.sessions.conversation import prompts
from tests.apps.sessions.pages.conftest import ROOT, Pages, answered, said, used
from tests.support.sessions import REPO

# -- the list


def test_a_session_is_listed_with_its_state_branch_person_and_cost(pages: Pages) -> None:
    made = pages.run("Write a note about tea")
    text = unescape(pages.get(ROOT))
    assert f'href="{ROOT}/{made}"' in text
    for part in ("Write a note about tea", REPO, "claude/write-a-note-about-tea", "1 prompt", "to review"):
        assert part in text
    assert "$0.0" in text


def test_the_list_is_narrowed_by_status_repository_person_and_words(pages: Pages) -> None:
    one, two = pages.run("Write about tea"), pages.start("Write about coffee")
    pages.send(one, "archive", reason="done with it")

    def listed(query: str) -> set[str]:
        text = pages.get(f"{ROOT}?{query}")
        return {name for name, made in (("tea", one), ("coffee", two)) if f'href="{ROOT}/{made}"' in text}

    assert listed("") == {"coffee"}
    assert listed("show=archived") == {"tea"}
    assert listed("show=all") == {"tea", "coffee"}
    assert listed("show=working") == {"coffee"}
    assert listed("show=all&q=ABOUT+tea") == {"tea"}
    assert listed("show=all&q=gardener") == set()
    assert listed(f"show=all&repo={REPO}&user=member") == {"tea", "coffee"}
    assert listed("show=all&user=nobody") == set()
    assert pages.site.get(f"{ROOT}?show=everything", "member").status_code == 422
    assert pages.site.get(f"{ROOT}?workspace=north", "member").status_code == 404


def test_the_navigation_leads_to_sessions(pages: Pages) -> None:
    assert f'href="{ROOT}"' in pages.get("/ui")


# -- starting


def test_a_session_is_started_with_a_prompt_and_files(pages: Pages) -> None:
    form = pages.site.form(f"{ROOT}/new", f"{ROOT}/new", "member")
    sent = {**form, "repo": REPO, "prompt": "Read the file\r\nand do it", "target_branch": "main", "agent": "demo"}
    files = [("files", ("plan.txt", b"Tea first", "text/plain")), ("files", ("", b"", "application/octet-stream"))]
    after = pages.site.browser("member").post(f"{ROOT}/new", data=sent, files=files)
    assert after.status_code == 200, after.text
    made = after.url.path.removeprefix(f"{ROOT}/")
    (prompt,) = pages.sessions.prompts(made)
    assert (prompt["text"], prompt["user_id"]) == ("Read the file\nand do it", "member")
    assert [(one["name"], one["size"]) for one in prompt["attachments"]] == [("plan.txt", 9)]
    assert "plan.txt" in after.text
    assert "9 bytes" in after.text


def test_what_is_wrong_with_a_new_session_is_said(pages: Pages) -> None:
    form = pages.site.form(f"{ROOT}/new", f"{ROOT}/new", "member")
    sent = {**form, "repo": "harbour/none", "prompt": "Do it", "agent": "demo"}
    after = pages.site.browser("member").post(f"{ROOT}/new", data=sent)
    assert after.status_code == 422
    assert "here is no repository 'harbour/none'" in unescape(after.text)


# -- the conversation


def test_the_conversation_has_prompts_words_folded_tool_calls_and_the_outcome(pages: Pages) -> None:
    made = pages.run("Write a note about tea")
    text = unescape(pages.page(made))
    for part in (
        "Write a note about tea",
        "I look at what is there.",
        '<span class="tool-name mono">list_files</span>',
        '<span class="tool-name mono">write_file</span>',
        ' title="notes/write-a-note-about-tea.md">notes/write-a-note-about-tea.md</span>',
        "The agent finished in",
        "I wrote notes/write-a-note-about-tea.md",
        "The agent started",
    ):
        assert part in text
    assert '<details class="tool t-done" data-key=' in text
    assert '<details class="tool t-done" open' not in text


def test_thoughts_are_folded_and_unknown_lines_are_shown_as_they_are(pages: Pages) -> None:
    made = pages.start("Think")
    thought = {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Tea or coffee?"}]}}
    pages.printed(
        made, thought, {"type": "weather", "rain": True}, "plain words", {"type": "stream_event", "event": {}}
    )
    text = unescape(pages.page(made))
    assert '<details class="thought" data-key=' in text
    assert "Tea or coffee?" in text
    assert '<span class="mono">weather</span>' in text
    assert '"rain": true' in text
    assert "plain words" in text
    assert "stream_event" not in text


def test_a_call_shows_what_became_of_it(pages: Pages) -> None:
    made = pages.start("Work")
    pages.printed(
        made,
        used("Bash", {"command": "make"}, "a"),
        answered("no rule", "a", failed=True),
        used("Bash", {"command": "rm -rf /"}, "b"),
        {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "b"},
        answered("needs approval", "b", failed=True),
        used("Read", {"file_path": "a.txt"}, "c"),
    )
    text = pages.page(made)
    assert [f"t-{one}" in text for one in ("failed", "denied", "running")] == [True, True, True]


def test_a_result_that_says_success_and_error_is_a_failure(pages: Pages) -> None:
    """Claude Code calls an exhausted API a success."""
    made = pages.start("Work")
    pages.printed(made, {"type": "result", "subtype": "success", "is_error": True, "num_turns": 2})
    text = pages.page(made)
    assert "failed · 2 turns" in text
    assert "success" not in text.partition("<main")[2]


def test_a_long_answer_is_cut_and_all_of_it_is_one_link_away(pages: Pages) -> None:
    made = pages.start("Work")
    whole = "\n".join(f"line {n}" for n in range(20_000))
    _, message = pages.printed(made, used("Read", {"path": "big"}), answered(whole))
    text = pages.page(made)
    assert "line 40" in text
    assert "line 19999" not in text
    link = f"{ROOT}/{made}/messages/{message}"
    assert link in text
    assert "line 19999" in pages.get(link)
    download = pages.site.get(f"{link}?download=true", "member")
    assert download.headers["content-type"].startswith("text/plain")
    assert "line 19999" in download.text


def test_a_line_of_two_megabytes_costs_the_page_only_its_beginning(pages: Pages) -> None:
    made = pages.start("Work")
    pages.printed(made, said("x" * 2_000_000))
    assert len(pages.page(made)) < 60_000


def test_a_long_conversation_is_read_in_pages_and_downloaded_whole(pages: Pages) -> None:
    made = pages.start("Work")
    pages.printed(made, *(said(f"words {n}") for n in range(900)))
    text = pages.page(made)
    assert "words 899<" in text
    assert "words 100<" not in text
    assert "earlier line" in text
    url = f"{ROOT}/{made}/prompts/{pages.prompt_id(made)}"
    first = pages.get(url)
    assert "words 0<" in first
    assert "words 899<" not in first
    assert f"{url}?after=1399" in first
    assert "words 400<" in pages.get(f"{url}?after=1399")
    assert pages.get(f"{url}/lines").count("\n") == 900


def test_cost_and_tokens_are_shown_for_each_prompt_and_together(pages: Pages) -> None:
    made = pages.run("One")
    pages.sessions.prompt(made, "Two")
    pages.sessions.go_on(10)
    one, two = pages.sessions.prompts(made)
    text = pages.page(made)
    for prompt in (one, two):
        assert f"${prompt['cost_usd']:.3f}" in text
    assert f"${one['cost_usd'] + two['cost_usd']:.3f}" in text
    assert f"{sum(one['usage'].values()) + sum(two['usage'].values()):,}" in text


def test_the_sandbox_and_its_lease_are_shown_without_secrets(pages: Pages) -> None:
    pages.sessions.set(return_after=3600)
    made = pages.run("One")
    text = pages.page(made)
    lease = pages.sessions.look(made)["lease"]
    assert lease["state"] == "held"
    assert "held since" in text
    assert lease["item_id"] in text
    token = pages.sessions.engine.read(lambda conn: conn.exec_driver_sql("SELECT token FROM sandbox_loan").scalar_one())
    instances = (pages.get(f"/ui/instances/{one}") for one in (made, lease["loan_id"]))
    for page in (text, pages.get(ROOT), *instances):
        assert token not in page
        assert "mcp_json_string" not in page


# -- what people do


def test_a_follow_up_waits_in_the_queue_and_can_be_cancelled(pages: Pages) -> None:
    made = pages.start("One")
    after = pages.send(made, "prompts", prompt="Two")
    assert "It waits until the agent is free" in after.text
    two = pages.prompt_id(made)
    text = unescape(pages.page(made))
    assert "2. Two" in text
    form = pages.site.form(f"{ROOT}/{made}", f"{ROOT}/{made}/cancel", "member")
    pages.site.browser("member").post(f"{ROOT}/{made}/cancel", data={**form, "prompt": two})
    assert [one["inbox_status"] for one in pages.sessions.prompts(made)] == ["pending", "cancelled"]


def test_a_session_is_cancelled_archived_and_brought_back(pages: Pages) -> None:
    made = pages.start("One")
    assert "1 waiting prompt cancelled" in pages.send(made, "cancel").text
    pages.sessions.go_on(10)
    state = pages.sessions.state(made)
    assert "Archived" in pages.send(made, "archive", reason="not needed").text
    assert pages.sessions.state(made) == "archived"
    assert "Unarchive to continue" in pages.page(made)
    pages.send(made, "unarchive")
    assert pages.sessions.state(made) in {state, "needs_review"}


def test_a_fork_continues_on_a_branch_of_its_own(pages: Pages) -> None:
    made = pages.run("Write about tea")
    after = pages.send(made, "fork", prompt="Now about coffee", title="Coffee")
    fork = after.url.path.removeprefix(f"{ROOT}/")
    assert fork != made
    shown = pages.sessions.look(fork)
    assert (shown["title"], shown["parent"], shown["prompts"]) == ("Coffee", made, 1)
    assert f'href="{ROOT}/{made}">forked from' in after.text


def test_title_and_target_are_changed_and_a_session_is_deleted(pages: Pages) -> None:
    made = pages.run("One")
    pages.send(made, "edit", title="Another name", target_branch="main")
    assert "<h1>Another name</h1>" in pages.page(made)
    assert pages.send(made, "delete").url.path == ROOT
    assert pages.site.get(f"{ROOT}/{made}", "member").status_code == 404


def test_only_an_owner_with_a_reason_moves_a_session_by_force(pages: Pages) -> None:
    made = pages.run("One")
    assert f"{ROOT}/{made}/force" not in pages.page(made)
    form = pages.site.form(f"{ROOT}/{made}", f"{ROOT}/{made}/force", "owner")
    browser = pages.site.browser("owner")
    assert browser.post(f"{ROOT}/{made}/force", data={**form, "to": "archived", "reason": ""}).status_code == 422
    browser.post(f"{ROOT}/{made}/force", data={**form, "to": "archived", "reason": "stuck"})
    assert pages.sessions.state(made) == "archived"


# -- who may


def test_a_viewer_reads_and_changes_nothing(pages: Pages) -> None:
    made = pages.run("One")
    text = pages.page(made, "viewer")
    assert '<form method="post"' not in text.partition("<main")[2]
    assert pages.site.get(f"{ROOT}/new", "viewer").status_code == 403
    csrf = pages.site.form("/ui/logout", "/ui/logout", "viewer")["csrf"]
    browser = pages.site.browser("viewer")
    for what, fields in {
        "prompts": {"prompt": "Do it"},
        "cancel": {},
        "archive": {},
        "fork": {},
        "delete": {},
        "edit": {"title": "x", "target_branch": "main"},
        "force": {"to": "archived", "reason": "x"},
        "publish": {"how": "merge", "sure": "yes"},
    }.items():
        sent = {"csrf": csrf, "key": uuid4().hex, **fields}
        assert browser.post(f"{ROOT}/{made}/{what}", data=sent).status_code == 403, what
    assert len(pages.sessions.prompts(made)) == 1


def test_a_session_of_another_workspace_does_not_exist(pages: Pages) -> None:
    made = pages.run("One")
    prompt = pages.prompt_id(made)
    message = pages.sessions.messages(prompt)[0]["id"]
    parts = ("", "/changes", "/patch", f"/prompts/{prompt}", f"/prompts/{prompt}/lines", f"/messages/{message}")
    for path in (f"{ROOT}/{made}{one}" for one in parts):
        assert pages.site.get(path, "member").status_code == 200, path
        assert pages.site.get(path, "north-owner").status_code == 404, path
    assert made not in pages.get(ROOT, "north-owner")


def test_a_prompt_or_message_of_another_session_is_not_shown_under_this_one(pages: Pages) -> None:
    one, two = pages.run("One"), pages.start("Two")
    prompt = pages.prompt_id(one)
    message = pages.sessions.messages(prompt)[0]["id"]
    for path in (f"prompts/{prompt}", f"prompts/{prompt}/lines", f"messages/{message}"):
        assert pages.site.get(f"{ROOT}/{two}/{path}", "member").status_code == 404


def test_a_form_without_its_token_is_refused(pages: Pages) -> None:
    made = pages.start("One")
    browser = pages.site.browser("member")
    assert browser.post(f"{ROOT}/{made}/prompts", data={"prompt": "Two"}).status_code == 403
    assert browser.post(f"{ROOT}/new", data={"prompt": "Two", "repo": REPO}).status_code == 403
    files = {"files": ("a.txt", b"a", "text/plain")}
    assert browser.post(f"{ROOT}/{made}/prompts", data={"prompt": "Two"}, files=files).status_code == 403
    assert len(pages.sessions.engine.read(lambda conn: prompts.of_session(conn, UUID(made)))) == 1
