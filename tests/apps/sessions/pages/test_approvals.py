"""Approvals on the page of a session: what the agent asks, and the answer that goes back to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from uuid import uuid4

import pytest

from tests.apps.sessions.pages.conftest import ROOT, Pages
from tests.support.waiting import eventually

ASKS = "Remove what nobody needs. demo: ask"


@contextmanager
def asking(pages: Pages) -> Iterator[tuple[str, str]]:
    """A session whose agent waits for an answer: its id, and the address that answers."""
    with pages.sessions.working():
        made = pages.start(ASKS)
        eventually(lambda: pages.sessions.look(made)["approvals"])
        review = pages.sessions.look(made)["approvals"][0]["review_id"]
        yield made, f"{ROOT}/{made}/approvals/{review}"
        if pages.sessions.look(made)["approvals"]:
            pages.site.send(f"{ROOT}/{made}", f"{ROOT}/{made}/cancel", who="member")
        eventually(lambda: pages.sessions.prompts(made)[0]["inbox_status"] not in {"pending", "active"})


def tool_answers(pages: Pages, session_id: str) -> list[tuple[Any, bool]]:
    """What tools answered to calls that were asked for: the text, and whether it failed."""
    lines = [line["data"] or {} for line in pages.sessions.messages(pages.prompt_id(session_id))]
    blocks = [block for line in lines for block in (line.get("message") or {}).get("content") or []]
    return [(block["content"], block["is_error"]) for block in blocks if block.get("type") == "tool_result"]


def test_a_call_that_waits_is_answered_on_the_page_with_the_time_that_is_left(pages: Pages) -> None:
    with asking(pages) as (made, answer):
        text = unescape(pages.page(made))
        assert 'May the agent use <span class="mono">execute_bash</span>?' in text
        assert "rm -rf build && git status --short" in text
        assert 'data-left="' in text
        assert "The agent is waiting for an answer." in text
        assert "asks you" in pages.get(ROOT)
        after = pages.site.send(f"{ROOT}/{made}", answer, {"decision": "allow"}, "member")
        assert "Allowed: the agent continues" in after.text
    assert "Done." in pages.page(made)
    assert tool_answers(pages, made)[-1][1] is False


def test_a_denial_reaches_the_agent_with_its_reason(pages: Pages) -> None:
    with asking(pages) as (made, answer):
        sent = {"decision": "deny", "reason": "the build is needed"}
        assert "Denied: the agent continues" in pages.site.send(f"{ROOT}/{made}", answer, sent, "member").text
    assert ("the build is needed", True) in tool_answers(pages, made)
    assert "I leave the files where they are." in pages.page(made)
    assert "t-denied" in pages.page(made) or "t-failed" in pages.page(made)


def test_a_call_is_allowed_with_another_input(pages: Pages) -> None:
    with asking(pages) as (made, answer):
        assert '"command": "rm -rf build' in unescape(pages.page(made))
        changed = {"decision": "allow_changed", "changed_input": json.dumps({"command": "echo nothing to remove"})}
        assert "Allowed with your changes" in pages.site.send(f"{ROOT}/{made}", answer, changed, "member").text
    assert any("nothing to remove" in str(text) for text, _ in tool_answers(pages, made))


def test_what_cannot_be_an_answer_is_refused_and_the_question_stays_open(pages: Pages) -> None:
    with asking(pages) as (made, answer):
        form = pages.site.form(f"{ROOT}/{made}", answer, "member")
        browser = pages.site.browser("member")
        for sent in (
            {"decision": "always"},
            {"decision": "allow_changed", "changed_input": ""},
            {"decision": "allow_changed", "changed_input": "[1]"},
            {"decision": "allow_changed", "changed_input": "x" * 100_001},
        ):
            refused = browser.post(answer, data={**form, "key": uuid4().hex, **sent})
            assert refused.status_code == 422, sent
        assert len(pages.sessions.look(made)["approvals"]) == 1


def test_viewers_and_other_workspaces_cannot_answer(pages: Pages) -> None:
    with asking(pages) as (made, answer):
        assert answer not in pages.page(made, "viewer")
        for who, status in (("viewer", 403), ("north-owner", 404)):
            csrf = pages.site.form("/ui/logout", "/ui/logout", who)["csrf"]
            refused = pages.site.browser(who).post(answer, data={"csrf": csrf, "decision": "allow"})
            assert refused.status_code == status
        assert pages.site.browser("member").post(answer, data={"decision": "allow"}).status_code == 403
        other = pages.start("Another one")
        review = answer.rpartition("/")[2]
        form = pages.site.form(f"{ROOT}/{made}", answer, "member")
        wrong = pages.site.browser("member").post(
            f"{ROOT}/{other}/approvals/{review}", data={**form, "decision": "allow"}
        )
        assert wrong.status_code == 404
        assert len(pages.sessions.look(made)["approvals"]) == 1


@pytest.mark.soak
def test_the_inbox_shows_the_call_and_leads_to_the_conversation(pages: Pages) -> None:
    with asking(pages) as (made, _):
        text = unescape(pages.get("/ui/reviews"))
        assert "May the agent use execute_bash? rm -rf" in text
        assert "the agent makes this call once and continues" in text
        assert "rm -rf build && git status --short" in text
        assert f"{ROOT}/{made}" in pages.get(f"/ui/instances/{made}")
