"""The profile's value for a canonical field. A field that is not here has no value in the profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from interlock.apps.jobs.autoapply.answers.degrees import degree_level
from interlock.apps.jobs.autoapply.answers.experience import total_years
from interlock.apps.jobs.autoapply.answers.formats import phone
from interlock.apps.jobs.autoapply.answers.labels import countries_named
from interlock.apps.jobs.autoapply.answers.values import FormContext, Value
from interlock.apps.jobs.finder.geography.place_names import place_names
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.profiles.profile import Education, Employment, Profile, WorkAuthorisation


class Found(NamedTuple):
    """A value and where it is from. One that is not sure is proposed, and the user confirms it."""

    value: Value
    evidence: str
    sure: bool = True


Reader = Callable[[Profile, Question, FormContext], Found | None]


def value_of(field: str, profile: Profile, question: Question, context: FormContext) -> Found | None:
    reader = READERS.get(field)
    return reader(profile, question, context) if reader else None


def _name(part: str, profile: Profile, question: Question, context: FormContext) -> Found | None:
    if profile.identity is None:
        return None
    name = " ".join(profile.identity.name.split())
    if part == "full":
        return Found(name, "identity.name")
    pieces = name.split(" ")
    if len(pieces) < 2:
        return None
    # Of three words the middle one may belong to either name.
    value = pieces[0] if part == "first" else " ".join(pieces[1:])
    return Found(value, f"the {part} name of identity.name", len(pieces) == 2)


def _unsure(reader: Reader, why: str, profile: Profile, question: Question, context: FormContext) -> Found | None:
    found = reader(profile, question, context)
    return found._replace(evidence=f"{found.evidence}; {why}", sure=False) if found else None


def _email(profile: Profile, question: Question, context: FormContext) -> Found | None:
    one = profile.identity and profile.identity.email
    return Found(one, "identity.email") if one else None


def _phone(profile: Profile, question: Question, context: FormContext) -> Found | None:
    given = profile.identity and profile.identity.phone
    if not given:
        return None
    written = phone(given, home=profile.home.country, form=context.country)
    return Found(written, "identity.phone") if written else Found(given, "identity.phone is not a known number", False)


def _link(hosts: tuple[str, ...], profile: Profile, question: Question, context: FormContext) -> Found | None:
    links = profile.identity.links if profile.identity else ()
    found = [one for one in links if any(host in one.lower() for host in hosts)]
    return Found(found[0], "identity.links") if len(found) == 1 else None


KNOWN_HOSTS = ("linkedin.com", "github.com", "gitlab.com", "stackoverflow.com", "twitter.com", "x.com/")


def _website(profile: Profile, question: Question, context: FormContext) -> Found | None:
    links = profile.identity.links if profile.identity else ()
    own = [one for one in links if not any(host in one.lower() for host in KNOWN_HOSTS)]
    return Found(own[0], "identity.links") if len(own) == 1 else None


def _country_name(code: str) -> str:
    return next((one.name for one in place_names() if one.kind == "country" and one.country == code), code)


def _country(profile: Profile, question: Question, context: FormContext) -> Found | None:
    code = profile.home.country
    return Found(_country_name(code), "home.country") if code else None


def _region(profile: Profile, question: Question, context: FormContext) -> Found | None:
    return Found(profile.home.region, "home.region") if profile.home.region else None


def _city(profile: Profile, question: Question, context: FormContext) -> Found | None:
    return Found(profile.home.city, "home.city") if profile.home.city else None


def _location(profile: Profile, question: Question, context: FormContext) -> Found | None:
    home = profile.home
    if not home.city:
        return None
    parts = (home.city, home.region, _country_name(home.country) if home.country else None)
    return Found(", ".join(one for one in parts if one), "home")


def _post(profile: Profile) -> Employment | None:
    """The present post, where there is one and only one."""
    present = [one for one in profile.employment if one.end is None]
    return present[0] if len(present) == 1 else None


def _company(profile: Profile, question: Question, context: FormContext) -> Found | None:
    post = _post(profile)
    return Found(post.company, "employment without an end") if post else None


def _title(profile: Profile, question: Question, context: FormContext) -> Found | None:
    post = _post(profile)
    return Found(post.title, "employment without an end") if post else None


def highest(profile: Profile) -> Education | None:
    """The highest degree, where the degrees of all entries are known and one is above the others."""
    levels = [(degree_level(one.degree), at) for at, one in enumerate(profile.education) if one.degree]
    known = [(level, at) for level, at in levels if level is not None]
    if not known or len(known) < len(levels):
        return None
    top = max(level for level, _ in known)
    best = [at for level, at in known if level == top]
    return profile.education[best[0]] if len(best) == 1 else None


def _education(part: str, profile: Profile, question: Question, context: FormContext) -> Found | None:
    if question.type == "bool":
        return None
    entry = highest(profile) or (profile.education[0] if len(profile.education) == 1 else None)
    value = getattr(entry, part) if entry else None
    return Found(value, f"education.{part}") if value else None


def _years(profile: Profile, question: Question, context: FormContext) -> Found | None:
    found = total_years(profile, context.today)
    return Found(int(found[0]), found[1]) if found else None


def authorisation(profile: Profile, question: Question, context: FormContext) -> WorkAuthorisation | None:
    """The entry for the country that the question names, else for the job's. None where either is unknown."""
    named = countries_named(question.label)
    country = next(iter(named)) if len(named) == 1 else context.country if not named else None
    return next((one for one in profile.work_authorisation if one.country == country), None)


def _authorised(profile: Profile, question: Question, context: FormContext) -> Found | None:
    one = authorisation(profile, question, context)
    return Found(one.authorised, f"work_authorisation.{one.country}") if one else None


def _sponsorship(profile: Profile, question: Question, context: FormContext) -> Found | None:
    one = authorisation(profile, question, context)
    return Found(one.sponsorship or not one.authorised, f"work_authorisation.{one.country}") if one else None


def _without_sponsorship(profile: Profile, question: Question, context: FormContext) -> Found | None:
    one = authorisation(profile, question, context)
    return Found(one.authorised and not one.sponsorship, f"work_authorisation.{one.country}") if one else None


def _salary(profile: Profile, question: Question, context: FormContext) -> Found | None:
    pay = profile.salary
    if pay is None:
        return None
    amount = int(pay.min) if float(pay.min).is_integer() else pay.min
    value: Value = amount if question.type == "number" else f"{amount:,} {pay.currency} a {pay.period}"
    return Found(value, "salary.min, which is the least and may not be what you ask for", False)


_FULL = partial(_name, "full")
_FIRST = partial(_name, "first")
_LAST = partial(_name, "last")
_LEGAL = "the name on your documents may differ"
READERS: dict[str, Reader] = {
    "full_name": _FULL,
    "first_name": _FIRST,
    "last_name": _LAST,
    "legal_name": partial(_unsure, _FULL, _LEGAL),
    "legal_first_name": partial(_unsure, _FIRST, _LEGAL),
    "legal_last_name": partial(_unsure, _LAST, _LEGAL),
    "email": _email,
    "phone": _phone,
    "linkedin": partial(_link, ("linkedin.com",)),
    "github": partial(_link, ("github.com",)),
    "gitlab": partial(_link, ("gitlab.com",)),
    "stackoverflow": partial(_link, ("stackoverflow.com",)),
    "twitter": partial(_link, ("twitter.com", "://x.com/")),
    "website": _website,
    "portfolio": partial(_unsure, _website, "it may not be a portfolio"),
    "country": _country,
    "region": _region,
    "city": _city,
    "location": _location,
    "city_and_region": _location,
    "current_company": _company,
    "current_title": _title,
    "degree": partial(_education, "degree"),
    "school": partial(_education, "school"),
    "field_of_study": partial(_education, "field"),
    "graduation_date": partial(_education, "end"),
    "years_experience": _years,
    "work_authorisation": _authorised,
    "sponsorship": _sponsorship,
    "authorised_without_sponsorship": _without_sponsorship,
    "salary_expectation": _salary,
}
