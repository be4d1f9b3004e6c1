"""Prometheus metrics: the measures of all machines, and counters of this process."""

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
from interlock.watch import alerts, applications, measures
from interlock.watch.measures import MachineView, Overview

__all__ = ["CONTENT_TYPE", "exposition", "observe_handler", "observe_model", "observe_request"]

WINDOW = timedelta(hours=1)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SLOW = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)

# A registry of our own, so that metrics of other libraries in this process are not exposed.
_process = CollectorRegistry()
_requests = Counter(
    "interlock_http_requests", "Requests answered by this process.", ["method", "route", "status"], registry=_process
)
_request_seconds = Histogram(
    "interlock_http_request_seconds", "Response times.", ["method", "route"], buckets=QUICK, registry=_process
)
_runs = Counter(
    "interlock_handler_runs",
    "Handler runs in this process, by outcome.",
    ["machine", "step", "outcome"],
    registry=_process,
)
_run_seconds = Histogram(
    "interlock_handler_seconds", "Handler run times.", ["machine", "step"], buckets=SLOW, registry=_process
)
_model_calls = Counter(
    "interlock_model_calls",
    "Model calls by this process, by outcome.",
    ["task", "model", "outcome"],
    registry=_process,
)
_model_tokens = Counter(
    "interlock_model_tokens",
    "Tokens used by model calls of this process.",
    ["task", "model", "direction"],
    registry=_process,
)
_model_dollars = Counter(
    "interlock_model_dollars", "Cost of model calls, where the price is known.", ["task", "model"], registry=_process
)


def observe_model(
    task: str, model: str, outcome: str, tokens_in: int | None, tokens_out: int | None, cost: int | None
) -> None:
    """Count a model call. The outcome is `answered`, `cached` or the error type; the cost is in nano-dollars."""
    _model_calls.labels(task, model, outcome).inc()
    _model_tokens.labels(task, model, "in").inc(tokens_in or 0)
    _model_tokens.labels(task, model, "out").inc(tokens_out or 0)
    _model_dollars.labels(task, model).inc((cost or 0) / 1_000_000_000)


# Cached, because looking up a metric by its labels takes longer than counting.
@lru_cache(10_000)
def _of_request(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return _requests.labels(method, route, str(status)), _request_seconds.labels(method, route)


@lru_cache(10_000)
def _of_handler(machine: str, step: str, outcome: str) -> tuple[Counter, Histogram]:
    return _runs.labels(machine, step, outcome), _run_seconds.labels(machine, step)


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count a response. Pass the route pattern (`/api/instances/{id}`), not the path, to bound the number of labels."""
    count, time = _of_request(method if method in METHODS else "other", route, status)
    count.inc()
    time.observe(seconds)


def observe_handler(machine: str, step: str, outcome: str, seconds: float) -> None:
    """Count a handler run. The outcome is what the handler returned, in lower case: go, stay, again, fail."""
    count, time = _of_handler(machine, step, outcome)
    count.inc()
    time.observe(seconds)


def exposition(conn: sa.Connection, registry: Registry, now: Micros) -> bytes:
    """Return the text for /metrics. Its content type is `CONTENT_TYPE`."""
    overview = measures.overview(conn, registry, now, window=WINDOW)
    once = CollectorRegistry(auto_describe=False)
    of_applications = applications.metrics(conn, registry, now)
    once.register(_Exposition(overview, len(alerts.open_alerts(conn, 1000)), of_applications))
    return generate_latest(once)


class _Exposition(Collector):
    def __init__(self, overview: Overview, open_alerts: int, of_applications: dict[tuple[str, str], float]) -> None:
        self._overview, self._alerts, self._of_applications = overview, open_alerts, of_applications

    def collect(self) -> Iterator[Metric]:
        taken = set()
        for family in self._of_the_core():
            taken.add(family.name)
            yield family
        for (application, name), value in self._of_applications.items():
            # A second family of a name would spoil the whole page for whoever reads it.
            if (full := f"interlock_{application}_{name}") not in taken:
                taken.add(full)
                yield GaugeMetricFamily(full, f"{name}, of {application}.", value)

    def _of_the_core(self) -> Iterator[Metric]:
        instances = GaugeMetricFamily("interlock_instances", "Instances by state.", labels=["machine", "state"])
        for view in self._overview.machines:
            for state, n in view.states.items():
                instances.add_metric([view.machine, state], n)
        yield instances
        for name, text, read in GAUGES:
            gauge = GaugeMetricFamily(f"interlock_{name}", text, labels=["machine"])
            for view in self._overview.machines:
                value = read(view, self._overview.at)
                if value is not None:
                    gauge.add_metric([view.machine], value)
            yield gauge
        ended = GaugeMetricFamily(
            "interlock_ended_last_hour", "Instances that finished in the last hour.", labels=["machine", "how"]
        )
        for view in self._overview.machines:
            for how in ("good", "bad", "neither"):
                ended.add_metric([view.machine, how], getattr(view.ends, how))
        yield ended
        yield GaugeMetricFamily("interlock_workers_alive", "Workers alive.", self._overview.totals.workers_alive)
        yield GaugeMetricFamily("interlock_alerts_open", "Open alerts.", self._alerts)
        yield from _process.collect()


def _seconds(length: Micros | None) -> float | None:
    return None if length is None else length / SECOND


def _oldest(view: MachineView, now: Micros) -> float:
    return 0.0 if view.reviews.oldest is None else (now - view.reviews.oldest) / SECOND


GAUGES: tuple[tuple[str, str, Callable[[MachineView, Micros], float | None]], ...] = (
    ("queue_lag_seconds", "Waiting time of the oldest ready step.", lambda v, _: _seconds(v.queue_lag)),
    ("queue_lag_average_seconds", "Average waiting time of steps, last hour.", lambda v, _: _seconds(v.average_lag)),
    ("success_ratio", "Good ends divided by good and bad ends, last hour.", lambda v, _: v.success_rate),
    ("failure_ratio", "Failed attempts divided by all attempts, last hour.", lambda v, _: v.failure_rate),
    ("retry_ratio", "Share of finished instances with a failed attempt, last hour.", lambda v, _: v.retry_rate),
    ("created_last_hour", "Instances created in the last hour.", lambda v, _: v.created),
    ("failures_last_hour", "Failed attempts in the last hour.", lambda v, _: v.failures),
    ("reviews_open", "Open reviews.", lambda v, _: v.reviews.open),
    ("reviews_late", "Open reviews older than 24 hours.", lambda v, _: v.reviews.late),
    ("review_oldest_seconds", "Age of the oldest open review.", _oldest),
    ("dead_letters_open", "Open dead letters, counted up to 10,001.", lambda v, _: v.dead_letters),
)
