"""Whatever a server sends, parsing ends with a verdict: no exception, no script, nothing without a limit."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from interlock.apps.jobs.finder.sources import SYSTEMS, adapter_of
from interlock.apps.jobs.finder.sources.answer import MOST_BYTES, Answer, Parsed, Verdict
from tests.apps.jobs.finder.answers import DETAILS, LISTS, NOW, board, body
from tests.apps.jobs.finder.mutation import check, damaged, mutated

ROUNDS = 80


def parse(kind: str, raw: bytes, **answer: Any) -> Parsed:
    found = adapter_of(kind).parse(Answer(raw, **answer), board(kind), NOW)
    counts = found.counts
    assert len(found.postings) == counts.parsed
    assert counts.listed == counts.parsed + counts.duplicates + counts.hidden + counts.unreadable
    assert (found.verdict is Verdict.COMPLETE) == (not found.reasons)
    for one in found.postings:
        check(one)
    return found


@pytest.mark.parametrize("kind", SYSTEMS)
def test_no_mutation_of_a_list_is_an_error(kind: str) -> None:
    dice = random.Random(kind)
    value = LISTS[kind]
    for _ in range(ROUNDS):
        if isinstance(value, str):
            parse(kind, damaged(value.encode(), dice))
        else:
            raw = json.dumps(mutated(value, dice)).encode() if dice.random() < 0.9 else body(value)
            parse(kind, damaged(raw, dice) if dice.random() < 0.2 else raw)


@pytest.mark.parametrize("kind", DETAILS)
def test_no_mutation_of_a_detail_is_an_error(kind: str) -> None:
    dice = random.Random(kind)
    posting = parse(kind, body(LISTS[kind])).postings[0]
    for _ in range(ROUNDS):
        raw = json.dumps(mutated(DETAILS[kind], dice)).encode()
        found = adapter_of(kind).parse_detail(Answer(raw), board(kind), posting, NOW)
        for one in found.postings:
            check(one)


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"\x00",
        b"null",
        b"7",
        b'"x"',
        b"[]",
        b"{}",
        b"[[[[",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"<html>",
        b"<a>" * 50_000,
        b"<!doctype html><title>Just a moment...</title>",
        b"\xff\xfe\x00",
        b'{"jobs": null}',
        b"<rss/>",
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><result>&a;</result>',
    ],
)
def test_what_is_no_list_is_failed_or_empty(kind: str, raw: bytes) -> None:
    found = parse(kind, raw)
    assert found.postings == ()
    assert found.verdict is Verdict.FAILED or raw in (b"[]",) or kind == "personio"


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("status", [301, 401, 403, 404, 410, 429, 500, 503])
def test_another_status_than_success_is_failed_even_with_a_list(kind: str, status: int) -> None:
    assert parse(kind, body(LISTS[kind]), status=status).verdict is Verdict.FAILED


@pytest.mark.parametrize("kind", SYSTEMS)
def test_an_answer_that_is_too_large_is_not_read(kind: str) -> None:
    assert parse(kind, b" " * (MOST_BYTES + 1)).verdict is Verdict.FAILED


@pytest.mark.parametrize("kind", ["greenhouse", "lever", "ashby", "workday", "smartrecruiters", "workable", "bamboohr"])
def test_html_instead_of_json_is_named(kind: str) -> None:
    assert parse(kind, b"<!DOCTYPE html><p>Sorry</p>").reasons == ("HTML instead of JSON",)
    assert parse(kind, b"<html>Verify you are human</html>").reasons == ("a challenge page instead of JSON",)


def test_entities_of_an_xml_document_are_refused_and_named() -> None:
    for inside in ('<!ENTITY a "b">', '<!ENTITY a SYSTEM "file:///etc/passwd">'):
        raw = f'<?xml version="1.0"?><!DOCTYPE x [{inside}]><workzag-jobs>&a;</workzag-jobs>'
        assert parse("personio", raw.encode()).reasons == ("XML with entities of its own, which are not resolved",)


def test_a_row_that_is_wrong_is_counted_and_the_others_survive() -> None:
    rows = [*LISTS["lever"], 7, None, [], {}, {"text": "no id"}]
    found = parse("lever", body(rows))
    assert (found.verdict, found.counts.listed, found.counts.unreadable, len(found.postings)) == (
        Verdict.PARTIAL,
        6,
        5,
        1,
    )
    assert parse("lever", body([7, {}])).verdict is Verdict.FAILED


def test_a_field_that_is_wrong_is_unknown_and_listed() -> None:
    row = {
        **LISTS["lever"][0],
        "text": ["x"],
        "createdAt": "soon",
        "salaryRange": "much",
        "categories": 7,
        "workplaceType": 1,
    }
    found = parse("lever", body([row]))
    posting = found.postings[0]
    wrong = {"title", "posted_at", "salary", "team", "department", "locations", "workplace", "employment_type"}
    assert wrong <= set(posting.extraction.fields_missing)
    assert set(found.wrong_fields) >= {"text", "createdAt", "workplaceType"}
    assert posting.description_text


def test_a_description_without_end_is_cut_and_deep_nesting_is_flattened() -> None:
    rows = [
        {**LISTS["lever"][0], "id": str(n), "description": text}
        for n, text in enumerate(["<div>" * 60_000 + "x", "y" * 10**6])
    ]
    deep, long = parse("lever", body(rows)).postings
    assert "x" in (deep.description_text or "") or deep.description_text
    assert len(long.description_text or "") <= 250_000
