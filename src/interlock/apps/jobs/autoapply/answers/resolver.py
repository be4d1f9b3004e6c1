"""The resolver: an answer for each question of a form, or the user is asked.

The order is: a stored choice for the field; the profile, by the system's id of the field or by the label; a saved
answer to a question with the same label and options; a rule; the user. A saved answer for this company or this
application is an exception that the user made and comes first. There is no default value anywhere.

Sensitive questions (demographic data, consent, signature, criminal record, salary history) take part in one step only:
an explicit stored choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer, Scope, asked_before, hits
from interlock.apps.jobs.autoapply.answers.derived import derived
from interlock.apps.jobs.autoapply.answers.fields import FieldMatch, field_of, fields, plainly
from interlock.apps.jobs.autoapply.answers.formats import fit
from interlock.apps.jobs.autoapply.answers.labels import is_cut, label_key, negated
from interlock.apps.jobs.autoapply.answers.options import DECLINE, truth
from interlock.apps.jobs.autoapply.answers.profile_values import value_of
from interlock.apps.jobs.autoapply.answers.values import Answer, Answered, Applicant, FormContext, Origin, Value
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.profiles.profile import Profile

DOCUMENTS = frozenset({"resume", "cover_letter", "transcript", "photo", "portfolio", "certifications"})
_BY = {"id": 1.0, "label": 0.95, "type": 0.95, "none": 0.9}
_STATED = frozenset({"sponsorship", "work_authorisation"})
"""Yes-or-no fields whose question must not be turned round by a negation."""


class _Try(NamedTuple):
    """A value that may be the answer."""

    value: Value
    origin: Origin
    confidence: float
    evidence: str
    sure: bool = True


def resolve_form(questions: Iterable[Question], who: Applicant, context: FormContext) -> tuple[Answered, ...]:
    """The answers of a form, in its order. Of fields that stand for one question, one answer is enough."""
    answered = [Answered(question=one, answer=resolve(one, who, context)) for one in questions]
    done = {one.question.group for one in answered if one.question.group and one.answer.value is not None}
    return tuple(
        one.model_copy(update={"answer": _in_group(one.answer)})
        if one.question.group in done and one.answer.value is None
        else one
        for one in answered
    )


def _in_group(answer: Answer) -> Answer:
    return answer.model_copy(update={"needs_user": False, "evidence": "answered by another field of this question"})


def resolve(question: Question, who: Applicant, context: FormContext) -> Answer:
    """The answer to one question."""
    field = field_of(question, context.ats)
    before = asked_before(who.bank, question)
    if question.type == "file":
        return _document(question, field, who, before)
    tries = _choices(question, field, who, context) if field.sensitive else _values(question, field, who, context)
    proposal: Answer | None = None
    refused = ""
    for one in tries:
        if not question.options and one.value == DECLINE and not question.required:
            return Answer(origin=one.origin, confidence=1.0, evidence=f"{one.evidence}: declined", asked_before=before)
        fitted = fit(question, one.value, context)
        if fitted.value is None:
            refused = refused or f"{one.evidence}: {fitted.reason}"
            continue
        answer = Answer(
            value=fitted.value,
            origin=one.origin,
            confidence=one.confidence if one.sure else min(one.confidence, 0.5),
            evidence=one.evidence,
            asked_before=before,
            needs_user=not one.sure,
        )
        if one.sure:
            return _contradicted(answer, question, who, context, field)
        proposal = proposal or answer
    if proposal is not None:
        return proposal
    return _ask(question, before, refused or _reason(field))


def _ask(question: Question, before: bool, reason: str) -> Answer:
    """No answer. A question that is known to be optional stays empty without anybody being asked."""
    return Answer(evidence=reason, asked_before=before, needs_user=question.required is not False)


def _reason(field: FieldMatch) -> str:
    if field.sensitive:
        return f"{field.name or 'this question'} is answered from your stored choice only, and there is none"
    return f"no value is known for {field.name}" if field.name else "no rule knows this question"


def _document(question: Question, field: FieldMatch, who: Applicant, before: bool) -> Answer:
    name = field.name if field.name in DOCUMENTS else None
    reference = who.documents.get(name) if name else None
    if reference is None or field.sensitive:
        return _ask(question, before, f"no document for {name or 'this question'}")
    return Answer(value=reference, origin=Origin.PROFILE, confidence=_BY[field.by], evidence=f"document {name}")


def _choices(question: Question, field: FieldMatch, who: Applicant, context: FormContext) -> Iterator[_Try]:
    """Explicit choices: a saved answer to the very question, then the profile's for the question or the field."""
    if is_cut(question.label):
        return
    for hit in hits(who.bank, question, context):
        if hit.likeness == 1.0:
            yield _saved(hit.saved, sure=True)
    stored = _stored(who.profile, question, field if field.sensitive == "choice" else None)
    if stored is not None:
        yield stored


def _values(question: Question, field: FieldMatch, who: Applicant, context: FormContext) -> Iterator[_Try]:
    found = hits(who.bank, question, context)
    exact = [one.saved for one in found if one.likeness == 1.0]
    for saved in exact:
        if saved.scope is not Scope.EVERYWHERE:
            yield _saved(saved, sure=True)
    stored = _stored(who.profile, question, field)
    if stored is not None:
        yield stored
    if field.name is not None and not (field.name in _STATED and negated(question.label)):
        value = value_of(field.name, who.profile, question, context)
        plain = field.by == "id" or plainly(question, fields()[field.name])
        # Yes to a question that says more is no proposal; a text at least shows what was found.
        if value is not None and (plain or not isinstance(value.value, bool)):
            evidence = value.evidence if plain else f"{value.evidence}; the question may ask for something else"
            yield _Try(value.value, Origin.PROFILE, _BY[field.by], evidence, value.sure and plain)
    for saved in exact:
        if saved.scope is Scope.EVERYWHERE:
            yield _saved(saved, sure=True)
    ruled = derived(who.profile, question, context)
    if ruled is not None:
        yield _Try(ruled.value, Origin.RULE, 0.9, ruled.evidence, ruled.sure)
    for hit in found:
        if hit.likeness < 1.0:
            yield _saved(hit.saved, sure=False)


def _stored(profile: Profile, question: Question, field: FieldMatch | None) -> _Try | None:
    """An entry of the profile's `answers`, by the question's words or by the field's name."""
    if is_cut(question.label):
        return None
    key = label_key(question.label)
    name = field.name.replace("_", " ") if field and field.name else ""
    turned = negated(question.label)
    for label, value in sorted(profile.answers.items()):
        said = label_key(label).replace("_", " ")
        if said and said == key:
            return _Try(value, Origin.PROFILE, 1.0, f"answers.{label}"[:200])
        # Yes for the field is no for a question that is turned round.
        if said and said == name and not (turned and (isinstance(value, bool) or truth(str(value)) is not None)):
            return _Try(value, Origin.PROFILE, 1.0, f"answers.{label}"[:200])
    return None


def _saved(saved: SavedAnswer, *, sure: bool) -> _Try:
    said = "saved answer" if sure else "saved answer to a similar question"
    return _Try(saved.value, Origin.SAVED, 1.0 if sure else 0.5, f"{said}: {saved.label}"[:300], sure)


def _contradicted(
    answer: Answer, question: Question, who: Applicant, context: FormContext, field: FieldMatch
) -> Answer:
    """A value of the profile that a saved answer to the very question contradicts is shown to the user."""
    if answer.origin is not Origin.PROFILE or field.sensitive:
        return answer
    other = next(
        (
            hit.saved
            for hit in hits(who.bank, question, context)
            if hit.likeness == 1.0 and fit(question, hit.saved.value, context).value != answer.value
        ),
        None,
    )
    if other is None:
        return answer
    evidence = f"{answer.evidence}; but you answered {str(other.value)[:100]!r} before"
    return answer.model_copy(update={"needs_user": True, "confidence": 0.5, "evidence": evidence})
