"""Jurisdictions by their names, and the one name that each is kept under."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATES = """Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho
Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri
Montana Nebraska Nevada New_Hampshire New_Jersey New_Mexico New_York North_Carolina North_Dakota Ohio Oklahoma Oregon
Pennsylvania Rhode_Island South_Carolina South_Dakota Tennessee Texas Utah Vermont Virginia Washington West_Virginia
Wisconsin Wyoming District_of_Columbia Puerto_Rico Guam"""
_PROVINCES = """Ontario Quebec British_Columbia Alberta Manitoba Saskatchewan Nova_Scotia New_Brunswick
Newfoundland_and_Labrador Prince_Edward_Island Yukon"""
_COUNTRIES = """Argentina Armenia Australia Austria Bahamas Bahrain Bangladesh Barbados Belgium Belize Bermuda Bolivia
Brazil British_Virgin_Islands Bulgaria Cambodia Canada Cayman_Islands Chile China Colombia Costa_Rica Croatia Curacao
Cyprus Czech_Republic Denmark Dominican_Republic Ecuador Egypt England_and_Wales Estonia Ethiopia Finland France
Germany Ghana Gibraltar Greece Guatemala Guernsey Hong_Kong Hungary Iceland India Indonesia Iran Iraq Ireland
Isle_of_Man Israel Italy Jamaica Japan Jersey Jordan Kazakhstan Kenya Korea Kuwait Latvia Lebanon Liberia
Liechtenstein Lithuania Luxembourg Macau Malaysia Malta Marshall_Islands Mauritius Mexico Monaco Mongolia Morocco
Nepal Netherlands New_Zealand Nigeria Northern_Ireland Norway Oman Pakistan Panama Paraguay Peru Philippines Poland
Portugal Qatar Romania Russia Saudi_Arabia Scotland Serbia Seychelles Singapore Slovakia Slovenia South_Africa Spain
Sri_Lanka Sweden Switzerland Taiwan Tanzania Thailand Trinidad_and_Tobago Tunisia Turkey Uganda Ukraine
United_Arab_Emirates United_Kingdom United_States Uruguay Uzbekistan Venezuela Vietnam New_South_Wales Victoria
Queensland Western_Australia South_Australia Tasmania European_Union Dubai Abu_Dhabi Virgin_Islands"""
_ALIASES = {
    "England": "England and Wales",
    "England & Wales": "England and Wales",
    "Wales": "England and Wales",
    "United States of America": "United States",
    "the United States of America": "United States",
    "USA": "United States",
    "U.S.A.": "United States",
    "U.S.": "United States",
    "Great Britain": "United Kingdom",
    "UK": "United Kingdom",
    "U.K.": "United Kingdom",
    "People's Republic of China": "China",
    "Peoples Republic of China": "China",
    "Mainland China": "China",
    "PRC": "China",
    "P.R.C.": "China",
    "P.R. China": "China",
    "P. R. China": "China",
    "Hong Kong Special Administrative Region": "Hong Kong",
    "Hong Kong SAR": "Hong Kong",
    "HKSAR": "Hong Kong",
    "Republic of China": "Taiwan",
    "R.O.C.": "Taiwan",
    "Republic of Korea": "Korea",
    "South Korea": "Korea",
    "Federal Republic of Germany": "Germany",
    "Russian Federation": "Russia",
    "The Netherlands": "Netherlands",
    "Holland": "Netherlands",
    "Swiss Confederation": "Switzerland",
    "Republic of Ireland": "Ireland",
    "Republic of Singapore": "Singapore",
    "Republic of India": "India",
    "Republic of South Africa": "South Africa",
    "State of Israel": "Israel",
    "Hellenic Republic": "Greece",
    "Czechia": "Czech Republic",
    "Québec": "Quebec",
    "Newfoundland": "Newfoundland and Labrador",
    "Yukon Territory": "Yukon",
    "D.C.": "District of Columbia",
    "Washington, D.C.": "District of Columbia",
    "Washington D.C.": "District of Columbia",
    "UAE": "United Arab Emirates",
    "BVI": "British Virgin Islands",
    "Türkiye": "Turkey",
    "Curaçao": "Curacao",
    "Viet Nam": "Vietnam",
    "New York State": "New York",
    "Washington State": "Washington",
    "Deutschland": "Germany",
    "Österreich": "Austria",
}
_ADJECTIVES = {
    "English": "England and Wales",
    "Scottish": "Scotland",
    "Scots": "Scotland",
    "Irish": "Ireland",
    "German": "Germany",
    "French": "France",
    "Swiss": "Switzerland",
    "Dutch": "Netherlands",
    "Swedish": "Sweden",
    "Danish": "Denmark",
    "Norwegian": "Norway",
    "Finnish": "Finland",
    "Italian": "Italy",
    "Spanish": "Spain",
    "Belgian": "Belgium",
    "Austrian": "Austria",
    "Israeli": "Israel",
    "Japanese": "Japan",
    "Chinese": "China",
    "PRC": "China",
    "Korean": "Korea",
    "Indian": "India",
    "Canadian": "Canada",
    "Australian": "Australia",
    "Mexican": "Mexico",
    "Brazilian": "Brazil",
    "Californian": "California",
    "deutsches": "Germany",
    "deutschem": "Germany",
}


def _listed(text: str) -> list[str]:
    return [name.replace("_", " ") for name in text.split()]


STATES = frozenset(_listed(_STATES))
PROVINCES = frozenset(_listed(_PROVINCES))
NAMES: dict[str, str] = {name: name for name in [*_listed(_STATES), *_listed(_PROVINCES), *_listed(_COUNTRIES)]}
NAMES.update(_ALIASES)
_AUSTRALIAN = {"New South Wales", "Victoria", "Queensland", "Western Australia", "South Australia", "Tasmania"}
_UNITED_KINGDOM = {"England and Wales", "Scotland", "Northern Ireland"}


def _letters(text: str) -> str:
    return re.sub(r"[^0-9a-zà-ÿ]", "", text.lower())


_BY_LETTERS = {_letters(name): canonical for name, canonical in NAMES.items()}
_LONGEST_FIRST = "|".join(sorted((re.escape(name) for name in _BY_LETTERS), key=len, reverse=True))
_LEAD = (
    r"(?:the)?(?:(?:internal|domestic|local|substantive|applicable|civil|said)*)(?:the)?"
    r"(?:(?:s[a-z]?[ai]te|commonwealth|province|republic|kingdom|country|canton|territory|"
    r"federalstate|sovereignstate|jurisdiction|"
    r"dominion|grandduchy|sultanate|emirate|city)s?(?:or(?:commonwealth|province))?(?:of|0f)(?:the)?){0,2}"
)
_STARTS = re.compile(rf"{_LEAD}({_LONGEST_FIRST})")
_ADJECTIVE = re.compile(rf"\b({'|'.join(_ADJECTIVES)})\b")


@dataclass(frozen=True, slots=True)
class Named:
    """A jurisdiction that a text names, and where its name ends."""

    name: str
    end: int


def jurisdiction_at(text: str, start: int) -> Named | None:
    """The jurisdiction that the text names right here: `the State of New York` is `New York`.

    Read by letters only, so that a torn `N ew Y ork` counts; its end must be the end of a word.
    """
    window = text[start : start + 110]
    places = [i for i, c in enumerate(window) if c.isalnum()]
    letters = "".join(window[i].lower() for i in places)
    if len(letters) != len(places):
        return None
    match = _STARTS.match(letters)
    if match is None:
        return None
    for name in _prefixes(letters, match.start(1)):
        end = places[match.start(1) + len(name) - 1] + 1
        if end >= len(window) or not window[end].isalpha():
            # A name in small letters is a word: `the laws of jersey knitting`.
            if window[places[match.start(1)]].islower() and not window.islower():
                return None
            return Named(_BY_LETTERS[name], start + end)
    return None


def _prefixes(letters: str, start: int) -> list[str]:
    return sorted((n for n in _BY_LETTERS if letters.startswith(n, start)), key=len, reverse=True)


def adjective_in(text: str) -> Named | None:
    """The jurisdiction of an adjective: `English law` is `England and Wales`."""
    match = _ADJECTIVE.search(text)
    return Named(_ADJECTIVES[match[1]], match.end()) if match else None


def parse_law(text: str) -> str | None:
    """The jurisdictions that a text names, by their one name, joined by `; ` in order of the alphabet."""
    found: list[str] = []
    at = 0
    text = " ".join(text.split())
    while at < len(text):
        named = jurisdiction_at(text, at) if text[at].isalnum() and (at == 0 or not text[at - 1].isalnum()) else None
        if named is None:
            at += 1
            continue
        found.append(named.name)
        at = named.end
    if not found:
        adjective = adjective_in(text)
        found = [adjective.name] if adjective else []
    return "; ".join(sorted(without_wholes(found))) or None


def without_wholes(names: list[str]) -> list[str]:
    """Names without the country of a state that is also named: `Ontario, Canada` is `Ontario`."""
    kept = set(names)
    if kept & PROVINCES:
        kept.discard("Canada")
    if kept & STATES:
        kept.discard("United States")
    if kept & _AUSTRALIAN:
        kept.discard("Australia")
    if kept & _UNITED_KINGDOM:
        kept.discard("United Kingdom")
    if "Hong Kong" in kept or "Macau" in kept:
        kept.discard("China")
    return sorted(kept)
