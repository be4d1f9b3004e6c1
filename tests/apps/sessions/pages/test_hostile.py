"""What agents, files and tools print is shown and does nothing: no markup, no hidden text, no secrets, no size."""

from __future__ import annotations

import json
import unicodedata
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.sessions.conversation.entries import entries
from interlock.apps.sessions.conversation.visible import MOST, one_line, shown, visible
from interlock.engine import secrets
from tests.apps.sessions.pages.conftest import ROOT, Pages, answered, said, used
from tests.apps.sessions.pages.made import message
from tests.support.site import EVIL

HIDES = (
    "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07 \x1b[2J\x1b[31mred\x9b1m \u202egnp.exe "
    "\u200b\ufeff\U000e0041 \x00\x08"
)


def test_nothing_that_an_agent_prints_becomes_markup(pages: Pages) -> None:
    made = pages.start(f"Look at {EVIL}", title=EVIL)
    pages.printed(
        made,
        said(EVIL),
        {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": EVIL}]}},
        used(EVIL, {EVIL: EVIL, "command": EVIL}, "a"),
        answered(EVIL, "a"),
        answered([{"type": EVIL, "text": EVIL}, {"type": "text", "text": EVIL}], "b"),
        {"type": "system", "subtype": "init", "model": EVIL, "mcp_servers": [{"name": EVIL, "status": EVIL}]},
        {"type": "system", "subtype": "api_retry", "error": EVIL, "attempt": EVIL},
        {"type": "system", "subtype": EVIL},
        {"type": "result", "subtype": EVIL, "errors": [EVIL], "is_error": True},
        {"type": EVIL},
        EVIL,
    )
    prompt = pages.prompt_id(made)
    message = pages.sessions.messages(prompt)[0]["id"]
    for path in (ROOT, f"{ROOT}/{made}", f"{ROOT}/{made}/prompts/{prompt}", f"{ROOT}/{made}/messages/{message}"):
        text = pages.get(path)
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\u202e" not in text
        assert "alert(1)" in unescape(text)


def test_escape_sequences_are_removed_and_what_hides_is_spelled_out(pages: Pages) -> None:
    made = pages.start("Look")
    pages.printed(made, said(HIDES), used("Bash", {"command": HIDES}), answered(HIDES))
    text = pages.page(made)
    for hidden in ("\x1b", "\x9b", "\u202e", "\u200b", "\ufeff", "\U000e0041", "\x08"):
        assert hidden not in text
    assert "click red ⟨U+202E⟩gnp.exe" in text
    assert "⟨U+200B⟩⟨U+FEFF⟩⟨U+E0041⟩" in text


@given(st.text(max_size=200))
def test_nothing_in_a_shown_text_is_invisible(text: str) -> None:
    found = visible(text)
    seen = found.replace("\u200c", "").replace("\u200d", "")
    strange = [c for c in seen if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert strange == []
    assert not any(c in seen for c in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\ufeff")
    assert visible(found) == found


def test_readable_text_stays_as_it_is() -> None:
    for text in ("Grüße, 東京, العربية", "👩\u200d💻 works", "a\tb\nc", "naïve: e\u0301"):
        assert visible(text) == text
    assert visible("progress 1 %\rprogress 2 %\r\n") == "progress 1 %\nprogress 2 %\n"
    assert visible("z" + "\u0301" * 50) == "z" + "\u0301" * 4


def test_a_text_is_cut_at_characters_and_lines_and_its_size_is_said() -> None:
    assert (shown("x" * 10).cut, shown("x" * 10).size) == (False, 10)
    long = shown("x" * 50_000)
    assert (len(long.text), long.size, long.cut) == (MOST, 50_000, True)
    many = shown("a\n" * 500, lines=10)
    assert (many.text.count("\n"), many.cut) == (9, True)
    assert one_line("a\nb " * 200, 20) == "a b a b a b a b a b…"


def test_a_secret_at_the_end_of_a_cut_text_is_hidden_as_a_whole() -> None:
    secrets.learn(["very-secret-value-1234"])
    try:
        text = "x" * (MOST - 8) + "very-secret-value-1234" + "y" * 100
        assert "very" not in shown(text).text
        assert "very" not in visible(text)
    finally:
        secrets.forget()


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("type", "subtype", "message", "content", "id", "name", "input", "tool_use_id", "is_error", "errors", "request")


@given(
    st.sampled_from(["assistant", "user", "system", "result", "control_request", "else"]),
    st.dictionaries(st.sampled_from(NAMES), ODD, max_size=6),
    st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image"]),
    st.dictionaries(st.sampled_from((*NAMES, "text", "thinking")), ODD, max_size=6),
)
def test_a_line_of_any_form_is_read(kind: str, line: dict[str, object], block: str, fields: dict[str, object]) -> None:
    """An agent may print anything; a page never fails because of it."""
    inner = {"content": [{**fields, "type": block}, fields, 7]}
    for one in ({**line, "type": kind}, {**line, "type": kind, "message": inner}, fields):
        text = json.dumps(one)
        assert all(found.key for found in entries([(message(text), text)]))


@pytest.mark.parametrize(
    "text", ["", "{", '{"type": "assistant", "message": {"content": [{"type"', "[1, 2]", "7", "null"]
)
def test_what_is_no_json_object_is_shown_as_it_is(text: str) -> None:
    found = entries([(message(text), text)])
    assert [one.body.text for one in found if one.body] == ([text] if text else [])
