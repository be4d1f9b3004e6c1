"""The questions of a posting's form, with answers from the profile, from saved answers and from the letter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from interlock.apps.jobs.autoapply.answers import Answered, Applicant, FormContext, Knockout, knockouts, resolve_form
from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer, hits
from interlock.apps.jobs.autoapply.answers.fields import field_of
from interlock.apps.jobs.autoapply.answers.values import Answer, Origin
from interlock.apps.jobs.autoapply.submission import Adapter
from interlock.apps.jobs.finder.postings.posting import Posting, Question
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile

LETTER = "the letter of this packet"
DOCUMENTS = {"resume": "resume.pdf", "cover_letter": "letter.pdf"}
"""Canonical field of a file question → the file that answers it."""


@dataclass(frozen=True, slots=True)
class Form:
    """The questions of a form with their answers, and what in them may reject the application."""

    answered: tuple[Answered, ...]
    knockouts: tuple[Knockout, ...]

    @property
    def answers(self) -> dict[str, Any]:
        """What is sent: answers that need no confirmation."""
        return {
            one.question.key: plain(one.answer.value)
            for one in self.answered
            if one.answer.value is not None and not one.answer.needs_user
        }

    @property
    def open_questions(self) -> tuple[Answered, ...]:
        """Questions that only the user can answer."""
        return tuple(one for one in self.answered if one.answer.needs_user)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(one.question for one in self.answered)

    def json(self) -> dict[str, Any]:
        return {
            "answered": [one.model_dump(mode="json") for one in self.answered],
            "knockouts": [one._asdict() for one in self.knockouts],
        }


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def read_form(adapter: Adapter, posting: Posting) -> tuple[Question, ...]:
    """The questions of a posting's form, as the way of submitting it knows them."""
    return asyncio.run(adapter.form(posting))


def fill(
    questions: Sequence[Question],
    posting: ReadPosting,
    profile: Profile,
    bank: Sequence[SavedAnswer],
    context: FormContext,
) -> Form:
    """Answer a form from profile and saved answers."""
    answered = resolve_form(questions, Applicant(profile, tuple(bank), DOCUMENTS), context)
    return Form(answered, knockouts(answered, posting, profile, context))


def with_letter(form: Form, letter: str, context: FormContext) -> Form:
    """The form with the letter as the answer to a question for its text."""
    answered = tuple(
        one.model_copy(update={"answer": Answer(value=letter, origin=Origin.RULE, confidence=1.0, evidence=LETTER)})
        if _asks_for_letter(one, letter, context)
        else one
        for one in form.answered
    )
    return replace(form, answered=answered)


def _asks_for_letter(one: Answered, letter: str, context: FormContext) -> bool:
    question = one.question
    if question.type not in ("text", "long") or one.answer.value is not None or question.options:
        return False
    fits = question.max_len is None or len(letter) <= question.max_len
    return fits and field_of(question, context.ats).name == "cover_letter"


def context_of(posting: Posting, now: datetime, application: UUID | None) -> FormContext:
    return FormContext.of(posting, now.date(), str(application) if application else None)


def used_answers(form: Form, bank: Sequence[SavedAnswer], context: FormContext) -> list[SavedAnswer]:
    """The saved answers that the form's answers are."""
    found = []
    for one in form.answered:
        if one.answer.origin is Origin.SAVED and one.answer.value is not None:
            found += [hit.saved for hit in hits(bank, one.question, context)[:1]]
    return found
