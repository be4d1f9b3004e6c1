"""The longer texts of a company's pages: what it is, how it works, what it wants. Headings name them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from interlock.apps.jobs.finder.companies.markup import Block, CompanyPage, sentences
from interlock.apps.jobs.finder.companies.values import Fact, quote_of
from interlock.apps.jobs.finder.identity.keys import company_key, fold

Kind = Literal["about", "culture", "mission"]
LONGEST = 2000
ENOUGH = 100
"""An "about" that is longer needs no other one beside it."""
SHORTEST = 25
LONGEST_HEADING = 80
ABOUT_PAGE = re.compile(r"/(?:about(?:[-_]us)?|company|ueber[-_]uns|unternehmen|who[-_]we[-_]are)/?$", re.IGNORECASE)
_ABOUT = re.compile(
    r"about(?: us| the company| our company)?|who we are|our (?:story|company|history)|what we do|the company|company|"
    r"(?:das |unser )?unternehmen|(?:ueber|uber) uns|wer wir sind|was wir (?:tun|machen)|unsere geschichte"
)
_MISSION = re.compile(r"\b(?:missions?|purpose|visions?|our why|leitbild)\b")
_CULTURE = re.compile(
    r"\b(?:cultur\w*|(?:our|core|company) values|values|how we work|what we (?:value|believe|stand for)|life at|"
    r"working (?:at|with|here)|why (?:join|work)|our principles|kultur\w*|unternehmenskultur|(?:unsere )?werte|"
    r"arbeiten bei|(?:wie|so) wir arbeiten|so arbeiten wir|was uns (?:ausmacht|wichtig|antreibt))\b"
)
_OTHER = re.compile(
    r"\b(?:team|leadership|investors?|press|contact|kontakt|open (?:positions|roles)|jobs|stellen\w*|benefits|"
    r"customers|kunden|faq|news|blog|impressum|products?|offices|locations|standorte)\b"
)
"""Headings under which something else begins."""
_MISSION_SAID = re.compile(
    r"\b(?:(?:our|its|the company's) (?:mission|purpose|vision) (?:is|has)|on a mission to|"
    r"unsere (?:mission|vision) (?:ist|lautet)|unser (?:ziel|auftrag) ist)\b",
    re.IGNORECASE,
)
_CULTURE_SAID = re.compile(
    r"\b(?:our (?:culture|values)|we (?:value|believe in|care about)|culture of|company culture|"
    r"unsere (?:kultur|werte|unternehmenskultur)|wir (?:glauben an|legen wert auf)|flache hierarchien)\b",
    re.IGNORECASE,
)
_LOOKS_LIKE_PROSE = re.compile(r"\b[^\W\d_]{2,}(?:[ ,][^\W_]+){6}")


class Section(NamedTuple):
    """A heading of a page and the text under it."""

    kind: Kind
    page: str
    heading: str
    text: str


def heading_kind(block: Block, name: str) -> Kind | Literal["other"] | None:
    """Which text begins under a block; None where it is no heading."""
    if len(block.text) > LONGEST_HEADING or (block.level == 0 and not _bare_heading(block.text)):
        return None
    low = fold(block.text).strip(" .:!?-\u2013\u2014")
    if _ABOUT.fullmatch(low) or (low.startswith(("about ", "uber ")) and _names(low.partition(" ")[2], name)):
        return "about"
    if _MISSION.search(low):
        return "mission"
    if _CULTURE.search(low):
        return "culture"
    if _OTHER.search(low):
        return "other"
    return "other" if 0 < block.level <= 2 else None


def _bare_heading(text: str) -> bool:
    """Whether a block without a heading's tag may be one: a few words and no sentence."""
    return len(text) <= 40 and not text.endswith((".", "!", ",", ";")) and len(text.split()) <= 5


def _names(text: str, name: str) -> bool:
    key, other = company_key(name), company_key(text)
    return bool(key and other and (key == other or key.startswith(f"{other} ") or other.startswith(f"{key} ")))


def sections_of(page: CompanyPage, name: str) -> Iterator[Section]:
    """The sections of a page, in their order."""
    blocks = page.blocks
    kinds = [heading_kind(block, name) for block in blocks]
    for index, kind in enumerate(kinds):
        if kind is None or kind == "other":
            continue
        text = _under(blocks, kinds, index)
        if len(text) < SHORTEST:
            continue
        yield Section(kind, page.url, blocks[index].text, text)
        if kind == "mission" and _CULTURE.search(fold(blocks[index].text)):
            # "Mission and values" heads both.
            yield Section("culture", page.url, blocks[index].text, text)


def _under(blocks: Sequence[Block], kinds: Sequence[str | None], index: int) -> str:
    """The text below a heading: to the next one that is as high, or that begins something else."""
    level, kept, size = blocks[index].level or 6, [], 0
    for after in range(index + 1, len(blocks)):
        block, kind = blocks[after], kinds[after]
        if (block.level and block.level <= level) or (kind is not None and (block.level or kind != "other")):
            break
        if block.level == 0 and block.tag != "li" and len(block.text.split()) < 3:
            continue  # a link or a tile
        kept.append(block.text)
        size += len(block.text)
        if size > LONGEST:
            break
    return _cut("\n".join(kept))


def _cut(text: str) -> str:
    """At most `LONGEST` characters, at the end of a sentence where there is one."""
    if len(text) <= LONGEST:
        return text
    short = text[:LONGEST]
    end = max(short.rfind(". "), short.rfind(".\n"))
    return short[: end + 1] if end > LONGEST // 2 else short[:-1].rstrip() + "…"


def about_of(pages: Sequence[CompanyPage], name: str) -> Fact | None:
    """What the company is: its section, its page's paragraphs, its JSON-LD, its description, its first sentences."""
    found = [
        _fact(section.text, section.page, f"heading {section.heading!r}")
        for page in _about_first(pages)
        for section in sections_of(page, name)
        if section.kind == "about"
    ]
    for page in (one for one in pages if ABOUT_PAGE.search(urlsplit(one.url).path)):
        text = _prose(page, name)
        if text:
            found.append(_fact(text, page.url, "paragraphs of the page about the company"))
    for page in _about_first(pages):
        for one in page.organisations:
            said = one.get("description")
            if isinstance(said, str) and len(said.strip()) >= SHORTEST:
                found.append(_fact(" ".join(said[: 2 * LONGEST].split()), page.url, "JSON-LD description"))
        if page.description and len(page.description) >= SHORTEST:
            found.append(_fact(page.description, page.url, "description of the page"))
    for page in reversed(pages):
        text = _prose(page, name)
        if text:
            found.append(_fact(text, page.url, "first paragraphs"))
    long = next((one for one in found if len(one.value) > ENOUGH), None)
    return long or _together(found)


def _together(short: Sequence[Fact]) -> Fact | None:
    """Short texts of one page as one; with the evidence of the longest."""
    if not short:
        return None
    best = max(short, key=lambda one: len(one.value))
    others = [one.value for one in short if one.page == best.page and one.value not in best.value]
    return best.model_copy(update={"value": "\n".join(dict.fromkeys([best.value, *others]))})


def _about_first(pages: Sequence[CompanyPage]) -> list[CompanyPage]:
    return sorted(pages, key=lambda one: not ABOUT_PAGE.search(urlsplit(one.url).path))


def _prose(page: CompanyPage, name: str) -> str:
    """The first paragraphs of sentences, before another section begins."""
    kept: list[str] = []
    for block in page.blocks:
        kind = heading_kind(block, name)
        if kind is not None and kind != "about" and kept:
            break
        if block.level == 0 and len(block.text) >= 50 and _LOOKS_LIKE_PROSE.search(block.text):
            kept.append(block.text)
            if len(kept) == 4:
                break
    return _cut("\n".join(kept))


def section_of(pages: Sequence[CompanyPage], name: str, kind: Literal["culture", "mission"]) -> Fact | None:
    """The section of this kind, else the sentences that state it."""
    best: Fact | None = None
    for page in pages:
        for section in sections_of(page, name):
            if section.kind == kind and (best is None or len(section.text) > len(best.value)):
                best = _fact(section.text, section.page, f"heading {section.heading!r}")
    if best is not None:
        return best
    pattern = _CULTURE_SAID if kind == "culture" else _MISSION_SAID
    for page in pages:
        kept = list(dict.fromkeys(one for one in page.sentences() if len(one) < 600 and pattern.search(one)))[:3]
        if kept:
            return _fact(_cut(" ".join(kept)), page.url, "sentences")
    return None


def _fact(text: str, page: str, rule: str) -> Fact:
    return Fact(value=_cut(text), page=page, quote=quote_of(sentences(text)[0]), rule=rule)
