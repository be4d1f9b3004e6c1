"""Places as sources write them, read into city, region and country as far as rules go."""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock.apps.jobs.finder.keys import fold
from interlock.apps.jobs.finder.posting import Location

_COUNTRIES = """
AE United Arab Emirates|UAE|Emirates;AL Albania;AM Armenia;AR Argentina|Argentinien;
AT Austria|Österreich|Autriche;AU Australia|Australien;AZ Azerbaijan;BA Bosnia and Herzegovina|Bosnia;
BD Bangladesh;BE Belgium|België|Belgique|Belgien;BG Bulgaria|Bulgarien;BH Bahrain;BO Bolivia;
BR Brazil|Brasil|Brasilien;BY Belarus;CA Canada|Kanada;CH Switzerland|Schweiz|Suisse|Svizzera;
CI Ivory Coast|Côte d'Ivoire;CL Chile;CN China;CO Colombia|Kolumbien;CR Costa Rica;CY Cyprus|Zypern;
CZ Czech Republic|Czechia|Tschechien|Česko;DE Germany|Deutschland|Allemagne|Alemania|Niemcy;
DK Denmark|Danmark|Dänemark;DO Dominican Republic;DZ Algeria;EC Ecuador;EE Estonia|Estland|Eesti;
EG Egypt|Ägypten;ES Spain|España|Spanien|Espagne;ET Ethiopia;FI Finland|Suomi|Finnland;
FR France|Frankreich|Francia;
GB United Kingdom|UK|U.K.|Great Britain|England|Scotland|Wales|Northern Ireland|Vereinigtes Königreich;
GE Georgia (country);GH Ghana;GR Greece|Griechenland|Hellas;GT Guatemala;HK Hong Kong|Hongkong|Hong Kong SAR;
HN Honduras;HR Croatia|Kroatien|Hrvatska;HU Hungary|Ungarn|Magyarország;ID Indonesia;
IE Ireland|Irland|Republic of Ireland;IL Israel;IN India|Indien;IQ Iraq;IS Iceland|Island;
IT Italy|Italia|Italien|Italie;JM Jamaica;JO Jordan;JP Japan;KE Kenya;KH Cambodia;
KR South Korea|Korea|Republic of Korea|Korea, Republic of;KW Kuwait;KZ Kazakhstan;LB Lebanon;LK Sri Lanka;
LT Lithuania|Litauen|Lietuva;LU Luxembourg|Luxemburg;LV Latvia|Lettland|Latvija;MA Morocco|Maroc|Marokko;
MC Monaco;MD Moldova;ME Montenegro;MK North Macedonia|Macedonia;MT Malta;MU Mauritius;MX Mexico|México|Mexiko;
MY Malaysia;NG Nigeria;NI Nicaragua;NL Netherlands|The Netherlands|Nederland|Niederlande|Pays-Bas|Holland;
NO Norway|Norge|Norwegen;NP Nepal;NZ New Zealand|Neuseeland;OM Oman;PA Panama;PE Peru|Perú;
PH Philippines|Philippinen;PK Pakistan;PL Poland|Polska|Polen|Pologne;PR Puerto Rico;PT Portugal;PY Paraguay;
QA Qatar;RO Romania|România|Rumänien;RS Serbia|Serbien|Srbija;RU Russia|Russian Federation;RW Rwanda;
SA Saudi Arabia|KSA;SE Sweden|Sverige|Schweden;SG Singapore|Singapur;SI Slovenia|Slowenien|Slovenija;
SK Slovakia|Slowakei|Slovensko;SN Senegal;SV El Salvador;TH Thailand;TN Tunisia|Tunesien;
TR Turkey|Türkiye|Türkei;TW Taiwan|Taiwan, Republic of China;TZ Tanzania;UA Ukraine;UG Uganda;
US United States|USA|U.S.|U.S.A.|US|United States of America|Vereinigte Staaten|États-Unis|Estados Unidos;
UY Uruguay;UZ Uzbekistan;VE Venezuela;VN Vietnam|Viet Nam;ZA South Africa|Südafrika;ZM Zambia;ZW Zimbabwe
"""
_STATES = """
US AL Alabama;AK Alaska;AZ Arizona;AR Arkansas;CA California;CO Colorado;CT Connecticut;DE Delaware;
DC District of Columbia;FL Florida;GA Georgia;HI Hawaii;ID Idaho;IL Illinois;IN Indiana;IA Iowa;KS Kansas;
KY Kentucky;LA Louisiana;ME Maine;MD Maryland;MA Massachusetts;MI Michigan;MN Minnesota;MS Mississippi;
MO Missouri;MT Montana;NE Nebraska;NV Nevada;NH New Hampshire;NJ New Jersey;NM New Mexico;NY New York;
NC North Carolina;ND North Dakota;OH Ohio;OK Oklahoma;OR Oregon;PA Pennsylvania;RI Rhode Island;
SC South Carolina;SD South Dakota;TN Tennessee;TX Texas;UT Utah;VT Vermont;VA Virginia;WA Washington;
WV West Virginia;WI Wisconsin;WY Wyoming
"""
_PROVINCES = """
CA AB Alberta;BC British Columbia;MB Manitoba;NB New Brunswick;NL Newfoundland and Labrador;NS Nova Scotia;
ON Ontario;PE Prince Edward Island;QC Quebec;SK Saskatchewan
"""
WORK_MODEL = re.compile(
    r"\b(?:100 ?% )?(?:fully |full |partially |mostly )?"
    r"(?:remote(?:[- ](?:first|friendly|ok|only))?|hybrid|in[- ]?office|on[- ]?site|onsite|distributed|home[- ]?office|"
    r"work(?:ing)? from home|wfh|telecommute|virtual|anywhere|worldwide|global)\b",
    re.IGNORECASE,
)
"""Words that say how somebody works and not where."""
SEVERAL = re.compile(r"\d+ (?:locations|standorte|emplacements|ubicaciones|sedi|locaties)", re.IGNORECASE)
"""Workday's count of places in place of their names."""


def _country_names() -> dict[str, str]:
    names = {}
    for entry in _COUNTRIES.replace("\n", "").split(";"):
        code, _, spellings = entry.partition(" ")
        names[code.lower()] = code
        names.update({fold(spelling).replace(".", ""): code for spelling in spellings.split("|")})
    return names


def _region_names() -> dict[str, tuple[str, str]]:
    names = {}
    for table in (_PROVINCES, _STATES):
        country, _, rows = table.replace("\n", "").partition(" ")
        for row in rows.split(";"):
            code, _, name = row.partition(" ")
            names[code.lower()] = names[fold(name)] = (name, country)
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
    if state and code is None and fold(region) not in AMBIGUOUS:
        code = state[1]
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
    bare = WORK_MODEL.sub(" ", text)
    pieces = [one.strip(" -–—()/:·") for one in re.split(r",|\(|\)| [-–—] ", bare)]  # noqa: RUF001
    pieces = [piece for piece in pieces if piece and fold(piece) not in ("in", "within", "based", "the")]
    if not pieces:
        return None, None, None
    last = fold(pieces[-1]).replace(".", "")
    state = REGIONS.get(last)
    if state and country in (None, state[1]) and _is_region(pieces, last):
        known = country or (None if last in AMBIGUOUS else state[1])
        return _city(pieces[:-1]), pieces[-1], known
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


def _is_region(pieces: list[str], last: str) -> bool:
    if len(pieces) > 1:
        return len(last) > 2 or pieces[-1].isupper()
    return len(last) > 2 and last not in NO_REGION_ALONE and last not in COUNTRIES


def _city(pieces: list[str]) -> str | None:
    return pieces[0] if pieces and fold(pieces[0]) not in BROAD else None
