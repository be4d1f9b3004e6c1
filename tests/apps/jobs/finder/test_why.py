"""Why a posting is not shown, and what a changed profile would do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.apps.jobs.finder.filtering.checks import CHECKS
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.finder.records import sources
from interlock.apps.jobs.finder.records.what_if import Preview, what_if
from interlock.apps.jobs.finder.records.why import Why, why
from interlock.apps.jobs.finder.sources.answer import Parsed, Verdict
from interlock.store import Store
from tests.apps.jobs.finder.rows import Finder, open_finder
from tests.apps.jobs.finder.seekers import PROFILE, ROW

pytestmark = pytest.mark.soak("postgresql")


@pytest.fixture
def finder(store: Store) -> Iterator[Finder]:
    with open_finder(store) as made:
        yield made


def ask(finder: Finder, text: str) -> Why:
    return finder.read(lambda c: why(c, "default", text, finder.now))


def preview(finder: Finder, **changes: object) -> Preview:
    wanted = check_profile({**PROFILE, **changes})
    return finder.read(lambda c: what_if(c, "default", wanted, finder.now))


def test_a_filtered_posting_says_each_check_with_its_quote(finder: Finder) -> None:
    finder.profile()
    made = finder.settled(title="Junior Frontend Engineer", description="Requirements\n- Angular\n- Vue.js\n")
    [answer] = ask(finder, ROW["url"] + "?utm_source=mail#top").answers
    assert answer.row.id == made
    assert answer.sentence.startswith("The filter rejected it.")
    hits = {one.name: one for one in answer.checks if one.result == "hit"}
    assert "Junior Frontend Engineer" in (hits["role_type"].quote or "")
    assert {one.result for one in answer.checks} == {"hit", "performed", "skipped"}
    assert {one.name for one in answer.checks} == set(CHECKS)
    assert not {one.name for one in answer.checks if one.result == "performed"} & set(hits)
    assert all(one.reason for one in answer.checks if one.result == "skipped")


def test_words_find_postings_whatever_became_of_them(finder: Finder) -> None:
    finder.profile()
    match = finder.settled()
    hidden = finder.settled("https://grim.example/1", company="Grim Corp")
    found = ask(finder, "backend engineer").answers
    assert {one.row.id: one.row.outcome for one in found} == {match: "matched", hidden: "filtered"}
    assert "Excluded company: grim corp" in next(one.sentence for one in found if one.row.id == hidden)
    assert "No stored posting has all of these words" in ask(finder, "harbour pilot").notes[0]


def test_a_posting_of_an_opening_names_the_one_that_is_shown(finder: Finder) -> None:
    own, other = finder.posting("https://kind.example/1"), finder.posting("https://feed.example/1")
    finder.set(other, opening_id=own)
    assert ask(finder, "https://feed.example/1").answers[0].shown_as == own
    assert ask(finder, "kind.example/1").answers[0].shown_as is None


def test_for_an_unknown_address_it_says_that_there_is_no_source(finder: Finder) -> None:
    found = ask(finder, "https://boards.greenhouse.io/kind/jobs/1")
    assert found.answers == ()
    assert "There is no source for the greenhouse board 'kind'" in " ".join(found.notes)
    assert "There is no profile yet" in " ".join(found.notes)


def test_for_an_unknown_posting_of_a_source_it_says_how_the_last_crawl_ended(finder: Finder) -> None:
    board = finder.source()
    found = ask(finder, "https://boards.greenhouse.io/kind/jobs/1")
    assert found.sources[0].sentence == "The source kind board was not crawled yet."
    capped = Parsed(Verdict.CAPPED, reasons=("the board answers with 2,000 at most",))
    crawl = finder.posting()
    finder.write(lambda unit: sources.crawled(unit, board, crawl, unit.now, capped, {}, gone=False))
    [known] = ask(finder, "https://boards.greenhouse.io/kind/jobs/1").sources
    assert known.crawl is not None
    assert known.crawl.verdict == "capped"
    assert "capped: the board answers with 2,000 at most; so postings beyond the cap" in known.sentence
    finder.write(lambda unit: sources.disable(unit, board.id, "five crawls failed"))
    assert "is disabled: five crawls failed" in ask(finder, "boards.greenhouse.io/kind/jobs/1").sources[0].sentence


def test_for_an_unknown_address_it_says_what_the_stop_list_refuses(finder: Finder) -> None:
    finder.profile()
    assert "Excluded domain: bad.example" in " ".join(ask(finder, "https://jobs.bad.example/1").notes)


@pytest.mark.parametrize("text", ["", "   ", "https://", "http://[", "javascript:alert(1)", "\x00", "%", "a" * 5000])
def test_whatever_is_asked_gets_an_answer(finder: Finder, text: str) -> None:
    assert ask(finder, text).answers == ()


def test_a_changed_rule_says_what_would_appear_and_disappear(finder: Finder) -> None:
    finder.profile()
    match = finder.settled()
    hidden = finder.settled("https://grim.example/1", company="Grim Corp")
    same = preview(finder)
    assert (same.postings, same.looked_at, same.appear, same.disappear) == (2, 2, 0, 0)
    found = preview(finder, stop_list={"companies": ["Kind Boats"]})
    assert [one.id for one in found.appearing] == [hidden]
    assert [one.id for one in found.disappearing] == [match]
    assert found.disappearing[0].after.reason == "Excluded company: kind boats"
    assert found.before == found.after == {"matched": 1, "skipped": 0, "filtered": 1}
    assert found.complete


def test_a_preview_without_a_profile_and_in_another_workspace(finder: Finder) -> None:
    finder.posting()
    found = preview(finder)
    assert (found.appear, found.appearing[0].before) == (1, None)
    wanted = check_profile(PROFILE)
    assert finder.read(lambda c: what_if(c, "north", wanted, finder.now)).postings == 0


def test_a_preview_looks_at_a_bounded_number_of_the_newest(finder: Finder) -> None:
    for number in range(3):
        finder.posting(f"https://kind.example/{number}")
    wanted = check_profile(PROFILE)
    found = finder.read(lambda c: what_if(c, "default", wanted, finder.now, most=2))
    assert (found.postings, found.looked_at, found.complete) == (3, 2, False)
