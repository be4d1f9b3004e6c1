"""What the clock does for loans: sandboxes go back, are kept as long as they are used, and the pool has its items."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator import pool, waiting_line
from interlock.apps.sessions.allocator.choosing import lender_of
from interlock.apps.sessions.allocator.lender import NotBorrowed
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.host_folders import NoHostFolders, host_folders
from interlock.apps.sessions.loans.keys import loan_in
from interlock.apps.sessions.loans.need import has_done
from interlock.apps.sessions.loans.session_loans import sandbox_of
from interlock.apps.sessions.machine import BORROWING, HELD, RETURNING, loan, session
from interlock.apps.sessions.sandbox.local import KIND
from interlock.apps.sessions.settings import SessionSettings, settings_in
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Engine, Instance
from interlock.engine.application import (
    SYSTEM_ACTOR,
    Unit,
    error_summary,
    find,
    fire,
    get,
    hasten,
    instances,
    must_raise,
)
from interlock.store import Micros, span

log = logging.getLogger("interlock.sessions")
AT_ONCE = 500
"""Loans that one round takes."""


def return_sandboxes(engine: Engine) -> bool:
    """Give back the sandboxes of sessions that have done with them."""
    keep_for = timedelta(seconds=settings_in(engine.setting("sessions")).return_after)
    after: UUID | None = None
    while True:
        held = engine.read(partial(_held, after=after))
        sessions = engine.read(partial(_sessions_of, held=held))
        for one in held:
            its = sessions.get(one.parent) if one.parent is not None else None
            if its is None or has_done(its, engine.clock.now(), keep_for):
                _each(engine, one, lambda found: partial(_give_back, loan_id=found.id, keep_for=keep_for))
        if len(held) < AT_ONCE:
            return False
        after = held[-1].id


def _each(engine: Engine, found: Instance, job: Callable[[Instance], Callable[[Unit], object]]) -> None:
    """One loan that cannot be worked out delays no other."""
    try:
        engine.write(job(found), name="give_back_loan")
    except BaseException as error:
        if must_raise(error):
            raise
        log.error("the sandbox of loan %s cannot be given back: %s", found.id, error_summary(error))


def _held(conn: sa.Connection, after: UUID | None) -> list[Instance]:
    """Loans that hold a sandbox of an allocator."""
    with_item = sa.select(sandbox_loan.c.loan_id).where(sandbox_loan.c.ended_at.is_(None))
    return instances(conn, loan.name, states=(HELD,), among=with_item, after=after, limit=AT_ONCE)


def _sessions_of(conn: sa.Connection, held: list[Instance]) -> dict[UUID, Instance]:
    ids = [one.parent for one in held if one.parent is not None]
    found = instances(conn, session.name, ids=ids, limit=AT_ONCE) if ids else []
    return {one.id: one for one in found}


def _give_back(unit: Unit, loan_id: UUID, keep_for: timedelta) -> None:
    """Start the return, unless the session has been prompted again meanwhile."""
    seen = get(unit.conn, loan_id, machine=loan.name)
    unit.lock_many([one for one in (seen.parent, loan_id) if one is not None])
    found = unit.lock(loan_id)
    its = unit.known.get(found.parent) if found.parent is not None else None
    if found.state != HELD or (its is not None and not has_done(its, unit.now, keep_for)):
        return
    fire(unit, loan_id, "give_back", SYSTEM_ACTOR, reason=f"its session is {its.state}" if its is not None else "")


def wake_returns(unit: Unit, operation_id: str) -> int:
    """Let the loans that follow an operation ask about it now; how many there are."""
    with_item = sa.select(sandbox_loan.c.loan_id).where(sandbox_loan.c.ended_at.is_(None))
    found = instances(unit.conn, loan.name, states=(RETURNING,), among=with_item, newest_first=True, limit=AT_ONCE)
    return sum(hasten(unit, unit.lock(one.id)) for one in found if one.data.get("operation_id") == operation_id)


# -- the time limit of borrows


def renew_borrows(engine: Engine) -> bool:
    """Renew what loans hold, so that the allocator's time limit ends only what nobody uses."""
    settings = settings_in(engine.setting("sessions"))
    every = span(timedelta(hours=settings.allocator.lend_for)) // 3
    lender = lender_of(settings, EngineTransactions(engine))
    for loan_id in engine.read(partial(_not_renewed, since=engine.clock.now() - every, name=lender.name)):
        try:
            lent = engine.read(partial(sandbox_of, loan_id=loan_id))
            if lent is not None:
                lender.renew(lent)
            engine.write(partial(_renewed, loan_id=loan_id), name="renew_borrow")
        except NotBorrowed as error:
            log.warning("the sandbox of loan %s cannot be renewed: %s", loan_id, error)
            engine.write(partial(_renewed, loan_id=loan_id), name="renew_borrow")
        except BaseException as error:
            if must_raise(error):
                raise
            log.error("the sandbox of loan %s cannot be renewed: %s", loan_id, error_summary(error))
    return False


def _not_renewed(conn: sa.Connection, since: Micros, name: str) -> list[UUID]:
    table = sandbox_loan.c
    query = sa.select(table.loan_id).where(table.ended_at.is_(None), table.renewed_at < since, table.allocator == name)
    ids = list(conn.execute(query.order_by(table.renewed_at).limit(AT_ONCE)).scalars())
    return [one.id for one in instances(conn, loan.name, ids=ids, states=(HELD,), limit=AT_ONCE)]


def _renewed(unit: Unit, loan_id: UUID) -> None:
    unit.conn.execute(sa.update(sandbox_loan).where(sandbox_loan.c.loan_id == loan_id).values(renewed_at=unit.now))


# -- the local pool


def fill_pool(engine: Engine) -> bool:
    """Keep as many local sandboxes in the pool as are configured, and wake who waits for one."""
    settings = settings_in(engine.setting("sessions"))
    if settings.allocator.url is not None:
        return False
    try:
        sandboxes = host_folders(engine.setting).sandboxes
    except NoHostFolders:  # a process that keeps no files has no local sandboxes
        return False
    wanted = {one["name"]: pool.canonical(one) for one in sandboxes.items(settings.pool_size)}
    if engine.read(partial(_differs, name=settings.allocator.pool, wanted=wanted)):
        engine.write(partial(_fill, name=settings.allocator.pool, wanted=wanted), name="fill_pool")
    wake_waiting(engine, settings)
    return False


def _local(found: list[pool.Item]) -> dict[str, pool.Item]:
    """The local sandboxes among the items, by name."""
    values = [(one, one.value) for one in found]
    return {
        value["name"]: one
        for one, value in values
        if isinstance(value, dict) and value.get("kind") == KIND and isinstance(value.get("name"), str)
    }


def _differs(conn: sa.Connection, name: str, wanted: dict[str, str]) -> bool:
    there = _local(pool.items(conn, name))
    return wanted.keys() != there.keys() or any(
        one.state == pool.FREE and one.content != wanted[local] for local, one in there.items()
    )


def _fill(unit: Unit, name: str, wanted: dict[str, str]) -> None:
    """Add what is missing; change and remove only what is free."""
    pool.lock(unit, name)
    there = _local(pool.items(unit.conn, name))
    for local, one in there.items():
        if one.state != pool.FREE:
            continue
        if local not in wanted:
            pool.remove(unit, one)
        elif one.content != wanted[local]:
            pool.replace(unit, one, wanted[local])
    for local, content in wanted.items():
        if local not in there:
            pool.add(unit, name, content)


def wake_waiting(engine: Engine, settings: SessionSettings) -> None:
    """Let the loans that are first in line look now, as many as there are free sandboxes."""
    name = settings.allocator.pool
    free = engine.read(partial(pool.counts, pool=name)).free
    if not free:
        return
    for key in engine.read(partial(waiting_line.first_in_line, name=name, now=engine.clock.now(), limit=free)):
        loan_id = loan_in(key)
        if loan_id is not None:
            engine.write(partial(_hasten, loan_id=loan_id), name="wake_loan")


def _hasten(unit: Unit, loan_id: UUID) -> None:
    seen = find(unit.conn, loan_id, machine=loan.name)
    if seen is not None and seen.state == BORROWING:
        hasten(unit, unit.lock(loan_id))
