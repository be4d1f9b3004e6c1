"""Observability: metrics, alerts, logs and traces.

rollups      add up the history into counts by state and sums by minute and hour
activity     totals and rates over a time window
measures     counts, lag, rates, reviews, durations, series and the overview
costs        costs of model calls by day, and budgets
flow         moves between states and times in them, over a window
histogram    durations in buckets that add up
stragglers   the instances that have been in their state the longest
rules        alert rules as data, built-in and user-defined; `rule_values` reads the metrics they need
alerts       opens, repeats and closes alerts, and puts their messages into the outbox
prometheus   the same figures for Prometheus, and this process's counters
logs         structured logs with context and without secrets
tracing      OpenTelemetry spans
work_health  the checks of `interlock doctor` about work in progress

No page and no rule scans instances or history. The roller and the alerter (in `worker`) run in every process; a lock
on a row of the table `cursor` lets one of them work at a time.
"""

from interlock.watch.alerts import Alert, AlertPage
from interlock.watch.histogram import DurationSummary
from interlock.watch.measures import Activity, Backlog, Ends, MachineView, Overview, Point, Totals, overview
from interlock.watch.rules import METRICS, Rule

__all__ = [
    "METRICS",
    "Activity",
    "Alert",
    "AlertPage",
    "Backlog",
    "DurationSummary",
    "Ends",
    "MachineView",
    "Overview",
    "Point",
    "Rule",
    "Totals",
    "overview",
]
