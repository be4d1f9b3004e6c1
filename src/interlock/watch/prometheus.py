"""Metrics for Prometheus: what the measures say of all machines, and what this process has counted itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from interlock.machine import Registry
from interlock.store import SECOND, Micros
from interlock.watch import alerts, measures
from interlock.watch.measures import MachineView, Overview

__all__ = ["CONTENT_TYPE", "exposition", "observe_handler", "observe_model", "observe_request"]

WINDOW = timedelta(hours=1)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SLOW = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)

# Our own, not the library's: what another library counts in this process is not ours to tell.
_process = CollectorRegistry()
_requests = Counter(
    "interlock_http_requests", "Requests answered by this process.", ["method", "route", "status"], registry=_process
)
_request_seconds = Histogram(
    "interlock_http_request_seconds", "How long answers took.", ["method", "route"], buckets=QUICK, registry=_process
)
_runs = Counter(
    "interlock_handler_runs",
    "Handlers run by this process, by how they ended.",
    ["machine", "step", "outcome"],
    registry=_process,
)
_run_seconds = Histogram(
    "interlock_handler_seconds", "How long handlers ran.", ["machine", "step"], buckets=SLOW, registry=_process
)
_model_calls = Counter(
    "interlock_model_calls",
    "Questions to models by this process, by how they ended.",
    ["task", "model", "outcome"],
    registry=_process,
)
_model_tokens = Counter(
    "interlock_model_tokens",
    "Tokens that models used for this process.",
    ["task", "model", "direction"],
    registry=_process,
)
_model_dollars = Counter(
    "interlock_model_dollars", "What models cost, where it is known.", ["task", "model"], registry=_process
)


def observe_model(
    task: str, model: str, outcome: str, tokens_in: int | None, tokens_out: int | None, cost: int | None
) -> None:
    """Count a question; the outcome is `answered`, `cached` or the type of the error, the cost in billionths."""
    _model_calls.labels(task, model, outcome).inc()
    _model_tokens.labels(task, model, "in").inc(tokens_in or 0)
    _model_tokens.labels(task, model, "out").inc(tokens_out or 0)
    _model_dollars.labels(task, model).inc((cost or 0) / 1_000_000_000)


# To find a measure by its labels takes longer than to count.
@lru_cache(10_000)
def _of_request(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return _requests.labels(method, route, str(status)), _request_seconds.labels(method, route)


@lru_cache(10_000)
def _of_handler(machine: str, step: str, outcome: str) -> tuple[Counter, Histogram]:
    return _runs.labels(machine, step, outcome), _run_seconds.labels(machine, step)


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count an answer. The route is the pattern (`/api/instances/{id}`), never the path: paths have no end."""
    count, time = _of_request(method if method in METHODS else "other", route, status)
    count.inc()
    time.observe(seconds)


def observe_handler(machine: str, step: str, outcome: str, seconds: float) -> None:
    """Count a run of a handler; the outcome is what it returned, in small letters: go, stay, again, fail."""
    count, time = _of_handler(machine, step, outcome)
    count.inc()
    time.observe(seconds)


def exposition(conn: sa.Connection, registry: Registry, now: Micros) -> bytes:
    """The text for /metrics; its type is `CONTENT_TYPE`."""
    seen = measures.overview(conn, registry, now, window=WINDOW)
    once = CollectorRegistry(auto_describe=False)
    once.register(_Once(seen, len(alerts.open_alerts(conn, 1000))))
    return generate_latest(once)


class _Once(Collector):
    def __init__(self, seen: Overview, open_alerts: int) -> None:
        self._seen, self._alerts = seen, open_alerts

    def collect(self) -> Iterator[Metric]:
        instances = GaugeMetricFamily("interlock_instances", "Instances in a state.", labels=["machine", "state"])
        for view in self._seen.machines:
            for state, n in view.states.items():
                instances.add_metric([view.machine, state], n)
        yield instances
        for name, text, read in GAUGES:
            gauge = GaugeMetricFamily(f"interlock_{name}", text, labels=["machine"])
            for view in self._seen.machines:
                value = read(view, self._seen.at)
                if value is not None:
                    gauge.add_metric([view.machine], value)
            yield gauge
        ended = GaugeMetricFamily(
            "interlock_ended_last_hour", "Instances that came to rest in the last hour.", labels=["machine", "how"]
        )
        for view in self._seen.machines:
            for how in ("good", "bad", "neither"):
                ended.add_metric([view.machine, how], getattr(view.ends, how))
        yield ended
        yield GaugeMetricFamily("interlock_workers_alive", "Workers alive.", self._seen.totals.workers_alive)
        yield GaugeMetricFamily("interlock_alerts_open", "Open alerts.", self._alerts)
        yield from _process.collect()


def _seconds(length: Micros | None) -> float | None:
    return None if length is None else length / SECOND


def _oldest(view: MachineView, now: Micros) -> float:
    return 0.0 if view.reviews.oldest is None else (now - view.reviews.oldest) / SECOND


GAUGES: tuple[tuple[str, str, Callable[[MachineView, Micros], float | None]], ...] = (
    ("queue_lag_seconds", "How long the oldest ready step waits.", lambda v, _: _seconds(v.queue_lag)),
    ("queue_lag_average_seconds", "How long steps waited on average, last hour.", lambda v, _: _seconds(v.average_lag)),
    ("success_ratio", "Good ends among good and bad ones, last hour.", lambda v, _: v.success_rate),
    ("failure_ratio", "Failed attempts among all, last hour.", lambda v, _: v.failure_rate),
    ("retry_ratio", "Ended instances that had a failed attempt, last hour.", lambda v, _: v.retry_rate),
    ("created_last_hour", "Instances created in the last hour.", lambda v, _: v.created),
    ("failures_last_hour", "Failed attempts in the last hour.", lambda v, _: v.failures),
    ("reviews_open", "Open reviews.", lambda v, _: v.reviews.open),
    ("reviews_late", "Open reviews older than 24 hours.", lambda v, _: v.reviews.late),
    ("review_oldest_seconds", "How long the oldest review has been open.", _oldest),
    ("dead_letters_open", "Open dead letters, counted up to 10,001.", lambda v, _: v.dead_letters),
)
