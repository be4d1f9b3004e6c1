"""The words that systems use for kinds of employment, places of work, levels and periods."""

from __future__ import annotations

import re
from typing import Literal

from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import EmploymentType, Seniority, Workplace

Period = Literal["hour", "day", "week", "month", "year"]

EMPLOYMENT = (
    (
        EmploymentType.INTERNSHIP,
        r"intern(?!al|ational)|trainee|apprentic|praktik|ausbildung|werkstudent|working student|stag",
    ),
    (EmploymentType.CONTRACT, r"contract|freelanc|self.?employed|consultant|1099|freiberuf|b2b"),
    (EmploymentType.TEMPORARY, r"temporary|\btemp\b|seasonal|interim|aushilfe|zeitarbeit"),
    (EmploymentType.PART_TIME, r"part.?time|teilzeit|temps partiel|media jornada|mini.?job|deeltijd|\bparttime"),
    (EmploymentType.FULL_TIME, r"full.?time|vollzeit|temps plein|jornada completa|voltijd|tempo pieno|\bfulltime"),
    (EmploymentType.TEMPORARY, r"fixed.?term|befristet|cdd\b"),
    (EmploymentType.OTHER, r"volunteer|per.?diem|other|casual|mission|ehrenamt"),
)
"""The first that fits holds: an internship by contract is an internship, and a full-time fixed term is full time."""
FULL_AS_WELL = re.compile(r"\bfull\b|full.?time|\bvoll|temps plein|voltijd")
WORKPLACES = (
    (Workplace.HYBRID, r"hybrid|partially remote|temporarily remote|flexible"),
    (
        Workplace.REMOTE,
        r"remote|telecommut|home.?(?:office|based)|work from home|anywhere|worldwide|"
        r"\bdistributed\b|\bvirtual\b|\bfully\b",
    ),
    (Workplace.ONSITE, r"on.?site|in.?office|office.?based|in.?person|vor ort"),
)
NOT_REMOTE = re.compile(r"\b(?:no|not|non)(?: \w+){0,3} remote\b")
LEVELS = {
    Seniority.INTERN: {"internship", "intern", "student", "student college", "student school"},
    Seniority.ENTRY: {"entry level", "entry", "junior", "graduate", "entry-level"},
    Seniority.MID: {"mid level", "mid", "mid-level", "intermediate"},
    Seniority.SENIOR: {"senior", "senior level"},
    Seniority.LEAD: {"lead", "team lead"},
    Seniority.DIRECTOR: {"director"},
    Seniority.EXECUTIVE: {"executive", "senior executive", "c level"},
}
"""Levels that a system names without doubt. "Mid-Senior level", "Associate" and "experienced" may be several."""
PERIODS: tuple[tuple[Period, str], ...] = (
    ("hour", r"hour|hourly|\bhr\b|stunde|heure"),
    ("day", r"\bday\b|daily|\bdiem\b|\btag\b|\bjour\b"),
    ("week", r"week|woche|semaine"),
    ("month", r"month|monat|mois|mensual"),
    ("year", r"year|annual|annum|yearly|\bp\.?a\.?\b|jahr|\ban\b|anual"),
)


def _spaced(text: str | None) -> str:
    """`FullTime`, `FULL_TIME` and `full-time` as `full time`."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text or "")
    return fold(re.sub(r"[_-]+", " ", apart))


def employment_type(text: str | None) -> EmploymentType:
    """The kind that the words name. "Full or part time" is either, as agreed, so it is neither."""
    said = _spaced(text)
    found = next((kind for kind, words in EMPLOYMENT if said and re.search(words, said)), EmploymentType.UNKNOWN)
    either = found is EmploymentType.PART_TIME and FULL_AS_WELL.search(said)
    return EmploymentType.UNKNOWN if either else found


def workplace(text: str | None) -> Workplace:
    said = _spaced(text)
    if NOT_REMOTE.search(said):
        return Workplace.ONSITE
    return next((kind for kind, words in WORKPLACES if said and re.search(words, said)), Workplace.UNKNOWN)


def seniority(text: str | None) -> Seniority:
    said = _spaced(text)
    return next((level for level, names in LEVELS.items() if said in names), Seniority.UNKNOWN)


def period(text: str | None) -> Period | None:
    """The period, when the words name one and only one."""
    said = _spaced(text)
    found = [one for one, words in PERIODS if said and re.search(words, said)]
    return found[0] if len(found) == 1 else None


def language(text: str | None) -> str | None:
    """`en` for `en`, `en-US` and `en_GB`."""
    found = re.fullmatch(r"([a-zA-Z]{2})(?:[-_][A-Za-z0-9]{2,8})*", (text or "").strip())
    return found[1].lower() if found else None
