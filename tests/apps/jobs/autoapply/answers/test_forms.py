"""The questions of each system's form."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.apps.jobs.autoapply.answers import form_of
from interlock.apps.jobs.autoapply.answers.forms import FIXED
from interlock.apps.jobs.autoapply.answers.system_fields import SYSTEM_FIELDS
from interlock.apps.jobs.finder.postings.posting import Extraction, Method, Posting, Question


def posting(ats: str, *questions: Question) -> Posting:
    return Posting(ats=ats, questions=questions, extraction=Extraction(method=Method.API, adapter_version="1"))


def test_every_fixed_field_is_known_by_its_id() -> None:
    for ats, asked in FIXED.items():
        assert {one.key for one in asked} <= set(SYSTEM_FIELDS[ats])


@pytest.mark.parametrize("ats", sorted(FIXED))
def test_a_form_has_the_fields_that_the_system_always_has(ats: str) -> None:
    keys = [one.key for one in form_of(posting(ats))]
    assert any("email" in one for one in keys)
    assert len(keys) == len(set(keys))


def test_an_unknown_system_has_the_postings_questions_only() -> None:
    assert form_of(posting("feed")) == ()


def test_greenhouse_adds_compliance_demographic_and_consent() -> None:
    given = posting(
        "greenhouse",
        Question(key="email", label="Email", required=True),
        Question(key="resume", label="Resume", type="file", required=True),
        Question(key="resume_text", label="Resume", type="long", required=True),
    )
    definition: dict[str, Any] = {
        "location_questions": [{"label": "Where do you live?", "required": True, "fields": [{"name": "location"}]}],
        "compliance": [
            {
                "type": "eeoc",
                "questions": [
                    {
                        "label": "Veteran Status",
                        "required": False,
                        "fields": [
                            {"name": "veteran_status", "values": [{"value": 1, "label": "No"}, {"label": "Yes"}]}
                        ],
                    }
                ],
            }
        ],
        "demographic_questions": {
            "questions": [{"id": 7, "label": "Age", "required": True, "answer_options": [{"id": 3, "label": "20-29"}]}]
        },
        "data_compliance": [{"type": "gdpr", "requires_consent": True, "requires_retention_consent": False}],
    }
    form = {one.key: one for one in form_of(given, definition)}
    assert list(form) == [
        *("first_name", "last_name", "email", "resume", "resume_text"),
        *("location", "veteran_status", "demographic_7", "data_compliance.consent"),
    ]
    assert form["resume"].group == form["resume_text"].group == "resume"
    assert (form["veteran_status"].type, form["veteran_status"].options) == ("demographic", ("No", "Yes"))
    assert (form["demographic_7"].options, form["demographic_7"].option_ids) == (("20-29",), ("3",))
    assert form["data_compliance.consent"].type == "consent"


def test_ashby() -> None:
    definition = {
        "fields": [
            {"isRequired": True, "field": {"path": "_systemfield_email", "type": "Email", "title": "Email"}},
            {
                "isRequired": False,
                "field": {
                    "id": "f1",
                    "path": "f1",
                    "type": "ValueSelect",
                    "title": "How did you hear?",
                    "selectableValues": [{"label": "A friend", "value": "friend"}],
                },
            },
            {"isRequired": True, "field": {"path": "f2", "type": "Hologram", "title": "?"}},
        ]
    }
    form = {one.key: one for one in form_of(posting("ashby"), definition)}
    assert list(form) == ["_systemfield_name", "_systemfield_resume", "_systemfield_email", "f1"]
    assert (form["f1"].type, form["f1"].options, form["f1"].option_ids) == ("single", ("A friend",), ("friend",))


def test_workable() -> None:
    definition = {
        "form_fields": [{"key": "phone", "label": "Phone", "type": "string", "required": True}],
        "questions": [
            {
                "id": "q1",
                "body": "Which shift?",
                "type": "multiple_choice",
                "single_answer": True,
                "choices": [{"id": "a", "body": "Day"}, {"id": "b", "body": "Night"}],
            },
            {"id": "q2", "body": "I agree to the terms and conditions", "type": "boolean", "required": True},
        ],
    }
    form = {one.key: one for one in form_of(posting("workable"), definition)}
    assert (form["q1"].type, form["q1"].options) == ("single", ("Day", "Night"))
    assert form["q2"].type == "consent"
    assert form["phone"].required


def test_smartrecruiters_shows_diversity_last() -> None:
    definition = {
        "questions": [
            {
                "id": "d",
                "label": "Gender",
                "type": "RADIO",
                "complianceType": "DIVERSITY",
                "values": [{"id": "x", "label": "X"}],
            },
            {"id": "s", "label": "Why us?", "type": "TEXTAREA", "required": True},
        ],
        "privacyPolicies": [{"id": "p", "statement": "I accept the policy"}],
    }
    form = form_of(posting("smartrecruiters"), definition)
    assert [one.key for one in form][-3:] == ["s", "d", "consent.p"]
    assert [one.type for one in form][-3:] == ["long", "demographic", "consent"]


@pytest.mark.parametrize("ats", ["greenhouse", "ashby", "workable", "smartrecruiters"])
@pytest.mark.parametrize(
    "wrong", [{}, {"questions": 7, "fields": [1, None, {"field": []}]}, {"form_fields": {"a": {}}}], ids=str
)
def test_a_definition_of_another_shape_adds_nothing(ats: str, wrong: dict[str, Any]) -> None:
    assert form_of(posting(ats), wrong) == form_of(posting(ats))
