"""Metric values that alert rules are evaluated against, read once per evaluation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from interlock.machine import Registry
from interlock.store import SECOND, Micros
from interlock.watch import applications, costs, measures
from interlock.watch.measures import Activity, Backlog, Ends
from interlock.watch.rules import EACH, METRICS, Rule, unit_of

if TYPE_CHECKING:
    from interlock.config import BudgetSettings

COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
WORDS = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}


class MetricValue(NamedTuple):
    """A metric's value, None if there is no data, and the number of samples behind it."""

    value: float | None
    samples: int = 0


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of a rule for one machine, or for all of them together."""

    rule: Rule
    machine: str | None
    value: float
    breached: bool
    sentence: str


class RuleValues:
    """Reads the metrics that rules need, each at most once. `budgets` are those of models, as configured."""

    def __init__(
        self, conn: sa.Connection, registry: Registry, now: Micros, budgets: Mapping[str, BudgetSettings] | None = None
    ) -> None:
        self._conn, self._registry, self._now, self._limits = conn, registry, now, budgets or {}
        self._activity: dict[timedelta, dict[str, Activity]] = {}
        self._letters: dict[str, int] = {}

    def results(self, rules: Iterable[Rule]) -> list[RuleResult]:
        return [self._result(rule, machine) for rule in rules for machine in self._scopes(rule)]

    def _scopes(self, rule: Rule) -> list[str | None]:
        if rule.machine != EACH:
            return [rule.machine]
        return [m.name for m in self._registry if rule.state is None or rule.state in m.states]

    def _result(self, rule: Rule, machine: str | None) -> RuleResult:
        value, samples = self.value_of(rule, machine)
        if value is None:
            return RuleResult(rule, machine, 0.0, False, "")
        breached = samples >= rule.min_count and COMPARE[rule.op](value, rule.threshold)
        said = self._of_budget() if rule.metric == "model_budget" else sentence(rule, machine, value)
        return RuleResult(rule, machine, value, breached, said)

    def _of_budget(self) -> str:
        fullest = max(self._budgets, key=lambda one: one.share)
        return f"{fullest.words} is used to {format_value('part', fullest.share)}: {fullest.amounts}"

    def value_of(self, rule: Rule, machine: str | None) -> MetricValue:
        """The value of the rule's metric for one machine, or for all of them."""
        names = [machine] if machine is not None else [m.name for m in self._registry]
        if rule.metric not in METRICS:
            return MetricValue(self._of_applications.get(rule.metric))
        match rule.metric:
            case "queue_lag":
                return MetricValue(max((self._lags.get(name, 0) for name in names), default=0) / SECOND)
            case "review_age":
                oldest = measures.combine(self._reviews.get(name, Backlog()) for name in names).oldest
                return MetricValue(None if oldest is None else (self._now - oldest) / SECOND)
            case "review_backlog":
                return MetricValue(sum(self._reviews.get(name, Backlog()).late for name in names))
            case "dead_letters":
                return MetricValue(sum(map(self._dead_letters, names)))
            case "model_budget":
                return MetricValue(max((one.share for one in self._budgets), default=None))
            case "workers_alive":
                return MetricValue(self._workers if self._is_work else None)
            case "state_count":
                return MetricValue(sum(self._counts.get(name, {}).get(rule.state or "", 0) for name in names))
        totals = self._totals(rule.window, names)
        if rule.metric == "failure_rate":
            return MetricValue(totals.failure_rate, totals.attempts)
        if rule.metric == "retry_rate":
            return MetricValue(totals.retry_rate, totals.throughput)
        if rule.metric == "success_rate":
            ended = self._ends(rule.window, names)
            return MetricValue(ended.success_rate, ended.good + ended.bad)
        return MetricValue(totals.throughput)

    def _totals(self, window: timedelta, names: Iterable[str]) -> Activity:
        if window not in self._activity:
            self._activity[window] = measures.activity(self._conn, self._now, window)
        total = Activity()
        for name in names:
            total.add(self._activity[window].get(name) or Activity())
        return total

    def _ends(self, window: timedelta, names: Iterable[str]) -> Ends:
        known = {m.name: m for m in self._registry}
        return sum((measures.ends(known.get(name), self._totals(window, [name])) for name in names), Ends())

    def _dead_letters(self, machine: str) -> int:
        if machine not in self._letters:
            self._letters[machine] = measures.dead_letters(self._conn, machine)
        return self._letters[machine]

    @cached_property
    def _lags(self) -> dict[str, Micros]:
        return measures.lags(measures.oldest_ready(self._conn, self._now), self._now)

    @cached_property
    def _reviews(self) -> dict[str, Backlog]:
        return measures.reviews(self._conn, self._now)

    @cached_property
    def _counts(self) -> dict[str, dict[str, int]]:
        return measures.counts(self._conn)

    @cached_property
    def _workers(self) -> int:
        return measures.workers_alive(self._conn, self._now)

    @cached_property
    def _budgets(self) -> Sequence[costs.Budget]:
        return costs.budgets(self._conn, self._registry, self._limits, self._now)

    @cached_property
    def _of_applications(self) -> dict[str, float]:
        found = applications.metrics(self._conn, self._registry, self._now)
        return {f"{application}.{name}": value for (application, name), value in found.items()}

    @property
    def _is_work(self) -> bool:
        """Whether there is work for a worker: a handler, or a ready step."""
        return any(machine.handlers for machine in self._registry) or bool(self._lags)


def sentence(rule: Rule, machine: str | None, value: float) -> str:
    """Describe the condition that was met."""
    whose = f"{machine}: " if machine else ""
    if rule.metric == "workers_alive" and value == 0:
        return f"{whose}no worker is alive"
    if rule.metric == "dead_letters" and (rule.op, rule.threshold) == (">", 0):
        return f"{whose}{format_value('count', value)} dead letter{' is' if value == 1 else 's are'} open"
    what = metric_words(rule.metric) if rule.state is None else f"the number in {rule.state!r}"
    kind = unit_of(rule.metric)
    return f"{whose}{what} is {format_value(kind, value)}, {WORDS[rule.op]} {format_value(kind, rule.threshold)}"


def metric_words(metric: str) -> str:
    """A metric as people read it: `sessions: loans stuck`."""
    return metric.removesuffix("_seconds").replace("_", " ").replace(".", ": ")


def format_value(kind: str, value: float) -> str:
    """Format a value with its unit."""
    if kind == "part":
        return f"{value * 100:.3g} %"
    if kind == "count":
        return f"{value:,.10g}"
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if value >= 2 * length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.3g} seconds"
