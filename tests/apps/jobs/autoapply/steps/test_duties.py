"""What the clock starts: rules that decide, sweeps of what was missed, claims that are kept, and nudges."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.jobs.autoapply.errors import SiteUnreachable
from interlock.apps.jobs.autoapply.exchange.deleting import delete_all
from interlock.apps.jobs.autoapply.records import applications, decisions, logs, seekers
from interlock.apps.jobs.autoapply.review import deciding
from interlock.apps.jobs.autoapply.steps import duties
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.engine import LeaseTaken, leases
from interlock.machine import OWNER, Actor, Fail
from interlock.store.tables import instance
from tests.apps.jobs.autoapply.applicant import ANN, HERE, Applicant
from tests.apps.jobs.finder.seekers import PROFILE


def test_the_matcher_queues_what_rules_take_the_best_first(applicant: Applicant) -> None:
    rule = applicant.rule(max_applications_per_week=14)
    found = [applicant.match(number) for number in range(4)]
    for number, one in enumerate(found):
        applicant.finder.set(one, score=80 + number)
    assert duties.match_rules(applicant.engine) is False
    assert [one.posting_id for one in applicant.rows()] == [found[2], found[3]]
    page = applicant.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id))
    assert sorted(one.taken for one in page) == [False, False, True, True]
    duties.match_rules(applicant.engine)
    assert len(applicant.rows()) == 2


def test_what_is_stopped_or_paused_queues_nothing(applicant: Applicant) -> None:
    applicant.match()
    applicant.rule(paused=True)
    applicant.rule(name="other")
    applicant.engine.write(lambda unit: seekers.stop(unit, HERE, "ann"))
    duties.match_rules(applicant.engine)
    assert applicant.rows() == []
    applicant.engine.write(lambda unit: seekers.start(unit, HERE))
    duties.match_rules(applicant.engine)
    assert len(applicant.rows()) == 1


def test_a_posting_that_cannot_be_read_delays_no_other(applicant: Applicant, caplog: pytest.LogCaptureFixture) -> None:
    broken, good = applicant.match(), applicant.match(1)
    rule = applicant.rule()
    applicant.finder.set(broken, score=100, posting="{")
    applicant.finder.set(good, score=90)
    duties.match_rules(applicant.engine)
    assert [one.posting_id for one in applicant.rows()] == [good]
    [row] = applicant.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id, taken=False))
    assert (row.posting_id, row.blocked_by) == (broken, "unreadable")
    assert "cannot decide about posting" in caplog.text


def test_a_match_that_a_new_profile_brings_and_one_that_is_unfiltered_become_candidates(applicant: Applicant) -> None:
    """The finder makes both matches; rules see every match, however it came about."""
    applicant.finder.posting(title="Senior Backend Engineer", description="PHP " * 50)
    filtered = applicant.finder.settled("https://grim.example/1", company="Grim Corp")
    applicant.rule()
    duties.match_rules(applicant.engine)
    assert applicant.rows() == []
    kinder = check_profile({**PROFILE, "stop_list": {}})
    applicant.engine.write(lambda unit: intake.set_profile(unit, HERE, kinder, ANN))
    for _ in range(3):
        applicant.trial.look_after()
        applicant.trial.run_until_idle()
    assert filtered in {one.posting_id for one in applicant.rows()}


def test_a_retry_whose_moment_passed_while_nothing_ran_is_queued(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.finder.set(applicant.row(it).posting_id, content_hash="changed")  # type: ignore[arg-type]
    [claim] = applicant.trial.claim()
    applicant.trial.finish(claim, Fail(SiteUnreachable("down")))
    applicant.trial.clock.advance(timedelta(minutes=15))
    duties.sweep_retries(applicant.engine)
    assert applicant.trial.state(it) == "failed", "workers do it at its moment"
    applicant.trial.clock.advance(timedelta(minutes=1))
    assert applicant.engine.write(lambda unit: duties.retry_failed(unit, HERE)) == {
        "queued": 1,
        "withdrawn": 0,
        "waiting": 0,
    }
    assert applicant.trial.state(it) == "queued"


def test_an_application_that_loses_three_workers_is_withdrawn_with_a_message(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    for _ in range(3):
        worker = applicant.trial.new_worker()
        assert applicant.trial.claim(worker=worker)
        applicant.trial.lose(worker)
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "retries_exhausted")
    [mail] = [one for one in applicant.engine.outbox.page().messages if "given up" in one.subject]
    assert mail.recipient == "mika@sand.example"
    statuses = [one.status for one in applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it))]
    assert "failed" in statuses


def test_a_failed_application_without_a_retry_is_withdrawn_with_a_message(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.engine.force(it, "failed", actor=Actor(OWNER, "boss"), reason="to see what the sweep does")
    assert applicant.engine.write(lambda unit: duties.retry_failed(unit, HERE))["withdrawn"] == 1
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "retries_exhausted")
    assert [one.recipient for one in applicant.engine.outbox.page().messages if "given up" in one.subject] == [
        "mika@sand.example"
    ]


def test_a_claim_by_hand_outlives_its_lease_until_the_person_answers(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.trial.run_until_idle()
    assert applicant.trial.data(it)["review_reason"] == "submit_by_hand"
    applicant.engine.write(lambda unit: deciding.open_form(unit, HERE, it, ANN))
    name = f"lock:apply:{applicant.trial.data(it)['board']}:{applicant.trial.data(it)['job_id']}"
    for _ in range(10):
        applicant.trial.advance(hours=20)
        applicant.trial.look_after()
        with pytest.raises(LeaseTaken):
            applicant.engine.write(
                lambda unit: leases.take(unit.conn, unit.now, name, "robot", timedelta(minutes=5)), name="take"
            )
    applicant.engine.write(lambda unit: deciding.report(unit, HERE, it, "submitted", ANN))
    applicant.engine.write(lambda unit: leases.take(unit.conn, unit.now, name, "robot", timedelta(minutes=5)))


def test_who_does_not_answer_for_two_days_is_nudged_once_in_two_days(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.trial.run_until_idle()

    def nudges() -> int:
        duties.nudge(applicant.engine)
        page = applicant.engine.read(lambda conn: logs.page(conn, HERE, application=it))
        return sum(one.event == "nudge" for one in page)

    applicant.trial.clock.advance(timedelta(hours=48) - timedelta(microseconds=1))
    assert nudges() == 0
    applicant.trial.clock.advance(timedelta(microseconds=1))
    assert (nudges(), nudges()) == (1, 1)
    applicant.trial.clock.advance(timedelta(hours=48))
    assert nudges() == 2
    sent = [one for one in applicant.engine.outbox.page().messages if "waits for you" in one.subject]
    assert {one.recipient for one in sent} == {"mika@sand.example"}


def test_a_record_that_lags_behind_its_instance_is_mended(applicant: Applicant) -> None:
    it = applicant.choose(applicant.match())
    applicant.engine.write(lambda unit: applications.update(unit, it, status="paused"))
    duties.sweep_queue(applicant.engine)
    assert applicant.row(it).status == "queued"
    applicant.trial.run_until_idle()
    applicant.engine.write(lambda unit: applications.update(unit, it, review_reason="approve_packet"))
    duties.sweep_queue(applicant.engine)
    assert applicant.row(it).review_reason == "submit_by_hand"


def broken(applicant: Applicant, it: UUID) -> None:
    """Data that nobody can read any more."""
    applicant.engine.write(
        lambda unit: unit.conn.execute(sa.update(instance).where(instance.c.id == it).values(data="{"))
    )


def test_an_application_that_cannot_be_read_delays_no_other(
    applicant: Applicant, caplog: pytest.LogCaptureFixture
) -> None:
    by_hand = [applicant.choose(applicant.match(number)) for number in range(2)]
    applicant.trial.run_until_idle()
    for it in by_hand:
        applicant.engine.write(lambda unit, it=it: deciding.open_form(unit, HERE, it, ANN))
    queued = [applicant.choose(applicant.match(number)) for number in (2, 3)]
    failed = [applicant.choose(applicant.match(number)) for number in (4, 5)]
    for it in failed:
        applicant.engine.force(it, "failed", actor=Actor(OWNER, "boss"), reason="to see what the sweep does")
    applicant.engine.write(lambda unit: applications.update(unit, queued[1], status="paused"))
    for it in (by_hand[0], queued[0], failed[0]):
        broken(applicant, it)
    name = f"lock:apply:{applicant.trial.data(by_hand[1])['board']}:{applicant.trial.data(by_hand[1])['job_id']}"
    applicant.trial.clock.advance(timedelta(hours=47))
    duties.keep_claims(applicant.engine)
    applicant.trial.clock.advance(timedelta(hours=47))
    now = applicant.engine.clock.now()
    assert applicant.engine.read(lambda conn: leases.find(conn, now, name)) is not None, "its claim was renewed"
    duties.sweep_queue(applicant.engine)
    assert applicant.row(queued[1]).status == "queued", "its record was mended"
    duties.sweep_retries(applicant.engine)
    assert applicant.trial.state(failed[1]) == "withdrawn"
    duties.nudge(applicant.engine)
    changed = applicant.engine.write(lambda unit: deciding.pause_all(unit, HERE, ANN))
    assert (changed.applications, changed.skipped, applicant.trial.state(queued[1])) == (1, 2, "paused")
    assert str(by_hand[0]) in caplog.text
    deleted = delete_all(applicant.engine, HERE, ANN, "my wish", forget_openings=True)
    assert (deleted.erased, sorted(deleted.kept)) == (4, sorted([by_hand[0], queued[0]])), "they have not ended"
    assert len(applicant.rows()) == 2, "another call finds those that are left"


def test_an_address_that_takes_no_mail_stops_nothing(applicant: Applicant) -> None:
    applicant.profile(identity={"name": "Mika Sand", "email": "mi\0ka"})
    it = applicant.choose(applicant.match())
    for _ in range(3):
        worker = applicant.trial.new_worker()
        assert applicant.trial.claim(worker=worker)
        applicant.trial.lose(worker)
    applicant.trial.run_until_idle()
    assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "retries_exhausted")
    assert applicant.engine.outbox.page().messages == []
