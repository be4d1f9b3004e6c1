"""Places as sources write them, read into city, region and country as far as rules go."""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock.apps.jobs.finder.geography.place_names import decoded, place_names
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import Location

WORK_MODEL = re.compile(
    r"\b(?:100 ?% )?(?:fully |full |partially |mostly )?"
    r"(?:remote(?:[- ](?:first|friendly|ok|only))?|hybrid|in[- ]?office|on[- ]?site|onsite|distributed|"
    r"home[- ](?:office|based)|homeoffice|work(?:ing)? from home|wfh|telecommute|virtual|anywhere|worldwide|global)\b",
    re.IGNORECASE,
)
"""Words that say how somebody works and not where."""
SEVERAL = re.compile(r"\d+ (?:locations|standorte|emplacements|ubicaciones|sedi|locaties)", re.IGNORECASE)
"""Workday's count of places in place of their names."""


def _country_names() -> dict[str, str]:
    names = {}
    for row in place_names():
        if row.kind == "country":
            names[row.country.lower()] = row.country
            names.update({fold(spelling).replace(".", ""): row.country for spelling in (row.name, *row.aliases)})
    return names


def _region_names() -> dict[str, tuple[str, str]]:
    # The table has no code for it, because after a city "NL" is the Netherlands.
    names = {"nl": ("Newfoundland and Labrador", "CA")}
    for row in sorted(place_names(), key=lambda one: one.country):
        if row.kind == "region":
            # New York and Washington are cities as well, so the table has the states as New York State.
            region = (row.name.removesuffix(" State"), row.country)
            names.update({fold(spelling): region for spelling in (row.name, region[0], *row.aliases)})
    return names


COUNTRIES = _country_names()
REGIONS = _region_names()
AMBIGUOUS = frozenset(code for code in REGIONS if len(code) == 2 and code in COUNTRIES)
"""Codes of a state that are a country's as well: "Dover, DE" is in Delaware and "Berlin, DE" in Germany."""
NO_REGION_ALONE = frozenset({"new york", "washington", "quebec", "georgia"})
"""Names of a region that, alone, may be a city or a country."""
_BROAD = """
europe, european union, eu, emea, apac, latam, latin america, north america, south america, americas, asia, africa,
oceania, dach, nordics, benelux, middle east, uk and ireland, multiple locations, various locations, various, nationwide
"""
BROAD = frozenset(one.strip() for one in _BROAD.split(","))
"""Parts of the world: neither a city nor a country."""

CITIES = {
    (fold(spelling), row.country)
    for row in place_names()
    if row.kind == "city"
    for spelling in (row.name, *row.aliases)
}
_AROUND = re.compile(
    r"\b(?:greater|downtown|bay area|metro(?:politan)? area|metro(?:politan)?|area|offices?|hq|headquarters)\b",
    re.IGNORECASE,
)
"""Words around the name of a city that are no part of it."""
_BEFORE = re.compile(r"(?:(?:based|located) )?(?:in|within|from|across|throughout)(?: the)? (?=\w)")
"""Words between the way to work and the place, as in "Remote within Canada"."""
_LEADING = frozenset({"in", "within", "based", "the"})
_POSTCODE = re.compile(r"(?<=[A-Za-z]) \d{5}(?:-\d{4})?$")
_NO_COMMA = re.compile(r"(?P<city>[^\W\d_].*?)[ -](?P<region>[A-Z]{2})")
_STREET = re.compile(r"\d+\w? .*[^\W\d_]")


def country_code(name: str | None) -> str | None:
    """The ISO code of two letters for a name, a spelling or a code; None when it is not known."""
    return COUNTRIES.get(fold(name).replace(".", "")) if name else None


def is_work_model(text: str) -> bool:
    """Whether a place names none, as in "Hybrid" or "Remote"."""
    return bool(WORK_MODEL.search(text)) and not re.search(r"\w", WORK_MODEL.sub("", text))


def place(
    raw: str | None = None,
    city: str | None = None,
    region: str | None = None,
    country: str | None = None,
    lat: float | None = None,
    lon: float | None = None,
) -> Location | None:
    """A location from named parts; what they leave open is read from the raw text. None when there is nothing."""
    named = [part for part in (city, region, country) if part]
    text = raw or ", ".join(dict.fromkeys(named))
    if not text:
        return None
    code = country_code(country)
    if not city and not region:
        city, region, read = _parts(text, code)
        code = code or read
    if region and (fold(region) in BROAD or (code and country_code(region) == code and len(region) > 2)):
        region = None
    state = REGIONS.get(fold(region)) if region else None
    if state and code is None:
        last = fold(region)
        code = _either(city, last, state[1]) if last in AMBIGUOUS else state[1]
        region = None if code != state[1] and code else region
    if not _coordinates(lat, lon):
        lat = lon = None
    return Location(raw=text, city=city, region=region, country=code, lat=lat, lon=lon)


def places(texts: Iterable[str | None]) -> tuple[Location, ...]:
    """A location for each text that names a place, each once."""
    found: dict[str, Location] = {}
    for text in texts:
        for piece in re.split(r"[;|\n]| / | or ", text or ""):
            one = place(piece.strip()) if piece.strip() and not SEVERAL.fullmatch(piece.strip()) else None
            if one:
                found.setdefault(one.key or one.raw, one)
    return tuple(found.values())


def _coordinates(lat: float | None, lon: float | None) -> bool:
    # Both zero is a point in the sea, where services put what they do not know.
    return lat is not None and lon is not None and abs(lat) <= 90 and abs(lon) <= 180 and (lat, lon) != (0, 0)


def _parts(text: str, country: str | None) -> tuple[str | None, str | None, str | None]:
    """City, region and country of "Portland, OR, USA". What may be two things is left open."""
    bare = WORK_MODEL.sub(" ", decoded(text))
    pieces = [_piece(one) for one in re.split(r",|\(|\)| [-–—] ", bare)]  # noqa: RUF001
    pieces = [piece for piece in pieces if piece and (piece == "IN" or fold(piece) not in _LEADING)]
    if len(pieces) > 1 and _STREET.fullmatch(pieces[0]):
        del pieces[0]
    if not pieces:
        return None, None, None
    joined = _NO_COMMA.fullmatch(pieces[0])
    if joined and fold(joined["region"]) in REGIONS and len(pieces) < 3:
        pieces[:1] = joined["city"], joined["region"]
    pieces = _outward(pieces)
    last = fold(pieces[-1]).replace(".", "")
    state = REGIONS.get(last)
    if state and country in (None, state[1]) and _is_region(pieces, last):
        city = _city(pieces[:-1])
        known = country or (_either(city, last, state[1]) if last in AMBIGUOUS else state[1])
        return city, pieces[-1] if known in (None, state[1]) else None, known
    code = country_code(pieces[-1]) if len(last) > 2 or pieces[-1].isupper() else None
    if code is None:
        for inner in (piece for piece in pieces[:-1] if len(piece) > 2 and country_code(piece)):
            # As in "Remote-India (PEO)": what follows the country is a remark.
            return _city(pieces[: pieces.index(inner)]), None, country_code(inner)
        first = REGIONS.get(fold(pieces[0])) if len(pieces) > 1 and len(pieces[0]) > 2 else None
        if first:
            # The other order, as in "Illinois, Chicago".
            return pieces[1], pieces[0], first[1]
        return _city(pieces), pieces[1] if len(pieces) > 1 else None, None
    if len(pieces) > 2 and (state := REGIONS.get(fold(pieces[0]))) and len(pieces[0]) > 2 and state[1] == code:
        return pieces[1], pieces[0], code
    # Singapore is a city as well.
    city = _city(pieces[:-1]) or ("Singapore" if code == "SG" else None)
    return city, pieces[-2] if len(pieces) > 2 else None, code


def _piece(text: str) -> str:
    """One part of a place without the words around the name, unless they are all that there is."""
    text = _POSTCODE.sub("", text.strip(" -–—()/:·"))  # noqa: RUF001
    before = _BEFORE.match(text)
    text = text[before.end() :] if before else text
    return " ".join(_AROUND.sub(" ", text).split()).strip(" -:") or text


def _outward(pieces: list[str]) -> list[str]:
    """The parts from the city outwards, where they are the other way round: "USA, OR, Portland", "OR - Portland"."""
    first = fold(pieces[0]).replace(".", "")
    code = country_code(pieces[0]) if len(first) > 2 or pieces[0].isupper() else None
    if len(pieces) == 3 and code and code == REGIONS.get(fold(pieces[1]), ("", ""))[1]:
        return pieces[::-1]
    if len(pieces) == 2 and code and (fold(pieces[1]), code) in CITIES:
        return pieces[::-1]
    state = REGIONS.get(first)
    if len(pieces) == 2 and state and pieces[0].isupper() and (fold(pieces[1]), state[1]) in CITIES:
        return pieces[::-1]
    return pieces


def _is_region(pieces: list[str], last: str) -> bool:
    if len(pieces) > 1:
        return len(last) > 2 or pieces[-1].isupper()
    return len(last) > 2 and last not in NO_REGION_ALONE and last not in COUNTRIES


def _either(city: str | None, code: str, state_of: str) -> str | None:
    """The country of a city before a code that is a state's and a country's: "Chicago, IL" and "Haifa, IL"."""
    in_state = (fold(city), state_of) in CITIES
    if in_state != ((fold(city), COUNTRIES[code]) in CITIES):
        return state_of if in_state else COUNTRIES[code]
    # A city of Canada is followed by its province, so that one nobody knows is in California.
    return state_of if code == "ca" and city else None


def _city(pieces: list[str]) -> str | None:
    return pieces[0] if pieces and fold(pieces[0]) not in BROAD else None
