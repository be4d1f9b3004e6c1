"""Text and HTML from outside: safe to show, with the words and the structure kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.sources.cleaning import BODY, line, sanitised, text_of, visible


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("  Cook\n(Kiel) ", "Cook (Kiel)"),
        ("R&amp;D", "R&D"),
        ("<script>alert(1)</script>Cook", "Cook"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;Cook", "Cook"),
        ("Senior <b>Cook</b>", "Senior Cook"),
        ("x < y", "x < y"),
        ("C++ <3", "C++ <3"),
        ("Cook\u202egnp.exe\u200b\x00", "Cookgnp.exe"),
        ("", None),
        ("  ", None),
        (7, None),
    ],
)
def test_a_line_is_plain_text(raw: object, plain: str | None) -> None:
    assert line(raw) == plain


def test_a_line_has_a_limit() -> None:
    assert line("x" * 1000) == "x" * 299 + "…"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<p onclick=x>a</p>", "<p>a</p>"),
        ("<p>a<script>b</script><style>c</style></p>", "<p>a</p>"),
        ('<a href="javascript:x">a</a>', '<a rel="noopener noreferrer nofollow">a</a>'),
        ('<img src=x onerror=alert(1)>a<iframe src="//x">b</iframe>', "a"),
        ("&lt;p&gt;a &amp;amp; b&lt;/p&gt;", "<p>a &amp; b</p>"),
        ("&amp;lt;p&amp;gt;a&amp;lt;/p&amp;gt;", "<p>a</p>"),
        ("one\ntwo & three", "one<br>\ntwo &amp; three"),
        ("   ", None),
        (None, None),
    ],
)
def test_html_is_sanitised_and_escaped_html_is_html(raw: object, clean: str | None) -> None:
    assert sanitised(raw) == clean


def test_the_text_keeps_paragraphs_and_lists_apart() -> None:
    items = "<ul><li><p>Soup</p></li><li>Stew<br>thick</li><li></li></ul>"
    raw = f"<h2>You</h2><p>Cook.</p>{items}<div>a</div><div>b&nbsp;c</div>"
    assert text_of(sanitised(raw)) == "You\n\nCook.\n\n- Soup\n- Stew\nthick\n\na\n\nb c"


def test_deep_nesting_costs_no_time_and_keeps_the_words() -> None:
    assert text_of(sanitised("<div>" * 30_000 + "deep" + "</div>" * 30_000)) in ("deep", None)
    assert text_of(sanitised("<b><i>" * 2000 + "deep")) == "deep"


def test_a_body_has_a_limit() -> None:
    assert len(sanitised("x" * (BODY + 10)) or "") == BODY


@settings(max_examples=80, deadline=None)
@given(st.text('<>/"= &;#abpliscrtx\n', max_size=80))
def test_what_is_sanitised_stays_as_it_is_and_has_no_tag_of_its_own(raw: str) -> None:
    once = sanitised(raw)
    if once and "<" in once:
        assert sanitised(once) == once
    assert "<script" not in (once or "")
    assert visible(text_of(once) or "") == (text_of(once) or "")
