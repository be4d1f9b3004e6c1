"""Knock-out scan: answers and facts that may reject an application, found before work is spent on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from interlock.apps.jobs.autoapply.answers.degrees import NAMES, degree_level, degree_levels
from interlock.apps.jobs.autoapply.answers.derived import is_yes_no, years_asked
from interlock.apps.jobs.autoapply.answers.experience import total_years
from interlock.apps.jobs.autoapply.answers.fields import field_of
from interlock.apps.jobs.autoapply.answers.formats import read_number
from interlock.apps.jobs.autoapply.answers.options import truth
from interlock.apps.jobs.autoapply.answers.values import Answer, Answered, FormContext
from interlock.apps.jobs.finder.identity.keys import fold
from interlock.apps.jobs.finder.postings.posting import PER_YEAR, Question
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker

Kind = Literal["authorisation", "sponsorship", "experience", "degree", "location", "salary"]
MOST_TEXT = 20_000
_NAMES_DEGREE = re.compile(r"\b(?:degree|bachelor|master'?s|ph\.?d|doctorate|bsc|msc|abschluss|studium)\b")
_SOFT = re.compile(
    r"\b(?:or (?:an? )?(?:\w+ )?(?:equivalent|similar|comparable|related)|equivalent|preferred|a plus|nice to have"
    r"|ideally|desirable|desired|optional|or (?:\w+ )?experience|oder (?:vergleichbar\w*|gleichwertig\w*)|von vorteil"
    r"|wunschenswert|not (?:required|necessary|needed)|no degree)\b"
)
"""Words with which a degree is not asked for without an alternative."""
_FIELDS: dict[str, tuple[Kind, bool]] = {
    "work_authorisation": ("authorisation", False),
    "authorised_without_sponsorship": ("sponsorship", False),
    "sponsorship": ("sponsorship", True),
    "located_in": ("location", False),
    "onsite": ("location", False),
    "willing_to_relocate": ("location", False),
}
"""Field → the subject, and the answer that may reject."""


class Knockout(NamedTuple):
    """A warning: this answer may reject you."""

    kind: Kind
    reason: str
    question: str | None
    """The label of the question; None where the posting's own text says it."""
    key: str | None
    answered: bool
    """False where the question decides and has no answer yet."""


def knockouts(
    form: Iterable[Answered], posting: ReadPosting, profile: Profile, context: FormContext
) -> tuple[Knockout, ...]:
    """The warnings, in the order of the form; then those of the posting's text."""
    found = [one for part in form if (one := _of_question(part, posting, context)) is not None]
    return (*found, *_of_text(posting, profile, context))


def _of_question(part: Answered, posting: ReadPosting, context: FormContext) -> Knockout | None:
    question, answer = part.question, part.answer
    name = field_of(question, context.ats).name
    if name == "salary_expectation":
        return _salary(question, answer, posting)
    known = _FIELDS.get(name or "")
    kind: Kind
    bad = False
    if known is not None:
        kind, bad = known
    elif is_yes_no(question) and years_asked(question.label) is not None:
        kind = "experience"
    elif is_yes_no(question) and degree_levels(question.label):
        kind = "degree"
    else:
        return None
    if not is_yes_no(question):
        return None
    if answer.value is None or answer.needs_user:
        word = "yes" if bad else "no"
        return Knockout(kind, f"not answered yet; {word!r} may reject you", question.label, question.key, False)
    said = answer.value if isinstance(answer.value, bool) else truth(str(answer.value), question.label)
    if said is not bad:
        return None
    return Knockout(
        kind,
        f"this answer may reject you: {'yes' if said else 'no'} ({answer.evidence})",
        question.label,
        question.key,
        True,
    )


def _salary(question: Question, answer: Answer, posting: ReadPosting) -> Knockout | None:
    pay = posting.salary
    number = read_number(answer.value) if answer.value is not None else None
    if pay is None or number is None or pay.value[1] is None or number <= pay.value[1]:
        return None
    reason = f"this answer may reject you: {number:,} is above the {pay.value[1]:,.0f} {pay.value[2]} that it pays"
    return Knockout("salary", reason, question.label, question.key, not answer.needs_user)


def _of_text(posting: ReadPosting, profile: Profile, context: FormContext) -> list[Knockout]:
    found = []
    here = next((one for one in profile.work_authorisation if one.country == context.country), None)
    refused = posting.no_sponsorship
    if refused is not None and here is not None and (here.sponsorship or not here.authorised):
        found.append(_text("sponsorship", f"it sponsors no visa: {refused.evidence.quote}"))
    elif here is not None and not here.authorised:
        found.append(_text("authorisation", f"the profile says that you may not work in {here.country}"))
    asked, has = posting.experience, total_years(profile, context.today)
    if asked is not None and has is not None and has[0] < asked.value:
        found.append(
            _text("experience", f"it asks for {asked.value:g} years, you have {has[0]:g}: {asked.evidence.quote}")
        )
    if (degree := _degree(posting, profile)) is not None:
        found.append(degree)
    if (place := _place(posting, profile)) is not None:
        found.append(place)
    pay, wanted = posting.salary, profile.salary
    if pay is not None and wanted is not None and pay.value[2] == wanted.currency and pay.value[1] is not None:
        least = wanted.min * PER_YEAR[wanted.period]
        if pay.value[1] < least:
            found.append(_text("salary", f"it pays at most {pay.value[1]:,.0f}; your least is {least:,.0f}"))
    return found


def _degree(posting: ReadPosting, profile: Profile) -> Knockout | None:
    """A degree that the requirements name without an alternative, above the highest one of the profile."""
    has = [level for one in profile.education if (level := degree_level(one.degree)) is not None]
    if not has:
        return None
    for line in posting.reading.sections.get("requirements", "")[:MOST_TEXT].splitlines():
        low = fold(line)
        levels = degree_levels(line) if _NAMES_DEGREE.search(low) and not _SOFT.search(low) else frozenset[int]()
        if levels and min(levels) > max(has):
            reason = f"it asks for a {NAMES[min(levels)]}, you have a {NAMES[max(has)]}: {' '.join(line.split())[:200]}"
            return _text("degree", reason)
    return None


def _place(posting: ReadPosting, profile: Profile) -> Knockout | None:
    """Work at a place that is none of the profile's."""
    model, seeker = posting.workplace, Seeker(profile)
    if model is None or model.value not in ("hybrid", "onsite") or seeker.at_office(posting) is not False:
        return None
    where = "; ".join(one.raw for one in posting.posting.locations)[:150] or "elsewhere"
    return _text("location", f"the work is {model.value} ({where}), and not in {seeker.office_names}")


def _text(kind: Kind, reason: str) -> Knockout:
    return Knockout(kind, reason[:400], None, None, True)
