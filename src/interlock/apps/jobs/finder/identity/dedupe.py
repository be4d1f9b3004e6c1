"""Duplicates on three levels, which are never one.

- The same posting: equal `posting_key`. Finding it again updates the stored one.
- The same opening on another board: linked by `openings`, shown once, the employer's own system first.
- The same role again: equal `group_key`. It is only a badge, such as "reposted 3 times".

How alike two titles are decides nothing: one city, product or level in them makes another opening.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import blake2b
from heapq import nsmallest
from itertools import combinations
from typing import Literal

from interlock.apps.jobs.finder.identity.keys import bounded, word_set, words
from interlock.apps.jobs.finder.identity.urls import url_key
from interlock.apps.jobs.finder.postings.posting import Location, Posting, Workplace

ALIKE = 0.85
"""The share of common word sequences from which two texts are one. The same role in another city had 0.77 in a trial,
another role on the same template 0.39."""
LEAST = 60
"""Word sequences that a text needs to be found inside a longer one: one system puts the company's own description or
other headings around the same text, so that a SmartRecruiters and a Workday copy had 0.66 in common, and one held 0.87
of the other."""
SHINGLE = 4
MOST_CHARACTERS = 50_000
SKETCH = 256
"""Hashes kept of a text; the estimate is off by about 0.02 at 0.85."""
WITHIN = timedelta(days=90)
COLLECTIONS = frozenset({"feed", "api"})
"""Kinds that may collect many companies' postings: their company names are too loose for the rule by text."""
RANKS = {"jsonld": 1, "html": 2, "api": 3, "feed": 4}
"""The order in which sightings are preferred; an applicant tracking system is the employer's own and comes first."""
REMOTE = ({Workplace.REMOTE}, {Workplace.REMOTE, Workplace.UNKNOWN})
Rule = Literal["requisition", "apply_url", "text"]
Sketch = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Why two sightings are one opening."""

    first: str
    second: str
    rule: Rule
    evidence: str


@dataclass(frozen=True, slots=True)
class Opening:
    """One opening with all that was seen of it."""

    master: Posting
    sightings: tuple[Posting, ...]
    links: tuple[Link, ...] = ()


def posting_key(posting: Posting) -> str | None:
    """The identity of a posting: system, board and id there, else its address; None when it has neither."""
    if posting.external_id is not None and posting.board is not None:
        return bounded(f"{posting.ats}:{posting.board}:{posting.external_id}")
    return posting.url_key


def sketch(text: str | None) -> Sketch:
    """The smallest hashes of a text's word sequences: a MinHash that needs one hash for each of them."""
    found = words(text, MOST_CHARACTERS)
    runs = {" ".join(found[at : at + SHINGLE]) for at in range(max(1, len(found) - SHINGLE + 1))} if found else set()
    hashes = (int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=8).digest(), "big") for run in runs)
    return tuple(nsmallest(SKETCH, hashes))


def similarity(first: Sketch, second: Sketch) -> float:
    """The share of word sequences that two texts have in common, 0 to 1; nothing is like nothing."""
    if not first or not second:
        return 0.0
    one, other = set(first), set(second)
    smallest = nsmallest(SKETCH, one | other)
    return sum(value in one and value in other for value in smallest) / len(smallest)


def contained(first: Sketch, second: Sketch) -> float:
    """The share of the shorter text's word sequences that the longer one has; nothing of a text that is too short."""
    # Below the largest hash of a full sketch, both sketches are complete.
    most = min((one[-1] for one in (first, second) if len(one) == SKETCH), default=None)
    one, other = ({hash for hash in sketch if most is None or hash <= most} for sketch in (first, second))
    shorter = min(len(one), len(other))
    return len(one & other) / shorter if shorter >= LEAST else 0.0


def openings(postings: Iterable[Posting], *, employers: Collection[str] = ()) -> list[Opening]:
    """Postings with different keys, linked into openings. Their order does not count.

    `employers` are the keys of postings from feeds and APIs that have one employer's postings and no others.
    """
    known = {key: one for one in postings if (key := posting_key(one)) is not None}
    links = _links(known, employers)
    root = {key: key for key in known}

    def find(key: str) -> str:
        while root[key] != key:
            root[key] = root[root[key]]
            key = root[key]
        return key

    for link in links:
        first, second = sorted((find(link.first), find(link.second)))
        root[second] = first
    groups: dict[str, list[str]] = {}
    for key in sorted(known):
        groups.setdefault(find(key), []).append(key)
    return [_opening([known[key] for key in keys], links) for keys in groups.values()]


def _opening(seen: list[Posting], links: Sequence[Link]) -> Opening:
    ordered = sorted(seen, key=_preference)
    keys = {posting_key(one) for one in seen}
    return Opening(ordered[0], tuple(ordered), tuple(one for one in links if one.first in keys))


def _preference(posting: Posting) -> tuple[int, int, str]:
    return RANKS.get(posting.ats, 0), len(posting.extraction.fields_missing), posting_key(posting) or ""


def _links(known: dict[str, Posting], employers: Collection[str]) -> list[Link]:
    """Pairs that are one opening. Only those that share a key are compared, so it does not grow with their square."""
    blocks: dict[tuple[str, ...], list[str]] = {}
    for key in sorted(known):
        one = known[key]
        if one.company_key and one.requisition_id:
            blocks.setdefault(("requisition", one.company_key, one.requisition_id.casefold()), []).append(key)
        # An address of a form alone names its posting; the posting's own address is its key already.
        form = url_key(one.apply_url)
        if form and form != one.url_key:
            blocks.setdefault(("apply_url", form), []).append(key)
        if one.company_key and one.title and (one.ats not in COLLECTIONS or key in employers):
            blocks.setdefault(("text", one.company_key, word_set(one.title)), []).append(key)
    found = []
    sketches: dict[str, Sketch] = {}
    for block, keys in sorted(blocks.items()):
        for first, second in combinations(keys, 2):
            evidence = _same(block, known[first], known[second], sketches)
            if evidence:
                found.append(Link(first, second, block[0], evidence))  # type: ignore[arg-type]
    return found


def _same(block: tuple[str, ...], first: Posting, second: Posting, sketches: dict[str, Sketch]) -> str | None:
    """What shows that two postings of a block are one opening; None when they are not."""
    if (first.ats, first.board) == (second.ats, second.board) and first.external_id != second.external_id:
        # One board lists them apart, as for two cities, so they are two.
        return None
    if block[0] == "requisition":
        return f"requisition {first.requisition_id}"
    if block[0] == "apply_url":
        return f"apply at {first.apply_url}"
    # Two systems number the same requisition each in its own way.
    numbers = {
        one.requisition_id.casefold() for one in (first, second) if one.requisition_id and first.ats == second.ats
    }
    place = _common_place(first, second)
    if len(numbers) > 1 or place is None:
        return None
    texts = [_sketch(one, sketches) for one in (first, second)]
    alike = max(similarity(*texts), contained(*texts))
    return f"texts {alike:.2f} alike, in {place}" if alike >= ALIKE else None


def _common_place(first: Posting, second: Posting) -> str | None:
    """A place of both. Of remote work, a country has its cities: "Remote - US", where another board names an office."""
    same = {one.key for one in first.locations} & {one.key for one in second.locations}
    if same:
        return min(same)
    if {first.workplace, second.workplace} not in REMOTE:
        return None
    countries = (
        one.country
        for one in first.locations
        for other in second.locations
        if one.country == other.country and (_is_country(one) or _is_country(other))
    )
    return min((one.lower() for one in countries if one), default=None)


def _is_country(place: Location) -> bool:
    return place.country is not None and not place.city and not place.region


def _sketch(posting: Posting, sketches: dict[str, Sketch]) -> Sketch:
    key = posting_key(posting) or ""
    if key not in sketches:
        sketches[key] = sketch(posting.description_text)
    return sketches[key]


def reposts(group: Iterable[Posting]) -> int:
    """How often a role of one `group_key` was posted within 90 days; 0 unless two addresses are of different days."""
    return times_posted((posting_key(one), one.posted_at or one.first_seen) for one in group)


def times_posted(seen: Iterable[tuple[str | None, datetime | None]]) -> int:
    """The same, from the keys of postings and when each was posted."""
    days: dict[str, set[date]] = {}
    dated = list(seen)
    newest = max((moment for _, moment in dated if moment), default=None)
    for key, moment in dated:
        if key and moment and newest and newest - moment <= WITHIN:
            days.setdefault(key, set()).add(moment.date())
    different = {day for some in days.values() for day in some}
    return len(days) if len(days) >= 2 and len(different) >= 2 else 0
