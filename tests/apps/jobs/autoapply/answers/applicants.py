"""A profile and questions of our own for the resolver."""

from __future__ import annotations

from datetime import date
from typing import Any

from interlock.apps.jobs.autoapply.answers import Answer, Applicant, FormContext, resolve
from interlock.apps.jobs.finder.postings.posting import Question
from interlock.apps.jobs.finder.profiles.profile_file import check_profile

TODAY = date(2026, 5, 20)
PROFILE: dict[str, Any] = {
    "identity": {
        "name": "Mika Sand",
        "email": "mika@sand.example",
        "phone": "+1 503 555 0100",
        "links": ["https://github.com/mikasand", "https://sand.example", "https://www.linkedin.com/in/mikasand"],
    },
    "home": {"city": "Portland", "region": "OR", "country": "US"},
    "years": 8,
    "skills": [{"name": "Python", "years": 8}, {"name": "Rust", "years": 1}, "Kafka"],
    "salary": {"min": 140000, "currency": "USD"},
    "work_authorisation": ["US", {"country": "DE", "authorised": False}],
    "employment": [
        {"company": "Kelp Works", "title": "Senior Engineer", "start": "2021-05", "skills": ["Python", "Go"]},
        {"company": "Gull", "title": "Engineer", "start": "2018-05", "end": "2021-08", "skills": ["python", "Rust"]},
    ],
    "education": [{"school": "Harbour University", "degree": "BSc", "field": "Informatics", "end": "2018-04"}],
}


def applicant(bank: Any = (), documents: Any = None, **changes: Any) -> Applicant:
    return Applicant(check_profile({**PROFILE, **changes}), tuple(bank), documents or {})


WHO = applicant()
FORM = FormContext("greenhouse", TODAY, "kind boats", "US", "en", "a1")


def ask(label: str | None = None, kind: str = "text", options: Any = (), **more: Any) -> Question:
    given = {"key": "question_1", "label": label, "type": kind, "options": tuple(options), "required": True, **more}
    return Question.model_validate(given)


def answer(label: str, kind: str = "text", options: Any = (), *, who: Applicant = WHO, **more: Any) -> Answer:
    return resolve(ask(label, kind, options, **more), who, FORM)
