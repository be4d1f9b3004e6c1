"""The board and the calendar: cards are moved, and have notes, contacts, dates, and what mail proposes."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.board import calendar, cards, dates, entries
from interlock.apps.jobs.autoapply.board.cards import Card
from interlock.apps.jobs.autoapply.mail import proposals
from interlock.store import moment
from tests.apps.jobs.autoapply.applicant import HERE
from tests.apps.jobs.autoapply.mail.mails import INVITED, REJECTED, mail
from tests.apps.jobs.autoapply.pages.conftest import PageApplicant
from tests.support.site import EVIL

BOARD, CALENDAR = "/ui/jobs/board", "/ui/jobs/calendar"


def sent(applicant: PageApplicant, number: int = 0, **said: Any) -> UUID:
    """An application that its person has submitted."""
    it = applicant.by_hand(number, **said)
    applicant.act(it, "submitted", proof="https://kind.example/thanks")
    return it


def card_of(applicant: PageApplicant, it: UUID) -> Card:
    return applicant.engine.read(lambda conn: cards.card_of(conn, HERE, it))


def send(applicant: PageApplicant, it: UUID, do: str, who: str = "owner", **fields: Any) -> Any:
    page = f"{BOARD}/{it}"
    return applicant.site.send(page, page, {"do": do, **fields}, who)


def test_a_card_is_moved_with_a_reason_and_the_move_is_kept(applicant: PageApplicant) -> None:
    it = sent(applicant)
    assert "Kind Boats 0" in applicant.site.get(BOARD).text
    assert send(applicant, it, "move", stage="interview", reason="they called").status_code == 200
    assert card_of(applicant, it).stage == "interview"
    text = unescape(applicant.site.get(f"{BOARD}/{it}").text)
    assert "they called" in text[text.index("Moves") :]
    late = send(applicant, it, "move", stage="offer", expected="submitted")
    assert late.status_code == 409
    assert "look at it again" in unescape(late.text)
    send(applicant, it, "move", stage="closed", ending="rejected", expected="interview")
    assert (card_of(applicant, it).stage, card_of(applicant, it).ending) == ("closed", "rejected")
    assert send(applicant, it, "move", stage="lost").status_code == 422


def test_notes_and_contacts_are_kept_and_removed(applicant: PageApplicant) -> None:
    it = sent(applicant)
    send(applicant, it, "note", text="They answer in a week.\r\nAsk for Ines.")
    send(applicant, it, "contact", name="Ines Hart", role="Recruiter", email="ines@kind.example")
    text = unescape(applicant.site.get(f"{BOARD}/{it}").text)
    assert "They answer in a week.\nAsk for Ines." in text
    assert "ines@kind.example" in text
    assert send(applicant, it, "note", text="  ").status_code == 422
    [note] = applicant.engine.read(lambda conn: entries.notes(conn, it))
    [contact] = applicant.engine.read(lambda conn: entries.contacts(conn, it))
    send(applicant, it, "remove_note", note=str(note.id))
    send(applicant, it, "remove_contact", contact=str(contact.id))
    assert applicant.engine.read(lambda conn: (entries.notes(conn, it), entries.contacts(conn, it))) == ([], [])


def test_a_date_is_in_the_zone_of_the_person_and_goes_into_their_calendar(applicant: PageApplicant) -> None:
    it = sent(applicant)
    send(applicant, it, "date", kind="interview", what="First interview", at="2026-05-22T09:30", where="Video")
    made = next(one for one in applicant.engine.read(lambda conn: dates.of(conn, it)) if one.kind == "interview")
    assert f"{moment(made.at):%Y-%m-%d %H:%M}" == "2026-05-22 16:30", "09:30 in Los Angeles"
    assert "2026-05-22 09:30 PDT" in applicant.site.get(f"{BOARD}/{it}").text
    file = applicant.site.get(f"{BOARD}/{it}/dates/{made.id}.ics")
    assert "DTSTART:20260522T163000Z" in file.text
    assert file.headers["content-type"].startswith("text/calendar")
    assert "First interview" in applicant.site.get(f"{CALENDAR}?days=7").text
    assert "DTSTART:20260522T163000Z" in applicant.site.get(f"{CALENDAR}.ics").text
    send(applicant, it, "put_off", date=str(made.id), at="2026-05-25T09:30")
    assert "2026-05-25 09:30 PDT" in applicant.site.get(f"{BOARD}/{it}").text
    send(applicant, it, "done", date=str(made.id))
    assert "First interview" not in applicant.site.get(f"{CALENDAR}?days=365").text
    assert send(applicant, it, "date", kind="interview", at="tomorrow").status_code == 422
    assert send(applicant, it, "date", kind="interview", at="9999-12-31T23:59").status_code == 422


def test_a_follow_up_is_due_after_a_week_on_the_page_of_the_day(applicant: PageApplicant) -> None:
    sent(applicant)
    assert dates.FOLLOW_UP not in applicant.site.get("/ui/jobs").text
    applicant.trial.advance(days=8)
    assert dates.FOLLOW_UP in applicant.site.get("/ui/jobs").text
    text = applicant.site.get(CALENDAR).text
    assert text.index(">Due<") < text.index(dates.FOLLOW_UP)


def test_the_secret_address_is_shown_once_and_works_until_it_is_closed(applicant: PageApplicant) -> None:
    sent(applicant)
    made = applicant.site.send(CALENDAR, CALENDAR, {"do": "make"})
    [path] = re.findall(r"/api/auto-apply/calendar/[\w-]{43}\.ics", made.text)
    assert "BEGIN:VCALENDAR" in applicant.site.browser("north-owner").get(path).text
    again = applicant.site.get(CALENDAR).text
    assert path not in again
    assert "it is not shown again" in again
    applicant.site.send(CALENDAR, CALENDAR, {"do": "remove"})
    assert applicant.site.browser().get(path).status_code == 404


def test_what_mail_says_is_agreed_to_or_dismissed(applicant: PageApplicant) -> None:
    it = sent(applicant, company="Kind Boats")
    at = moment(applicant.engine.clock.now()) + timedelta(hours=1)
    mails = [
        mail(text, subject="Your application at Kind Boats", ident=f"<{n}@kind.example>", at=at)
        for n, text in enumerate((INVITED, REJECTED))
    ]
    applicant.engine.write(lambda unit: proposals.take(unit, HERE, mails))
    found = {one.kind.value: one for one in applicant.engine.read(lambda conn: proposals.page(conn, HERE))}
    assert sorted(found) == ["interview", "rejection"], found
    rejection, interview = found["rejection"], found["interview"]
    text = unescape(applicant.site.get(BOARD).text)
    assert "invite you to an interview" in text
    assert "it would move to <b>closed, rejected</b>" in text
    assert card_of(applicant, it).stage == "submitted", "nothing follows by itself"
    for do, one in (("dismiss", rejection), ("accept", interview)):
        said = applicant.forged(BOARD, "owner", do=do, proposal=str(one.id), workspace=HERE, back=BOARD, key=do)
        assert said.status_code == 200
    assert card_of(applicant, it).stage == "interview"
    assert "From your mail" not in applicant.site.get(BOARD).text
    assert "dismissed by" in applicant.site.get(f"{BOARD}/{it}").text


def test_a_viewer_reads_the_board_and_changes_nothing(applicant: PageApplicant) -> None:
    it = sent(applicant)
    for page in (BOARD, f"{BOARD}/{it}", CALENDAR):
        text = applicant.site.get(page, "viewer").text
        assert "Kind Boats 0" in text or page == CALENDAR
        assert 'name="do"' not in text
    assert applicant.forged(f"{BOARD}/{it}", "viewer", do="move", stage="offer").status_code == 403
    assert applicant.forged(BOARD, "viewer", do="accept", proposal=str(it), workspace=HERE).status_code == 403
    for do in ("make", "remove"):
        assert applicant.forged(CALENDAR, "viewer", do=do, workspace=HERE).status_code == 403
    assert card_of(applicant, it).stage == "submitted"
    assert applicant.engine.read(lambda conn: calendar.feed_since(conn, HERE)) is None


def test_a_card_does_not_exist_for_another_workspace(applicant: PageApplicant) -> None:
    it = sent(applicant)
    date = applicant.engine.read(lambda conn: dates.of(conn, it))[0].id
    assert "Kind Boats 0" not in applicant.site.get(BOARD, "north-owner").text
    for page in (f"{BOARD}/{it}", f"{BOARD}/{it}/dates/{date}.ics"):
        assert applicant.site.get(page, "north-owner").status_code == 404
    assert applicant.forged(f"{BOARD}/{it}", "north-owner", do="move", stage="offer").status_code == 404
    assert card_of(applicant, it).stage == "submitted"


@pytest.mark.parametrize("field", ["note", "contact", "date", "move"])
def test_script_in_what_people_write_stays_text(applicant: PageApplicant, field: str) -> None:
    it = sent(applicant, title=f"Senior Backend Engineer {EVIL}")
    at = f"{moment(applicant.engine.clock.now()) + timedelta(days=1):%Y-%m-%dT%H:%M}"
    given = {"text": EVIL, "name": EVIL, "role": EVIL, "what": EVIL, "where": EVIL, "at": at, "kind": "other"}
    assert send(applicant, it, field, stage="screening", reason=EVIL, **given).status_code == 200
    for page in (BOARD, f"{BOARD}/{it}", CALENDAR):
        text = applicant.site.get(page).text
        assert "alert(1)</script>" not in text
        assert "<img src=x" not in text
