"""The text for Prometheus can be parsed, and says what the measures say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from interlock.apps.sample import parcel as sample
from interlock.machine import Fail, Go
from interlock.store import Store
from interlock.testing import Trial
from interlock.watch import alerts, prometheus
from interlock.watch.rules import Rule
from tests.support.machines import Unreachable, do
from tests.support.rollups import STUBBORN, roll_all


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([STUBBORN, sample], store=store) as made:
        yield made


def families(trial: Trial) -> dict[str, Metric]:
    roll_all(trial.engine)
    text = trial.engine.read(
        lambda conn: prometheus.exposition(conn, trial.engine.registry, trial.clock.now())
    ).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(found: dict[str, Metric], sample_name: str, **labels: str) -> float | None:
    samples = [one for family in found.values() for one in family.samples if one.name == sample_name]
    return next((one.value for one in samples if one.labels == labels), None)


def test_it_says_what_the_measures_say(trial: Trial) -> None:
    for _ in range(3):
        trial.create("job")
    first, second, _ = trial.claim(3)
    trial.finish(first, Fail(Unreachable("no answer")))
    trial.finish(second, Go("second"))
    trial.create("parcel", {"content": "a whole piano"})
    trial.clock.advance(timedelta(seconds=90))
    rule = Rule(name="quiet", metric="throughput", op=">=", threshold=0)
    trial.engine.write(lambda unit: alerts.evaluate(unit, trial.engine.registry, [rule]))
    found = families(trial)
    assert value(found, "interlock_instances", machine="job", state="given_up") == 1
    assert value(found, "interlock_queue_lag_seconds", machine="job") == 90
    assert value(found, "interlock_queue_lag_average_seconds", machine="job") == 0
    assert value(found, "interlock_success_ratio", machine="job") == 0
    assert value(found, "interlock_success_ratio", machine="parcel") is None, "nothing ended, so there is no rate"
    assert value(found, "interlock_failure_ratio", machine="job") == 0.5
    assert value(found, "interlock_retry_ratio", machine="job") == 1
    assert value(found, "interlock_ended_last_hour", machine="job", how="bad") == 1
    assert value(found, "interlock_created_last_hour", machine="job") == 3
    assert value(found, "interlock_failures_last_hour", machine="job") == 1
    assert value(found, "interlock_dead_letters_open", machine="job") == 1
    assert value(found, "interlock_workers_alive") == 1
    assert value(found, "interlock_alerts_open") == 1


def test_reviews_are_reported_with_the_age_of_the_oldest(trial: Trial) -> None:
    trial.create("parcel", {"content": "a whole piano"})
    do(trial, Go("labelling"))
    do(trial, Go("customs"))
    trial.clock.advance(timedelta(hours=25))
    found = families(trial)
    assert value(found, "interlock_reviews_open", machine="parcel") == 1
    assert value(found, "interlock_reviews_late", machine="parcel") == 1
    assert value(found, "interlock_review_oldest_seconds", machine="parcel") == 25 * 3600
    assert value(found, "interlock_review_oldest_seconds", machine="job") == 0


def test_every_name_is_ours_and_has_a_help_text(trial: Trial) -> None:
    prometheus.observe_request("GET", "/named", 200, 0.01)
    prometheus.observe_handler("named", "step", "go", 0.01)
    for name, family in families(trial).items():
        assert name.startswith("interlock_")
        assert family.documentation.endswith(".")


def count(trial: Trial, name: str, **labels: str) -> float:
    return value(families(trial), name, **labels) or 0.0


def test_requests_of_this_process_are_counted(trial: Trial) -> None:
    """On a route of its own, for the counters are those of the whole process."""
    route = {"method": "POST", "route": f"/{trial.engine.store.dialect}/{{id}}/events"}
    for seconds in (0.004, 0.04):
        prometheus.observe_request(**route, status=409, seconds=seconds)
    assert count(trial, "interlock_http_requests_total", **route, status="409") == 2
    assert count(trial, "interlock_http_request_seconds_bucket", **route, le="0.005") == 1
    assert count(trial, "interlock_http_request_seconds_bucket", **route, le="0.05") == 2


def test_runs_of_handlers_of_this_process_are_counted(trial: Trial) -> None:
    run = {"machine": trial.engine.store.dialect, "step": "first"}
    prometheus.observe_handler(**run, outcome="fail", seconds=2.0)
    assert count(trial, "interlock_handler_runs_total", **run, outcome="fail") == 1
    assert count(trial, "interlock_handler_seconds_sum", **run) == 2.0


def test_a_made_up_method_adds_no_series_of_its_own(trial: Trial) -> None:
    route = f"/{trial.engine.store.dialect}/pot"
    for method in ("BREW", "STEEP"):
        prometheus.observe_request(method, route, 405, 0.01)
    assert count(trial, "interlock_http_requests_total", method="other", route=route, status="405") == 2
    assert count(trial, "interlock_http_requests_total", method="BREW", route=route, status="405") == 0
