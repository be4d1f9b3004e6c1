"""Version 2 of the machine: the job is looked at first, a time can be chosen, and an interview is noted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply import deciding, scheduling
from interlock.apps.jobs.autoapply.board import calendar, cards
from interlock.apps.jobs.autoapply.mail import proposals
from interlock.apps.jobs.autoapply.records import artifacts
from interlock.apps.jobs.autoapply.records.numbers import numbers
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.world import World
from interlock.machine import AGENT, Actor
from interlock.store import Store, moment
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.mail.mails import INVITED, mail
from tests.apps.jobs.autoapply.office import ANN, HERE

from .sending import Desk, open_desk

ROBOT = Actor(AGENT, "robot")


@pytest.fixture
def desk(store: Store, world: World) -> Iterator[Desk]:
    with open_desk(store, world, planned=True) as made:
        yield made
        assert broken_laws(made.engine) == []


def hours(desk: Desk, many: float) -> datetime:
    return moment(desk.engine.clock.now()) + timedelta(hours=many)


def schedule(desk: Desk, it: UUID, at: datetime | None, packet: str | None = None, by: Actor = ANN) -> None:
    desk.engine.write(lambda unit: scheduling.schedule(unit, HERE, it, at, by, packet_hash=packet))
    desk.trial.run_until_idle()


def approve_for(desk: Desk, it: UUID, at: datetime) -> None:
    schedule(desk, it, at, desk.trial.data(it)["packet_hash"])


def test_the_job_is_looked_at_before_the_packet_is_made(desk: Desk) -> None:
    it = desk.apply()
    assert desk.trial.path(it) == ["queued", "validating", "preparing", "ready_to_submit", "requires_review"]
    desk.approve(it)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_an_application_for_a_closed_job_is_withdrawn_before_work_is_spent(desk: Desk) -> None:
    desk.world.faults.add("not_found", "/tidewater/jobs/")
    it = desk.apply()
    assert desk.trial.path(it) == ["queued", "validating", "withdrawn"]
    assert desk.row(it).withdraw_reason == "job_closed"
    assert desk.engine.read(lambda conn: artifacts.of(conn, it)) == []


def test_a_site_that_does_not_answer_is_asked_again(desk: Desk) -> None:
    desk.world.faults.add("cut_off", "/tidewater/jobs/")
    it = desk.apply()
    assert (desk.trial.state(it), desk.row(it).attempt_count) == ("failed", 1)
    assert "SiteUnreachable" in str(desk.row(it).last_error)
    desk.world.faults.clear()
    desk.trial.advance(minutes=15)
    assert desk.trial.state(it) == "requires_review"


def test_it_is_sent_at_the_chosen_time_and_not_before(desk: Desk) -> None:
    it = desk.apply()
    at = hours(desk, 20)
    approve_for(desk, it, at)
    assert desk.trial.state(it) == "scheduled"
    assert moment(desk.row(it).scheduled_for or 0) == at
    [event] = desk.engine.read(lambda conn: calendar.events(conn, HERE, desk.engine.clock.now()))
    assert moment(event.at) == at
    desk.trial.advance(hours=19, minutes=59)
    assert (desk.trial.state(it), desk.arrived) == ("scheduled", [])
    desk.trial.advance(minutes=1)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)
    assert desk.trial.path(it)[-4:] == ["requires_review", "scheduled", "ready_to_submit", "submitted"]
    assert desk.row(it).scheduled_for is None


def test_a_chosen_time_is_for_exactly_one_packet(desk: Desk) -> None:
    it = desk.apply()
    for packet in (None, "0" * 64):
        with pytest.raises(NotPossible, match="look at it again"):
            schedule(desk, it, hours(desk, 1), packet)
    for at in (hours(desk, -1), hours(desk, 24 * 366)):
        with pytest.raises(NotPossible, match="choose a later time"):
            approve_for(desk, it, at)
    with pytest.raises(NotPossible, match="only a person"):
        schedule(desk, it, hours(desk, 1), desk.trial.data(it)["packet_hash"], ROBOT)
    assert desk.trial.state(it) == "requires_review"


def test_the_time_is_changed_or_given_up_while_it_waits(desk: Desk) -> None:
    it = desk.apply()
    approve_for(desk, it, hours(desk, 20))
    sooner = hours(desk, 2)
    schedule(desk, it, sooner)
    assert moment(desk.row(it).scheduled_for or 0) == sooner
    desk.trial.advance(hours=1)
    assert desk.trial.state(it) == "scheduled"
    schedule(desk, it, None)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_it_is_paused_and_goes_on_to_its_time(desk: Desk) -> None:
    it = desk.apply()
    approve_for(desk, it, hours(desk, 20))
    assert desk.engine.write(lambda unit: deciding.pause_all(unit, HERE, ANN)).applications == 1
    desk.trial.advance(hours=1)
    desk.engine.write(lambda unit: deciding.resume_all(unit, HERE, ANN))
    desk.trial.run_until_idle()
    assert (desk.trial.state(it), desk.arrived) == ("scheduled", [])
    desk.trial.advance(hours=19)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)


def test_it_is_cancelled_while_it_waits(desk: Desk) -> None:
    it = desk.apply()
    approve_for(desk, it, hours(desk, 20))
    desk.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    desk.trial.advance(hours=21)
    assert (desk.trial.state(it), desk.row(it).withdraw_reason, desk.arrived) == ("withdrawn", "user", [])


def test_a_time_that_is_chosen_early_counts_when_it_is_ready(desk: Desk) -> None:
    queued = desk.take(desk.rule(require_user_approval=False), desk.opening())
    assert queued.application is not None
    it = queued.application.id
    schedule(desk, it, hours(desk, 3))
    assert desk.trial.path(it)[-2:] == ["ready_to_submit", "scheduled"]
    desk.trial.advance(hours=3)
    assert (desk.trial.state(it), len(desk.arrived)) == ("submitted", 1)
    with pytest.raises(NotPossible, match="is submitted"):
        schedule(desk, it, hours(desk, 1))


def test_what_closes_while_it_waits_is_not_sent(desk: Desk) -> None:
    it = desk.apply()
    approve_for(desk, it, hours(desk, 20))
    desk.world.faults.add("not_found", "/tidewater/jobs/")
    desk.trial.advance(hours=20)
    assert (desk.trial.state(it), desk.row(it).withdraw_reason, desk.arrived) == ("withdrawn", "job_closed", [])


def test_it_is_withdrawn_while_a_worker_looks_at_the_job(desk: Desk) -> None:
    it = desk.choose(desk.opening())
    [claim] = desk.trial.claim()
    assert desk.trial.state(it) == "validating"
    desk.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    assert desk.trial.finish(claim, desk.trial.run(claim)) is False
    assert desk.trial.path(it) == ["queued", "validating", "paused", "withdrawn"]


# -- interviews


def invited(desk: Desk, *, by: Actor) -> UUID:
    """An application that was sent, and the employer's mail about an interview, accepted."""
    it = desk.apply()
    desk.approve(it)
    assert desk.trial.state(it) == "submitted"
    found = mail(f"{INVITED} Co booking-backend", at=hours(desk, 1))
    desk.trial.advance(hours=2)
    desk.engine.write(lambda unit: proposals.take(unit, HERE, [found]))
    [said] = desk.engine.read(lambda conn: proposals.page(conn, HERE))
    assert (said.kind, said.application_id) == ("interview", it)
    assert desk.trial.state(it) == "submitted", "what a mail says is proposed, not decided"
    desk.engine.write(lambda unit: proposals.accept(unit, HERE, said.id, str(by)))
    card = desk.engine.read(lambda conn: cards.card_of(conn, HERE, it))
    [*_, last] = desk.engine.read(lambda conn: cards.moves(conn, it))
    assert (card.stage, "bo@kind-boats.example" in last.reason) == ("interview", True)
    return it


def test_a_mail_about_an_interview_that_a_person_accepts_is_noted_in_the_application(desk: Desk) -> None:
    it = invited(desk, by=ANN)
    assert (desk.trial.state(it), desk.row(it).status) == ("interview_requested", "interview_requested")
    assert desk.row(it).sent_at is not None
    found = desk.engine.read(lambda conn: numbers(conn, desk.engine.clock.now(), HERE))
    assert (found.success_rate, found.ended) == (1.0, 1)
    desk.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    assert (desk.trial.state(it), desk.row(it).withdraw_reason) == ("withdrawn", "user")
    assert desk.engine.read(lambda conn: cards.card_of(conn, HERE, it)).ending == "withdrawn"


def test_an_agent_that_accepts_it_moves_only_the_card(desk: Desk) -> None:
    assert desk.trial.state(invited(desk, by=ROBOT)) == "submitted"


def test_version_1_has_neither_times_nor_interviews(store: Store, world: World) -> None:
    with open_desk(store, world) as desk:
        it = invited(desk, by=ANN)
        assert desk.trial.state(it) == "submitted"
        other = desk.apply(desk.opening("customs-fullstack"))
        with pytest.raises(NotPossible, match="without chosen times"):
            approve_for(desk, other, hours(desk, 1))
