"""Reading one posting: every rule once, on one pass over its text."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.experience import experience_of
from interlock.apps.jobs.finder.reading.language import language_of
from interlock.apps.jobs.finder.reading.roles import roles_of
from interlock.apps.jobs.finder.reading.salary import salary_of
from interlock.apps.jobs.finder.reading.seniority import leads, manages, seniority_of
from interlock.apps.jobs.finder.reading.skills import skills_of
from interlock.apps.jobs.finder.reading.terms import contract_of, employment_of, equity_of, repost_of
from interlock.apps.jobs.finder.reading.values import Reading, Salary, Section, Source, Value
from interlock.apps.jobs.finder.reading.workplace import (
    arrangement_of,
    city_value,
    relocation_of,
    timezone_flexible,
    timezone_of,
)

UNDERSTOOD = frozenset({"en", "de", "fr", "es", "pt", "nl"})
"""Languages that cues and headings have words of."""


def read(source: Source, *, guess: bool = False) -> Reading:
    """Read a posting. With `guess`, silence becomes the likeliest value; only a measurement wants that."""
    document = Document(source)
    language = language_of(document.low)
    skills = skills_of(document)
    salary = salary_of(document)
    least, most = experience_of(document)
    seniority = seniority_of(document, least.value, guess=guess)
    arrangement = arrangement_of(document, guess=guess)
    employment = employment_of(document, guess=guess)
    low, high = _annual(salary, guess)
    zone = timezone_of(document, arrangement.value)
    technologies = [skill.name.lower() for skill in skills if skill.is_technology]
    values = {
        "seniority": seniority,
        "workArrangement": arrangement,
        "timezone": zone,
        "timezoneFlexible": timezone_flexible(document, arrangement.value, zone=zone.known, guess=guess),
        "city": city_value(document, arrangement.value),
        "salaryMin": _paid(low, salary),
        "salaryMax": _paid(high, salary),
        "experienceMin": least,
        "experienceMax": most,
        "technologies": Value(technologies, "vocabulary" if technologies else "none of the vocabulary"),
        "roleTypes": roles_of(document, skills),
        "employmentType": employment,
        "isManagement": manages(document),
        "isLead": leads(document, seniority.value),
        "isContract": contract_of(employment),
        "includesEquity": equity_of(document),
        "relocationRequired": relocation_of(document),
        "isRepost": repost_of(document),
    }
    return Reading(
        values, skills, salary, language, language in UNDERSTOOD, _sections(document), document.text[document.begin :]
    )


def _annual(salary: Salary | None, guess: bool) -> tuple[int | None, int | None]:
    if salary is None:
        return None, None
    if salary.period is None and guess:
        return tuple(None if one is None else round(one) for one in (salary.low, salary.high))  # type: ignore[return-value]
    return salary.annual()


def _paid(amount: int | None, salary: Salary | None) -> Value:
    if salary is None:
        return Value(None, "not stated")
    return Value(amount, f"{salary.origin}: {salary.rule}", salary.quote)


def _sections(document: Document) -> dict[Section, str]:
    parts: dict[Section, list[str]] = {}
    for kind, begin, end in document.sections():
        if end > document.begin:
            parts.setdefault(kind, []).append(document.text[max(begin, document.begin) : end].strip())
    return {kind: "\n".join(texts) for kind, texts in parts.items()}


def as_json(reading: Reading) -> dict[str, Any]:
    """The values alone, under the names of the measurement."""
    return {name: value.value for name, value in reading.values.items()}
