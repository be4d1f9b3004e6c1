"""Pages that were made to hurt: they cost little, and what they give is text."""

from __future__ import annotations

import time

import pytest

from interlock.apps.jobs.finder.companies import analyze, extract
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.sources.documents import decoded

URL = "https://acme.example/about"
HOSTILE = {
    "ten megabytes of words": "<p>We are a team of 12. " + "founded in " * 900_000,
    "ten megabytes of tags": "<p>a</p>" * 1_300_000,
    "deep": "<div>" * 20_000 + "tea" + "</div>" * 20_000,
    "unclosed formatting": "<p>" + "<b>" * 300 + "</p>" + "<p>tea" * 5000,
    "headings alone": "<h2>Our values</h2>" * 5000,
    "labels alone": "<div>Employees</div>" * 5000,
    "numbers alone": "<div>120</div>" * 5000,
    "one long word": "<p>" + "A" * 500_000,
    "capitals": "<p>headquartered in " + "A " * 100_000,
    "links": '<a href="/jobs">jobs</a>' * 5000,
    "blanks": "<p>team of" + " " * 500_000 + "x",
    "deep data": '<script type="application/ld+json">' + '{"@type": "Organization", "a": ' * 5000 + "</script>",
    "nothing": "",
    "no markup": "\x00\x01\ud800 tea",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_costs_little(name: str) -> None:
    pages = {URL: HOSTILE[name]}
    begun = time.process_time()
    analyze(extract(pages, "Acme", "https://acme.example"), pages)
    assert time.process_time() - begun < 5


def test_script_is_text_wherever_it_stands() -> None:
    page = """<h1>About us</h1><p>Acme &lt;script&gt;alert(1)&lt;/script&gt; sells tea <script>alert(2)</script>
      <img src=x onerror=alert(3)>and coffee to everybody in the harbour.</p>
      <a href="javascript:alert(4)">jobs</a><a href="data:text/html,x">careers</a>"""
    found = extract({URL: page}, "Acme <script>alert(5)</script>", "https://acme.example")
    assert found.name == "Acme"
    assert found.said("about") == "Acme <script>alert(1)</script> sells tea and coffee to everybody in the harbour."
    assert analyze(found, {URL: page}).boards == ()


def test_marks_that_reverse_text_are_gone() -> None:
    found = extract({URL: "<h1>About us</h1><p>Acme sells\u202e tea\x00 and\u200b coffee all day.</p>"}, "Acme", URL)
    assert found.said("about") == "Acme sells tea and coffee all day."


def test_pages_in_other_encodings() -> None:
    page = "<meta charset=iso-8859-1><h1>Über uns</h1><p>Acme verkauft Tee, Mitarbeiter gibt es für jede Größe.</p>"
    for body in (page.encode("latin-1"), page.encode("utf-16"), page.encode()):
        text = decoded(Answer(body, url=URL))
        assert "Größe" in (extract({URL: text}, "Acme", URL).said("about") or "")
    broken = decoded(Answer(page.encode("latin-1").replace(b"iso-8859-1", b"rot13"), url=URL))
    assert extract({URL: broken}, "Acme", URL).about
