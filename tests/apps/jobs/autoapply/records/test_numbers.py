"""The specification's numbers, and when alerts are judged by them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from interlock.apps.jobs.autoapply.records import applications
from interlock.apps.jobs.autoapply.records.numbers import ALERTS, metrics, numbers
from interlock.store import span
from interlock.watch.rules import Rule
from tests.apps.jobs.autoapply.applicant import HERE, Applicant

HOUR = span(timedelta(hours=1))


def add(applicant: Applicant, status: str, many: int = 1, **values: Any) -> None:
    now = applicant.engine.clock.now()

    def write(unit: Any) -> None:
        for _ in range(many):
            made = uuid4()
            given = {
                "id": made,
                "instance_id": made,
                "workspace": HERE,
                "user_id": "ann",
                "origin": "rule",
                "board": "b",
                "job_id": "1",
                "title": "",
                "company": "",
                "status": status,
                "created_at": now - HOUR,
                "processed_at": now - HOUR // 2,
                "status_at": now,
                "attempt_count": 1,
                **values,
            }
            applications.add(unit, **given)

    applicant.engine.write(write)


def test_rates_tell_failures_from_what_people_withdrew(applicant: Applicant) -> None:
    add(applicant, "submitted", 6)
    add(applicant, "withdrawn", 2, withdraw_reason="retries_exhausted", attempt_count=4)
    add(applicant, "withdrawn", 2, withdraw_reason="user")
    add(applicant, "submitted", 5, status_at=applicant.engine.clock.now() - 25 * HOUR)
    found = applicant.engine.read(lambda conn: numbers(conn, applicant.engine.clock.now(), HERE))
    assert (found.success_rate, found.failure_rate, found.ended) == (0.6, 0.25, 10)
    assert found.retry_rate == 0.2
    assert found.queue_lag_seconds == 1800
    assert found.withdrawn_by_reason == {"retries_exhausted": 2, "user": 2}


def test_what_still_waits_in_the_queue_lags(applicant: Applicant) -> None:
    add(applicant, "queued", processed_at=None, attempt_count=0)
    found = applicant.engine.read(lambda conn: numbers(conn, applicant.engine.clock.now()))
    assert (found.queue_lag_seconds, found.queue_samples) == (3600, 1)


def test_reviews_count_after_a_day_and_are_stale_after_two(applicant: Applicant) -> None:
    now = applicant.engine.clock.now()
    for hours in (1, 25, 49):
        add(applicant, "requires_review", created_at=now - hours * HOUR, status_at=now - hours * HOUR)
    found = applicant.engine.read(lambda conn: numbers(conn, now))
    assert (found.review_backlog, found.stale_reviews, found.oldest_review_seconds) == (2, 1, 49 * 3600)


def test_a_rate_of_fewer_than_ten_is_not_judged(applicant: Applicant) -> None:
    add(applicant, "withdrawn", 9, withdraw_reason="invalid_url")
    now = applicant.engine.clock.now()
    assert "apply_failure_rate" not in applicant.engine.read(lambda conn: metrics(conn, now))
    add(applicant, "submitted")
    assert applicant.engine.read(lambda conn: metrics(conn, now))["apply_failure_rate"] == 0.9
    rules = {one.name: one for one in map(Rule.model_validate, ALERTS)}
    assert {name: one.threshold for name, one in rules.items()} == {
        "jobs_apply_queue_lag": 1800,
        "jobs_apply_failure_rate": 0.2,
        "jobs_apply_stale_reviews": 0,
    }
