"""The resolver: which answer a question gets, and when the user is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.answers import Origin, resolve, resolve_form, save
from interlock.apps.jobs.autoapply.answers.fields import field_of_label, fields
from interlock.apps.jobs.autoapply.answers.system_fields import SYSTEM_FIELDS
from tests.apps.jobs.autoapply.answers.applicants import FORM, WHO, answer, applicant, ask

YES_NO = ("Yes", "No")
KNOWN: list[tuple[str, str, tuple[str, ...], Any]] = [
    ("First Name*", "text", (), "Mika"),
    ("Last name (required)", "text", (), "Sand"),
    ("Your full name", "text", (), "Mika Sand"),
    ("Vorname", "text", (), "Mika"),
    ("E-Mail-Adresse", "text", (), "mika@sand.example"),
    ("Phone number", "text", (), "(503) 555-0100"),
    ("Telefonnummer", "text", (), "(503) 555-0100"),
    ("LinkedIn Profile", "text", (), "https://www.linkedin.com/in/mikasand"),
    ("GitHub", "text", (), "https://github.com/mikasand"),
    ("Website", "text", (), "https://sand.example"),
    ("Country", "single", ("Germany", "USA"), "USA"),
    ("State", "single", ("Washington", "Oregon"), "Oregon"),
    ("Location (City)", "text", (), "Portland"),
    ("Current location", "text", (), "Portland, OR, United States"),
    ("What is your current city and state?", "text", (), "Portland, OR, United States"),
    ("Current company", "text", (), "Kelp Works"),
    ("Current job title", "text", (), "Senior Engineer"),
    ("School", "text", (), "Harbour University"),
    (
        "Highest level of education",
        "single",
        ("High school", "Bachelor's Degree", "Master's Degree"),
        "Bachelor's Degree",
    ),
    ("Field of study", "text", (), "Informatics"),
    ("Years of experience", "number", (), 8),
    ("Years of experience", "single", ("0-2 years", "3-5 years", "6-9 years", "10+ years"), "6-9 years"),
    ("Are you legally authorized to work in the United States?", "single", YES_NO, "Yes"),
    ("Are you legally authorised to work in Germany?", "bool", (), False),
    ("Are you authorized to work in the country of this job?", "bool", (), True),
    ("Will you now or in the future require visa sponsorship?", "single", YES_NO, "No"),
    (
        "Will you require sponsorship for employment visa status (e.g. H-1B)?",
        "single",
        ("Yes, I will require sponsorship", "No, I will not require sponsorship"),
        "No, I will not require sponsorship",
    ),
    ("Can you work in the US without sponsorship?", "bool", (), True),
    ("How many years of experience do you have with Python?", "number", (), 8),
    ("How many years of Go experience do you have?", "number", (), 5),
    ("Do you have at least 5 years of experience with Python?", "bool", (), True),
    ("Do you have at least 10 years of experience?", "single", YES_NO, "No"),
    ("Do you have a master's degree?", "bool", (), False),
    ("Do you have a bachelor's degree?", "bool", (), True),
    ("Are you currently based in the United States?", "bool", (), True),
    ("Do you live in Canada?", "single", YES_NO, "No"),
    ("Are you located in Portland?", "bool", (), True),
]


@pytest.mark.parametrize(("label", "kind", "options", "value"), KNOWN, ids=str)
def test_what_the_profile_knows_is_answered(label: str, kind: str, options: tuple[str, ...], value: Any) -> None:
    found = answer(label, kind, options)
    assert (found.value, found.needs_user) == (value, False), found.evidence
    assert found.origin in (Origin.PROFILE, Origin.RULE)
    assert found.evidence


UNKNOWN: list[tuple[str, str, tuple[str, ...]]] = [
    ("Legal first name", "text", ()),  # proposed, because documents may say otherwise
    ("Desired salary", "number", ()),
    ("How many years of experience do you have with Kafka?", "number", ()),
    ("How many years of experience do you have with Cobol?", "number", ()),
    ("How many years of experience do you have with Rust?", "number", ()),  # stated and counted years differ
    ("How many years of experience do you have with Python and Go?", "number", ()),
    ("Years of experience in sales", "number", ()),
    ("Do you have less than 5 years of experience, and not more?", "bool", ()),
    ("Are you authorized to work in France?", "bool", ()),
    ("Are you authorized to work in France or Germany?", "bool", ()),
    ("Are you not authorized to work in the US?", "bool", ()),
    ("Are you authorized to work in the US or do you need sponsorship?", "bool", ()),
    ("Are you authorized to work in the US?", "single", ("Yes", "Yes, with sponsorship", "No")),
    ("Are you authorized to work in the US?", "single", ("Yes, I am a citizen", "No")),
    ("Do you need a work permit?", "bool", ()),
    ("I authorize you to contact my work references", "bool", ()),
    ("Country", "single", ("Germany", "France")),
    ("Country", "single", ()),
    ("Country of birth", "text", ()),
    ("Years of experience", "single", ("1-8 years", "8-10 years")),
    ("Describe the best email campaign that you ever ran", "long", ()),
    ("Referrer first name", "text", ()),
    ("Mother's last name", "text", ()),
    ("Work email of a colleague", "text", ()),
    ("Which mobile apps have you built?", "text", ()),
    ("Why do you want to leave your current employer?", "text", ()),
    ("When does your work authorization expire?", "text", ()),
    ("How many years ago did you last use Python?", "number", ()),
    ("Do you have less than 3 years of experience with Python?", "bool", ()),
    ("Are you pursuing a master's degree?", "bool", ()),
    ("What degree of autonomy do you like?", "text", ()),
    ("Name of your manager", "text", ()),
    ("Phone number of your last employer", "text", ()),
    ("First name of your mother", "text", ()),
    ("When can you start?", "date", ()),
    ("Are you willing to relocate?", "bool", ()),
    ("Are you located in Seattle or able to commute?", "bool", ()),
    ("What is your favourite boat?", "text", ()),
    ("", "text", ()),
]


@pytest.mark.parametrize(("label", "kind", "options"), UNKNOWN, ids=str)
def test_what_it_does_not_know_is_asked_and_never_made_up(label: str, kind: str, options: tuple[str, ...]) -> None:
    found = answer(label, kind, options)
    assert found.needs_user
    assert found.value is None or found.confidence <= 0.5
    assert found.value != 0
    assert found.evidence


@pytest.mark.parametrize(
    "label", ["Has your work authorization ever been revoked?", "Have you ever required sponsorship?"]
)
def test_yes_or_no_is_not_even_proposed_where_a_question_says_more(label: str) -> None:
    assert answer(label, "bool").value is None


def test_an_optional_question_without_an_answer_stays_empty() -> None:
    found = answer("What is your favourite boat?", required=False)
    assert (found.value, found.needs_user) == (None, False)
    assert answer("What is your favourite boat?", required=None).needs_user


def test_a_value_that_is_too_long_is_not_cut() -> None:
    found = answer("Email", max_len=5)
    assert (found.value, found.needs_user) == (None, True)
    assert "17 characters" in found.evidence


def test_a_name_of_three_words_is_proposed() -> None:
    who = applicant(identity={"name": "Ana del Mar"})
    found = answer("Last name", who=who)
    assert (found.value, found.needs_user) == ("del Mar", True)
    assert (
        answer("Last name", who=applicant(identity={"name": "Ana del Mar"}, answers={"last_name": "Mar"})).value
        == "Mar"
    )


def test_a_telephone_number_is_international_in_another_country() -> None:
    asked = ask("Phone")
    assert resolve(asked, WHO, replace(FORM, country="DE")).value == "+1 503-555-0100"
    assert resolve(asked, WHO, replace(FORM, country=None)).value == "+1 503-555-0100"
    german = applicant(identity={"name": "Ina", "phone": "0171 1234567"}, home={"country": "DE"})
    assert resolve(asked, german, replace(FORM, country="DE")).value == "0171 1234567"
    assert resolve(asked, german, FORM).value == "+49 171 1234567"
    assert resolve(asked, applicant(identity={"name": "Ina", "phone": "call me"}), FORM).needs_user


def test_dates_and_truth_values_have_several_spellings() -> None:
    for spelling in ("2026-06-01", "01.06.2026", "June 1, 2026", "1 June 2026"):
        assert answer("Start date", "date", who=applicant(answers={"start_date": spelling})).value == "2026-06-01"
    assert answer("Start date", "date", who=applicant(answers={"start_date": "06/01/2026"})).needs_user
    for spelling in (True, "yes", "Ja", "true"):
        who = applicant(answers={"willing_to_relocate": spelling})
        assert answer("Are you willing to relocate?", "bool", who=who).value is True
        assert answer("Are you willing to relocate?", "single", ("Ja", "Nein"), who=who).value == "Ja"


def test_yes_for_a_field_does_not_answer_a_question_that_is_turned_round() -> None:
    who = applicant(answers={"willing_to_relocate": "yes", "disability": "no"})
    assert answer("Are you not willing to relocate?", "bool", who=who).needs_user
    assert answer("I do not have a disability", "single", YES_NO, who=who).needs_user
    assert answer("Do you have a disability?", "single", YES_NO, who=who).value == "No"


SENSITIVE = [
    "Current CTC",
    "Last drawn salary",
    "What are you currently earning?",
    "How much do you make today?",
    "Do you agree to receive marketing emails?",
    "May we keep your data for 12 months?",
    "Gender",
    "Geschlecht",
    "Race / ethnicity",
    "Are you Hispanic or Latino?",
    "Veteran status",
    "Disability status",
    "Sexual orientation",
    "Pronouns",
    "Date of birth",
    "How old are you?",
    "Have you ever been convicted of a felony?",
    "Current salary",
    "What is your salary history?",
    "I agree to the privacy policy",
    "Signature",
    "Ich stimme der Datenschutzerklärung zu",
    "Type your full name to sign",
    "Are you at least 18 years of age?",
    "Marital status",
    "Are you a US citizen?",
    "Do you hold a security clearance?",
]


@pytest.mark.parametrize("label", SENSITIVE)
@pytest.mark.parametrize("kind", ["text", "bool", "single", "consent", "demographic"])
def test_sensitive_questions_are_answered_from_a_stored_choice_only(label: str, kind: str) -> None:
    options = YES_NO if kind == "single" else ()
    assert answer(label, kind, options).value is None
    chosen = answer(label, kind, options, who=applicant(answers={label: "yes"}))
    assert chosen.value in ("yes", "Yes", True)
    assert not chosen.needs_user


def test_an_id_of_a_plain_field_does_not_hide_a_sensitive_label() -> None:
    assert resolve(ask("Gender", key="first_name"), WHO, FORM).value is None
    assert resolve(ask("Veteran", key="veteran_status"), WHO, FORM).value is None


def test_to_decline_is_a_choice() -> None:
    who = applicant(answers={"gender": "decline"})
    options = ("Male", "Female", "I don't wish to answer")
    assert answer("Gender", "demographic", options, who=who).value == "I don't wish to answer"
    assert answer("Gender", "demographic", ("Male", "Female"), who=who).needs_user
    optional = answer("Gender", "demographic", who=who, required=False)
    assert (optional.value, optional.needs_user) == (None, False)
    assert answer("Gender", "single", ("Man", "Woman"), who=applicant(answers={"gender": "female"})).value == "Woman"


def test_consent_is_for_the_very_words_that_were_agreed_to() -> None:
    text = "I agree that my data are kept for six months. " * 20
    who = applicant(answers={"consent": True})
    assert answer(text, "consent", who=who).value is None
    saved = save(ask(text, "consent"), True, FORM)
    who = applicant([saved])
    assert answer(text, "consent", who=who).value is True
    assert answer(text + "And sold.", "consent", who=who).value is None
    assert answer(text[:300] + "…", "consent", who=who).value is None


def test_system_fields_are_known_by_their_ids() -> None:
    assert {name for ids in SYSTEM_FIELDS.values() for name in ids.values()} <= set(fields())
    assert resolve(ask(None, key="first_name"), WHO, FORM).confidence == 1.0
    assert (
        resolve(ask("Your details", key="_systemfield_email"), WHO, replace(FORM, ats="ashby")).value
        == "mika@sand.example"
    )
    assert resolve(ask("Your details", key="_systemfield_email"), WHO, FORM).value is None


def test_documents_answer_files_and_one_field_of_a_question_is_enough() -> None:
    who = applicant(documents={"resume": "sha-1"})
    asked = [
        ask("Resume", "file", key="resume", group="resume"),
        ask("Resume", "long", key="resume_text", group="resume"),
        ask("Transcript", "file", key="question_2"),
    ]
    resume, text, transcript = (one.answer for one in resolve_form(asked, who, FORM))
    assert (resume.value, resume.needs_user) == ("sha-1", False)
    assert (text.value, text.needs_user) == (None, False)
    assert (transcript.value, transcript.needs_user) == (None, True)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Legal first name", "legal_first_name"),
        ("What was your GPA at school?", "gpa"),
        ("Expected graduation date at your university", "graduation_date"),
        ("Preferred first name", "preferred_name"),
        ("Current salary expectations", "salary_history"),
        ("Frühestmöglicher Eintrittstermin", "start_date"),
        ("Gehaltsvorstellung", "salary_expectation"),
        ("Straße", "street"),
        ("Would you need relocation assistance?", "relocation_assistance"),
    ],
)
def test_the_specific_field_comes_before_the_general_one(label: str, name: str) -> None:
    found = field_of_label(label)
    assert found is not None
    assert found.name == name
