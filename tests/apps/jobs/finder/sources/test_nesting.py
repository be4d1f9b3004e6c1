"""Excessive markup is refused before a parser sees it; what pages really have is not."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer, Verdict
from interlock.apps.jobs.finder.sources.cleaning import sanitised, text_of
from interlock.apps.jobs.finder.sources.discovery import discover
from interlock.apps.jobs.finder.sources.nesting import beyond_reason
from tests.apps.jobs.finder.answers import NOW

FORMATTING = "<p>" + "".join(f"<b a{n}>" for n in range(200)) + "</p>" + "<p>soup" * 6000
BAD = {
    "deep": "<div>" * 20_000,
    "deep and closed": "<div>" * 20_000 + "</div>" * 20_000,
    "formatting": FORMATTING,
    "attributes": "<a " + " ".join(f"a{n}" for n in range(25_000)) + ">",
    "attributes with quotes": "<a " + " ".join(f'a{n}="<>"' for n in range(25_000)) + ">",
    "tags": "<p>" * 600_000,
}
GOOD = {
    "a long list": "<ul>" + "<li><b>Soup</b><br><img src=x>" * 20_000 + "</ul>",
    "paragraphs that are never closed": "<p>Soup" * 50_000,
    "drawings": "<svg>" + '<path d="M0 0"/>' * 20_000 + "</svg>",
    "a large picture": '<img src="data:' + "A" * 500_000 + '">',
    "data in a script": "<script>{" + '"a b c": 1, ' * 20_000 + "}</script>",
}


@pytest.mark.parametrize("name", BAD)
def test_excessive_markup_is_refused_and_costs_nothing(name: str) -> None:
    text = BAD[name]
    assert beyond_reason(text)
    page = f"<html>{text}</html>"
    assert discover(page, "https://nordlicht.example/jobs", NOW) is None
    for kind in ("jsonld", "personio", "jobvite"):
        assert adapter_of(kind).parse(Answer(page.encode()), None, NOW).verdict is Verdict.FAILED


@pytest.mark.parametrize("name", GOOD)
def test_large_pages_of_the_usual_kind_are_read(name: str) -> None:
    assert not beyond_reason(GOOD[name])


def test_a_description_beyond_reason_keeps_its_words() -> None:
    assert (text_of(sanitised(FORMATTING)) or "").startswith("soup soup soup")
    assert len(sanitised("<a>" * 60_000 + "x") or "") < 600_000


@pytest.mark.parametrize(
    "block", ['{"a":1' + "\n" * 200_000 + "x", "-->" + " " * 200_000 + "x", '{"a":1' + " \n" * 200_000]
)
def test_repairing_json_takes_no_longer_than_reading_it(block: str) -> None:
    page = f'<script type="application/ld+json">{block}</script>'
    assert adapter_of("jsonld").parse(Answer(page.encode()), None, NOW).verdict is Verdict.FAILED
