"""The answer bank: what the user answered before, with the question, its options and where it may be used again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from interlock.apps.jobs.autoapply.answers.fields import field_of_label
from interlock.apps.jobs.autoapply.answers.formats import fit
from interlock.apps.jobs.autoapply.answers.labels import is_cut, label_key, likeness
from interlock.apps.jobs.autoapply.answers.values import FormContext, Value
from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.postings.posting import Frozen, Question
from interlock.machine import InterlockError

ALIKE = 0.75
"""The likeness from which a saved answer is proposed. Only an equal label answers by itself."""


class AnswerError(InterlockError):
    """A value that the question does not take."""


class Scope(StrEnum):
    """Where a saved answer may be used again."""

    EVERYWHERE = "everywhere"
    COMPANY = "company"
    ONCE = "once"


class SavedAnswer(Frozen):
    """One answer of the user."""

    label: str
    options_key: str = ""
    """The options it was chosen from; empty where there were none."""
    value: Value
    scope: Scope = Scope.EVERYWHERE
    company: str | None = None
    """The company's key, for the scope `company`."""
    application: str | None = None
    """The application, for the scope `once`."""
    uses: int = 0

    @property
    def key(self) -> tuple[str, str, str, str]:
        """A newer answer with the same key takes the place of the older one."""
        where = {Scope.COMPANY: self.company, Scope.ONCE: self.application}.get(self.scope) or ""
        return label_key(self.label), self.options_key, self.scope.value, where

    def applies(self, context: FormContext) -> bool:
        if self.scope is Scope.COMPANY:
            return self.company is not None and self.company == context.company
        if self.scope is Scope.ONCE:
            return self.application is not None and self.application == context.application
        return True


class Hit(NamedTuple):
    """A saved answer for a question, and how alike the labels are."""

    saved: SavedAnswer
    likeness: float


class Contradiction(NamedTuple):
    """Saved answers of which at most one can be right."""

    subject: str
    answers: tuple[SavedAnswer, ...]


def options_key(options: Iterable[str]) -> str:
    """Equal for the same options in any order; empty without options."""
    return "|".join(sorted({label_key(one) for one in options}))


def save(question: Question, value: Value, context: FormContext, scope: Scope = Scope.EVERYWHERE) -> SavedAnswer:
    """The user's answer as it is kept. A value outside the form's options is refused."""
    if not label_key(question.label):
        raise AnswerError(f"question {question.key!r} has no label to remember an answer by")
    fitted = fit(question, value, context)
    if fitted.value is None:
        raise AnswerError(f"{question.label!r} does not take {value!r}: {fitted.reason}")
    if scope is Scope.COMPANY and context.company is None:
        raise AnswerError("the company is unknown; save the answer everywhere or once")
    if scope is Scope.ONCE and context.application is None:
        raise AnswerError("an answer for once needs its application")
    return SavedAnswer(
        label=question.label or "",
        options_key=options_key(question.options),
        value=fitted.value,
        scope=scope,
        company=context.company if scope is Scope.COMPANY else None,
        application=context.application if scope is Scope.ONCE else None,
    )


def remember(bank: Sequence[SavedAnswer], saved: SavedAnswer) -> tuple[SavedAnswer, ...]:
    """The bank with one more answer, in place of an older one with the same key."""
    return (*(one for one in bank if one.key != saved.key), saved)


def used(bank: Sequence[SavedAnswer], saved: SavedAnswer) -> tuple[SavedAnswer, ...]:
    """The bank with one more use of an answer."""
    return tuple(one.model_copy(update={"uses": one.uses + 1}) if one.key == saved.key else one for one in bank)


def hits(bank: Sequence[SavedAnswer], question: Question, context: FormContext) -> list[Hit]:
    """Answers for a question with the same options: equal labels first, narrow scopes before wide ones."""
    key, options = label_key(question.label), options_key(question.options)
    if not key or is_cut(question.label):
        return []
    found = []
    for one in bank:
        if one.options_key == options and one.applies(context) and not is_cut(one.label):
            same = label_key(one.label) == key
            like = 1.0 if same else min(likeness(one.label, question.label), 0.99)
            if like >= ALIKE:
                found.append(Hit(one, like))
    order = [Scope.ONCE, Scope.COMPANY, Scope.EVERYWHERE]
    return sorted(found, key=lambda hit: (-hit.likeness, order.index(hit.saved.scope), hit.saved.key))


def asked_before(bank: Sequence[SavedAnswer], question: Question) -> bool:
    key = label_key(question.label)
    return bool(key) and any(label_key(one.label) == key for one in bank)


def contradictions(bank: Sequence[SavedAnswer]) -> tuple[Contradiction, ...]:
    """Answers to one question, or for one plain field, that differ where both would be used.

    An answer for a company or for once is an exception and contradicts nothing of a wider scope.
    """
    groups: dict[tuple[str, str, str], list[SavedAnswer]] = {}
    for one in bank:
        field = field_of_label(one.label)
        plain = field is not None and field.name in ONE_VALUE and not one.options_key
        subject = field.name if field is not None and plain else label_key(one.label)
        groups.setdefault((subject, one.scope.value, one.key[3]), []).append(one)
    return tuple(
        Contradiction(subject, tuple(sorted(group, key=lambda one: one.key)))
        for (subject, *_), group in sorted(groups.items())
        if len({_said(one.value) for one in group}) > 1
    )


def _said(value: Value) -> str:
    return "|".join(sorted(map(label_key, value))) if isinstance(value, tuple) else label_key(str(value))


ONE_VALUE = word_list("""
    legal_first_name legal_last_name legal_name first_name middle_name last_name full_name email phone linkedin github
    street postal_code city region country gpa school current_company current_title notice_period
""")
"""Fields that have one value for a person, whatever the words of the question."""
