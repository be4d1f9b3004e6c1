"""Lists of postings: filters, order, pages, counts, and what the day asks for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.records import lists, postings, sources
from interlock.apps.jobs.finder.records.lists import Filter
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict
from interlock.engine import InvalidData
from interlock.engine.application import Unit
from interlock.store import Store, micros, span
from tests.apps.jobs.finder.rows import BY, Finder, open_finder
from tests.apps.jobs.finder.seekers import NOW


@pytest.fixture
def finder(store: Store) -> Iterator[Finder]:
    with open_finder(store) as made:
        yield made


def listed(finder: Finder, wanted: Filter | None = None, **options: int) -> list[UUID]:
    return [
        one.id
        for one in finder.read(lambda c: lists.page(c, "default", wanted or Filter(), finder.now, **options)).rows
    ]


def scored(finder: Finder, number: int, score: int | None, **values: object) -> UUID:
    made = finder.posting(f"https://kind.example/jobs/{number}", title=f"Engineer {number}")
    finder.set(made, outcome="matched" if score is not None else "new", score=score, **values)
    return made


def test_the_best_come_first_and_those_without_a_score_last(finder: Finder) -> None:
    old = micros(NOW - timedelta(days=90))
    low, high = scored(finder, 1, 60, posted_at=old), scored(finder, 2, 90, posted_at=old)
    none = scored(finder, 3, None)
    between = scored(finder, 4, 70, posted_at=old)
    finder.set(between, outcome="skipped")
    assert listed(finder) == [high, between, low, none]
    assert listed(finder, limit=1) == [high]


def test_a_fresh_posting_moves_up_inside_its_page(finder: Finder) -> None:
    old = scored(finder, 1, 82, posted_at=micros(NOW - timedelta(days=90)))
    new = scored(finder, 2, 80, posted_at=micros(NOW))
    rows = finder.read(lambda c: lists.page(c, "default", Filter(), finder.now)).rows
    assert [(one.id, one.score, one.list_score) for one in rows] == [(new, 80, 85.0), (old, 82, 82.0)]


def test_pages_show_every_posting_once_though_new_ones_come(finder: Finder) -> None:
    wanted = {scored(finder, number, [90, 80, 80, 80, None, None][number % 6]) for number in range(12)}
    seen: list[UUID] = []
    cursor: str | None = None
    for turn in range(20):
        page = finder.read(lambda c: lists.page(c, "default", Filter(), finder.now, after=cursor, limit=2))  # noqa: B023
        seen += [one.id for one in page.rows]
        cursor = page.next
        if cursor is None:
            break
        scored(finder, 100 + turn, 99)
    assert len(seen) == len(set(seen))
    assert set(seen) == wanted


@pytest.mark.parametrize("cursor", ["x", "80", "80.", "80.zz", "…", "9" * 300, "nan.00"])
def test_a_cursor_that_is_none_is_refused_with_its_value(cursor: str) -> None:
    with pytest.raises(InvalidData, match="take it from `next`"):
        lists.position(cursor)


def test_filters_by_words_company_workplace_source_and_score(finder: Finder) -> None:
    board = finder.source()
    one = finder.posting("https://a.example/1", title="Go Developer", company="Kelp GmbH", location="Remote - US")
    two = finder.posting("https://a.example/2", title="Python Engineer", company="Reef", source_id=board.id)
    finder.set(two, score=70, outcome="skipped", workplace="hybrid")
    three = finder.posting("https://a.example/3", title="100% Köchin", company="Reef", location="Berlin")
    found = {
        "q=words of title and company": (Filter(q="go KELP"), [one]),
        "q=place": (Filter(q="berlin"), [three]),
        "q=address": (Filter(q="a.example/2"), [two]),
        "q=percent is no wildcard": (Filter(q="0%"), [three]),
        "q=other letters": (Filter(q="KÖCHIN"), [three]),
        "company whatever its form": (Filter(company="Kelp"), [one]),
        "company without words": (Filter(company="!!"), []),
        "source": (Filter(source=str(board.id)), [two]),
        "source by kind": (Filter(source="greenhouse"), [two]),
        "workplace": (Filter(workplace="hybrid"), [two]),
        "score": (Filter(min_score=70), [two]),
        "outcome": (Filter(states=["skipped"]), [two]),
        "two outcomes, one decision": (Filter(states=["skipped", "new", "saved"]), []),
    }
    assert {name: listed(finder, wanted) for name, (wanted, _) in found.items()} == {
        name: ids for name, (_, ids) in found.items()
    }


@pytest.mark.parametrize(
    ("wanted", "said"),
    [(Filter(states=["good"]), "state 'good' is none of new"), (Filter(workplace="moon"), "workplace 'moon' is none")],
)
def test_a_filter_that_is_none_is_refused(wanted: Filter, said: str) -> None:
    with pytest.raises(InvalidData, match=said):
        (wanted.conditions("default"), wanted.outcomes())


def test_an_opening_is_listed_once_and_its_other_postings_by_their_source(finder: Finder) -> None:
    board = finder.source()
    own = finder.posting("https://kind.example/1")
    other = finder.posting("https://feed.example/1", source_id=board.id)
    finder.set(other, opening_id=own)
    assert listed(finder) == [own]
    assert listed(finder, Filter(source=str(board.id))) == [other]
    assert set(listed(finder, Filter(every_sighting=True))) == {own, other}
    row = finder.read(lambda c: postings.find(c, "default", own))
    assert [one.id for one in finder.read(lambda c: lists.sightings(c, row))] == [other]
    assert finder.read(lambda c: lists.counts(c, "default"))["outcomes"]["new"] == 1


def test_a_list_shows_one_workspace(finder: Finder) -> None:
    mine = finder.posting()
    theirs = Finder(finder.engine, "north").posting()
    assert listed(finder) == [mine]
    assert mine != theirs


def test_counts_leave_out_what_closed(finder: Finder) -> None:
    scored(finder, 1, 90)
    scored(finder, 2, 90, decision="saved")
    scored(finder, 3, 90, state="closed")
    found = finder.read(lambda c: lists.counts(c, "default"))
    assert found["outcomes"]["matched"] == 2
    assert found["states"] == {"open": 2, "uncertain": 0, "closed": 1}
    assert found["decisions"] == {"saved": 1, "dismissed": 0, "undecided": 1}


def test_today_names_what_waits_for_a_person(finder: Finder) -> None:
    good = finder.source(board="good")
    bad = finder.source("https://boards.greenhouse.io/bad", "bad")
    waits = finder.source("https://boards.greenhouse.io/odd", "odd", status=sources.PENDING_VALIDATION)
    match = scored(finder, 1, 90)
    scored(finder, 2, 95, decision="dismissed")
    scored(finder, 3, 99, state="closed")
    finder.set(finder.posting("https://kind.example/jobs/4"), outcome="filtered")
    item = finder.write(lambda unit: intake.add_company(unit, "default", "Kelp", None, BY)).item
    broken = Parsed(Verdict.FAILED, reasons=("answered 500",))

    def fail(unit: Unit) -> None:
        sources.crawled(unit, bad, item.id, unit.now, broken, {}, gone=False)

    finder.write(fail)
    before = finder.read(lambda c: lists.today(c, "default", finder.now))
    assert [one.id for one in before.matches] == [match]
    assert [one.id for one in before.troubled] == [bad.id, waits.id]
    assert good.id not in [one.id for one in before.troubled]
    assert before.stuck == []
    assert (before.settled.postings, before.settled.before_any_call, before.settled.share) == (4, 4, 1.0)
    later = finder.now + span(timedelta(hours=25))
    assert [one.id for one in finder.read(lambda c: lists.today(c, "default", later)).stuck] == [item.id]
    assert finder.read(lambda c: lists.today(c, "north", later)).stuck == []
