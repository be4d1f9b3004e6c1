"""Version 2 of the machine: the job is looked at first, a time can be chosen, and an interview is noted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from interlock.apps.jobs.autoapply.board import calendar, cards
from interlock.apps.jobs.autoapply.mail import proposals
from interlock.apps.jobs.autoapply.records import artifacts
from interlock.apps.jobs.autoapply.records.numbers import numbers
from interlock.apps.jobs.autoapply.review import deciding, scheduling
from interlock.apps.jobs.finder.intake import NotPossible
from interlock.apps.jobs.world import World
from interlock.machine import AGENT, Actor
from interlock.store import Store, moment
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.applicant import ANN, HERE
from tests.apps.jobs.autoapply.mail.mails import INVITED, mail

from .sending import WorldApplicant, open_world_applicant

pytestmark = pytest.mark.soak("postgresql")

ROBOT = Actor(AGENT, "robot")


@pytest.fixture
def applicant(store: Store, world: World) -> Iterator[WorldApplicant]:
    with open_world_applicant(store, world, planned=True) as made:
        yield made
        assert broken_laws(made.engine) == []


def hours(applicant: WorldApplicant, many: float) -> datetime:
    return moment(applicant.engine.clock.now()) + timedelta(hours=many)


def schedule(
    applicant: WorldApplicant, it: UUID, at: datetime | None, packet: str | None = None, by: Actor = ANN
) -> None:
    applicant.engine.write(lambda unit: scheduling.schedule(unit, HERE, it, at, by, packet_hash=packet))
    applicant.trial.run_until_idle()


def approve_for(applicant: WorldApplicant, it: UUID, at: datetime) -> None:
    schedule(applicant, it, at, applicant.trial.data(it)["packet_hash"])


def test_the_job_is_looked_at_before_the_packet_is_made(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    assert applicant.trial.path(it) == ["queued", "validating", "preparing", "ready_to_submit", "requires_review"]
    applicant.approve(it)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_an_application_for_a_closed_job_is_withdrawn_before_work_is_spent(applicant: WorldApplicant) -> None:
    applicant.world.faults.add("not_found", "/tidewater/jobs/")
    it = applicant.apply()
    assert applicant.trial.path(it) == ["queued", "validating", "withdrawn"]
    assert applicant.row(it).withdraw_reason == "job_closed"
    assert applicant.engine.read(lambda conn: artifacts.of(conn, it)) == []


def test_a_site_that_does_not_answer_is_asked_again(applicant: WorldApplicant) -> None:
    applicant.world.faults.add("cut_off", "/tidewater/jobs/")
    it = applicant.apply()
    assert (applicant.trial.state(it), applicant.row(it).attempt_count) == ("failed", 1)
    assert "SiteUnreachable" in str(applicant.row(it).last_error)
    applicant.world.faults.clear()
    applicant.trial.advance(minutes=15)
    assert applicant.trial.state(it) == "requires_review"


def test_it_is_sent_at_the_chosen_time_and_not_before(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    at = hours(applicant, 20)
    approve_for(applicant, it, at)
    assert applicant.trial.state(it) == "scheduled"
    assert moment(applicant.row(it).scheduled_for or 0) == at
    [event] = applicant.engine.read(lambda conn: calendar.events(conn, HERE, applicant.engine.clock.now()))
    assert moment(event.start) == at
    applicant.trial.advance(hours=19, minutes=59)
    assert (applicant.trial.state(it), applicant.arrived) == ("scheduled", [])
    applicant.trial.advance(minutes=1)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)
    assert applicant.trial.path(it)[-4:] == ["requires_review", "scheduled", "ready_to_submit", "submitted"]
    assert applicant.row(it).scheduled_for is None


def test_a_chosen_time_is_for_exactly_one_packet(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    for packet in (None, "0" * 64):
        with pytest.raises(NotPossible, match="look at it again"):
            schedule(applicant, it, hours(applicant, 1), packet)
    for at in (hours(applicant, -1), hours(applicant, 24 * 366)):
        with pytest.raises(NotPossible, match="choose a later time"):
            approve_for(applicant, it, at)
    with pytest.raises(NotPossible, match="only a person"):
        schedule(applicant, it, hours(applicant, 1), applicant.trial.data(it)["packet_hash"], ROBOT)
    assert applicant.trial.state(it) == "requires_review"


def test_the_time_is_changed_or_given_up_while_it_waits(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    approve_for(applicant, it, hours(applicant, 20))
    sooner = hours(applicant, 2)
    schedule(applicant, it, sooner)
    assert moment(applicant.row(it).scheduled_for or 0) == sooner
    applicant.trial.advance(hours=1)
    assert applicant.trial.state(it) == "scheduled"
    schedule(applicant, it, None)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_it_is_paused_and_goes_on_to_its_time(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    approve_for(applicant, it, hours(applicant, 20))
    assert applicant.engine.write(lambda unit: deciding.pause_all(unit, HERE, ANN)).applications == 1
    applicant.trial.advance(hours=1)
    applicant.engine.write(lambda unit: deciding.resume_all(unit, HERE, ANN))
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), applicant.arrived) == ("scheduled", [])
    applicant.trial.advance(hours=19)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)


def test_it_is_cancelled_while_it_waits(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    approve_for(applicant, it, hours(applicant, 20))
    applicant.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    applicant.trial.advance(hours=21)
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason, applicant.arrived) == (
        "withdrawn",
        "user",
        [],
    )


def test_a_time_that_is_chosen_early_counts_when_it_is_ready(applicant: WorldApplicant) -> None:
    queued = applicant.take(applicant.rule(require_user_approval=False), applicant.opening())
    assert queued.application is not None
    it = queued.application.id
    schedule(applicant, it, hours(applicant, 3))
    assert applicant.trial.path(it)[-2:] == ["ready_to_submit", "scheduled"]
    applicant.trial.advance(hours=3)
    assert (applicant.trial.state(it), len(applicant.arrived)) == ("submitted", 1)
    with pytest.raises(NotPossible, match="is submitted"):
        schedule(applicant, it, hours(applicant, 1))


def test_what_closes_while_it_waits_is_not_sent(applicant: WorldApplicant) -> None:
    it = applicant.apply()
    approve_for(applicant, it, hours(applicant, 20))
    applicant.world.faults.add("not_found", "/tidewater/jobs/")
    applicant.trial.advance(hours=20)
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason, applicant.arrived) == (
        "withdrawn",
        "job_closed",
        [],
    )


def test_it_is_withdrawn_while_a_worker_looks_at_the_job(applicant: WorldApplicant) -> None:
    it = applicant.choose(applicant.opening())
    [claim] = applicant.trial.claim()
    assert applicant.trial.state(it) == "validating"
    applicant.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    assert applicant.trial.finish(claim, applicant.trial.run(claim)) is False
    assert applicant.trial.path(it) == ["queued", "validating", "paused", "withdrawn"]


# -- interviews


def invited(applicant: WorldApplicant, *, by: Actor) -> UUID:
    """An application that was sent, and the employer's mail about an interview, accepted."""
    it = applicant.apply()
    applicant.approve(it)
    assert applicant.trial.state(it) == "submitted"
    found = mail(f"{INVITED} Co booking-backend", at=hours(applicant, 1))
    applicant.trial.advance(hours=2)
    applicant.engine.write(lambda unit: proposals.take(unit, HERE, [found]))
    [said] = applicant.engine.read(lambda conn: proposals.page(conn, HERE))
    assert (said.kind, said.application_id) == ("interview", it)
    assert applicant.trial.state(it) == "submitted", "what a mail says is proposed, not decided"
    applicant.engine.write(lambda unit: proposals.accept(unit, HERE, said.id, str(by)))
    card = applicant.engine.read(lambda conn: cards.card_of(conn, HERE, it))
    [*_, last] = applicant.engine.read(lambda conn: cards.moves(conn, it))
    assert (card.stage, "bo@kind-boats.example" in last.reason) == ("interview", True)
    return it


def test_a_mail_about_an_interview_that_a_person_accepts_is_noted_in_the_application(applicant: WorldApplicant) -> None:
    it = invited(applicant, by=ANN)
    assert (applicant.trial.state(it), applicant.row(it).status) == ("interview_requested", "interview_requested")
    assert applicant.row(it).sent_at is not None
    found = applicant.engine.read(lambda conn: numbers(conn, applicant.engine.clock.now(), HERE))
    assert (found.success_rate, found.ended) == (1.0, 1)
    applicant.engine.write(lambda unit: deciding.withdraw(unit, HERE, it, ANN))
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "user")
    assert applicant.engine.read(lambda conn: cards.card_of(conn, HERE, it)).ending == "withdrawn"


def test_an_agent_that_accepts_it_moves_only_the_card(applicant: WorldApplicant) -> None:
    assert applicant.trial.state(invited(applicant, by=ROBOT)) == "submitted"


def test_version_1_has_neither_times_nor_interviews(store: Store, world: World) -> None:
    with open_world_applicant(store, world) as applicant:
        it = invited(applicant, by=ANN)
        assert applicant.trial.state(it) == "submitted"
        other = applicant.apply(applicant.opening("customs-fullstack"))
        with pytest.raises(NotPossible, match="without chosen times"):
            approve_for(applicant, other, hours(applicant, 1))
