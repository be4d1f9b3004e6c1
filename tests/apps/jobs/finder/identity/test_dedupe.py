"""Three levels of duplicates: what is one is linked, and what may be two stays two."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.finder.geography.places import places
from interlock.apps.jobs.finder.identity.dedupe import ALIKE, openings, posting_key, reposts, similarity, sketch
from interlock.apps.jobs.finder.identity.urls import url_key
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting

TEXT = " ".join(f"In the galley number {n} you cook soup of kind {n * 7} for {n + 3} sailors." for n in range(60))
NOW = datetime(2026, 8, 10, tzinfo=UTC)


def posting(key: str, **fields: object) -> Posting:
    url = f"https://{key}.example/jobs/1"
    usual: dict[str, object] = {
        "ats": "lever",
        "board": key,
        "external_id": "1",
        "url": url,
        "url_key": url_key(url),
        "title": "Ship Cook",
        "company_name_raw": "Nordlicht AG",
        "locations": places(["Kiel, Germany"]),
        "description_text": TEXT,
        "extraction": Extraction(method=Method.API, adapter_version="1"),
    }
    return Posting.model_validate(usual | fields)


def linked(*seen: Posting) -> list[list[str | None]]:
    return sorted(sorted(one.board for one in opening.sightings) for opening in openings(seen))  # type: ignore[type-var]


def test_the_same_posting_is_known_by_its_id_else_by_its_address() -> None:
    assert posting_key(posting("a")) == "lever:a:1"
    assert posting_key(posting("a", external_id=None)) == "https://a.example/jobs/1"
    assert posting_key(posting("a", external_id=None, url_key=None)) is None


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("requisition", {"requisition_id": "R-1", "title": "Koch", "description_text": None}),
        ("apply_url", {"apply_url": "https://forms.example/1", "company_name_raw": None}),
        ("text", {"title": "Cook (Ship)"}),
    ],
)
def test_an_opening_that_is_seen_elsewhere_is_linked_with_the_reason(rule: str, change: dict[str, object]) -> None:
    found = openings([posting("a", **change), posting("b", **change)])
    assert [len(one.sightings) for one in found] == [2]
    assert found[0].links[0].rule == rule
    assert found[0].links[0].evidence


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Senior Ship Cook"},
        {"title": "Ship Cook (Kiel)"},
        {"locations": places(["Ulm, Germany"])},
        {"locations": ()},
        {"company_name_raw": "Südlicht AG"},
        {"company_name_raw": None},
        {"description_text": "Something else entirely."},
        {"description_text": None},
        {"ats": "feed"},
        {"requisition_id": "R-2"},
    ],
)
def test_what_may_be_another_opening_is_not_linked(other: dict[str, object]) -> None:
    assert linked(posting("a", requisition_id="R-1"), posting("b", **other)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("models", "spots", "linked_as"),
    [
        (("remote", "remote"), ("Remote - US", "Portland, OR"), "us"),
        (("remote", "unknown"), ("Portland, OR; Kiel, Germany", "Germany"), "de"),
        (("remote", "remote"), ("Portland, OR", "Austin, TX"), None),
        (("remote", "remote"), ("Remote - US", "Kiel, Germany"), None),
        (("remote", "remote"), ("Remote", "Portland, OR"), None),
        (("onsite", "onsite"), ("Germany", "Kiel, Germany"), None),
        (("unknown", "unknown"), ("Germany", "Kiel, Germany"), None),
    ],
)
def test_remote_work_in_a_country_is_that_of_its_cities(
    models: tuple[str, str], spots: tuple[str, str], linked_as: str | None
) -> None:
    seen = [
        posting(key, workplace=model, locations=places([spot]))
        for key, model, spot in zip("ab", models, spots, strict=True)
    ]
    links = [link.evidence for one in openings(seen) for link in one.links]
    assert links == ([f"texts 1.00 alike, in {linked_as}"] if linked_as else [])


def test_a_copy_with_the_companys_own_description_around_it_is_linked() -> None:
    about = " ".join(f"We have built ship number {n} of class {n * 3} since the year {1900 + n}." for n in range(25))
    short, long = posting("a", requisition_id="JR-1"), posting("b", ats="workday", requisition_id="REF9")
    long = long.model_copy(update={"description_text": f"{about} {TEXT}"})
    assert similarity(sketch(short.description_text), sketch(long.description_text)) < ALIKE
    assert linked(short, long) == [["a", "b"]]
    other = long.model_copy(update={"description_text": f"{about} {TEXT.replace('soup', 'stew')}"})
    assert linked(short, other) == [["a"], ["b"]]
    few = short.model_copy(update={"description_text": "We have built ship number 3 of class 9 since the year 1903."})
    assert linked(few, long) == [["a"], ["b"]]


def test_a_feed_of_one_employer_is_linked_by_its_text_and_a_collection_is_not() -> None:
    own, feed = posting("a"), posting("b", ats="feed")
    assert len(openings([own, feed])) == 2
    assert len(openings([own, feed], employers=["feed:b:1"])) == 1


def test_two_ids_of_one_board_are_two_openings_even_with_the_same_text() -> None:
    first, second = posting("a", requisition_id="R-1"), posting("a", requisition_id="R-1", external_id="2")
    assert len(openings([first, second])) == 2


def test_the_employers_own_system_is_the_master() -> None:
    page = posting("b", ats="jsonld", board=None, external_id=None, requisition_id="R-1")
    feed = posting("c", ats="feed", board=None, external_id=None, requisition_id="R-1")
    own = posting("a", requisition_id="R-1")
    (found,) = openings([feed, page, own])
    assert [one.ats for one in found.sightings] == ["lever", "jsonld", "feed"]
    assert found.master == own


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["R-1", "R-2", None]), st.booleans()), max_size=8),
    st.integers(),
)
def test_the_order_does_not_count_and_nothing_is_lost(seen: list[tuple[str, str | None, bool]], seed: int) -> None:
    known = {key: posting(key, requisition_id=number, title="Cook" if odd else "Stoker") for key, number, odd in seen}
    mixed = list(known.values())
    random.Random(seed).shuffle(mixed)
    assert linked(*mixed) == linked(*known.values())
    assert sorted(board for group in linked(*mixed) for board in group) == sorted(known)


def test_a_sketch_tells_how_much_two_texts_share() -> None:
    whole = sketch(TEXT)
    assert similarity(whole, whole) == 1
    assert similarity(whole, sketch(TEXT.upper().replace(".", " ;"))) == 1
    assert similarity(whole, sketch(TEXT + " Apply today with your spoon.")) > ALIKE
    assert similarity(whole, sketch(TEXT.replace("soup", "stew").replace("sailors", "guests"))) < 0.5
    assert similarity(sketch(None), sketch(None)) == 0
    assert similarity(sketch("soup"), sketch("soup")) == 1


def test_a_repost_needs_two_addresses_on_two_days_within_ninety() -> None:
    first, second, third = (
        posting(key, posted_at=NOW - timedelta(days=days)) for key, days in (("a", 0), ("b", 30), ("c", 200))
    )
    assert reposts([first]) == reposts([]) == 0
    assert reposts([first, second]) == reposts([first, second, third]) == 2
    assert reposts([first, posting("b", posted_at=NOW)]) == 0
    assert reposts([first, third]) == 0
    assert len({one.group_key for one in (first, second, third)}) == 1
