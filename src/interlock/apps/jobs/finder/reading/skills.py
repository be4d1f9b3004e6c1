"""Skills: which terms of the vocabulary a posting names, how much it wants each, and the sentence that says so."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Level, Section, Skill
from interlock.apps.jobs.finder.reading.vocabulary import Spotted, Term

_BETWEEN = re.compile(
    r"[\s,/;&()+|\u2022:\"*-]*(?:(?:and|or|and/or|with|und|oder|et|ou|y|o|e|en|of|as|e\.g\.|including|like)[\s,(]*)?"
)
"""What stands between two entries of a list."""
_NEGATED = re.compile(
    r"\b(?:no|not|without|kein|keine|keinen|ohne|sans|pas de|sin|geen|zonder|sem)\b(?!\s+(?:just"
    r"|only|limited|necessarily|least))"
    r"(?:\s+[\w'-]+){0,4}\s*$"
)
_OTHERS = re.compile(
    r"\b(?:companies|customers|clients|brands|enterprises|investors|startups|innovators|alumni|veterans|leaders"
    r"|teams|people|engineers)(?: \w+){0,2}? (?:like|such as|including|from|at)\b[^.;:\u2022\n]*$"
)
"""Employers that are named as customers, investors or former homes of colleagues are no technologies."""
_LIST = 240
"""How far before a name the word is looked for that makes it an employer's."""
_BEFORE = 60
_OUTSIDE: frozenset[Section] = frozenset({"benefits", "legal", "pay"})
_ASKING: frozenset[Section] = frozenset({"requirements", "preferred", "duties"})
_EMPLOYERS = frozenset({"platform", "data", "database", "cloud", "ml", "observability", "security", "devops", "tool"})
"""Categories whose products are called like their makers: Databricks, Stripe, OpenAI."""
_ORDER: dict[Level, int] = {"required": 0, "preferred": 1, "mentioned": 2}
CHOICES = ("/", " or ", " oder ", " ou ")
EXAMPLES = ("such as", "e.g", "similar", "equivalent", "one of", "any of", "one or more", "at least one", "z.b")
"""A sentence with one of these asks for one of the technologies that it names."""
_COMPARED = ("-like", "-style", "-esque")
"""A "Shopify-like storefront" is none."""
_ABOUT = 1
"""What a company says of itself ranks below every other mention."""


def skills_of(document: Document) -> tuple[Skill, ...]:
    """The skills in the order in which the posting names them, each once, at its highest level.

    Of several sentences at that level, one counts that names no other technology to choose, wherever it stands.
    """
    found: dict[str, Skill] = {}
    employer = folded(document.company)
    for one in _meant(document):
        term = one.term
        assert term is not None
        section = _section(document, one.start)
        if section in _OUTSIDE or _in_address(document.low, one) or _is_negated(document, one):
            continue
        if document.low.startswith(_COMPARED, one.end):
            continue
        if section not in _ASKING and term.category in _EMPLOYERS and _is_employer(document, one):
            continue
        level = _level(document, one, section)
        if level == "mentioned" and folded(term.name) == employer:
            continue  # what it says of itself is no demand
        before = found.get(term.name)
        above = _rank(level, section) - _rank(before.level, before.section) if before is not None else -1
        if above > 0 or (above == 0 and before is not None and not offers_choice(before.quote)):
            continue
        quote = document.quote(one.start, one.end)
        if above == 0 and before is not None and offers_choice(quote) and before.quote <= quote:
            continue
        found[term.name] = Skill(term.name, term.category, level, section, quote, term.weight, term.implies)
    return tuple(found.values())


def offers_choice(sentence: str) -> bool:
    """Whether one of several technologies that a sentence names will do."""
    low = f" {sentence.lower()} "
    return any(word in low for word in (*CHOICES, *EXAMPLES))


def _section(document: Document, at: int) -> Section:
    """A sentence that asks for something is not about the company, whatever heading went before."""
    section = document.section(at)
    if section == "company" and document.has("demands", *document.sentence(at)):
        return "other"
    return section


def _rank(level: Level, section: Section) -> int:
    return _ORDER[level] + (_ABOUT if section == "company" else 0)


def _meant(document: Document) -> list[Spotted]:
    """The spellings that mean their terms: those that always do, and doubtful ones by their case or neighbours."""
    spotted = document.spotted
    kept = []
    for index, one in enumerate(spotted):
        if one.term is None:
            continue
        if one.sure or _own_case(document.text, one) or _in_list(document, spotted, index):
            kept.append(one)
    return kept


def _own_case(text: str, one: Spotted) -> bool:
    term = one.term
    assert term is not None
    return term.case == "exact" and text[one.start : one.end] == term.name


def _in_list(document: Document, spotted: list[Spotted], index: int) -> bool:
    """Whether a technology stands beside it, with nothing but a comma, a slash or an "and" between."""
    low, one = document.low, spotted[index]
    for step in (-1, 1):
        other = index + step
        if not 0 <= other < len(spotted):
            continue
        beside = spotted[other]
        if not _vouches(beside.term):
            continue
        left, right = (beside, one) if step < 0 else (one, beside)
        if right.start - left.end > 14 or right.start == left.end:
            continue
        gap = low[left.end : right.start]
        if gap != " " and _BETWEEN.fullmatch(gap):
            return True
    return False


def _vouches(term: Term | None) -> bool:
    return term is not None and term.category not in {"concept", "method", "standard", "assistant"}


def _in_address(low: str, one: Spotted) -> bool:
    """Inside an e-mail address, a web address or a path."""
    before = low[max(0, one.start - 1) : one.start]
    after = low[one.end : one.end + 2]
    if (before and before in "@/#") or after[:1] == "@" or (after[:1] == "." and after[1:].isalnum()):
        begin = max(low.rfind(" ", 0, one.start), low.rfind("\n", 0, one.start), one.start - 200) + 1
        word = low[begin : one.end + 40].split(maxsplit=1)[0]
        return "@" in word or "://" in word or word.startswith("www.") or ".com" in word
    return False


def _is_negated(document: Document, one: Spotted) -> bool:
    begin, _ = document.sentence(one.start)
    return _NEGATED.search(document.low[max(begin, one.start - _BEFORE) : one.start]) is not None


def _is_employer(document: Document, one: Spotted) -> bool:
    begin, _ = document.sentence(one.start)
    return _OTHERS.search(document.low, max(begin, one.start - _LIST), one.start) is not None


def _level(document: Document, one: Spotted, section: Section) -> Level:
    if one.start < document.begin:
        return "required"
    begin, end = document.sentence(one.start)
    if section == "preferred" or document.has("prefers", begin, end):
        return "preferred"
    if section == "requirements" or document.has("demands", begin, end):
        return "required"
    return "mentioned"
