"""Answers by rule: questions that no field holds but that the profile decides."""

from __future__ import annotations

import re
from math import floor

from interlock.apps.jobs.autoapply.answers.degrees import NAMES, degree_levels
from interlock.apps.jobs.autoapply.answers.experience import skill_years, total_years
from interlock.apps.jobs.autoapply.answers.labels import countries_named, label_words, negated
from interlock.apps.jobs.autoapply.answers.options import truth
from interlock.apps.jobs.autoapply.answers.profile_values import Found, highest
from interlock.apps.jobs.autoapply.answers.values import FormContext
from interlock.apps.jobs.finder.geography.places import REGIONS, place
from interlock.apps.jobs.finder.identity.keys import fold, word_list
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import skill_name
from interlock.apps.jobs.finder.reading import Source, read

LONGEST = 300
"""Characters of a label that a rule reads. A longer one asks several things at once."""
_YEARS = re.compile(r"\b(\d{1,2}) ?\+? ?(?:or more |plus )?(?:years|jahre)\b")
_HOW_MANY = re.compile(r"\b(?:how many years|years of|years with|wie viele jahre|number of years)\b")
_TOTAL = re.compile(
    r"(?:do you have|have you got|haben sie|hast du) (?:at least |a minimum of |mindestens )?\d{1,2} ?\+? ?"
    r"(?:or more )?(?:years|jahre)(?: of)?(?: professional| work| working)? (?:experience|berufserfahrung)"
)
_OF_YEARS = word_list("""
    how many years year of experience do you have with in using a an the professional work working hands on commercial
    at least minimum or more plus number your total programming development coding language and
    wie viele jahre erfahrung hast du haben sie mit in mindestens berufserfahrung programmierung
""")
"""Words of a question about years. With any other it may ask for something else: "less than", "years ago"."""
_OF_DEGREES = word_list("""
    do you have hold a an or higher above at least minimum of degree s completed earned obtained received haben sie
    hast du einen ein abschluss mindestens
""")
_WHERE = re.compile(
    r"(?:are you|do you|wohnst du|wohnen sie)(?: currently| presently)?"
    r"(?: based| located| living| residing| live| reside)? in (?:the )?([^?;/()]{2,60})"
)
_SEVERAL = re.compile(r"\b(?:or|and|oder|und|willing|able|within|near|miles|area|region|time ?zone)\b")


def derived(profile: Profile, question: Question, context: FormContext) -> Found | None:
    """The answer that follows from the profile; None where no rule reads the question."""
    label = question.label or ""
    if len(label) > LONGEST or negated(label):
        return None
    low = fold(label)
    for rule in (_experience, _degree, _located):
        found = rule(profile, question, context, low)
        if found is not None:
            return found
    return None


def is_yes_no(question: Question) -> bool:
    """Whether a question takes yes or no."""
    if question.type == "bool":
        return True
    return bool(question.options) and all(truth(one, question.label) is not None for one in question.options)


def years_asked(label: str | None) -> int | None:
    """The least years that a question asks for, as in "at least 5 years"."""
    found = _YEARS.search(fold(label))
    return int(found[1]) if found else None


def _experience(profile: Profile, question: Question, context: FormContext, low: str) -> Found | None:
    least = years_asked(question.label)
    yes_no = is_yes_no(question)
    if (least is None) == yes_no or (not yes_no and not _HOW_MANY.search(low)):
        return None
    skills = {one.name for one in read(Source("", question.label or "")).skills}
    if len(skills) > 1:
        return None
    named = {word for one in skills for word in label_words(one)} | {str(least), f"{least}+"}
    spelled = {word for word in label_words(question.label) if skills and skill_name(word) in skills}
    if set(label_words(question.label)) - _OF_YEARS - named - spelled:
        return None
    if not skills:
        total = total_years(profile, context.today)
        if least is None or total is None or not _TOTAL.fullmatch(low.strip(" ?.*")):
            return None
        return Found(total[0] >= least, f"{total[1]}: {total[0]:g}, asked for {least}")
    known = skill_years(profile, skills.pop(), context.today)
    if known is None:
        return None
    years, evidence, agree = known
    # Rounded down: a form must not say more than the dates do.
    return Found(floor(years) if least is None else years >= least, evidence, agree)


def _degree(profile: Profile, question: Question, context: FormContext, low: str) -> Found | None:
    levels = degree_levels(question.label)
    other = [one for one in label_words(question.label) if one not in _OF_DEGREES and not degree_levels(one)]
    if len(levels) != 1 or not is_yes_no(question) or other:
        return None
    entry = highest(profile)
    has = degree_levels(entry.degree) if entry else frozenset[int]()
    if len(has) != 1:
        return None
    asked = next(iter(levels))
    return Found(max(has) >= asked, f"education.degree, asked for a {NAMES[asked]}")


def _located(profile: Profile, question: Question, context: FormContext, low: str) -> Found | None:
    found = _WHERE.fullmatch(low.strip(" ?.*"))
    if not found or not is_yes_no(question) or _SEVERAL.search(found[1]):
        return None
    home = profile.home
    countries = countries_named(question.label)
    if len(countries) == 1:
        asked = next(iter(countries))
        spot = place(found[1])
        if spot is None or not spot.city:
            return Found(home.country == asked, "home.country") if home.country else None
    spot = place(found[1])
    if spot is None or not spot.city or not home.city:
        return None
    if fold(spot.city) == fold(home.city):
        return Found(True, "home.city")
    # Another name may be a region or a suburb of the same place.
    region = REGIONS.get(fold(spot.city))
    same = region is not None and home.region is not None and REGIONS.get(fold(home.region)) == region
    return Found(True, "home.region") if same else None
