"""Alerts: opened when a rule's condition is met, repeated while it lasts, closed when it has passed.

One process at a time evaluates the rules, every few seconds. The row `alerts` in the table `cursor` is its lock and
stores the time of the last evaluation. `seen_at` of an alert is the last time its condition was met. An alert closes
when its condition was not met in two evaluations in a row, that is, when `seen_at` is older than the last evaluation.

A rule with `for` first creates a row with the status `pending`, which notifies nobody. An acknowledged alert is not
repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from interlock.engine import actions, outbox
from interlock.engine.errors import InvalidData, NotFound, Refused
from interlock.engine.listing import BIGGEST_PAGE
from interlock.engine.unit import Unit
from interlock.machine import Actor, Registry
from interlock.store import Micros, moment, span
from interlock.store import service_tables as s
from interlock.watch.rollups import lock
from interlock.watch.rule_values import RuleResult, RuleValues
from interlock.watch.rules import Rule

if TYPE_CHECKING:
    from interlock.config import BudgetSettings

L = s.alert
CURSOR = "alerts"
OPEN, PENDING = sa.text("status = 'open'"), L.c.status == "pending"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that is open or was open."""

    id: UUID
    rule: str
    workspace: str | None
    machine: str | None
    status: str
    sentence: str
    value: float
    threshold: float
    opened_at: Micros
    """When the condition was first met."""
    seen_at: Micros
    notified_at: Micros | None
    notices: int
    acknowledged_at: Micros | None
    acknowledged_by: str | None
    closed_at: Micros | None
    notified: str | None = None
    """Recipients of its notifications, one a line, as `mail:ops@example.com`."""

    @property
    def recipients(self) -> list[str]:
        return (self.notified or "").splitlines()


@dataclass(frozen=True, slots=True)
class AlertPage:
    """One page of alerts."""

    alerts: list[Alert]
    next: UUID | None
    """The cursor of the next page; None on the last page."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The alerts that an evaluation opened, repeated and closed."""

    opened: tuple[Alert, ...] = ()
    repeated: tuple[Alert, ...] = ()
    closed: tuple[Alert, ...] = ()


# -- evaluation


def evaluate_rules(
    conn: sa.Connection,
    registry: Registry,
    rules: Iterable[Rule],
    now: Micros,
    budgets: Mapping[str, BudgetSettings] | None = None,
) -> list[RuleResult]:
    """Evaluate each rule without changing anything."""
    return RuleValues(conn, registry, now, budgets).results(rules)


def has_changes(conn: sa.Connection, results: Iterable[RuleResult]) -> bool:
    """Whether `apply` would change something: a condition is met, or an alert is open."""
    if any(result.breached for result in results):
        return True
    return any(conn.execute(sa.select(L.c.id).where(which).limit(1)).first() for which in (OPEN, PENDING))


def last_evaluated(conn: sa.Connection) -> Micros:
    """When any process last evaluated the rules and changed alerts; 0 if never."""
    return conn.execute(sa.select(s.cursor.c.pos).where(s.cursor.c.name == CURSOR)).scalar() or 0


def evaluate(unit: Unit, registry: Registry, rules: Sequence[Rule], notify: Sequence[str] = ()) -> Changes:
    """Evaluate the rules, and open, repeat and close alerts accordingly."""
    return apply(unit, evaluate_rules(unit.conn, registry, rules, unit.now), notify)


def apply(unit: Unit, results: Iterable[RuleResult], notify: Sequence[str] = ()) -> Changes:
    """Open, repeat and close alerts. Does nothing while another process holds the lock."""
    row = lock(unit.conn, CURSOR)
    if row is None:
        return Changes()
    known = {(a.rule, a.machine): a for a in _read(unit.conn, sa.select(L).where(sa.or_(OPEN, PENDING)))}
    every = {(f.rule.name, f.machine): f for f in results}
    opened, repeated, closed = [], [], []
    for key, result in every.items():
        if not result.breached:
            continue
        alert = known.pop(key, None)
        if alert is None and result.rule.for_:
            _add(unit, result, "pending", notices=0)
        elif alert is None:
            opened.append(_notify(unit, _add(unit, result, "open"), "opened", result.rule.notify or notify))
        elif alert.status == "pending" and unit.now - alert.opened_at < span(result.rule.for_):
            _update(unit, alert, result)
        elif alert.status == "pending":
            fresh = _update(unit, alert, result, status="open", notified_at=unit.now, notices=1)
            opened.append(_notify(unit, fresh, "opened", result.rule.notify or notify))
        elif _again(unit, alert, result.rule):
            fresh = _update(unit, alert, result, notified_at=unit.now, notices=alert.notices + 1)
            repeated.append(_notify(unit, fresh, "still open", result.rule.notify or notify))
        else:
            _update(unit, alert, result)
    for key, alert in known.items():  # the condition is not met any more, or the rule was deleted
        if alert.status == "pending":
            unit.conn.execute(sa.delete(L).where(L.c.id == alert.id))
        elif alert.seen_at < row.pos:
            over = _change(unit, alert, status="closed", closed_at=unit.now)
            found = every.get(key)
            closed.append(_notify(unit, over, "closed", (found.rule.notify if found else ()) or notify))
    unit.conn.execute(sa.update(s.cursor).where(s.cursor.c.name == CURSOR).values(pos=unit.now))
    return Changes(tuple(opened), tuple(repeated), tuple(closed))


def _again(unit: Unit, alert: Alert, rule: Rule) -> bool:
    last = alert.notified_at if alert.notified_at is not None else alert.opened_at
    return alert.acknowledged_at is None and unit.now - last >= span(rule.repeat_every)


def _add(unit: Unit, result: RuleResult, status: str, *, notices: int = 1) -> Alert:
    alert = Alert(
        id=uuid7(),
        rule=result.rule.name,
        workspace=None,
        machine=result.machine,
        status=status,
        sentence=result.sentence,
        value=result.value,
        threshold=result.rule.threshold,
        opened_at=unit.now,
        seen_at=unit.now,
        notified_at=unit.now if notices else None,
        notices=notices,
        acknowledged_at=None,
        acknowledged_by=None,
        closed_at=None,
    )
    unit.conn.execute(sa.insert(L).values({name: getattr(alert, name) for name in Alert.__slots__}))
    return alert


def _update(unit: Unit, alert: Alert, result: RuleResult, **values: Any) -> Alert:
    return _change(
        unit,
        alert,
        seen_at=unit.now,
        value=result.value,
        threshold=result.rule.threshold,
        sentence=result.sentence,
        **values,
    )


def _change(unit: Unit, alert: Alert, **values: Any) -> Alert:
    unit.conn.execute(sa.update(L).where(L.c.id == alert.id).values(**values))
    return _read(unit.conn, sa.select(L).where(L.c.id == alert.id))[0]


def _notify(unit: Unit, alert: Alert, what: str, notify: Sequence[str]) -> Alert:
    body = {
        "alert": str(alert.id),
        "rule": alert.rule,
        "machine": alert.machine,
        "status": alert.status,
        "sentence": alert.sentence,
        "value": alert.value,
        "threshold": alert.threshold,
        "since": moment(alert.opened_at).isoformat(),
        "what": what,
    }
    for one in dict.fromkeys(notify):
        channel, _, whom = one.partition(":")
        outbox.put(unit, channel, whom, f"Alert {what}: {alert.sentence}", body)
    notified = list(dict.fromkeys([*alert.recipients, *notify]))
    return _change(unit, alert, notified="\n".join(notified)) if notified != alert.recipients else alert


# -- people


def acknowledge(unit: Unit, alert_id: UUID, actor: Actor) -> Alert:
    """Record that somebody handles the alert, and stop repeating it. The first acknowledgement stays."""
    alert = get(unit.conn, alert_id, locked=True)
    if alert.status != "open":
        raise Refused(f"alert {alert_id} is {alert.status}, so it cannot be acknowledged; only open alerts can")
    if alert.acknowledged_at is not None:
        return alert
    actions.record(unit, actor, "alert.acknowledge", str(alert_id), details={"rule": alert.rule})
    return _change(unit, alert, acknowledged_at=unit.now, acknowledged_by=str(actor))


def get(conn: sa.Connection, alert_id: UUID, *, locked: bool = False) -> Alert:
    query = sa.select(L).where(L.c.id == alert_id, L.c.status != "pending")
    found = _read(conn, query.with_for_update() if locked else query)
    if not found:
        raise NotFound(f"there is no alert {alert_id}")
    return found[0]


def open_alerts(conn: sa.Connection, limit: int = 100) -> list[Alert]:
    """The open alerts, newest first."""
    return _read(conn, sa.select(L).where(OPEN).order_by(L.c.opened_at.desc(), L.c.id.desc()).limit(limit))


def page(conn: sa.Connection, *, status: str | None = None, after: UUID | None = None, limit: int = 50) -> AlertPage:
    """A page of open and closed alerts, newest first."""
    if status not in {None, "open", "closed"}:
        raise InvalidData(f"an alert is open or closed, not {status!r}")
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    query = sa.select(L).where(L.c.status != "pending" if status is None else L.c.status == status)
    if after is not None:
        query = query.where(L.c.id < after)
    found = _read(conn, query.order_by(L.c.id.desc()).limit(limit + 1))
    return AlertPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def _read(conn: sa.Connection, query: sa.Select[Any]) -> list[Alert]:
    return [Alert(**row._mapping) for row in conn.execute(query)]
