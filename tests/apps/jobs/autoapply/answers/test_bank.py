"""The answer bank: scopes, similar labels, option sets, contradictions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interlock.apps.jobs.autoapply.answers import (
    AnswerError,
    Origin,
    Scope,
    contradictions,
    remember,
    resolve,
    save,
    used,
)
from tests.apps.jobs.autoapply.answers.applicants import FORM, answer, applicant, ask

BOAT = ask("What is your favourite boat?")
HEARD = ask("How did you hear about us?", "single", ("LinkedIn", "A friend", "Other"))


def test_an_answer_is_used_again_for_the_same_question() -> None:
    who = applicant([save(BOAT, "a dinghy", FORM)])
    found = answer("What is YOUR favourite boat? *", who=who)
    assert (found.value, found.origin, found.needs_user) == ("a dinghy", Origin.SAVED, False)
    assert found.asked_before


def test_an_answer_to_a_similar_question_is_proposed() -> None:
    who = applicant([save(ask("Describe your favourite small wooden boat"), "a dinghy", FORM)])
    found = answer("Please describe your favourite small wooden fishing boat", who=who)
    assert (found.value, found.needs_user, found.asked_before) == ("a dinghy", True, False)
    assert answer("Describe your favourite small wooden house on the hill", who=who).value is None
    assert answer("Describe not your favourite small wooden boat", who=who).value is None


def test_the_options_must_be_the_same_set() -> None:
    who = applicant([save(HEARD, "A friend", FORM)])
    assert (
        answer("How did you hear about us?", "single", ("Other", "a friend", "LINKEDIN"), who=who).value == "a friend"
    )
    assert answer("How did you hear about us?", "single", ("A friend", "Other"), who=who).value is None
    assert answer("How did you hear about us?", who=who).value is None


def test_scopes_keep_an_answer_where_it_belongs() -> None:
    here = applicant([save(BOAT, "a yacht", FORM, Scope.COMPANY)])
    assert resolve(BOAT, here, FORM).value == "a yacht"
    assert resolve(BOAT, here, replace(FORM, company="other")).value is None
    assert resolve(BOAT, here, replace(FORM, company=None)).value is None
    once = applicant([save(BOAT, "a yacht", FORM, Scope.ONCE)])
    assert resolve(BOAT, once, FORM).value == "a yacht"
    assert resolve(BOAT, once, replace(FORM, application="a2")).value is None
    both = applicant([save(BOAT, "a dinghy", FORM), save(BOAT, "a yacht", FORM, Scope.COMPANY)])
    assert resolve(BOAT, both, FORM).value == "a yacht"
    assert resolve(BOAT, both, replace(FORM, company="other")).value == "a dinghy"


def test_an_exception_for_a_company_comes_before_the_profile() -> None:
    email = ask("Email")
    who = applicant([save(email, "boats@sand.example", FORM, Scope.COMPANY)])
    assert resolve(email, who, FORM).value == "boats@sand.example"
    assert resolve(email, who, replace(FORM, company="other")).value == "mika@sand.example"


def test_a_saved_answer_that_contradicts_the_profile_is_shown() -> None:
    who = applicant([save(ask("Email"), "old@sand.example", FORM)])
    found = answer("Email", who=who)
    assert (found.value, found.needs_user) == ("mika@sand.example", True)
    assert "old@sand.example" in found.evidence
    assert not answer("Email", who=applicant([save(ask("Email"), "mika@sand.example", FORM)])).needs_user


def test_the_users_answer_decides_what_the_profile_left_open() -> None:
    rust = ask("How many years of experience do you have with Rust?", "number")
    assert answer(rust.label or "", "number", who=applicant([save(rust, 3, FORM)])).value == 3
    legal = ask("Legal first name")
    found = answer("Legal first name", who=applicant([save(legal, "Mikaela", FORM)]))
    assert (found.value, found.needs_user) == ("Mikaela", False)


def test_a_newer_answer_takes_the_place_of_the_older_one_and_uses_are_counted() -> None:
    bank = remember((), save(BOAT, "a dinghy", FORM))
    bank = remember(bank, save(HEARD, "Other", FORM))
    bank = remember(bank, save(BOAT, "a yacht", FORM))
    assert [one.value for one in bank] == ["Other", "a yacht"]
    bank = used(used(bank, bank[1]), bank[1])
    assert [one.uses for one in bank] == [0, 2]


def test_contradictions_are_found() -> None:
    first, given, forename = (
        save(ask(label), name, FORM)
        for label, name in (("First name", "Mika"), ("Given name", "Mik"), ("Forename", "MIKA"))
    )
    (found,) = contradictions([first, given, forename])
    assert found.subject == "first_name"
    assert len(found.answers) == 3
    assert contradictions([first, forename]) == ()
    company = save(BOAT, "a yacht", FORM, Scope.COMPANY)
    assert contradictions([save(BOAT, "a dinghy", FORM), company]) == ()
    assert contradictions([first, given, forename]) == contradictions([forename, given, first])


def test_what_a_form_does_not_take_is_not_saved() -> None:
    with pytest.raises(AnswerError, match="none of the form's options"):
        save(HEARD, "A dream", FORM)
    with pytest.raises(AnswerError, match="is not a number"):
        save(ask("How many boats?", "number"), "many", FORM)
    with pytest.raises(AnswerError, match="no label"):
        save(ask(None), "x", FORM)
    with pytest.raises(AnswerError, match="company is unknown"):
        save(BOAT, "x", replace(FORM, company=None), Scope.COMPANY)
    with pytest.raises(AnswerError, match="needs its application"):
        save(BOAT, "x", replace(FORM, application=None), Scope.ONCE)
