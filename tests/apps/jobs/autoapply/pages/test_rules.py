"""Rules: the list, the editor with its preview, and what a rule decided."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.records import rules
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from tests.apps.jobs.autoapply.applicant import HERE
from tests.apps.jobs.autoapply.pages.conftest import PageApplicant
from tests.support.site import EVIL

RULES = "/ui/jobs/apply-rules"
NEW = f"{RULES}/new"
EMPTY = {
    "min_skills": "1",
    "max_applications_per_week": "70",
    "salary_period": "year",
    "take_unknown": "yes",
    "require_user_approval": "yes",
}
"""The fields of the form that an empty rule has."""


def send(applicant: PageApplicant, page: str, do: str, who: str = "owner", **fields: Any) -> Any:
    return applicant.site.send(page, page, {**EMPTY, **seen(applicant, page), **fields, "do": do}, who)


def seen(applicant: PageApplicant, page: str) -> dict[str, str]:
    """Which version of the rule the page shows."""
    return dict(re.findall(r'name="(seen)" value="(\d+)"', applicant.site.get(page).text))


def stored(applicant: PageApplicant) -> list[RuleRow]:
    return applicant.engine.read(lambda conn: rules.of(conn, HERE))


def test_the_editor_shows_at_once_what_a_rule_takes_and_why_not_the_others(applicant: PageApplicant) -> None:
    applicant.match(1, title="Senior Backend Engineer")
    applicant.match(2, title="Senior Python Engineer")
    text = unescape(applicant.site.get(NEW).text)
    assert "It would select 2 of 2 stored matches." in text
    text = unescape(send(applicant, NEW, "preview", titles="Python Engineer").text)
    assert "It would select 1 of 2 stored matches." in text
    taken = text[text.index("Selected") : text.index("Why the others are excluded")]
    assert "Kind Boats 2" in taken
    assert "Kind Boats 1" not in taken
    out = text[text.index("Not selected") :]
    assert "the title 'Senior Backend Engineer' fits none of the rule's" in out
    assert "another title" in text
    assert stored(applicant) == [], "a preview stores nothing"


def test_a_rule_is_stored_with_everything_that_its_form_has(applicant: PageApplicant) -> None:
    given = {
        "name": "remote Python",
        "titles": "Backend Engineer\r\nPython Engineer",
        "skills": "Python",
        "locations": "remote\n",
        "excluded_companies": "Grim Corp",
        "min_score": "75",
        "salary_min": "120,000",
        "salary_currency": "usd",
        "active_days": ["monday", "friday"],
        "max_applications_per_week": "14",
        "paused": "yes",
    }
    answer = send(applicant, NEW, "save", **given)
    assert answer.status_code == 200
    [row] = stored(applicant)
    assert rules.plain(row.rule) == {
        "name": "remote Python",
        "titles": ["Backend Engineer", "Python Engineer"],
        "skills": ["Python"],
        "min_skills": 1,
        "companies": [],
        "excluded_companies": ["Grim Corp"],
        "keywords": [],
        "excluded_keywords": [],
        "locations": ["remote"],
        "sources": [],
        "min_score": 75,
        "salary": {"min": 120000.0, "currency": "USD", "period": "year"},
        "active_days": ["monday", "friday"],
        "take_unknown": True,
        "require_user_approval": True,
        "max_applications_per_week": 14,
        "paused": True,
    }
    page = f"{RULES}/{row.id}"
    again = send(applicant, page, "save", **given)
    assert rules.plain(stored(applicant)[0].rule) == rules.plain(row.rule), unescape(again.text)
    listed = unescape(applicant.site.get(RULES).text)
    assert "from 120,000 USD a year" in listed
    assert "asks you first" in listed


def test_a_rule_that_cannot_be_used_names_every_problem_and_keeps_what_was_typed(applicant: PageApplicant) -> None:
    answer = send(applicant, NEW, "save", name="", min_skills="0", min_score="900", titles=f"Cook {EVIL}")
    assert answer.status_code == 422
    text = unescape(answer.text)
    assert "Nothing was saved." in text
    for problem in ("name:", "min_skills:", "min_score:"):
        assert problem in text
    assert "Cook <script>" in text
    assert "<img src=x" not in answer.text
    assert stored(applicant) == []


def test_a_rule_that_was_changed_meanwhile_is_not_overwritten(applicant: PageApplicant) -> None:
    row = applicant.rule(name="mine")
    page = f"{RULES}/{row.id}"
    form = {**applicant.site.form(page, page), **seen(applicant, page), **EMPTY, "name": "older", "do": "save"}
    applicant.trial.advance(minutes=1)
    assert send(applicant, page, "save", name="newer").status_code == 200
    refused = applicant.site.browser().post(page, data=form)
    assert refused.status_code == 409
    assert [one.name for one in stored(applicant)] == ["newer"]


def test_a_rule_is_paused_with_its_applications_resumed_and_deleted(applicant: PageApplicant) -> None:
    row = applicant.rule(name="mine")
    taken = applicant.take(row, applicant.match())
    assert taken.application is not None
    page = f"{RULES}/{row.id}"
    said = unescape(send(applicant, page, "pause").text)
    assert "Paused: mine, with 1 application." in said
    assert (stored(applicant)[0].paused, applicant.row(taken.application.id).status) == (True, "paused")
    send(applicant, page, "resume")
    assert (stored(applicant)[0].paused, applicant.row(taken.application.id).status) == (False, "queued")
    assert send(applicant, page, "delete").status_code == 200
    assert stored(applicant) == []
    assert applicant.site.get(page).status_code == 404


def test_what_a_rule_decided_is_shown_with_every_check(applicant: PageApplicant) -> None:
    row = applicant.rule(name="picky", skills=["Haskell"], titles=["Backend Engineer"])
    applicant.take(row, applicant.match(1))
    applicant.take(row, applicant.match(2))
    page = f"{RULES}/{row.id}"
    text = unescape(applicant.site.get(page).text)
    decided = text[text.index("<h2>Decisions</h2>") :]
    assert "names none of the rule's skills; 1 needed" in decided
    assert "the title fits 'Backend Engineer'" in decided
    assert "too few of the skills 2" in decided
    assert "No decisions match." in applicant.site.get(f"{page}?decided=taken").text
    assert "Kind Boats 2" in applicant.site.get(f"{page}?decided=skills").text


@pytest.mark.parametrize("do", ["save", "preview", "pause", "delete"])
def test_a_viewer_sees_rules_and_changes_none(applicant: PageApplicant, do: str) -> None:
    row = applicant.rule(name="mine")
    page = f"{RULES}/{row.id}"
    text = applicant.site.get(page, "viewer").text
    assert "mine" in text
    assert 'name="do"' not in text
    assert applicant.forged(page, "viewer", do=do, seen=str(row.changed_at), name="theirs", **EMPTY).status_code == 403
    assert applicant.forged(NEW, "viewer", do=do, name="theirs", workspace=HERE, **EMPTY).status_code == 403
    assert [one.name for one in stored(applicant)] == ["mine"]
    assert not stored(applicant)[0].paused


def test_a_rule_does_not_exist_for_another_workspace(applicant: PageApplicant) -> None:
    row = applicant.rule(name="mine")
    page = f"{RULES}/{row.id}"
    assert applicant.site.get(page, "north-owner").status_code == 404
    assert applicant.forged(page, "north-owner", do="delete").status_code == 404
    assert "mine" not in applicant.site.get(RULES, "north-owner").text
    assert stored(applicant) == [row]
