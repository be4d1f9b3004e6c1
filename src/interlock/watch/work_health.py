"""Health checks of the work: overdue steps, missing workers, versions without code. The checks write nothing."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from interlock.config import Settings
from interlock.engine import Engine, workers
from interlock.engine.audit import checkpoints
from interlock.engine.audit.signing import Keys
from interlock.store import SECOND, Micros, moment, positions, retention_tables
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.health import Finding, Level, duration_text, graded, patiently
from interlock.store.positions import Position
from interlock.watch import rollups

I, H, O = t.instance, t.history, t.outbox  # noqa: E741
MANY = 1_000
"""Rows are counted up to this number."""


def check(engine: Engine, settings: Settings | None = None) -> list[Finding]:
    """Run all checks on the database. With settings, also check where checkpoints are copied to."""
    now = engine.clock.now()

    def read(conn: sa.Connection) -> Iterator[Finding]:
        yield from [
            *_workers(conn, now),
            *_lag(conn, now),
            *_versions(conn, engine),
            *_sums(conn, now),
            *_messages(conn, now),
            *_letters(conn),
            *_retention(conn),
            *_checkpoints(conn, now, settings, engine.core.audit_keys),
        ]

    return patiently(engine.store, read)


def _workers(conn: sa.Connection, now: Micros) -> Iterator[Finding]:
    found = workers.alive(conn)
    living = [worker for worker in found if worker.until > now]
    if not living:
        waits = conn.execute(_ready(now).limit(1)).first() is not None
        do = "start one: interlock up, or interlock worker"
        level = Level.PROBLEM if waits else Level.WARNING
        yield Finding(level, "workers", "no worker is alive" + (", and work is ready" if waits else ""), do)
    else:
        yield Finding(Level.OK, "workers", f"{len(living)} alive on {len({w.host for w in living})} hosts")
    silent = [worker for worker in found if worker.until <= now]
    if silent and living:
        one = min(silent, key=lambda worker: worker.beat_at)
        yield Finding(
            Level.WARNING,
            "heartbeat",
            f"{len(silent)} workers missed their heartbeat, the first for "
            f"{duration_text((now - one.beat_at) / SECOND)} ({one.host}, process {one.pid})",
            "other workers take over their work; check the logs of these processes",
        )
    offset = max((abs(worker.clock_offset) for worker in living), default=0) / SECOND
    yield graded(
        "clocks of workers",
        offset,
        1.0,
        30.0,
        f"the largest offset from the database's clock is {offset:.2f} seconds",
        "synchronise the clocks of the workers' hosts with NTP",
    )


def _ready(now: Micros) -> sa.Select[tuple[str, Micros]]:
    return sa.select(I.c.queue, I.c.due_at).where(sa.text("wake = 'work' AND taken_by IS NULL"), I.c.due_at <= now)


def _lag(conn: sa.Connection, now: Micros) -> Iterator[Finding]:
    ready = _ready(now).subquery()
    rows = conn.execute(
        sa.select(ready.c.queue, sa.func.min(ready.c.due_at), sa.func.count()).group_by(ready.c.queue)
    ).all()
    halted = list(conn.execute(sa.select(s.halt.c.machine)).scalars())
    if halted:
        do = "resume it on the dashboard's Halt page if that is no longer wanted"
        yield Finding(Level.WARNING, "halted", f"these machines are halted: {', '.join(sorted(halted))}", do)
    if not rows:
        yield Finding(Level.OK, "lag", "no step is waiting for a worker")
    for queue, first, number in sorted(rows, key=lambda row: row[1])[:5]:
        seconds = (now - first) / SECOND
        yield graded(
            "lag",
            seconds,
            300,
            3600,
            f"{number:,} ready in the queue {queue}, the oldest for {duration_text(seconds)}",
            "start more workers or raise worker.concurrency; check that one serves this queue: interlock worker list",
        )


def _versions(conn: sa.Connection, engine: Engine) -> Iterator[Finding]:
    core = engine.core
    rows = conn.execute(sa.select(t.definition.c.machine, t.definition.c.version)).all()
    known = True
    for machine, version in sorted(map(tuple, rows)):
        if (machine, version) in core.served:
            continue
        some = sa.select(I.c.id).where(I.c.machine == machine, I.c.version == version, I.c.finished_at.is_(None))
        number = conn.execute(sa.select(sa.func.count()).select_from(some.limit(MANY).subquery())).scalar_one()
        if not number:
            continue
        known = False
        why = "; ".join(core.unserved.get((machine, version), ["no machine has that name"]))
        count = f"{number:,}" if number < MANY else f"{MANY:,} or more"
        yield Finding(
            Level.WARNING,
            "versions",
            f"{count} instances of {machine} version {version} have no code here: {why}",
            f"run the code that has it, or migrate them: interlock machine migrate {machine} --plan; load machines of "
            "your own with --app",
        )
    if known:
        yield Finding(Level.OK, "versions", "this code serves every unfinished instance")


def _sums(conn: sa.Connection, now: Micros) -> Iterator[Finding]:
    used = sa.select(s.cursor.c.xact, s.cursor.c.pos).where(s.cursor.c.name == rollups.CURSOR)
    at = conn.execute(used).first()
    if at is None:
        return
    order = positions.order(conn)
    behind = sa.select(H.c.at).where(*order.settled(Position(at.xact, at.pos)))
    first = conn.execute(behind.order_by(*order.columns).limit(1)).scalar()
    seconds = (now - first) / SECOND if first is not None else 0.0
    yield graded(
        "sums",
        seconds,
        300,
        86_400,
        f"the counts on the pages are {duration_text(seconds)} behind the history",
        "check that a server or a worker runs, and its log; it keeps the counts up to date",
    )


def _messages(conn: sa.Connection, now: Micros) -> Iterator[Finding]:
    first = conn.execute(sa.select(sa.func.min(O.c.due_at)).where(sa.text("status = 'waiting'"))).scalar()
    seconds = max((now - first) / SECOND, 0) if first is not None else 0.0
    yield graded(
        "outbox",
        seconds,
        900,
        86_400,
        f"the oldest message has been due for {duration_text(seconds)}",
        "check that its channel (mail, webhook) is configured and a worker runs",
    )
    dead = sa.select(O.c.id).where(O.c.status == "dead").limit(MANY)
    number = conn.execute(sa.select(sa.func.count()).select_from(dead.subquery())).scalar_one()
    if number:
        do = "retry or discard them on the dashboard's Outbox page"
        yield Finding(Level.WARNING, "outbox", f"{number:,} messages could not be delivered", do)


def _letters(conn: sa.Connection) -> Iterator[Finding]:
    some = sa.select(t.dead_letter.c.id).where(sa.text("status = 'open'")).limit(MANY)
    number = conn.execute(sa.select(sa.func.count()).select_from(some.subquery())).scalar_one()
    level = Level.WARNING if number else Level.OK
    count = f"{number:,}" if number < MANY else f"{MANY:,} or more"
    yield Finding(level, "dead letters", f"{count} are open", "see: interlock dead-letter list" if number else "")


def _retention(conn: sa.Connection) -> Iterator[Finding]:
    R = retention_tables.retention_run
    row = conn.execute(sa.select(R.c.error).order_by(R.c.id.desc()).limit(1)).first()
    if row is not None and row.error:
        yield Finding(
            Level.WARNING, "retention", f"its last run failed: {row.error}", "see: interlock retention status"
        )


def _checkpoints(conn: sa.Connection, now: Micros, settings: Settings | None, keys: Keys | None) -> Iterator[Finding]:
    stands = checkpoints.coverage(conn)
    kept = checkpoints.last_in_file(settings.audit.file if settings is not None else None)
    if why := checkpoints.why_not_signed(conn, keys, kept):
        yield Finding(Level.PROBLEM, "checkpoints", why, "see: interlock audit verify")
    if stands.last is None:
        if stands.waiting:
            yield Finding(
                Level.WARNING,
                "checkpoints",
                "the history was never signed, so the removal of a whole instance cannot be detected",
                "give a server or a worker the audit key: interlock audit key; or sign it now: interlock audit "
                "checkpoint",
            )
        return
    seconds = (now - stands.since) / SECOND if stands.since is not None else 0.0
    count = f"{stands.waiting:,}{' or more' if stands.waiting >= MANY else ''}"
    yield graded(
        "checkpoints",
        seconds,
        3600,
        86_400,
        f"number {stands.last.no} was signed at {moment(stands.last.at):%Y-%m-%d %H:%M} UTC; {count} history rows are "
        "newer",
        "check that a server or a worker with the audit key runs; or sign now: interlock audit checkpoint",
    )
    if settings is not None:
        file = settings.audit.file
        where = f"they are also written to {file}" if file else "they are only in this database and in the log"
        do = "" if file else "set audit.file to a file that nobody with access to the database can change"
        yield Finding(Level.OK, "checkpoints", where, do)
