"""What the clock starts: rules that decide, sweeps of what was missed, claims that are kept, and nudges."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.apps.jobs.autoapply import deciding
from interlock.apps.jobs.autoapply.errors import SiteUnreachable
from interlock.apps.jobs.autoapply.records import applications, decisions, logs, seekers
from interlock.apps.jobs.autoapply.steps import duties
from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profile_file import check_profile
from interlock.engine import LeaseTaken, leases
from interlock.machine import OWNER, Actor, Fail
from tests.apps.jobs.autoapply.office import ANN, HERE, Office
from tests.apps.jobs.finder.seekers import PROFILE


def test_the_matcher_queues_what_rules_take_the_best_first(office: Office) -> None:
    rule = office.rule(max_applications_per_week=14)
    found = [office.match(number) for number in range(4)]
    for number, one in enumerate(found):
        office.finder.set(one, score=80 + number)
    assert duties.match_rules(office.engine) is False
    assert [one.posting_id for one in office.rows()] == [found[2], found[3]]
    page = office.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id))
    assert sorted(one.taken for one in page) == [False, False, True, True]
    duties.match_rules(office.engine)
    assert len(office.rows()) == 2


def test_what_is_stopped_or_paused_queues_nothing(office: Office) -> None:
    office.match()
    office.rule(paused=True)
    office.rule(name="other")
    office.engine.write(lambda unit: seekers.stop(unit, HERE, "ann"))
    duties.match_rules(office.engine)
    assert office.rows() == []
    office.engine.write(lambda unit: seekers.start(unit, HERE))
    duties.match_rules(office.engine)
    assert len(office.rows()) == 1


def test_a_posting_that_cannot_be_read_delays_no_other(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    broken, good = office.match(), office.match(1)
    rule = office.rule()
    office.finder.set(broken, score=100, posting="{")
    office.finder.set(good, score=90)
    duties.match_rules(office.engine)
    assert [one.posting_id for one in office.rows()] == [good]
    [row] = office.engine.read(lambda conn: decisions.page(conn, HERE, rule=rule.id, taken=False))
    assert (row.posting_id, row.blocked_by) == (broken, "unreadable")
    assert "cannot decide about posting" in caplog.text


def test_a_match_that_a_new_profile_brings_and_one_that_is_unfiltered_become_candidates(office: Office) -> None:
    """The finder makes both matches; rules see every match, however it came about."""
    office.finder.posting(title="Senior Backend Engineer", description="PHP " * 50)
    filtered = office.finder.settled("https://grim.example/1", company="Grim Corp")
    office.rule()
    duties.match_rules(office.engine)
    assert office.rows() == []
    kinder = check_profile({**PROFILE, "stop_list": {}})
    office.engine.write(lambda unit: intake.set_profile(unit, HERE, kinder, ANN))
    for _ in range(3):
        office.trial.look_after()
        office.trial.run_until_idle()
    assert filtered in {one.posting_id for one in office.rows()}


def test_a_retry_whose_moment_passed_while_nothing_ran_is_queued(office: Office) -> None:
    it = office.choose(office.match())
    office.finder.set(office.row(it).posting_id, content_hash="changed")  # type: ignore[arg-type]
    [claim] = office.trial.claim()
    office.trial.finish(claim, Fail(SiteUnreachable("down")))
    office.trial.clock.advance(timedelta(minutes=15))
    duties.sweep_retries(office.engine)
    assert office.trial.state(it) == "failed", "workers do it at its moment"
    office.trial.clock.advance(timedelta(minutes=1))
    assert office.engine.write(lambda unit: duties.retry_failed(unit, HERE)) == {
        "queued": 1,
        "withdrawn": 0,
        "waiting": 0,
    }
    assert office.trial.state(it) == "queued"


def test_an_application_that_loses_three_workers_is_withdrawn_with_a_message(office: Office) -> None:
    it = office.choose(office.match())
    for _ in range(3):
        worker = office.trial.new_worker()
        assert office.trial.claim(worker=worker)
        office.trial.lose(worker)
    office.trial.run_until_idle()
    assert (office.trial.state(it), office.row(it).withdraw_reason) == ("withdrawn", "retries_exhausted")
    [mail] = [one for one in office.engine.outbox.page().messages if "given up" in one.subject]
    assert mail.recipient == "mika@sand.example"
    statuses = [one.status for one in office.engine.read(lambda conn: logs.page(conn, HERE, application=it))]
    assert "failed" in statuses


def test_a_failed_application_without_a_retry_is_withdrawn_with_a_message(office: Office) -> None:
    it = office.choose(office.match())
    office.engine.force(it, "failed", actor=Actor(OWNER, "boss"), reason="to see what the sweep does")
    assert office.engine.write(lambda unit: duties.retry_failed(unit, HERE))["withdrawn"] == 1
    assert (office.trial.state(it), office.row(it).withdraw_reason) == ("withdrawn", "retries_exhausted")
    assert [one.recipient for one in office.engine.outbox.page().messages if "given up" in one.subject] == [
        "mika@sand.example"
    ]


def test_a_claim_by_hand_outlives_its_lease_until_the_person_answers(office: Office) -> None:
    it = office.choose(office.match())
    office.trial.run_until_idle()
    assert office.trial.data(it)["review_reason"] == "submit_by_hand"
    office.engine.write(lambda unit: deciding.open_form(unit, HERE, it, ANN))
    name = f"lock:apply:{office.trial.data(it)['board']}:{office.trial.data(it)['job_id']}"
    for _ in range(10):
        office.trial.advance(hours=20)
        office.trial.look_after()
        with pytest.raises(LeaseTaken):
            office.engine.write(
                lambda unit: leases.take(unit.conn, unit.now, name, "robot", timedelta(minutes=5)), name="take"
            )
    office.engine.write(lambda unit: deciding.report(unit, HERE, it, "submitted", ANN))
    office.engine.write(lambda unit: leases.take(unit.conn, unit.now, name, "robot", timedelta(minutes=5)))


def test_who_does_not_answer_for_two_days_is_nudged_once_in_two_days(office: Office) -> None:
    it = office.choose(office.match())
    office.trial.run_until_idle()

    def nudges() -> int:
        duties.nudge(office.engine)
        page = office.engine.read(lambda conn: logs.page(conn, HERE, application=it))
        return sum(one.event == "nudge" for one in page)

    office.trial.clock.advance(timedelta(hours=48) - timedelta(microseconds=1))
    assert nudges() == 0
    office.trial.clock.advance(timedelta(microseconds=1))
    assert (nudges(), nudges()) == (1, 1)
    office.trial.clock.advance(timedelta(hours=48))
    assert nudges() == 2
    sent = [one for one in office.engine.outbox.page().messages if "waits for you" in one.subject]
    assert {one.recipient for one in sent} == {"mika@sand.example"}


def test_a_record_that_lags_behind_its_instance_is_mended(office: Office) -> None:
    it = office.choose(office.match())
    office.engine.write(lambda unit: applications.update(unit, it, status="paused"))
    duties.sweep_queue(office.engine)
    assert office.row(it).status == "queued"
