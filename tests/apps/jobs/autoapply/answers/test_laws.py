"""Laws of the resolver, over generated questions, profiles and saved answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.answers import Answer, AnswerError, SavedAnswer, Scope, resolve, resolve_form, save
from interlock.apps.jobs.autoapply.answers.fields import field_of, fields
from interlock.apps.jobs.autoapply.answers.formats import fit
from interlock.apps.jobs.autoapply.answers.labels import label_key
from interlock.apps.jobs.finder.postings.posting import Question
from tests.apps.jobs.autoapply.answers.applicants import FORM, applicant, ask

TYPES = ["text", "long", "number", "date", "bool", "single", "multi", "file", "consent", "demographic"]
PHRASES = sorted({part.strip("=!*") for one in fields().values() for pattern in one.patterns for part in pattern})
OPTIONS = [
    "Yes",
    "No",
    "Yes, I do",
    "USA",
    "Germany",
    "United States",
    "0-2",
    "3-5 years",
    "6+",
    "Male",
    "Female",
    "Prefer not to say",
    "BSc",
    "Master's degree",
    "Oregon",
    "",
    "Mika",
    "8",
    "True",
]
labels = st.one_of(
    st.lists(st.sampled_from(PHRASES), min_size=1, max_size=3).map(" ".join),
    st.builds("How many years of experience do you have with {}?".format, st.sampled_from(["Python", "Rust", "Kafka"])),
    st.text(max_size=40),
)
questions = st.builds(
    ask,
    labels,
    st.sampled_from(TYPES),
    st.lists(st.sampled_from(OPTIONS), max_size=6),
    required=st.sampled_from([True, False, None]),
    max_len=st.sampled_from([None, 3, 255]),
    key=st.sampled_from(["question_1", "first_name", "email", "gender", "resume"]),
)
values = st.sampled_from(["yes", "no", True, False, 3, 0, "decline", "Mika", "USA", "2026-06-01", ""])
stored = st.dictionaries(st.sampled_from([*fields(), *PHRASES]), values, max_size=4)


def saved(question: Question, value: Any, scope: Scope) -> SavedAnswer | None:
    try:
        return save(question, value, FORM, scope)
    except AnswerError:
        return None


banks = st.lists(st.builds(saved, questions, values, st.sampled_from(list(Scope))), max_size=4).map(
    lambda many: [one for one in many if one is not None]
)


@settings(max_examples=150)
@given(questions, stored, banks)
def test_a_value_is_of_the_forms_own_kind(question: Question, answers: Any, bank: Any) -> None:
    found = resolve(question, applicant(bank, {"resume": "sha"}, answers=answers), FORM)
    value = found.value
    if value is None:
        return
    assert found.origin is not None
    assert found.evidence
    if question.type == "file":
        assert value == "sha"
    elif question.options:
        assert set(value if isinstance(value, tuple) else [value]) <= set(question.options)
        assert isinstance(value, tuple) == (question.type == "multi")
    elif question.type in ("bool", "consent"):
        assert isinstance(value, bool)
    elif question.type == "number":
        assert isinstance(value, int | float)
        assert not isinstance(value, bool)
    else:
        assert isinstance(value, str)
        assert value.strip()
        assert question.type == "date" or len(value) <= (question.max_len or 255)
    assert fit(question, value, FORM).value == value or question.type == "file"


@settings(max_examples=150)
@given(questions)
def test_a_sensitive_question_has_no_answer_without_a_stored_choice(question: Question) -> None:
    field = field_of(question, "greenhouse")
    found = resolve(question, applicant(documents={"resume": "sha"}), FORM)
    if field.sensitive or question.type in ("consent", "demographic"):
        assert found.value is None
    if question.type == "number" and found.value is not None:
        assert found.value != 0


@settings(max_examples=60)
@given(st.lists(questions, max_size=4), stored, banks)
def test_the_same_values_give_the_same_answers_in_any_order(many: list[Question], answers: Any, bank: Any) -> None:
    unique = list({one.key: one for one in bank}.values())
    turned = dict(reversed(answers.items()))
    first = resolve_form(many, applicant(unique, answers=answers), FORM)
    second = resolve_form(many, applicant(unique[::-1], answers=turned), FORM)
    assert first == second
    assert [one.question for one in first] == many


@given(st.text(max_size=300))
def test_a_label_of_any_text_is_read(text: str) -> None:
    assert label_key(label_key(text)) == label_key(text)
    assert isinstance(resolve(ask(text), applicant(), FORM), Answer)


def test_a_huge_label_takes_no_time() -> None:
    for text in ("first name " * 50_000, "a" * 500_000, "years " * 30_000, "(" * 100_000):
        assert resolve(ask(text, "bool"), applicant(), FORM).value is None
