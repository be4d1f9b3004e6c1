"""The short facts of a company's pages: size, headquarters, industry, year of foundation.

Each is looked for in JSON-LD first, then in pairs of a label and a value, then in sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from interlock.apps.jobs.finder.companies.industries import by_words
from interlock.apps.jobs.finder.companies.markup import CompanyPage
from interlock.apps.jobs.finder.companies.numbers import NUMBER, People, people_in, people_of
from interlock.apps.jobs.finder.companies.values import Fact, quote_of
from interlock.apps.jobs.finder.geography.places import REGIONS, country_code
from interlock.apps.jobs.finder.identity.keys import company_key, fold, word_list
from interlock.apps.jobs.finder.reading.places import city_of, country_of
from interlock.apps.jobs.finder.sources.cleaning import line
from interlock.apps.jobs.finder.sources.row import Row

LONGEST_SENTENCE = 600
_LABELS = {
    "size": "employees|team size|company size|number of employees|headcount|team members|teammates|colleagues|staff|"
    "people on (?:our|the) team|mitarbeiter(?:innen|\\*innen|:innen)?|mitarbeitende|mitarbeiterzahl|beschaftigte|"
    "teamgro(?:ss|ß)e|unternehmensgro(?:ss|ß)e",
    "headquarters_location": "headquarters?|headquartered in|hq|head office|hauptsitz|firmensitz|unternehmenssitz|sitz",
    "industry": "industry|industries|sector|branche",
    "founded": "founded|founded in|established|est|year founded|founding year|since|seit|gegrundet|grundung|"
    "grundungsjahr",
}
LABELS = {name: re.compile(words) for name, words in _LABELS.items()}
_LABELLED = re.compile(r"([^:]{2,40}): ?(.{1,120})")
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)\b(?![.,]\d)"
_FOUNDED = (
    re.compile(rf"\b(?:founded|established|incorporated|est\.)(?:,? [\w.'-]+){{0,8}}? {_YEAR}", re.IGNORECASE),
    re.compile(rf"\b(?:gegründet|gründung|gründeten|gründete)(?: [\w.'-]+){{0,8}}? {_YEAR}", re.IGNORECASE),
    re.compile(rf"\b{_YEAR}(?: [\w.'-]+){{0,6}}? (?:gegründet|founded)\b", re.IGNORECASE),
    re.compile(rf"\b(?:started|launched|began|was born)(?: [\w.'-]+){{0,4}}? in {_YEAR}", re.IGNORECASE),
    re.compile(rf"\b(?:since|seit) {_YEAR}", re.IGNORECASE),
)
"""The surest first."""
_OF_ITSELF = re.compile(r"\b(?:we|our|us|company|wir|unser\w*|uns|unternehmen)\b", re.IGNORECASE)
_WHOM = (
    r"(?:employees|team ?members|teammates|colleagues|staff|mitarbeiter\w*|mitarbeitende\w*|beschäftigte\w*|"
    r"kolleg\w+|menschen)"
)
_SIZE = (
    re.compile(rf"\b(?:team|crew|group|staff|workforce|collective|company|family) of {NUMBER}", re.IGNORECASE),
    re.compile(rf"\bteam (?:von|aus|mit) {NUMBER}", re.IGNORECASE),
    re.compile(rf"\b(?:employs?|employing|beschäftigt|beschäftigen) {NUMBER}", re.IGNORECASE),
    re.compile(rf"{NUMBER}[- ]?(?:person|people|strong|köpfig)\w*[- ](?:team|company|crew|unternehmen)", re.IGNORECASE),
    re.compile(rf"{NUMBER} (?:[\w*:-]+ ){{0,2}}?{_WHOM}", re.IGNORECASE),
    re.compile(
        rf"\b(?:we are|we're|we have|we grew to|wir sind|today we are) {NUMBER} (?:[\w-]+ )?people\b", re.IGNORECASE
    ),
)
_OF_OTHERS = re.compile(
    r"\b(?:customers?|clients?|users?|helps?|helped|serv(?:es?|ed|ing)|kunden|nutzer|companies|businesses|organi[sz]ations|"
    r"for teams?|firms|firmen|betriebe\w*|investors?|partners?)\b",
    re.IGNORECASE,
)
"""Words before a number of people that make them somebody else's."""
_NAME = r"[A-ZÄÖÜÉ][\w.'\u2019-]{0,40}"
_PLACE = rf"(?P<where>{_NAME}(?: {_NAME}){{0,3}}(?:, {_NAME}(?: {_NAME}){{0,2}}){{0,2}})"
_HEADQUARTERS = (
    re.compile(
        r"\b(?i:headquartered|headquarters?(?: is| are)?(?: located| based)?|head office(?: is)?(?: located)?"
        rf"|HQ(?: is)?) (?:in|at) {_PLACE}"
    ),
    re.compile(
        r"\b(?i:mit (?:haupt|firmen)?sitz in|(?:haupt|stamm|firmen|unternehmens)sitz (?:ist |liegt )?in"
        rf"|ansässig in) {_PLACE}"
    ),
)
_MARKED = re.compile(rf"\b(?P<where>{_NAME}(?: {_NAME}){{0,2}}) \((?i:HQ|headquarters|head office|hauptsitz)\)")
_BASED = (
    re.compile(rf"\b(?i:based|situated|located|gelegen|zu hause) in {_PLACE}"),
    re.compile(rf"\b(?:[Ff]rom|[Aa]us) {_PLACE}"),
    re.compile(rf"\b(?P<where>{_NAME}(?: {_NAME})?)-based\b"),
)
_KEPT_NOUNS = (
    r"manufacturer|provider|bank|insurer|retailer|studio|agency|consultancy|platform|hersteller|anbieter|agentur"
)
_IS_A = re.compile(
    rf"\b(?:is|are|we're|ist|sind) (?:a|an|the|one of the|ein|eine|einer der) (?P<what>[^.;:!?()]{{3,80}}?) ?"
    rf"(?:(?P<kept>{_KEPT_NOUNS})|company|start-?up|scale-?up|firm|business|unternehmen)\b",
    re.IGNORECASE,
)
_PRAISE = word_list("""
    leading global world's worldwide fast-growing growing fastest-growing remote-first remote fully distributed small
    independent family-owned family-run privately private held award-winning innovative modern young new international
    european german american profitable bootstrapped venture-backed public listed mid-sized large early-stage
    next-generation premier trusted top führendes führender innovatives junges mittelständisches wachsendes
    internationales unabhängiges familiengeführtes inhabergeführtes and und full-service well-funded the a
""")


class _Pair(NamedTuple):
    label: str
    value: str
    quote: str


def organisations(pages: Sequence[CompanyPage], name: str) -> Iterator[tuple[CompanyPage, Mapping[str, Any]]]:
    """The organisations of JSON-LD that are the company: of its name, or without one."""
    key = company_key(name)
    for page in pages:
        for one in page.organisations:
            said = line(one.get("name"))
            other = company_key(said) if said else None
            if other is None or key is None or key == other or key.startswith(other) or other.startswith(key):
                yield page, one


def pairs(page: CompanyPage) -> Iterator[_Pair]:
    """Labels and values of a page: "Founded: 2014", a list of terms, or tiles of a number and what it counts."""
    blocks = page.blocks
    run = 0
    for index, block in enumerate(blocks):
        if len(block.text) > 80:
            run = index + 1
            continue
        found = _LABELLED.fullmatch(block.text)
        if found:
            yield _Pair(fold(found[1]), found[2].strip(), block.text)
            run = index + 1
            continue
        label = fold(block.text).strip(" .:")
        # Tiles show the number above its label, lists of terms the other way round: the first of them tells.
        number_first = block.tag not in ("dt", "th") and blocks[run].text[:1].isdecimal()
        beside = index - 1 if number_first else index + 1
        if run <= beside < len(blocks) and len(blocks[beside].text) <= 80 and not blocks[beside].text.endswith("."):
            value = blocks[beside].text
            yield _Pair(label, value, f"{block.text}: {value}")


def _labelled(pages: Sequence[CompanyPage], field: str) -> Iterator[tuple[CompanyPage, _Pair]]:
    for page in pages:
        for pair in pairs(page):
            if LABELS[field].fullmatch(pair.label):
                yield page, pair


def _sentences(pages: Sequence[CompanyPage]) -> Iterator[tuple[CompanyPage, str]]:
    for page in pages:
        for sentence in page.sentences():
            if len(sentence) <= LONGEST_SENTENCE:
                yield page, sentence


def size_of(pages: Sequence[CompanyPage], name: str) -> tuple[Fact, People] | None:
    """How many people work there."""
    for page, one in organisations(pages, name):
        found = _stated_size(one.get("numberOfEmployees"))
        if found:
            text, people = found
            return Fact(value=text, page=page.url, quote=text, rule="JSON-LD numberOfEmployees"), people
    for page, pair in _labelled(pages, "size"):
        count = people_of(pair.value)
        if count:
            return Fact(value=pair.value, page=page.url, quote=pair.quote, rule="label and value"), count
    for pattern in _SIZE:
        for page, sentence in _sentences(pages):
            match = pattern.search(sentence)
            if match is None or _OF_OTHERS.search(sentence, 0, match.start()):
                continue
            count = people_in(match)
            if count:
                quote = quote_of(sentence, match.start(), match.end())
                return Fact(value=match[0].strip(), page=page.url, quote=quote, rule="sentence"), count
    return None


def size_in(text: str) -> People | None:
    """The number of people that a short text or one sentence states."""
    found = people_of(text)
    for pattern in () if found else _SIZE:
        match = pattern.search(text[:LONGEST_SENTENCE])
        if match:
            return people_in(match)
    return found


def _stated_size(value: Any) -> tuple[str, People] | None:
    row = Row({"size": value[0] if isinstance(value, list) and value else value})
    if isinstance(row.get("size"), Mapping):
        low, high = row.count("size.minValue"), row.count("size.maxValue")
        if low is None and high is None:
            row = Row({"size": row.get("size.value")})
        else:
            text = f"{low}-{high}" if low is not None and high is not None else f"{low}+" if high is None else str(high)
            row = Row({"size": text})
    given = row.get("size")
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else line(given, 80) or ""
    found = people_of(text)
    return (text, found) if found else None


def founded_of(pages: Sequence[CompanyPage], name: str) -> Fact | None:
    """The year in which it was founded."""
    for page, one in organisations(pages, name):
        said = line(str(one.get("foundingDate") or ""), 40)
        match = re.match(_YEAR, said) if said else None
        if said and match:
            return Fact(value=match["year"], page=page.url, quote=said, rule="JSON-LD foundingDate")
    for page, pair in _labelled(pages, "founded"):
        match = re.search(_YEAR, pair.value)
        if match and len(pair.value) < 40:
            return Fact(value=match["year"], page=page.url, quote=pair.quote, rule="label and value")
    for index, pattern in enumerate(_FOUNDED):
        for page, sentence in _sentences(pages):
            match = pattern.search(sentence)
            # "Since 2014" and "started in 2014" may be said of anything.
            if match and (index < 3 or _of_itself(sentence, name)):
                quote = quote_of(sentence, match.start(), match.end())
                return Fact(value=match["year"], page=page.url, quote=quote, rule="sentence")
    return None


def _of_itself(sentence: str, name: str) -> bool:
    key = company_key(name)
    return bool(_OF_ITSELF.search(sentence) or (key and key.split()[0] in fold(sentence)))


def headquarters_of(pages: Sequence[CompanyPage], name: str) -> Fact | None:
    """Where its head office is."""
    for page, one in organisations(pages, name):
        said = _address(one)
        if said:
            return Fact(value=said, page=page.url, quote=said, rule="JSON-LD address")
    for page, pair in _labelled(pages, "headquarters_location"):
        where = _place(pair.value)
        if where and (_known(where) or "," in pair.value):
            return Fact(value=where, page=page.url, quote=pair.quote, rule="label and value")
    for pattern in (*_HEADQUARTERS, _MARKED, *_BASED):
        for page, sentence in _sentences(pages):
            match = pattern.search(sentence)
            where = _place(match["where"]) if match else None
            if match is None or where is None:
                continue
            if pattern in _BASED and not (
                _known(where) and _of_itself(sentence, name) and not _OF_OTHERS.search(sentence, 0, match.start())
            ):
                continue
            return Fact(
                value=where, page=page.url, quote=quote_of(sentence, match.start(), match.end()), rule="sentence"
            )
    return None


def _address(organisation: Mapping[str, Any]) -> str | None:
    given = organisation.get("address")
    given = given[0] if isinstance(given, list) and given else given
    if isinstance(given, str):
        return _place(line(given) or "")
    if not isinstance(given, Mapping):
        return None
    row = Row(given)
    country = row.text("addressCountry") or row.text("addressCountry.name")
    parts = [row.text("addressLocality"), row.text("addressRegion"), country]
    return ", ".join(dict.fromkeys(one for one in parts if one)) or None


def _place(text: str) -> str | None:
    """The place without what follows it in the sentence: a part counts as long as it is a region or country."""
    parts = [one.strip(" .") for one in text.split(",") if one.strip(" .")]
    if not parts or len(parts[0]) > 60:
        return None
    kept = parts[:1]
    for part in parts[1:3]:
        if fold(part) not in REGIONS and country_code(part) is None:
            break
        kept.append(part)
    return ", ".join(kept)


def _known(where: str) -> bool:
    return city_of([where])[0] is not None or country_of([where]) is not None


def industry_of(pages: Sequence[CompanyPage], name: str, about: str | None) -> Fact | None:
    """What trade it is in."""
    for page, one in organisations(pages, name):
        said = line(one.get("industry"), 80)
        if said:
            return Fact(value=said, page=page.url, quote=said, rule="JSON-LD industry")
    for page, pair in _labelled(pages, "industry"):
        if not pair.value[:1].isdecimal():
            return Fact(value=pair.value, page=page.url, quote=pair.quote, rule="label and value")
    for page, sentence in _sentences(pages):
        match = _IS_A.search(sentence)
        what = _trade(match) if match and _of_itself(sentence, name) else None
        if match and what:
            quote = quote_of(sentence, match.start(), match.end())
            return Fact(value=what, page=page.url, quote=quote, rule="sentence")
    return by_words(pages, about)


def _trade(match: re.Match[str]) -> str | None:
    """The words between "is a" and "company" that name a trade, without praise."""
    words = [one for one in match["what"].replace(",", " ").split() if one.lower() not in _PRAISE]
    words = [one for one in words if not re.fullmatch(r".*(?:-based|-person|-köpfiges)|\d+", one)]
    if not words and match["kept"]:
        return match["kept"].lower()
    if not words or len(words) > 5 or words[0].lower() in ("to", "in", "for", "of", "that"):
        return None
    return " ".join([*words, match["kept"]] if match["kept"] else words)
