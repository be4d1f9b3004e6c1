"""A comparison as a page."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser

import pytest

from interlock.apps.contracts.comparison import (
    AnyComparison,
    Source,
    compare_amendments,
    compare_offers,
    compare_template,
    compare_versions,
    current_from_fields,
    page,
    shipped_offers,
    shipped_template,
)
from interlock.apps.contracts.comparison.html import fragment, style, words
from interlock.apps.contracts.comparison.result import Words
from interlock.apps.contracts.comparison.text import PlainDocument

EVIL = '<script>alert(1)</script> "quoted" & <img src=x onerror=alert(1)>'


def comparisons() -> dict[str, AnyComparison]:
    field = {"value": EVIL, "quote": EVIL, "page": 1, "start": 0, "end": 3}
    before = Source(EVIL, PlainDocument.of(f"1. Term. One year {EVIL}.\n2. Price. Ten."), {"term": field})
    after = Source("b", PlainDocument.of(f"1. Term. Two years {EVIL}.\n3. Law. {EVIL}"), {"term": {"value": "2"}})
    amendment = Source("c", PlainDocument.of(f"FIRST AMENDMENT\n1. Section 1 is amended to read as follows: {EVIL}"))
    template = shipped_template("commercial")
    assert template is not None
    return {
        "versions": compare_versions(before, after),
        "amendment": compare_amendments(before, [amendment]),
        "template": compare_template(before, template),
        "standard": compare_template(before, after),
        "offers": compare_offers(current_from_fields({"tariff": {"value": EVIL}}), shipped_offers(), date(2026, 1, 1)),
    }


KINDS = ["versions", "amendment", "template", "standard", "offers"]
VOID = {"meta"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_document_says_is_never_markup(kind: str) -> None:
    html = page(comparisons()[kind])
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert not tags.seen & {"script", "img", "iframe", "link", "object"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_needs_nothing_from_outside(kind: str) -> None:
    html = page(comparisons()[kind])
    assert not re.search(r"url\(|@import|https?:", html)
    assert html.startswith("<!doctype html>")


def test_changes_are_marked_with_elements_and_signs_so_that_colours_are_not_needed() -> None:
    html = page(comparisons()["versions"])
    assert "<del>One year</del> <ins>Two years</ins>" in html
    assert 'ins::before { content: "[+"; }' in html


def test_equal_clauses_are_folded_away_and_changed_ones_open() -> None:
    same = compare_versions(*(Source("a", PlainDocument.of(f"1. Same. Word.\n2. Other. {w}.")) for w in ("Old", "New")))
    html = page(same)
    assert "<details open><summary>Changed (1)</summary>" in html
    assert "<details><summary>The same (1)</summary>" in html


def test_long_equal_text_is_shortened_to_what_is_around_a_change() -> None:
    pieces = [Words(op="same", text="word " * 300), Words(op="deleted", text="x"), Words(op="same", text=" tail" * 300)]
    marked = words(pieces)
    assert len(marked) < 500
    assert "<del>x</del>" in marked


def test_a_part_of_a_page_has_no_frame_of_its_own() -> None:
    part = fragment(comparisons()["versions"])
    assert part.startswith('<div class="comparison">')
    assert "<style" not in part
    assert ".comparison" in style()
