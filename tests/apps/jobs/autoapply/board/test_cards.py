"""The board: a submitted application has a card and a follow-up, and every move of it is logged."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.apps.jobs.autoapply.board import cards, dates, entries
from interlock.apps.jobs.autoapply.board.dates import BY_ITSELF, DateKind, WrongDate
from interlock.apps.jobs.autoapply.board.stages import Ending, Stage
from interlock.engine import NotFound
from interlock.engine.retention import erasing
from interlock.store import span
from tests.apps.jobs.autoapply.applicant import HERE, Applicant

from .carded import ANN, card, move, sent


def test_a_submitted_application_gets_a_card_and_a_follow_up_in_a_week(any_applicant: Applicant) -> None:
    it = any_applicant.choose(any_applicant.match())
    assert any_applicant.engine.read(lambda conn: cards.counts(conn, HERE))[Stage.SUBMITTED] == 0
    any_applicant.engine.force(it, "submitted", actor=ANN, reason="sent by hand")
    found = card(any_applicant.engine, it)
    assert (found.stage, found.application.company, found.replied_at) == (Stage.SUBMITTED, "Kind Boats 0", None)
    [date] = any_applicant.engine.read(lambda conn: dates.of(conn, it))
    assert (date.kind, date.made_by, date.at) == (
        DateKind.FOLLOW_UP,
        BY_ITSELF,
        found.opened_at + span(timedelta(days=7)),
    )
    assert found.next_date == date.at


def test_one_that_is_withdrawn_afterwards_is_closed_and_nothing_is_due(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.engine.force(it, "submitted", actor=ANN, reason="sent")
    applicant.engine.fire(it, "withdraw", actor=ANN)
    found = card(applicant.engine, it)
    assert (found.stage, found.ending, found.next_date) == (Stage.CLOSED, Ending.WITHDRAWN, None)


def test_one_that_was_never_submitted_has_no_card(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.engine.fire(it, "withdraw", actor=ANN)
    with pytest.raises(NotFound):
        card(applicant.engine, it)


def test_moves_are_logged_in_their_order(applicant: Applicant) -> None:
    it = sent(applicant.engine)
    move(applicant.engine, it, Stage.SCREENING, reason="a call")
    move(applicant.engine, it, Stage.CLOSED, ending=Ending.REJECTED)
    log = applicant.engine.read(lambda conn: cards.moves(conn, it))
    assert [(one.from_stage, one.to_stage, one.ending, one.reason) for one in log] == [
        (None, Stage.SUBMITTED, None, ""),
        (Stage.SUBMITTED, Stage.SCREENING, None, "a call"),
        (Stage.SCREENING, Stage.CLOSED, Ending.REJECTED, ""),
    ]
    before = len(log)
    move(applicant.engine, it, Stage.CLOSED, ending=Ending.REJECTED)
    assert len(applicant.engine.read(lambda conn: cards.moves(conn, it))) == before


def test_two_people_do_not_move_a_card_at_once(applicant: Applicant) -> None:
    it = sent(applicant.engine)
    move(applicant.engine, it, Stage.OFFER, expected=Stage.SUBMITTED)
    with pytest.raises(cards.NotMoved, match="is in offer and not in submitted"):
        move(applicant.engine, it, Stage.INTERVIEW, expected=Stage.SUBMITTED)
    with pytest.raises(cards.NotMoved, match="only a closed application"):
        move(applicant.engine, it, Stage.INTERVIEW, ending=Ending.REJECTED)


def test_a_reply_ends_the_follow_up_that_came_by_itself_but_no_other(applicant: Applicant) -> None:
    it = sent(applicant.engine)
    row = card(applicant.engine, it).application
    later = applicant.engine.clock.now() + span(timedelta(days=2))
    applicant.engine.write(lambda unit: dates.add(unit, row, DateKind.FOLLOW_UP, "Call Bo", later, "ann"))
    move(applicant.engine, it, Stage.SCREENING)
    left = [one for one in applicant.engine.read(lambda conn: dates.of(conn, it)) if one.done_at is None]
    assert [one.what for one in left] == ["Call Bo"]
    assert card(applicant.engine, it).replied_at is not None
    move(applicant.engine, it, Stage.CLOSED, ending=Ending.NO_ANSWER)
    assert applicant.engine.read(lambda conn: dates.due(conn, HERE, later * 2)) == []


def test_dates_are_due_put_off_and_done(applicant: Applicant) -> None:
    it = sent(applicant.engine, days=3)
    now = applicant.engine.clock.now()
    assert applicant.engine.read(lambda conn: dates.due(conn, HERE, now)) == []
    [found] = applicant.engine.read(lambda conn: dates.due(conn, HERE, now + span(timedelta(days=3))))
    later = now + span(timedelta(days=9))
    applicant.engine.write(lambda unit: dates.put_off(unit, HERE, it, found.id, later))
    assert card(applicant.engine, it).next_date == later
    done = applicant.engine.write(lambda unit: dates.finish(unit, HERE, it, found.id, "ann"))
    assert (done.done_by, card(applicant.engine, it).next_date) == ("ann", None)
    row = card(applicant.engine, it).application
    with pytest.raises(WrongDate, match="ends before"):
        applicant.engine.write(lambda unit: dates.add(unit, row, DateKind.OTHER, "x", later, "ann", until=now))


def test_notes_and_contacts_are_of_their_application(applicant: Applicant) -> None:
    it, other = sent(applicant.engine), sent(applicant.engine, "Baker")
    row = card(applicant.engine, it).application
    note = applicant.engine.write(lambda unit: entries.add_note(unit, row, "Nice people", "ann"))
    applicant.engine.write(lambda unit: entries.add_contact(unit, row, "Bo", "ann", email="bo@kind.example"))
    assert [one.text for one in applicant.engine.read(lambda conn: entries.notes(conn, it))] == ["Nice people"]
    assert card(applicant.engine, it).notes == 1
    assert applicant.engine.read(lambda conn: entries.contacts(conn, it))[0].email == "bo@kind.example"
    assert applicant.engine.read(lambda conn: entries.notes(conn, other)) == []
    for place, application in ((HERE, other), ("elsewhere", it)):
        with pytest.raises(NotFound):
            applicant.engine.write(
                lambda unit, place=place, application=application: entries.remove_note(unit, place, application, note)
            )
    applicant.engine.write(lambda unit: entries.remove_note(unit, HERE, it, note))
    assert applicant.engine.read(lambda conn: entries.notes(conn, it)) == []


def test_pages_go_from_the_last_moved_to_the_first(any_applicant: Applicant) -> None:
    made = []
    for number in range(5):
        made.append(sent(any_applicant.engine, f"Cook {number}"))
        any_applicant.trial.clock.advance(timedelta(minutes=1))
    move(any_applicant.engine, made[0], Stage.OFFER)
    seen, before = [], None
    while True:
        found = any_applicant.engine.read(lambda conn, before=before: cards.page(conn, HERE, before=before, limit=2))
        if not found:
            break
        seen += [one.application.id for one in found]
        before = (found[-1].moved_at, found[-1].application.id)
    assert seen == [made[0], *reversed(made[1:])]
    offers = any_applicant.engine.read(lambda conn: cards.page(conn, HERE, stages=[Stage.OFFER]))
    assert [one.application.title for one in offers] == ["Cook 0"]
    assert len(any_applicant.engine.read(lambda conn: cards.page(conn, HERE, q="kind COOK 3"))) == 1
    assert any_applicant.engine.read(lambda conn: cards.page(conn, "elsewhere")) == []


def test_what_is_erased_is_gone_from_the_board(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.engine.force(it, "submitted", actor=ANN, reason="sent")
    row = card(applicant.engine, it).application
    applicant.engine.write(lambda unit: entries.add_note(unit, row, "secret", "ann"))
    applicant.engine.fire(it, "withdraw", actor=ANN)
    applicant.engine.write(lambda unit: erasing.erase(unit, it, ANN, "asked to"))
    with pytest.raises(NotFound):
        card(applicant.engine, it)
    assert applicant.engine.read(lambda conn: entries.notes(conn, it)) == []
