"""Kept answers are read again: what a better parser finds is stored, and nothing that is known gets lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import orjson
import pytest

from interlock.apps.jobs.finder.fetching import raw
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.parse_again import Reading, read_again, store
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.steps.scraping import page_request
from interlock.engine.application import Unit
from interlock.store import Store, moment
from tests.apps.jobs.finder.answers import GREENHOUSE
from tests.apps.jobs.finder.rows import BY, Finder, open_finder


@pytest.fixture
def finder(store: Store) -> Iterator[Finder]:
    with open_finder(store) as made:
        yield made


def crawled(finder: Finder) -> tuple[SourceRow, list[UUID]]:
    """A source whose list was read and kept, with its two postings."""
    board = finder.source("https://boards.greenhouse.io/nordlicht", "nordlicht")
    request = adapter_of("greenhouse").first(Address("greenhouse", "nordlicht"))
    answer = Answer(orjson.dumps(GREENHOUSE), request.url, 200, {"content-type": "application/json"}, request)

    def job(unit: Unit) -> list[UUID]:
        raw.keep(unit.conn, "default", request, answer, unit.now)
        shown = board.adapter.parse(answer, board.address, moment(unit.now)).postings
        return [one.id for one in postings.take(unit, "default", shown, source_id=board.id, company_id=None)]

    return board, finder.write(job)


def read(finder: Finder, board: SourceRow) -> Reading:
    return finder.read(lambda conn: read_again(conn, board))


def rewritten(finder: Finder, posting_id: UUID, **changes: Any) -> None:
    """What an older parser would have stored."""

    def job(unit: Unit) -> None:
        row = postings.find(unit.conn, "default", posting_id)
        assert row is not None
        postings.replace(unit, posting_id, row.posting_key, row.posting.model_copy(update=changes))

    finder.write(job)


def row_of(finder: Finder, posting_id: UUID) -> PostingRow:
    row = finder.read(lambda conn: postings.find(conn, "default", posting_id))
    assert row is not None
    return row


def test_the_same_parser_changes_nothing(finder: Finder) -> None:
    board, _ = crawled(finder)
    found = read(finder, board)
    assert (found.verdict, found.postings, found.unchanged) == ("complete", 2, 2)
    assert (found.changed, found.new) == ([], [])


def test_a_value_that_is_read_better_is_stored_and_the_posting_scored_again(finder: Finder) -> None:
    board, [cook, stoker] = crawled(finder)
    rewritten(finder, cook, title="Ship&#39;s Cook", department=None)
    rewritten(finder, stoker, description_text="What its own page said.")
    finder.set(cook, profile_digest="of then")
    found = read(finder, board)
    assert [(one.id, one.fields) for one in found.changed] == [(cook, ("title", "department"))]
    assert found.fields == {"title": 1, "department": 1}
    finder.write(lambda unit: store(unit, found, BY))
    assert row_of(finder, cook).title == "Ship's Cook"
    assert row_of(finder, cook).posting.department == "Galley"
    assert row_of(finder, cook).profile_digest != "of then"
    assert row_of(finder, stoker).posting.description_text == "What its own page said."
    assert read(finder, board).changed == []


def test_a_posting_that_was_not_found_before_starts_a_listing(finder: Finder) -> None:
    board, [cook, _] = crawled(finder)
    finder.set(cook, posting_key="another")
    found = read(finder, board)
    assert [one.posting.title for one in found.new] == ["Ship's Cook"]
    finder.write(lambda unit: store(unit, found, BY))
    made = finder.read(lambda conn: postings.with_key(conn, "default", found.new[0].key))
    assert made is not None
    assert finder.engine.get(made.item_id).data["stage"] == "FILTER"


def test_a_page_of_its_own_is_read_again_too(finder: Finder) -> None:
    board, [_, stoker] = crawled(finder)
    request = page_request("https://boards.greenhouse.io/nordlicht/jobs/4007002")
    page = b"<html><body><h1>Stoker</h1><main><p>Keep the boiler hot.</p></main></body></html>"
    answer = Answer(page, request.url, 200, {"content-type": "text/html"}, request)
    finder.write(lambda unit: raw.keep(unit.conn, "default", request, answer, unit.now))
    found = read(finder, board)
    assert [one.id for one in found.changed] == [stoker]
    finder.write(lambda unit: store(unit, found, BY))
    assert row_of(finder, stoker).posting.description_text == "Keep the boiler hot."
    assert read(finder, board).changed == []


def test_without_kept_answers_it_says_so(finder: Finder) -> None:
    found = read(finder, finder.source())
    assert (found.verdict, list(found.reasons)) == ("failed", ["an answer is not kept any more"])
