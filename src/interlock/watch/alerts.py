"""Alerts: a rule that holds opens one, once; while it is open it is told again now and then; it closes by itself.

The rules are looked at every few seconds by whichever process is first. A row named `alerts` in the table `cursor` is
its lock, and keeps when they were looked at last. An alert's `seen_at` is when its rule held last, so a rule that did
not hold at two looks in a row is one whose `seen_at` lies before the last look: then the alert closes. A rule with
`for` first leaves a row with the status `pending`, which nobody is told of.

An acknowledged alert is not told again until it closes: somebody is at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
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
from interlock.watch.rule_values import Finding, Sight
from interlock.watch.rules import Rule

L = s.alert
CURSOR = "alerts"
OPEN, PENDING = sa.text("status = 'open'"), L.c.status == "pending"


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that somebody should look at, or should have."""

    id: UUID
    rule: str
    workspace: str | None
    machine: str | None
    status: str
    sentence: str
    value: float
    threshold: float
    opened_at: Micros
    """Since when the rule holds."""
    seen_at: Micros
    notified_at: Micros | None
    notices: int
    acknowledged_at: Micros | None
    acknowledged_by: str | None
    closed_at: Micros | None


@dataclass(frozen=True, slots=True)
class AlertPage:
    """One page of alerts."""

    alerts: list[Alert]
    next: UUID | None
    """The cursor of the next page; None on the last."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a look at the rules came to."""

    opened: tuple[Alert, ...] = ()
    repeated: tuple[Alert, ...] = ()
    closed: tuple[Alert, ...] = ()


# -- looking


def look(conn: sa.Connection, registry: Registry, rules: Iterable[Rule], now: Micros) -> list[Finding]:
    """What each rule says at this moment; changes nothing."""
    return Sight(conn, registry, now).findings(rules)


def anything_to_do(conn: sa.Connection, findings: Iterable[Finding]) -> bool:
    """Whether `settle` would change something: a rule holds, or an alert is open."""
    if any(finding.holds for finding in findings):
        return True
    return any(conn.execute(sa.select(L.c.id).where(which).limit(1)).first() for which in (OPEN, PENDING))


def looked_at(conn: sa.Connection) -> Micros:
    """When alerts were changed last, by any process; 0 if never."""
    return conn.execute(sa.select(s.cursor.c.pos).where(s.cursor.c.name == CURSOR)).scalar() or 0


def evaluate(unit: Unit, registry: Registry, rules: Sequence[Rule], notify: Sequence[str] = ()) -> Changes:
    """Look at the rules, and open, repeat and close alerts by what they say."""
    return settle(unit, look(unit.conn, registry, rules, unit.now), notify)


def settle(unit: Unit, findings: Iterable[Finding], notify: Sequence[str] = ()) -> Changes:
    """Open, repeat and close alerts; nothing happens while another process does."""
    row = lock(unit.conn, CURSOR)
    if row is None:
        return Changes()
    known = {(a.rule, a.machine): a for a in _read(unit.conn, sa.select(L).where(sa.or_(OPEN, PENDING)))}
    every = {(f.rule.name, f.machine): f for f in findings}
    opened, repeated, closed = [], [], []
    for key, finding in every.items():
        if not finding.holds:
            continue
        alert = known.pop(key, None)
        if alert is None and finding.rule.for_:
            _add(unit, finding, "pending", notices=0)
        elif alert is None:
            opened.append(_told(unit, _add(unit, finding, "open"), "opened", finding.rule.notify or notify))
        elif alert.status == "pending" and unit.now - alert.opened_at < span(finding.rule.for_):
            _seen(unit, alert, finding)
        elif alert.status == "pending":
            fresh = _seen(unit, alert, finding, status="open", notified_at=unit.now, notices=1)
            opened.append(_told(unit, fresh, "opened", finding.rule.notify or notify))
        elif _again(unit, alert, finding.rule):
            fresh = _seen(unit, alert, finding, notified_at=unit.now, notices=alert.notices + 1)
            repeated.append(_told(unit, fresh, "still open", finding.rule.notify or notify))
        else:
            _seen(unit, alert, finding)
    for key, alert in known.items():  # what is left does not hold, or its rule is gone
        if alert.status == "pending":
            unit.conn.execute(sa.delete(L).where(L.c.id == alert.id))
        elif alert.seen_at < row.pos:
            over = _change(unit, alert, status="closed", closed_at=unit.now)
            found = every.get(key)
            closed.append(_told(unit, over, "closed", (found.rule.notify if found else ()) or notify))
    unit.conn.execute(sa.update(s.cursor).where(s.cursor.c.name == CURSOR).values(pos=unit.now))
    return Changes(tuple(opened), tuple(repeated), tuple(closed))


def _again(unit: Unit, alert: Alert, rule: Rule) -> bool:
    told = alert.notified_at if alert.notified_at is not None else alert.opened_at
    return alert.acknowledged_at is None and unit.now - told >= span(rule.repeat_every)


def _add(unit: Unit, finding: Finding, status: str, *, notices: int = 1) -> Alert:
    alert = Alert(
        id=uuid7(),
        rule=finding.rule.name,
        workspace=None,
        machine=finding.machine,
        status=status,
        sentence=finding.sentence,
        value=finding.value,
        threshold=finding.rule.threshold,
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


def _seen(unit: Unit, alert: Alert, finding: Finding, **values: Any) -> Alert:
    return _change(
        unit,
        alert,
        seen_at=unit.now,
        value=finding.value,
        threshold=finding.rule.threshold,
        sentence=finding.sentence,
        **values,
    )


def _change(unit: Unit, alert: Alert, **values: Any) -> Alert:
    unit.conn.execute(sa.update(L).where(L.c.id == alert.id).values(**values))
    return _read(unit.conn, sa.select(L).where(L.c.id == alert.id))[0]


def _told(unit: Unit, alert: Alert, what: str, notify: Sequence[str]) -> Alert:
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
    return alert


# -- people


def acknowledge(unit: Unit, alert_id: UUID, actor: Actor) -> Alert:
    """Somebody looks after it: it is not told again. Who was first stays."""
    alert = get(unit.conn, alert_id, locked=True)
    if alert.status != "open":
        raise Refused(f"alert {alert_id} is {alert.status}, so there is nothing to acknowledge")
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
    """Those that are open, the newest first."""
    return _read(conn, sa.select(L).where(OPEN).order_by(L.c.opened_at.desc(), L.c.id.desc()).limit(limit))


def page(conn: sa.Connection, *, status: str | None = None, after: UUID | None = None, limit: int = 50) -> AlertPage:
    """Open and closed ones, the newest first."""
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
