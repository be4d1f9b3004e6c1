"""An imported application keeps anybody from applying again, and the same file again imports nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.board import cards, entries
from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.autoapply.exchange import importing
from interlock.apps.jobs.autoapply.exchange.importing import Plan
from interlock.apps.jobs.autoapply.exchange.reading_csv import read_past
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.store import moment
from tests.apps.jobs.autoapply.applicant import HERE, Applicant, blocked

HEAD = "company,title,url,date,status,notes\n"


def bring(applicant: Applicant, *rows: str) -> tuple[Plan, list[UUID]]:
    now = moment(applicant.engine.clock.now())
    understood = read_past((HEAD + "\n".join(rows)).encode(), now)
    return applicant.engine.write(lambda unit: importing.carry_out(unit, HERE, understood, "ann"))


def long_ago(applicant: Applicant) -> str:
    return f"{datetime.fromtimestamp(applicant.engine.clock.now() / 1e6, UTC).year - 1}-03-01"


def test_the_address_of_an_imported_application_is_never_queued_again(applicant: Applicant) -> None:
    match = applicant.match(3, company="Other Name", title="Backend Engineer")
    bring(applicant, f"Kind Boats,Something else,https://jobs.kind3.example/3?utm_source=x,{long_ago(applicant)},,")
    taken = applicant.take(applicant.rule(), match)
    assert blocked(taken) == ["already_applied"]
    with pytest.raises(NotPossible, match="applied for it already"):
        applicant.choose(match)
    assert applicant.choose(match, again="they asked me to") is not None


def test_its_role_at_its_company_is_known_at_other_addresses(applicant: Applicant) -> None:
    match = applicant.match(4, title="Senior Backend Engineer")
    bring(applicant, f"Kind Boats 4 GmbH,Backend Engineer (Senior),https://elsewhere.example/x,{long_ago(applicant)},,")
    taken = applicant.take(applicant.rule(), match)
    assert blocked(taken) == ["already_applied"]
    with pytest.raises(NotPossible, match="as was imported"):
        applicant.choose(match)


def test_another_role_or_company_is_not_blocked(applicant: Applicant) -> None:
    match = applicant.match(5, title="Senior Backend Engineer")
    day = long_ago(applicant)
    bring(applicant, f"Kind Boats 5,Gardener,,{day},,", f"Grim Corp,Senior Backend Engineer,,{day},,")
    assert blocked(applicant.take(applicant.rule(), match)) == []


def test_a_fresh_one_counts_for_the_cool_down(applicant: Applicant) -> None:
    match = applicant.match(6, title="Senior Backend Engineer")
    today = f"{moment(applicant.engine.clock.now()):%Y-%m-%d}"
    bring(applicant, f"Kind Boats 6,Gardener,,{today},,")
    assert blocked(applicant.take(applicant.rule(), match)) == ["company_cooldown"]


def test_it_is_on_the_board_with_its_notes(applicant: Applicant) -> None:
    _, [it] = bring(applicant, f"Kind Boats,Cook,,{long_ago(applicant)},Interview,good talk")
    found = applicant.engine.read(lambda conn: cards.card_of(conn, HERE, it))
    assert (found.stage, found.application.origin, found.application.instance_id) == (Stage.INTERVIEW, "import", None)
    assert found.next_date is None
    assert [one.text for one in applicant.engine.read(lambda conn: entries.notes(conn, it))] == ["good talk"]


def test_the_same_file_again_imports_nothing(applicant: Applicant) -> None:
    day = long_ago(applicant)
    rows = (
        f"Kind Boats,Cook,https://kind.example/1,{day},,",
        f"Kind Boats,Cook,https://kind.example/1#top,{day},,",
        f"Grim Corp,Baker,,{day},,",
        f"Grim Corp,Baker,,{day},,",
        ",Nobody,,x,,",
    )
    plan, made = bring(applicant, *rows)
    assert (len(made), len(plan.known), [one.application for one in plan.known], len(plan.bad)) == (
        2,
        2,
        [None, None],
        1,
    )
    plan, again = bring(applicant, *rows)
    assert again == []
    assert {one.application for one in plan.known} == set(made)


def test_an_application_of_our_own_is_known(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match(7))
    applicant.engine.force(it, "submitted", actor=_owner(), reason="sent")
    today = f"{moment(applicant.engine.clock.now()):%Y-%m-%d}"
    plan, made = bring(applicant, f"Kind Boats 7,x,https://jobs.kind7.example/7,{today},,")
    assert (made, plan.known[0].application) == ([], it)


def _owner() -> Any:
    from interlock.machine import OWNER, Actor

    return Actor(OWNER, "ann")
