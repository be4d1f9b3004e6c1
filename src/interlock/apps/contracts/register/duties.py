"""Duties of the register: rows of contracts that an older release read, and reminders of ends and notice dates."""

from __future__ import annotations

import logging
from datetime import date
from functools import partial
from uuid import UUID
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import COMPARING, COMPLETED, VALIDATED, contract
from interlock.apps.contracts.register import records
from interlock.apps.contracts.register.term import Deadline, deadlines
from interlock.apps.contracts.settings import ContractSettings
from interlock.apps.contracts.steps import DEFAULTS, vertical_of
from interlock.apps.contracts.tables import contract_record as R
from interlock.apps.contracts.tables import contract_reminder as S
from interlock.engine import Engine
from interlock.engine.application import Unit, error_summary, instances, must_raise, send
from interlock.machine import Message
from interlock.store import moment
from interlock.store.sql import upsert

log = logging.getLogger("interlock.contracts")
AT_ONCE = 100
IN_FORCE = (VALIDATED, COMPARING, COMPLETED)
"""Only approved fields, by the confidence or by a person, cause reminders."""
WORDS = {"end": "ends on", "notice": "can be ended by notice until"}
_walked: WeakKeyDictionary[Engine, UUID | None] = WeakKeyDictionary()


def fill(engine: Engine) -> bool:
    """Write missing rows, a page of contracts at a time, once after each start."""
    if engine in _walked and _walked[engine] is None:
        return False
    after = _walked.get(engine)
    found = engine.read(lambda conn: instances(conn, contract.name, after=after, limit=AT_ONCE))
    known = engine.read(lambda conn: records.of(conn, [one.id for one in found]))
    for one in found:
        if one.id not in known and not one.erased and one.data.get("fields"):
            try:
                engine.write(partial(_write, id=one.id), name="register")
            except Exception as error:
                if must_raise(error):
                    raise
                log.warning("the contract %s is not in the register: %s", one.id, error_summary(error))
    _walked[engine] = found[-1].id if len(found) == AT_ONCE else None
    return _walked[engine] is not None


def _write(unit: Unit, id: UUID) -> None:
    instance = unit.lock(id)
    settings = unit.core.settings.get("contracts") or DEFAULTS
    records.write_all(unit, instance, vertical_of(instance.data["vertical"], settings))


def remind(engine: Engine) -> bool:
    """Send each reminder once: so many days before a contract ends, or before its last day for notice."""
    found = engine.setting("contracts")
    settings = found if isinstance(found, ContractSettings) else DEFAULTS
    whom = settings.remind or settings.notify
    if not whom or not settings.remind_before:
        return False
    today = moment(engine.clock.now()).date()
    after: UUID | None = None
    while True:
        rows = engine.read(partial(_with_end, after=after))
        for row in rows:
            for one, before in due(row, today, settings.remind_before):
                engine.write(
                    partial(_remind, id=row.instance_id, one=one, before=before, today=today, settings=settings),
                    name="remind",
                )
        if len(rows) < AT_ONCE:
            return False
        after = rows[-1].instance_id


def due(row: sa.Row[tuple[object, ...]], today: date, days: list[int]) -> list[tuple[Deadline, int]]:
    """The deadlines of a row that are near, each with the latest of the days that has come."""
    found = []
    for one in deadlines(date.fromisoformat(row.ends), row.notice, row.renewal, row.basis, today):
        left = (one.day - today).days
        reached = [before for before in days if 0 <= left <= before]
        if reached:
            found.append((one, min(reached)))
    return found


def _with_end(conn: sa.Connection, after: UUID | None) -> list[sa.Row[tuple[object, ...]]]:
    query = sa.select(R).where(R.c.ends.is_not(None)).order_by(R.c.instance_id).limit(AT_ONCE)
    if after is not None:
        query = query.where(R.c.instance_id > after)
    return list(conn.execute(query).all())


def _remind(unit: Unit, id: UUID, one: Deadline, before: int, today: date, settings: ContractSettings) -> None:
    instance = unit.lock(id)
    if instance.state not in IN_FORCE or instance.erased:
        return
    row = {"instance_id": id, "kind": one.kind, "day": one.day.isoformat(), "at": unit.now}
    # Earlier reminders of the same day are over with this one, also those that were never sent.
    sent = [days for days in settings.remind_before if days >= before]
    known = sa.select(S.c.day).where(
        S.c.instance_id == id, S.c.kind == one.kind, S.c.day == row["day"], S.c.days_before == str(before)
    )
    if unit.conn.execute(known).first() is not None:
        return
    for days in sent:
        unit.conn.execute(upsert(S).values(days_before=str(days), **row).on_conflict_do_nothing())
    left = (one.day - today).days
    when = "today" if left == 0 else "tomorrow" if left == 1 else f"in {left} days"
    subject = f"{naming.called(instance.data)} {WORDS[one.kind]} {one.day.isoformat()} ({when})"
    body = {
        "contract": naming.called(instance.data),
        "kind": one.kind,
        "day": one.day.isoformat(),
        "basis": one.basis,
        "page": f"/ui/contracts/{id}/review",
    }
    whom = [name.partition(":") for name in settings.remind or settings.notify]
    send(unit, instance, tuple(Message(channel, to, subject, body) for channel, _, to in whom))
