"""What the clock starts: rules decide about matches, what was missed is swept up, claims are kept, people are nudged.

Workers prepare, submit and retry as soon as something is due. The sweeps only find what was missed, such as work whose
worker was poisoned, or a retry whose moment passed while nothing ran.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.followers import addresses, give_up
from interlock.apps.jobs.autoapply.machine import FAILED, QUEUED, REQUIRES_REVIEW, application
from interlock.apps.jobs.autoapply.models import WithdrawReason
from interlock.apps.jobs.autoapply.queueing import enqueueing
from interlock.apps.jobs.autoapply.records import applications, decisions, logs, rules, seekers
from interlock.apps.jobs.autoapply.records.rules import RuleRow
from interlock.apps.jobs.autoapply.review import by_hand
from interlock.apps.jobs.autoapply.rules import Check, Decision
from interlock.apps.jobs.finder.records import postings
from interlock.apps.jobs.tables import applied as T
from interlock.apps.jobs.tables import apply_log as L
from interlock.engine import Engine, Instance, Unreadable
from interlock.engine.application import (
    SYSTEM_ACTOR,
    Unit,
    change,
    error_summary,
    find,
    fire,
    hasten,
    instances,
    must_raise,
    send,
)
from interlock.machine import SYSTEM, Actor, Message
from interlock.store import Micros, span

R = TypeVar("R")
log = logging.getLogger("interlock.autoapply")
AT_ONCE = 50
"""Postings that a rule decides about in one round."""
STALE = timedelta(hours=48)
"""How long an application waits for its user before they are nudged, and between two nudges."""
MISSED = timedelta(minutes=1)
"""How long after its moment a retry counts as missed."""
REST = timedelta(days=1)
"""When a posting is tried again that could not be judged."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What a round of the matcher did."""

    judged: int = 0
    queued: int = 0

    def __add__(self, other: Matched) -> Matched:
        return Matched(self.judged + other.judged, self.queued + other.queued)


def match_rules(engine: Engine) -> bool:
    """Let the rules of all workspaces decide about matches. True if there are more."""
    found = [match_workspace(engine, one) for one in engine.read(rules.workspaces)]
    return any(one.judged >= AT_ONCE for one in found)


def match_workspace(engine: Engine, workspace: str, *, rule_id: UUID | None = None) -> Matched:
    """Let the rules of a workspace decide about the best matches that they have not decided about."""
    done = Matched()
    if engine.read(lambda conn: seekers.stopped(conn, workspace)) is not None:
        return done
    for rule in engine.read(lambda conn: rules.of(conn, workspace)):
        if rule.paused or rule_id not in (None, rule.id):
            continue
        now = engine.clock.now()
        waiting = engine.read(partial(_undecided, rule=rule, now=now))
        for posting_id in waiting:
            done += _decide(engine, rule, posting_id)
    return done


def _undecided(conn: sa.Connection, rule: RuleRow, now: Micros) -> list[UUID]:
    return decisions.undecided(conn, rule, now, AT_ONCE)


def _decide(engine: Engine, rule: RuleRow, posting_id: UUID) -> Matched:
    try:
        queued = engine.write(
            lambda unit: enqueueing.enqueue_by_rule(unit, rule.workspace, rule.id, posting_id), name="enqueue"
        )
    except BaseException as error:
        if must_raise(error):
            raise
        said = error_summary(error)
        log.error("rule %s cannot decide about posting %s: %s", rule.id, posting_id, said)
        engine.write(partial(set_aside, rule=rule, posting_id=posting_id, said=said), name="enqueue")
        return Matched(1)
    return Matched(1, int(queued is not None and queued.application is not None))


def set_aside(unit: Unit, rule: RuleRow, posting_id: UUID, said: str) -> None:
    """Note that a posting cannot be judged, so that it delays no other."""
    row = postings.find(unit.conn, rule.workspace, posting_id)
    if row is not None:
        check = Check("unreadable", "block", said[:500])
        decisions.put(unit, rule, row, Decision(row.posting_key, (check,), True), again_at=unit.now + span(REST))


def _each(unit: Unit, ids: Iterable[UUID | None], do: Callable[[Unit, UUID], R]) -> list[R]:
    """What is done with each application. One that cannot be worked out is logged and delays no other."""
    done = []
    for one in ids:
        if one is None:
            continue
        try:
            with unit.savepoint() as inner:
                made = do(inner, one)
        except BaseException as error:
            if must_raise(error):
                raise
            log.error("application %s is left as it is: %s", one, error_summary(error))
            continue
        done.append(made)
    return done


# -- sweeps


def sweep_queue(engine: Engine) -> bool:
    """Find queued applications that nobody works on although they are due, and records that lag behind."""
    engine.write(_sweep_queue, name="sweep_queue")
    return False


def _sweep_queue(unit: Unit) -> int:
    """Wake queued applications, and bring records up to date. Returns how many were found."""
    return wake_queued(unit) + _mend_records(unit)


def wake_queued(unit: Unit, workspace: str | None = None) -> int:
    """Wake queued applications that wait for a later moment without a reason; how many."""
    return sum(_each(unit, [one.id for one in _of_states(unit, (QUEUED,), workspace)], _wake))


def _wake(unit: Unit, instance_id: UUID) -> int:
    found = unit.lock(instance_id)
    return int(found.state == QUEUED and hasten(unit, found))


def _mend_records(unit: Unit) -> int:
    """Records whose instance moved without them, as after a restored table."""
    rows = unit.conn.execute(
        sa.select(T.c.instance_id, T.c.status, T.c.review_reason)
        .where(T.c.instance_id.is_not(None), T.c.status.not_in(applications.ENDED))
        .limit(1000)
    ).all()
    behind = [row.instance_id for row in rows if _is_behind(unit, row)]
    return sum(_each(unit, behind, _mend))


def _is_behind(unit: Unit, row: Any) -> bool:
    """Whether the instance has moved since, or cannot be read."""
    found = find(unit.conn, row.instance_id, machine=application.name)
    try:
        return found is not None and (row.status, row.review_reason) != (found.state, _asked(found))
    except Unreadable:
        return True


def _mend(unit: Unit, instance_id: UUID) -> int:
    found = find(unit.conn, instance_id, machine=application.name)
    assert found is not None
    known: dict[str, Any] = {"status": found.state, "review_reason": _asked(found)}
    row = applications.find(unit.conn, found.workspace, instance_id)
    if row is None or row.status != found.state:
        known["status_at"] = found.entered_at
    applications.update(unit, instance_id, **known)
    return 1


def _asked(found: Instance) -> str | None:
    return found.data.get("review_reason") if found.state == REQUIRES_REVIEW else None


def sweep_retries(engine: Engine) -> bool:
    """Queue failed applications whose retry was missed; withdraw those that have none left."""
    engine.write(retry_failed, name="sweep_retries")
    return False


def retry_failed(unit: Unit, workspace: str | None = None) -> dict[str, int]:
    """The same in this transaction; how many were queued, withdrawn, and wait for their moment."""
    ends = _each(unit, [one.id for one in _of_states(unit, (FAILED,), workspace)], _retry)
    return {name: ends.count(name) for name in ("queued", "withdrawn", "waiting")}


def _retry(unit: Unit, instance_id: UUID) -> str:
    it = unit.lock(instance_id)
    if it.state != FAILED or it.paused_at is not None:
        return ""
    if it.finished_at is not None or it.due_event is None:
        fire(unit, it.id, "withdraw", SYSTEM_ACTOR, reason="no retry is left")
        change(unit, it, {"withdraw_reason": WithdrawReason.RETRIES_EXHAUSTED}, SYSTEM_ACTOR)
        applications.update(unit, it.id, withdraw_reason=WithdrawReason.RETRIES_EXHAUSTED.value)
        give_up(unit, it)
        return "withdrawn"
    if it.due_at is not None and it.due_at + span(MISSED) <= unit.now:
        fire(unit, it.id, it.due_event, SYSTEM_ACTOR, reason="its retry was missed")
        return "queued"
    return "waiting"


def _of_states(unit: Unit, states: tuple[str, ...], workspace: str | None = None) -> list[Instance]:
    return instances(unit.conn, application.name, states=states, workspace=workspace, limit=1000)


# -- claims and people


def keep_claims(engine: Engine) -> bool:
    """Renew the claims of applications that people are sending by hand, until they have answered."""

    def job(unit: Unit) -> None:
        rows = unit.conn.execute(
            sa.select(T.c.instance_id).where(
                T.c.status == REQUIRES_REVIEW, T.c.review_reason == "submit_by_hand", T.c.sent_at.is_not(None)
            )
        )
        _each(unit, rows.scalars().all(), _keep_claim)

    engine.write(job, name="keep_claims")
    return False


def _keep_claim(unit: Unit, instance_id: UUID) -> None:
    found = find(unit.conn, instance_id, machine=application.name)
    claimed_run = by_hand.open_run(unit, found) if found is not None and by_hand.is_by_hand(found) else None
    if claimed_run is not None:
        by_hand.renew_claim(unit, claimed_run)


def nudge(engine: Engine) -> bool:
    """Remind people by mail of applications that have waited for them for two days, once in two days."""

    def job(unit: Unit) -> None:
        nudged = sa.exists().where(
            L.c.instance_id == T.c.instance_id, L.c.event == "nudge", L.c.at > unit.now - span(STALE)
        )
        rows = unit.conn.execute(
            sa.select(T)
            .where(T.c.status == REQUIRES_REVIEW, T.c.status_at <= unit.now - span(STALE), ~nudged)
            .order_by(T.c.id)
            .limit(200)
        ).all()
        known = {row.instance_id: applications.ApplicationRow(**row._mapping) for row in rows}
        _each(unit, known, lambda inner, one: _nudge(inner, known[one]))

    engine.write(job, name="nudge")
    return False


def _nudge(unit: Unit, row: applications.ApplicationRow) -> None:
    found = find(unit.conn, row.instance_id, machine=application.name) if row.instance_id else None
    if found is None:
        return
    actor = Actor(SYSTEM, "nudge")
    days = (unit.now - row.status_at) // span(timedelta(days=1))
    logs.write(
        unit,
        row.workspace,
        "nudge",
        str(actor),
        status=row.status,
        instance_id=row.instance_id,
        rule_id=row.rule_id,
        user_id=row.user_id,
        trace_id=row.trace_id,
        reason=f"it has waited for {days} days: {row.review_reason}",
    )
    text = (
        f"The application for {row.title or 'a posting'} at {row.company or 'an unknown company'} has waited for you "
        f"for {days} days. Approve it, reject it, or pause it."
    )
    for address in addresses(unit, row.workspace):
        send(unit, unit.lock(found.id), (Message("mail", address, "An application waits for you", {"text": text}),))
