"""Values in the form that a question takes. What does not fit is refused with the reason, and never cut or guessed."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import NamedTuple

import phonenumbers

from interlock.apps.jobs.autoapply.answers.labels import label_key
from interlock.apps.jobs.autoapply.answers.options import DECLINE, choose, truth
from interlock.apps.jobs.autoapply.answers.values import FormContext, Value
from interlock.apps.jobs.finder.postings.posting import Question

DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d. %B %Y", "%B %d, %Y", "%d %B %Y", "%d %b %Y", "%b %d, %Y")
"""Spellings of a date with one meaning. 04/07/2026 has two and is not read."""
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,4})?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3}){1,3}")
TEXT = 100_000


class Fitted(NamedTuple):
    """A value as the form takes it; without one, the reason."""

    value: Value | None
    reason: str = ""


def fit(question: Question, value: Value, context: FormContext) -> Fitted:
    """The value for a question of its type."""
    if question.type == "file":
        return Fitted(None, "a file is needed")
    if isinstance(value, str) and label_key(value) == DECLINE and not question.options:
        return Fitted(None, "the form has no option to decline")
    if question.options:
        return _chosen(question, value)
    if question.type in ("single", "multi"):
        return Fitted(None, "the form's options are unknown")
    if isinstance(value, tuple):
        return _text(question, ", ".join(value))
    if question.type in ("bool", "consent"):
        said = value if isinstance(value, bool) else truth(value) if isinstance(value, str) else None
        return Fitted(said) if said is not None else Fitted(None, f"{value!r} is neither yes nor no")
    if question.type == "number":
        number = read_number(value)
        return Fitted(number) if number is not None else Fitted(None, f"{value!r} is not a number")
    if question.type == "date":
        found = read_date(value) if isinstance(value, str) else None
        return Fitted(found.isoformat()) if found else Fitted(None, f"{value!r} is not a date that has one meaning")
    if isinstance(value, bool):
        german = context.language == "de"
        return _text(question, ("Ja" if value else "Nein") if german else ("Yes" if value else "No"))
    return _text(question, str(value))


def _text(question: Question, text: str) -> Fitted:
    most = min(question.max_len or TEXT, TEXT)
    if not text.strip():
        return Fitted(None, "the value is empty")
    if len(text) > most:
        return Fitted(None, f"the value has {len(text):,} characters; the form takes {most:,}")
    return Fitted(text)


def _chosen(question: Question, value: Value) -> Fitted:
    wanted = value if isinstance(value, tuple) else (value,)
    found = [choose(one, question.options, question.label) for one in wanted]
    kept = tuple(dict.fromkeys(one for one in found if one is not None))
    if None in found or not kept:
        return Fitted(None, f"none of the form's options says {', '.join(map(str, wanted))[:200]!r}")
    if question.type == "multi":
        return Fitted(tuple(one for one in question.options if one in kept))
    return Fitted(kept[0]) if len(kept) == 1 else Fitted(None, "the form takes one option")


def read_number(value: Value) -> int | float | None:
    """A number, or a text that is nothing else."""
    if isinstance(value, bool | tuple):
        return None
    if isinstance(value, str):
        text = value.strip()
        text = text.replace(",", "") if _GROUPED.fullmatch(text) else text
        if not _NUMBER.fullmatch(text):
            return None
        value = float(text)
    return int(value) if float(value).is_integer() else value


def read_date(text: str) -> date | None:
    for spelling in DATES:
        try:
            return datetime.strptime(text.strip()[:40], spelling).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def phone(text: str, *, home: str | None, form: str | None) -> str | None:
    """A telephone number as a form in a country takes it: national there, international elsewhere.

    A number without its country's code is read as one of the home country. None when it is no possible number.
    """
    try:
        number = phonenumbers.parse(text[:50], home)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(number):
        return None
    same = form is not None and phonenumbers.region_code_for_number(number) == form
    style = phonenumbers.PhoneNumberFormat.NATIONAL if same else phonenumbers.PhoneNumberFormat.INTERNATIONAL
    return phonenumbers.format_number(number, style)
