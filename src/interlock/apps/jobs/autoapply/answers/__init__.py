"""Answers to the questions of application forms, worked out from the profile and from what the user answered before.

`form_of` lists the questions of a posting, `resolve_form` answers them or says that the user must, and `knockouts`
warns of answers that may reject the application. What the user answers is kept in the answer bank (`bank.py`).
Everything is plain values: no database, no network, no clock.
"""

from interlock.machine.extras import require

require("jobs", "phonenumbers")

from interlock.apps.jobs.autoapply.answers.bank import (
    AnswerError,
    Contradiction,
    SavedAnswer,
    Scope,
    contradictions,
    remember,
    save,
    used,
)
from interlock.apps.jobs.autoapply.answers.forms import form_of
from interlock.apps.jobs.autoapply.answers.knockouts import Knockout, knockouts
from interlock.apps.jobs.autoapply.answers.resolver import resolve, resolve_form
from interlock.apps.jobs.autoapply.answers.values import Answer, Answered, Applicant, FormContext, Origin

__all__ = [
    "Answer",
    "AnswerError",
    "Answered",
    "Applicant",
    "Contradiction",
    "FormContext",
    "Knockout",
    "Origin",
    "SavedAnswer",
    "Scope",
    "contradictions",
    "form_of",
    "knockouts",
    "remember",
    "resolve",
    "resolve_form",
    "save",
    "used",
]
