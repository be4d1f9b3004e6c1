"""Watching: what is going on, how well it goes, and who should be told.

rollups     add up the history, by the order of the feed, into counts by state and sums by minute and hour
measures    read them: counts, lag, rates, reviews, dwell times, series, and all of it at a glance
rules       alert rules as data, built-in ones and a user's own; `rule_values` is what they look at
alerts      open, repeat and close by the rules, and put their messages into the outbox
prometheus  the same numbers for Prometheus, and what this process counts of its requests and handlers
logs        one line an event, with what it is about and without secrets
tracing     OpenTelemetry spans under the trace id of their instance, where it is configured

No page and no rule scans instances or history. The roller and the alerter (in `worker`) run in every process; a row in
the table `cursor` lets one of them work at a time.
"""

from interlock.watch.alerts import Alert, AlertPage
from interlock.watch.histogram import Lengths
from interlock.watch.measures import Activity, Backlog, Ends, MachineView, Overview, Point, Totals, overview
from interlock.watch.rules import METRICS, Rule

__all__ = [
    "METRICS",
    "Activity",
    "Alert",
    "AlertPage",
    "Backlog",
    "Ends",
    "Lengths",
    "MachineView",
    "Overview",
    "Point",
    "Rule",
    "Totals",
    "overview",
]
