"""Alert rules as data: a metric, a comparison and a threshold.

Some rules are built in, some come with an application. Users store their own in the database.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from interlock.engine import actions
from interlock.engine.errors import InvalidData, NotFound
from interlock.engine.text import canonical
from interlock.engine.unit import Unit
from interlock.machine import Actor, Application, InterlockError, Registry, attribute
from interlock.store.service_tables import alert_rule as A
from interlock.watch.applications import mistake

if TYPE_CHECKING:
    from interlock.config import AlertSettings

EACH = "each"
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "queue_lag": "seconds",
        "failure_rate": "part",
        "success_rate": "part",
        "retry_rate": "part",
        "review_age": "seconds",
        "review_backlog": "count",
        "dead_letters": "count",
        "workers_alive": "count",
        "state_count": "count",
        "throughput": "count",
        "model_budget": "part",
    }
)
"""The metrics a rule can use, with their unit: seconds, a ratio (`part`) or a count. An application's own metrics are
named `application.metric`."""
BUILT_IN = ("queue_lag", "failure_rate", "review_age", "no_worker", "dead_letters", "model_budget")
OF_ALL_MACHINES = ("workers_alive", "model_budget")
CHANNELS = ("mail", "webhook")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,59}")
OF_APPLICATION = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")


def unit_of(metric: str) -> str:
    """The unit of a metric; the name of an application's metric tells it: `…_seconds`, `…_rate`, else a number."""
    if metric in METRICS:
        return METRICS[metric]
    return "seconds" if metric.endswith("_seconds") else "part" if metric.endswith(("_rate", "_ratio")) else "count"


class Rule(BaseModel):
    """The condition under which an alert opens.

    Times are seconds or ISO 8601 durations (`PT30M`). Thresholds are seconds, ratios or counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str
    metric: str
    op: Literal[">", ">=", "<", "<="] = ">"
    threshold: float
    machine: str | None = None
    """One machine, `each` for a separate alert per machine, or None for all machines together."""
    state: str | None = None
    """The state that `state_count` counts."""
    window: timedelta = timedelta(hours=1)
    """The time window of rates and throughput."""
    for_: timedelta = Field(default=timedelta(0), alias="for")
    """How long the condition must last before the alert opens."""
    min_count: int = Field(default=0, ge=0)
    """The minimum number of attempts or ends before a rate is judged."""
    notify: tuple[str, ...] = ()
    """Recipients: `mail:ADDRESS` or `webhook:NAME`. Without any, the recipients of the configuration are notified."""
    repeat_every: timedelta = timedelta(hours=4)

    @field_validator("name")
    @classmethod
    def _named(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError("use up to 60 lower-case letters, digits, _ and -, starting with a letter")
        return value

    @field_validator("metric")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in METRICS and not OF_APPLICATION.fullmatch(value):
            raise ValueError(
                f"there is no metric {value!r}; there are {', '.join(METRICS)}, and those of applications, "
                "as application.metric"
            )
        return value

    @field_validator("threshold")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not math.isfinite(value):
            raise ValueError("must be a finite number")
        return value

    @field_validator("notify")
    @classmethod
    def _reachable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            channel, _, whom = one.partition(":")
            if channel not in CHANNELS or not whom.strip():
                raise ValueError(f"{one!r} is neither mail:ADDRESS nor webhook:NAME")
        return value

    @model_validator(mode="after")
    def _sensible(self) -> Rule:
        if (self.metric == "state_count") != (self.state is not None):
            raise ValueError("state_count needs a state, and no other metric takes one")
        if METRICS.get(self.metric) == "part" and not 0 <= self.threshold <= 1:
            raise ValueError(f"{self.metric} is a ratio between 0 and 1: 0.2 means 20 %")
        if (self.metric in OF_ALL_MACHINES or self.metric not in METRICS) and self.machine is not None:
            raise ValueError(f"{self.metric} is about all machines; leave machine out")
        if not timedelta(minutes=1) <= self.window <= timedelta(days=30):
            raise ValueError("window must be between one minute and 30 days")
        if not timedelta(0) <= self.for_ <= timedelta(days=30):
            raise ValueError("for must be between 0 and 30 days")
        if self.repeat_every < timedelta(minutes=1):
            raise ValueError("repeat_every must be at least one minute")
        return self


def built_in(settings: AlertSettings | None = None, registry: Registry | None = None) -> list[Rule]:
    """The rules of Interlock and of the applications that are switched on; ours with the thresholds configured."""
    if settings is None:
        from interlock.config import AlertSettings

        settings = AlertSettings()
    again = timedelta(hours=settings.repeat_hours)
    rules = (
        Rule(
            name="queue_lag",
            metric="queue_lag",
            threshold=settings.queue_lag_minutes * 60,
            machine=EACH,
            repeat_every=again,
        ),
        Rule(
            name="failure_rate",
            metric="failure_rate",
            threshold=settings.failure_rate_percent / 100,
            machine=EACH,
            min_count=10,
            repeat_every=again,
        ),
        Rule(
            name="review_age",
            metric="review_age",
            threshold=settings.review_age_hours * 3600,
            machine=EACH,
            repeat_every=again,
        ),
        Rule(
            name="no_worker",
            metric="workers_alive",
            op="<",
            threshold=1,
            for_=timedelta(seconds=60),
            repeat_every=again,
        ),
        Rule(
            name="dead_letters",
            metric="dead_letters",
            threshold=settings.dead_letters,
            machine=EACH,
            repeat_every=again,
        ),
        Rule(
            name="model_budget",
            metric="model_budget",
            op=">=",
            threshold=settings.model_budget_percent / 100,
            repeat_every=again,
        ),
    )
    applications = of_applications(registry) if registry is not None else []
    return [rule for rule in (*rules, *applications) if rule.name not in settings.off]


def of_applications(registry: Registry) -> list[Rule]:
    """The rules that come with applications. Invalid ones are logged and left out."""
    found: list[Rule] = []
    for application in registry.applications.values():
        if application.alerts is not None:
            try:
                found += _rules_of(application, registry)
            except Exception as error:
                mistake(application, "alert rules", error)
    return found


def _rules_of(application: Application, registry: Registry) -> list[Rule]:
    assert application.alerts is not None
    made = [checked(one, registry) for one in attribute(application.alerts, "a list of alert rules", "rules")]
    for rule in made:
        if not rule.name.startswith((f"{application.name}_", f"{application.name}-")):
            raise InterlockError(
                f"the rule {rule.name!r} must be named after its application, as {application.name}_{rule.name}"
            )
    return made


def built_in_names(registry: Registry) -> set[str]:
    """The names of all rules that no user can change or remove."""
    return {*BUILT_IN, *(rule.name for rule in of_applications(registry))}


def checked(given: Rule | Mapping[str, Any], registry: Registry) -> Rule:
    """Return the rule if it is valid for this registry. InvalidData names each invalid field."""
    try:
        rule = given if isinstance(given, Rule) else Rule.model_validate(given)
    except pydantic.ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'rule'}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors()
        )
        raise InvalidData(f"the alert rule is invalid: {wrong}") from error
    if rule.name in BUILT_IN:
        raise InvalidData(f"the rule {rule.name!r} is built in; change it in the configuration, or take another name")
    if match := OF_APPLICATION.fullmatch(rule.metric):
        application = registry.applications.get(match[1])
        if application is None or application.metrics is None:
            raise InvalidData(f"there is no application {match[1]!r} with metrics of its own")
    of = list(registry)
    if rule.machine is not None and rule.machine != EACH:
        of = [machine for machine in registry if machine.name == rule.machine]
        if not of:
            known = ", ".join(sorted(machine.name for machine in registry)) or "none"
            raise InvalidData(f"there is no machine {rule.machine!r}; there are: {known}")
    if rule.state is not None and not any(rule.state in machine.states for machine in of):
        there = ", ".join(sorted({state for machine in of for state in machine.states}))
        raise InvalidData(f"there is no state {rule.state!r}; there are: {there}")
    return rule


def put(unit: Unit, given: Rule | Mapping[str, Any], actor: Actor) -> Rule:
    """Store a user's rule. A rule with the same name is replaced."""
    rule = checked(given, unit.core.registry)
    if rule.name in built_in_names(unit.core.registry):
        raise InvalidData(f"the rule {rule.name!r} comes with an application; take another name")
    replaced = unit.conn.execute(sa.delete(A).where(A.c.name == rule.name)).rowcount
    spec = canonical(rule.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    unit.conn.execute(sa.insert(A).values(name=rule.name, spec=spec, created_by=str(actor), created_at=unit.now))
    what = "alert_rule.change" if replaced else "alert_rule.add"
    actions.record(unit, actor, what, rule.name, details=json.loads(spec))
    return rule


def remove(unit: Unit, name: str, actor: Actor) -> None:
    """Delete a user's rule. Its alerts close at the next evaluations."""
    if unit.conn.execute(sa.delete(A).where(A.c.name == name)).rowcount == 0:
        hint = (
            "; it is built in: switch it off in the configuration" if name in built_in_names(unit.core.registry) else ""
        )
        raise NotFound(f"there is no alert rule {name!r} of your own{hint}")
    actions.record(unit, actor, "alert_rule.remove", name)


def own(conn: sa.Connection) -> list[Rule]:
    """The rules that users added, by name. Unreadable rules are left out; see `unreadable`."""
    return [found for _, found in _stored(conn) if isinstance(found, Rule)]


def unreadable(conn: sa.Connection) -> dict[str, str]:
    """Rules of users that are not in force because their rows cannot be read, with the reason."""
    return {name: found for name, found in _stored(conn) if isinstance(found, str)}


def _stored(conn: sa.Connection) -> Iterator[tuple[str, Rule | str]]:
    for name, spec in conn.execute(sa.select(A.c.name, A.c.spec).order_by(A.c.name)):
        try:
            yield name, Rule.model_validate_json(spec)
        except pydantic.ValidationError as error:
            yield (
                name,
                f"{error.error_count()} errors, first: {error.errors()[0]['msg']}; store it again",
            )


def every(
    conn: sa.Connection, settings: AlertSettings | None = None, registry: Registry | None = None
) -> Sequence[Rule]:
    """All rules in force: built-in ones, those of applications, and users' own."""
    return in_force(built_in(settings, registry), own(conn))


def in_force(built_in: Sequence[Rule], own: Sequence[Rule]) -> list[Rule]:
    """All rules; a user's own that was there before an application with a rule of its name wins."""
    names = {rule.name for rule in own}
    return [*(rule for rule in built_in if rule.name not in names), *own]
