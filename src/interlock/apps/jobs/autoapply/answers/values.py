"""The values of the resolver: an answer, and what it is worked out from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.postings.posting import Frozen, Posting, Question
from interlock.apps.jobs.finder.profiles.profile import Profile

if TYPE_CHECKING:
    from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer

Value = str | bool | int | float | tuple[str, ...]


class Origin(StrEnum):
    """Who or what gave an answer."""

    PROFILE = "profile"
    SAVED = "saved"
    RULE = "rule"
    DRAFT = "draft"
    USER = "user"


class Answer(Frozen):
    """The answer to one question. Without a value nothing is sent; it is never replaced by a default."""

    value: Value | None = None
    origin: Origin | None = None
    confidence: float = 0.0
    evidence: str = ""
    """Where the value came from, or why there is none."""
    asked_before: bool = False
    """The user has answered this very question before, here or elsewhere."""
    needs_user: bool = False
    """The user answers or confirms it before anything is sent. A value is then a proposal."""


class Answered(Frozen):
    """A question with its answer, in the order of the form."""

    question: Question
    answer: Answer


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who applies."""

    profile: Profile
    bank: tuple[SavedAnswer, ...] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    """Canonical field, such as `resume`, → the reference of the document for this application."""


@dataclass(frozen=True, slots=True)
class FormContext:
    """Which form is answered, and when."""

    ats: str
    today: date
    company: str | None = None
    """The company's key."""
    country: str | None = None
    """The country of the job; None when it is unknown or one of several."""
    language: str | None = None
    application: str | None = None

    @classmethod
    def of(cls, posting: Posting, today: date, application: str | None = None) -> FormContext:
        countries = {one.country for one in posting.locations}
        country = countries.pop() if len(countries) == 1 else None
        return cls(posting.ats, today, company_key(posting.company_name_raw), country, posting.language, application)
