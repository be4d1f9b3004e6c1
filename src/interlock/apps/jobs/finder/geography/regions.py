"""Parts of the world that postings limit remote work to, as countries."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.geography.places import COUNTRIES, WORK_MODEL
from interlock.apps.jobs.finder.identity.keys import fold

_EU = "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE"
_EUROPE = f"{_EU} AL BA BY CH GB IS MD ME MK NO RS UA MC"
_MIDDLE_EAST = "AE BH IL IQ JO KW LB OM QA SA TR EG"
_AFRICA = "CI DZ EG ET GH KE MA MU NG RW SN TN TZ UG ZA ZM ZW"
_NORTH = "US CA MX"
_SOUTH = "AR BO BR CL CO EC PE PY UY VE"
_LATIN = f"{_SOUTH} CR DO GT HN MX NI PA PR SV"
_ASIA = "AM AZ BD CN GE HK ID IN JP KH KR KZ LK MY NP PH PK SG TH TW UZ VN"
_TABLE = {
    "eu": _EU,
    "european union": _EU,
    "europe": _EUROPE,
    "emea": f"{_EUROPE} {_MIDDLE_EAST} {_AFRICA}",
    "dach": "DE AT CH",
    "nordics": "DK FI IS NO SE",
    "benelux": "BE NL LU",
    "uk and ireland": "GB IE",
    "middle east": _MIDDLE_EAST,
    "africa": _AFRICA,
    "north america": _NORTH,
    "south america": _SOUTH,
    "latam": _LATIN,
    "latin america": _LATIN,
    "americas": f"{_NORTH} {_LATIN}",
    "asia": _ASIA,
    "apac": f"{_ASIA} AU NZ",
    "oceania": "AU NZ",
}
REGIONS = {name: frozenset(codes.split()) for name, codes in _TABLE.items()}
_NAMES = re.compile(
    r"(?<!\w)(?:" + "|".join(sorted((re.escape(one) for one in REGIONS), key=len, reverse=True)) + r")(?!\w)"
)
_LIMIT = re.compile(
    r"(?:remote(?:ly)? (?:within|in|from|across|anywhere in|-|, ?)|remote ?\("
    r"|must (?:be )?(?:located|based|reside|live) (?:with)?in"
    r"|only (?:considering|accepting|hiring) (?:candidates|applicants) (?:based |located |residing )?(?:with)?in"
    r"|authori[sz]ed to work in) ?(?:the )?(?P<where>[a-z][a-z. ]{1,30})"
)
"""Sentences that limit a posting to a country or region, in lower case."""
_PIECE = re.compile(r"[:;,|/()\[\]&]| - |-(?=remote)|(?<=remote)-", re.IGNORECASE)


def countries_in(text: str) -> frozenset[str]:
    """The countries that a location or region comes to; empty when it names none that is known."""
    low = fold(text).strip(" .,;()-")
    code = COUNTRIES.get(low.replace(".", ""))
    if code is not None:
        return frozenset({code})
    found: set[str] = set()
    for one in _NAMES.finditer(low):
        found |= REGIONS[one.group()]
    return frozenset(found)


def named_countries(text: str) -> frozenset[str]:
    """The countries that the parts of a location or title come to: "Remote - US: select locations"."""
    found: set[str] = set()
    for piece in _PIECE.split(text):
        bare = WORK_MODEL.sub("", piece).strip()
        # Two small letters are a word of the language: "it", "in", "no".
        if len(bare) > 2 or bare.isupper():
            found |= countries_in(bare)
    return frozenset(found)


def limit_in(low: str) -> tuple[frozenset[str], int, int] | None:
    """The countries of the first sentence that limits where somebody may work from, and where it stands."""
    for one in _LIMIT.finditer(low):
        names = one["where"].replace(" only", "").split()
        for many in range(min(len(names), 3), 0, -1):
            found = countries_in(" ".join(names[:many]).strip(". "))
            if found:
                return found, one.start(), one.end()
    return None
