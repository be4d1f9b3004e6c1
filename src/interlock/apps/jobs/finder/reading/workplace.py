"""Where work is done: remote, hybrid or on site; the city; the hours from UTC that are asked for; relocation."""

from __future__ import annotations

import re

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.places import city_of, country_of, known_city
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Value
from interlock.apps.jobs.finder.reading.vocabulary import Hit

_REMOTE = re.compile(
    r"\b(?:remote|virtual|work at home|anywhere|worldwide|work from home|wfh|telecommute|distributed|home office"
    r"|home-based|remoto|remota|t\u00e9l\u00e9travail|teletrabajo|thuiswerk\w*)\b"
)
_HYBRID = re.compile(r"\b(?:hybrid|hybride|h[i\u00ed]brid[oa])\b")
_ONSITE = re.compile(r"\b(?:on-?site|in[- ]office|in[- ]person|office[- ]based|presencial|vor ort)\b")
_NO_REMOTE = re.compile(r"\b(?:no|not|non)[- ]remote\b")
_WORLD = re.compile(r"\b(?:anywhere in the world|anywhere|worldwide|global|globally)\b")
_SPREAD = re.compile(
    r"\b(?:across|spread|spans?|spanning|multiple|various|different|behind|ahead|deadline|closes?|apply by|webinar)\b"
)
"""A team in many zones asks for none; nor does a day on which applications close."""
_BETWEEN = re.compile(r"\bbetween (?:utc|gmt|[a-z]{2,4}\b)")
"""A stretch of zones is none of them."""
_DAYS = re.compile(
    r"\b(?P<days>[1-5]|one|two|three|four|five)(?: ?(?:-|to|or) ?(?:[2-5]|two|three|four|five))?(?: ?\([1-5]\))?\+?"
    r"(?: days?|x| times)(?: ?/ ?| a | per | each | every | out of the )(?:work ?)?week"
    r"|\b(?:once|twice)(?: or twice)? (?:a|per|each|every) week"
)
_LIMITED = re.compile(
    r"\b(?:emea|apac|latam|americas?|europe(?:an)?|eu|asia|africa|us|u\.s\.|usa|uk|canada|north america|only)\b"
)
_BARE = re.compile(r"[\s-]*(?:fully |100% )?remote[\s-]*")
_ZONES = (
    (
        r"pst|pdt|pacific(?: standard| daylight)? time(?: zone)?|pacific (?:business |working )?hours|us pacific|pt"
        r"|us west coast|west coast hours",
        -8.0,
    ),
    (r"mst|mdt|mountain(?: standard| daylight)? time(?: zone)?|mt", -7.0),
    (r"cst|cdt|central(?: standard| daylight)? time(?: zone)?|us central", -6.0),
    (
        r"est|edt|eastern(?: standard| daylight)? time(?: zone)?|eastern (?:business |working )?hours"
        r"|us eastern|us east coast|east coast hours|et(?= (?:core |working |business )?hours)|(?<=[ap]m )et",
        -5.0,
    ),
    (r"brt|brasilia time|argentina time", -3.0),
    (r"gmt|bst|utc|uk time|wet", 0.0),
    (r"cet|cest|central european(?: summer)? time|mez|berlin time", 1.0),
    (r"eet|eest|eastern european time|israel time", 2.0),
    (r"ist|india standard time|indian standard time", 5.5),
    (r"sgt|singapore time", 8.0),
    (r"jst|japan time", 9.0),
    (r"aest|aedt|australian eastern(?: standard)? time|sydney time", 10.0),
)
_COUNTRY_CODES = {"pt", "mt", "ist", "wet", "est"}
"""Zones that are something else in a location: Portugal, Malta, Istanbul, Estonia."""
_NAMED = re.compile(
    r"\b(?:(?P<base>utc|gmt) ?(?P<sign>[+-]) ?(?P<hours>\d{1,2})(?::?(?P<minutes>30|45))?|"
    + "|".join(f"(?P<z{index}>{words})" for index, (words, _) in enumerate(_ZONES))
    + r")\b"
)


def arrangement_of(document: Document, *, guess: bool) -> Value:
    """Remote, hybrid or on site: by the location and the title first, then by what the text says."""
    for name, text in (("location", " | ".join(document.locations)), ("title", document.title)):
        low = folded(text)
        if _NO_REMOTE.search(low):
            return Value("onsite", f"{name} says so", text)
        if _HYBRID.search(low):
            return Value("hybrid", f"{name} says so", text)
        if _REMOTE.search(low):
            return _days_in_office(document) or Value("remote", f"{name} says so", text)
        if _ONSITE.search(low):
            return Value("onsite", f"{name} says so", text)
    stated = _days_in_office(document)
    if stated is not None:
        return stated
    for cue, value in (("hybrid", "hybrid"), ("remote", "remote"), ("onsite", "onsite")):
        hit = _stated(document, cue)
        if hit is not None:
            return Value(value, "text says so", document.quote(hit.start, hit.end))
    if guess:
        return _likeliest(document)
    return Value("unknown", "not stated")


def _stated(document: Document, cue: str) -> Hit | None:
    """The first hit outside legal text. A sentence that names both ends ("from in-office to remote") says neither."""
    for hit in document.cues.get(cue, ()):
        if document.section(hit.start) == "legal":
            continue
        begin, end = document.sentence(hit.start)
        if cue == "hybrid" or not (document.has("onsite", begin, end) and document.has("remote", begin, end)):
            return hit
    return None


def _days_in_office(document: Document) -> Value | None:
    """A number of days in the office is hybrid, whatever the location says; five are on site."""
    for cue in ("office", "onsite"):
        for hit in document.cues.get(cue, ()):
            begin, end = document.sentence(hit.start)
            days = _DAYS.search(document.low, max(begin, hit.start - 100), min(end, hit.end + 100))
            if days is not None and document.section(hit.start) not in {"legal", "benefits"}:
                kind = "onsite" if days["days"] in {"5", "five"} else "hybrid"
                return Value(kind, "days in the office", document.quote(hit.start, hit.end))
    for hit in document.cues.get("remote", ()):
        begin, end = document.sentence(hit.start)
        days = _DAYS.search(document.low, max(begin, hit.start - 35), min(end, hit.end + 35))
        if days is not None and days["days"] not in {"5", "five"} and document.section(hit.start) != "legal":
            return Value("hybrid", "days at home", document.quote(hit.start, hit.end))
    for hit in document.cues.get("hybrid", ()):
        phrase = document.low[hit.start : hit.end]
        if "day" in phrase or "commut" in phrase or "structured" in document.low[max(0, hit.start - 12) : hit.start]:
            return Value("hybrid", "days in the office", document.quote(hit.start, hit.end))
    return None


def _likeliest(document: Document) -> Value:
    place, field = city_of(document.locations)
    if place is not None:
        return Value("onsite", "guess: a city and no word about it", field)
    if not document.locations and len(document.text) < 700:
        return Value("unknown", "not stated")
    return Value("remote", "guess: no city", "")


def city_value(document: Document, arrangement: str) -> Value:
    """The city of the location field, else of the office that the text names."""
    place, field = city_of(document.locations)
    if place is not None:
        return Value(place.name, "location field", field)
    for hit in document.cues.get("office", ()) if arrangement != "remote" else ():
        before = document.low[max(0, hit.start - 30) : hit.start].split()
        for size in (3, 2, 1):
            office = known_city(" ".join(before[-size:])) if len(before) >= size else None
            if office is not None and document.section(hit.start) not in {"company", "legal", "benefits"}:
                return Value(office.name, "office in the text", document.quote(hit.start, hit.end))
    return Value(None, "not stated")


def timezone_of(document: Document, arrangement: str) -> Value:
    """Hours from UTC: a zone that the text asks for, else the office's where one has to be there."""
    for location in document.locations:
        zones = [one for one in _NAMED.finditer(folded(location)) if one.group() not in _COUNTRY_CODES]
        if len(zones) == 1:
            return Value(_offset(zones[0]), "location field", location)
    zones = [one for one in _NAMED.finditer(folded(document.title)) if _is_written_so(document.title, one)]
    if len(zones) == 1:
        return Value(_offset(zones[0]), "title", document.title)
    place, field = city_of(document.locations)
    there = arrangement in {"hybrid", "onsite"}
    if there and place is not None and place.offset is not None:
        return Value(_plain(place.offset), "the office's city", field)
    for cue in document.cues.get("zone", ()):
        begin, end = document.sentence(cue.start)
        stretch = document.low[max(begin, cue.start - 150) : min(end, cue.end + 150)]
        named = list(_NAMED.finditer(stretch))
        between = _BETWEEN.search(stretch) is not None and len({_offset(one) for one in named}) > 1
        if named and not between and not _SPREAD.search(stretch):
            return Value(_offset(named[0]), "text asks for it", document.quote(cue.start, cue.end))
    if there:
        country = country_of(document.locations)
        if country is not None and country.offset is not None:
            return Value(_plain(country.offset), "the office's country", country.name)
    return Value(None, "not stated")


def _is_written_so(title: str, zone: re.Match[str]) -> bool:
    """Whether a zone of a few letters is in capitals, as nobody writes a word of a title."""
    written = title[zone.start() : zone.end()]
    return len(written) > 4 or (written.isupper() and written not in {"PT", "MT", "IST", "WET"})


def _offset(found: re.Match[str]) -> float | int:
    if found["hours"]:
        hours = int(found["hours"]) + int(found["minutes"] or 0) / 60
        return _plain(-hours if found["sign"] == "-" else hours)
    for index, (_, offset) in enumerate(_ZONES):
        if found[f"z{index}"]:
            return _plain(offset)
    return 0


def _plain(offset: float) -> float | int:
    return int(offset) if offset == int(offset) else offset


def timezone_flexible(document: Document, arrangement: str, *, zone: bool = False, guess: bool) -> Value:
    for location in document.locations:
        if _WORLD.search(folded(location)):
            return Value(True, "location field", location)
    hit = document.first("anywhere")
    if hit is None and not _region(document):
        hit = document.first("team-anywhere")
    if hit is not None and arrangement in {"remote", "unknown"}:
        return Value(True, "text says so", document.quote(hit.start, hit.end))
    if guess and arrangement == "remote" and not zone and not _region(document):
        return Value(True, "guess: remote without a country", "")
    return Value(False, "not stated")


def _region(document: Document) -> bool:
    """Whether the location or the title limits a remote job to a part of the world."""
    places = [*document.locations, *re.split(r" [-|(,]+ ?|, ", document.title)]
    if country_of(places) is not None or city_of(places)[0] is not None:
        return True
    low = folded(" | ".join(places))
    return _LIMITED.search(low) is not None or any(_BARE.fullmatch(folded(one)) is None for one in document.locations)


def relocation_of(document: Document) -> Value:
    hit = document.first("relocate", without=frozenset({"benefits", "legal"}))
    if hit is not None:
        return Value(True, "text says so", document.quote(hit.start, hit.end))
    return Value(False, "not stated")
