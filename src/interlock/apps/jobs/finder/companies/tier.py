"""Tier and priority of a company: a sum whose every part is explained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from interlock.apps.jobs.finder.companies.markup import CompanyPage, sentences
from interlock.apps.jobs.finder.companies.stack import Technology
from interlock.apps.jobs.finder.companies.values import Extracted, quote_of
from interlock.apps.jobs.finder.geography.places import place
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import Location
from interlock.apps.jobs.finder.profiles.seeker import Seeker, same_city

Tier = Literal["S", "A", "B", "C", "D"]
Size = Literal["small", "medium", "large"]
OFFICE = 50
STACK_AT_MOST = 100
REMOTE_FIRST = 15
AI_FOCUS = 10
TIERS: tuple[tuple[int, Tier], ...] = ((150, "S"), (100, "A"), (70, "B"), (50, "C"), (0, "D"))
PRIORITIES: dict[Tier | None, int] = {"S": 0, "A": 1, "B": 2, None: 2, "C": 3, "D": 3}
SMALL_AT_MOST = 100
MEDIUM_AT_MOST = 1000
_REMOTE = re.compile(
    r"\b(?:remote[- ](?:first|only|native)|fully[- ](?:remote|distributed)|all[- ]remote|100 ?% remote|"
    r"completely remote|remote (?:company|team|by default)|distributed (?:company|team)|globally distributed|"
    r"work(?:s|ing)? from anywhere|vollständig remote|komplett remote|ortsunabhängig\w*|von überall)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:\b(?:not|no|never|nicht|kein\w*|neither|rather than|instead of)|n't)\b[^.]{0,30}$", re.IGNORECASE
)
_AI = re.compile(
    r"(?<![\w-])(?:artificial intelligence|machine learning|deep learning|(?:large )?language models?|LLMs?|"
    r"generative AI|computer vision|AI|AI/ML|ML|KI|künstliche\w* intelligenz|maschinelle[sn]? lernen|"
    r"neural networks?)(?!\w)",
    re.IGNORECASE,
)
_OFFICE_WORD = re.compile(
    r"\b(?:offices?|headquarter\w*|hq|hubs?|locations?|based|studio|standorte?n?|büros?|\w*sitz|niederlassung\w*)\b",
    re.IGNORECASE,
)


class Points(BaseModel):
    """One part of the sum."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["office", "tech_stack", "remote_first", "ai_focus"]
    points: int
    why: str
    page: str = ""
    quote: str = ""
    place: str = ""
    """The city of the office."""
    skipped: bool = False
    """Whether the profile does not say what the part needs."""


def size_category(people: int | None, more: bool = False) -> Size | None:
    """Small up to 100 people, medium up to 1,000, large above; None where nobody says."""
    if people is None:
        return None
    count = people + 1 if more else people
    return "small" if count <= SMALL_AT_MOST else "medium" if count <= MEDIUM_AT_MOST else "large"


def tier_of(score: int) -> Tier:
    """The tier of a sum of points."""
    return next(tier for least, tier in TIERS if score >= least)


def priority_of(tier: Tier | None) -> int:
    """The priority of a company's items; 0 comes first."""
    return PRIORITIES[tier]


def points_of(
    extracted: Extracted, pages: Sequence[CompanyPage], stack: Sequence[Technology], seeker: Seeker | None
) -> tuple[Points, ...]:
    """The parts of the sum, in the order of the specification."""
    return (
        _office(extracted, pages, seeker),
        _alignment(stack, seeker),
        _remote_first(pages),
        _ai_focus(extracted, pages, stack),
    )


def _office(extracted: Extracted, pages: Sequence[CompanyPage], seeker: Seeker | None) -> Points:
    if seeker is None:
        return Points(name="office", points=0, why="skipped: there is no profile", skipped=True)
    home = seeker.home
    if home is None or not home.city:
        return Points(name="office", points=0, why="skipped: the profile names no home city", skipped=True)
    seat = extracted.headquarters_location
    if seat is not None:
        where = place(seat.value)
        if where is not None and same_city(where, home):
            return Points(
                name="office",
                points=OFFICE,
                why=f"headquarters in {home.city}",
                page=seat.page,
                quote=seat.quote,
                place=home.raw,
            )
    for page in pages:
        for said in _offices_in(page, home):
            return Points(
                name="office",
                points=OFFICE,
                why=f"an office in {home.city}",
                page=page.url,
                quote=quote_of(said),
                place=home.raw,
            )
    return Points(name="office", points=0, why=f"no office in {home.city} is named")


def _offices_in(page: CompanyPage, home: Location) -> Iterator[str]:
    """Sentences that name an office in the city, and entries of a list of offices."""
    city = re.compile(rf"(?<!\w){re.escape(home.city or '')}(?!\w)(?:, [^\W\d_][\w .]{{1,20}})?", re.IGNORECASE)
    under_offices = False
    for block in page.blocks:
        if block.level:
            under_offices = bool(_OFFICE_WORD.search(block.text))
        for sentence in sentences(block.text):
            found = city.search(sentence)
            if found is None or not (under_offices or _OFFICE_WORD.search(sentence)):
                continue
            named = place(found[0].partition(" and ")[0].rstrip(" ."))
            if named is not None and same_city(named, home) and not _NOT.search(sentence, 0, found.start()):
                yield sentence


def _alignment(stack: Sequence[Technology], seeker: Seeker | None) -> Points:
    if seeker is None:
        return Points(name="tech_stack", points=0, why="skipped: there is no profile", skipped=True)
    if not seeker.ranks:
        return Points(name="tech_stack", points=0, why="skipped: the profile names no skills", skipped=True)
    ranks = [(seeker.ranks[one.name], one) for one in stack if seeker.ranks.get(one.name)]
    if not ranks:
        return Points(name="tech_stack", points=0, why="none of the profile's skills is named")
    total = sum(rank for rank, _ in ranks)
    best = max(ranks, key=lambda one: one[0])[1]
    why = " + ".join(f"{one.name} {rank}" for rank, one in ranks)
    if total > STACK_AT_MOST:
        why += f" = {total}, at most {STACK_AT_MOST}"
    points = min(STACK_AT_MOST, total)
    return Points(name="tech_stack", points=points, why=why, page=best.page, quote=best.quote)


def _remote_first(pages: Sequence[CompanyPage]) -> Points:
    for page in pages:
        for sentence in page.sentences():
            found = _REMOTE.search(sentence)
            if found and not _NOT.search(sentence, max(0, found.start() - 60), found.start()):
                quote = quote_of(sentence, found.start(), found.end())
                return Points(name="remote_first", points=REMOTE_FIRST, why=f"{found[0]!r}", page=page.url, quote=quote)
    return Points(name="remote_first", points=0, why="no page says that work is remote first")


def _ai_focus(extracted: Extracted, pages: Sequence[CompanyPage], stack: Sequence[Technology]) -> Points:
    """What the company says of itself counts alone; elsewhere it takes two sentences or a library."""
    own = [(fact.value, fact.page) for fact in (extracted.about, extracted.mission) if fact]
    own += [(page.description, page.url) for page in pages if page.description]
    for text, where in own:
        for sentence in sentences(text):
            found = _AI.search(sentence)
            if found and not _NOT.search(sentence, 0, found.start()):
                quote = quote_of(sentence, found.start(), found.end())
                return Points(
                    name="ai_focus", points=AI_FOCUS, why=f"{found[0]!r} in its own words", page=where, quote=quote
                )
    used = next((one for one in stack if one.category == "ml"), None)
    if used is not None:
        return Points(name="ai_focus", points=AI_FOCUS, why=f"{used.name} is named", page=used.page, quote=used.quote)
    said: list[tuple[CompanyPage, str, re.Match[str]]] = []
    for page in pages:
        for sentence in page.sentences():
            found = _AI.search(sentence)
            if found and fold(sentence) not in {fold(one) for _, one, _ in said}:
                said.append((page, sentence, found))
            if len(said) == 2:
                first, words, at = said[0]
                quote = quote_of(words, at.start(), at.end())
                return Points(
                    name="ai_focus", points=AI_FOCUS, why="named in several sentences", page=first.url, quote=quote
                )
    return Points(name="ai_focus", points=0, why="no page says that it is about machine learning")
