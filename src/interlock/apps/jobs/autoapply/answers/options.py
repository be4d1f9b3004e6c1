"""Choosing an option of the form's own list: exact, or through a table of synonyms. Never the nearest one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from interlock.apps.jobs.autoapply.answers.degrees import degree_level
from interlock.apps.jobs.autoapply.answers.labels import label_key, label_words
from interlock.apps.jobs.finder.geography.places import REGIONS, country_code
from interlock.apps.jobs.finder.identity.keys import word_list

YES = word_list("yes ja oui true y wahr")
NO = word_list("no nein non false n falsch")
DECLINE = "decline"
"""A stored choice not to answer. It takes the form's own option for that."""
_DECLINE_PHRASES = (
    "decline",
    "prefer not",
    "don t wish",
    "do not wish",
    "don t want",
    "do not want",
    "rather not",
    "choose not",
    "not to answer",
    "not to disclose",
    "not to say",
    "keine angabe",
    "mochte nicht",
    "no answer",
)
_SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("male", "man", "m", "mannlich", "herr"),
    ("female", "woman", "f", "w", "weiblich", "frau"),
    ("non binary", "nonbinary", "divers", "x"),
    ("full time", "vollzeit", "fulltime"),
    ("part time", "teilzeit", "parttime"),
    ("mobile", "cell", "cell phone", "mobile phone", "handy"),
    ("remote", "home office", "fully remote"),
    ("on site", "onsite", "in office", "vor ort"),
    ("linkedin", "linked in"),
    ("company website", "careers page", "career page", "corporate website", "website"),
    ("employee referral", "referral", "employee"),
    ("immediately", "sofort", "immediate", "now"),
)
_GROUPS = {name: at for at, group in enumerate(_SYNONYMS) for name in group}
_QUALIFIED = word_list("""
    i am do will would can have not don t need require requires required to be a the in for this that currently now or
    future authorized eligible work legally sponsorship visa any ich bin habe brauche keine ein
""")
_NUMBER = r"(\d{1,7}(?:\.\d{1,2})?)"
_SPAN = re.compile(rf"{_NUMBER} ?(?:-|to|bis) ?{_NUMBER}")
_ABOVE = re.compile(rf"{_NUMBER} ?(?:\+|or more|and more|or above|und mehr)")
_OVER = re.compile(rf"(?:more than|over|mehr als|uber|>) ?{_NUMBER}")
_BELOW = re.compile(rf"(?:less than|under|fewer than|weniger als|unter|<) ?{_NUMBER}")
_UNIT = re.compile(r" ?(?:years?|yrs?|jahre?)(?: of experience| experience| berufserfahrung)?$")


def choose(value: str | bool | int | float, options: Sequence[str], label: str | None = None) -> str | None:
    """The one option that says the value; None where none does, or more than one."""
    if isinstance(value, bool):
        return _only(options, lambda one: truth(one, label) is value)
    if isinstance(value, int | float):
        return _only(options, lambda one: _number_in(value, one))
    key = label_key(value)
    if not key:
        return None
    for test in _tests(value, key, label):
        found = [one for one in options if test(one)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _tests(value: str, key: str, label: str | None) -> list[Callable[[str], bool]]:
    tests: list[Callable[[str], bool]] = [lambda one: one == value, lambda one: label_key(one) == key]
    if key == DECLINE or declines(value):
        return [*tests, declines]
    said, group = truth(value, label), _GROUPS.get(key)
    country, region, level = country_code(value), REGIONS.get(key), degree_level(value)
    if said is not None:
        tests.append(lambda one: truth(one, label) is said)
    if group is not None:
        tests.append(lambda one: _GROUPS.get(label_key(one)) == group)
    if country is not None:
        tests.append(lambda one: country_code(one) == country)
    if region is not None:
        tests.append(lambda one: REGIONS.get(label_key(one)) == region)
    if level is not None:
        tests.append(lambda one: degree_level(one) == level)
    return tests


def declines(option: str) -> bool:
    """Whether an option says that somebody does not want to answer."""
    padded = f" {' '.join(label_words(option))} "
    return any(f" {phrase}" in padded for phrase in _DECLINE_PHRASES)


def truth(text: str, label: str | None = None) -> bool | None:
    """Yes or no. A longer option counts only where its other words say nothing that the question does not."""
    found = label_words(text)
    if not found or found[0] not in YES | NO:
        return None
    extra = set(found[1:]) - _QUALIFIED - set(label_words(label))
    return None if extra else found[0] in YES


def _only(options: Sequence[str], fits: Callable[[str], bool]) -> str | None:
    found = [one for one in options if fits(one)]
    said = {label_words(one)[0] for one in found if label_words(one)}
    # "Yes" beside "Yes, with sponsorship" leaves it to the user.
    beside = [one for one in options if one not in found and said & YES and label_words(one)[:1] == list(said)[:1]]
    return found[0] if len(found) == 1 and not beside else None


def _number_in(value: int | float, option: str) -> bool:
    text = _UNIT.sub("", " ".join(option.lower().replace("\u2013", "-").replace(",", "").split())[:80])
    if found := _SPAN.fullmatch(text):
        return float(found[1]) <= value <= float(found[2])
    if found := _ABOVE.fullmatch(text):
        return value >= float(found[1])
    if found := _OVER.fullmatch(text):
        return value > float(found[1])
    if found := _BELOW.fullmatch(text):
        return value < float(found[1])
    return text.replace(".", "", 1).isdecimal() and float(text) == value
