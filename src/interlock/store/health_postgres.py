"""Health checks of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from interlock.store.health import GB, Check, Finding, Level, Size, duration_text, graded, size_text

MANY_DEAD = 10_000
"""Fewer dead rows than this are harmless, whatever their share."""


def _rows(conn: sa.Connection, query: str) -> list[Any]:
    return list(conn.exec_driver_sql(query).all())


def _server(conn: sa.Connection) -> Iterator[Finding]:
    version, size = _rows(
        conn, "SELECT current_setting('server_version'), pg_database_size(current_database())::bigint"
    )[0]
    yield Finding(Level.OK, "server", f"PostgreSQL {version}, the database has {size_text(size)}")
    for name in ("fsync", "full_page_writes"):
        if _rows(conn, f"SELECT current_setting('{name}')")[0][0] != "on":
            says, do = f"{name} is off: a power cut can destroy the database", f"set {name} = on in postgresql.conf"
            yield Finding(Level.PROBLEM, "durability", says, do)


def _dead_rows(conn: sa.Connection) -> Iterator[Finding]:
    rows = _rows(
        conn,
        "SELECT relname, n_live_tup, n_dead_tup, coalesce(extract(epoch FROM clock_timestamp() - "
        "greatest(last_autovacuum, last_vacuum)), -1)::float8 FROM pg_stat_user_tables ORDER BY n_dead_tup DESC",
    )
    bad = False
    for name, live, dead, since in rows:
        share = dead / max(live + dead, 1)
        if dead < MANY_DEAD or share < 0.2:
            continue
        bad = True
        last = f"vacuumed {duration_text(since)} ago" if since >= 0 else "never vacuumed"
        level = Level.PROBLEM if share > 0.6 and dead > 10 * MANY_DEAD else Level.WARNING
        yield Finding(
            level,
            "dead rows",
            f"{name} has {dead:,} dead rows beside {live:,} live ones, {last}",
            f"run: VACUUM (ANALYZE) {name}; if it does not help, an old snapshot keeps them (see the next lines), or "
            "autovacuum is too slow: lower autovacuum_vacuum_cost_delay",
        )
    if not bad:
        yield Finding(Level.OK, "dead rows", f"{sum(row[2] for row in rows):,} in all tables together")


def _autovacuum(conn: sa.Connection) -> Iterator[Finding]:
    if _rows(conn, "SELECT current_setting('autovacuum')")[0][0] != "on":
        yield Finding(
            Level.PROBLEM,
            "autovacuum",
            "autovacuum is off: dead rows are never cleared away",
            "set autovacuum = on in postgresql.conf and reload",
        )
        return
    late = _rows(
        conn,
        "SELECT s.relname, s.n_dead_tup FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid "
        "WHERE s.n_dead_tup > 10000 + 0.4 * greatest(c.reltuples, 0) "
        "AND coalesce(s.last_autovacuum, s.last_vacuum, 'epoch') < clock_timestamp() - interval '1 hour'",
    )
    if late:
        names = ", ".join(row[0] for row in late)
        yield Finding(
            Level.WARNING,
            "autovacuum",
            f"it has not come to {names} for an hour, though it should have",
            "raise autovacuum_max_workers or lower autovacuum_vacuum_cost_delay",
        )
    else:
        yield Finding(Level.OK, "autovacuum", "it keeps up")
    age = _rows(conn, "SELECT max(age(datfrozenxid))::bigint FROM pg_database")[0][0]
    yield graded(
        "transaction numbers",
        age,
        500_000_000,
        1_200_000_000,
        f"the oldest that is not frozen is {age:,} behind; at 2 billion the server stops",
        "run: vacuumdb --all --freeze, and look for what keeps autovacuum from it (the next lines)",
    )


def _snapshots(conn: sa.Connection) -> Iterator[Finding]:
    rows = _rows(
        conn,
        "SELECT pid, coalesce(application_name, ''), state, "
        "coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8, "
        "coalesce(left(regexp_replace(query, '\\s+', ' ', 'g'), 80), '') FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL "
        "AND backend_type = 'client backend' ORDER BY xact_start LIMIT 1",
    )
    if not rows:
        yield Finding(Level.OK, "longest transaction", "no other transaction is open")
    for pid, who, state, seconds, query in rows:
        yield graded(
            "longest transaction",
            seconds,
            300,
            3600,
            f"process {pid} ({who or 'without a name'}) is {state} in a transaction for {duration_text(seconds)}: "
            f"{query}",
            f"dead rows cannot go while it lasts; end it: SELECT pg_terminate_backend({pid}); against more of it set "
            "idle_in_transaction_session_timeout",
        )
    for name, seconds in _rows(
        conn,
        "SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::float8 FROM pg_prepared_xacts "
        "WHERE database = current_database()",
    ):
        yield graded(
            "prepared transaction",
            seconds,
            300,
            3600,
            f"{name!r} is prepared for {duration_text(seconds)}",
            f"finish it: COMMIT PREPARED '{name}' or ROLLBACK PREPARED '{name}'",
        )
    for name, kept in _rows(
        conn,
        "SELECT slot_name, coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() "
        "ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint FROM pg_replication_slots WHERE NOT active",
    ):
        yield graded(
            "replication slot",
            kept,
            1,
            10 * GB,
            f"nobody reads the slot {name!r}; it keeps {size_text(kept)} of WAL",
            f"let its reader run, or drop it: SELECT pg_drop_replication_slot('{name}')",
        )


def _locks(conn: sa.Connection) -> Iterator[Finding]:
    rows = _rows(
        conn,
        "SELECT pid, pg_blocking_pids(pid), extract(epoch FROM clock_timestamp() - state_change)::float8 "
        "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' ORDER BY 3 DESC",
    )
    if not rows:
        yield Finding(Level.OK, "lock waits", "nobody waits for a lock")
        return
    pid, blocking, seconds = rows[0]
    others = ", ".join(map(str, blocking))
    yield graded(
        "lock waits",
        seconds,
        1,
        60,
        f"{len(rows)} wait for a lock; process {pid} for {duration_text(seconds)}, behind {others}",
        "see in pg_stat_activity what they do; end one that hangs: "
        f"SELECT pg_terminate_backend({blocking[0] if blocking else pid})",
    )


def _connections(conn: sa.Connection) -> Iterator[Finding]:
    used, most = _rows(
        conn,
        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
        "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int",
    )[0]
    yield graded(
        "connections",
        used / most,
        0.8,
        0.95,
        f"{used} of {most} connections are in use",
        'raise max_connections, or put pgbouncer before it (with wakeup = "poll")',
    )


def _wal(conn: sa.Connection) -> Iterator[Finding]:
    try:
        with conn.begin_nested():
            size = _rows(conn, "SELECT coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()")[0][0]
    except sa.exc.DBAPIError:
        says = "this user may not see its size; to see it: GRANT pg_monitor TO its role"
        yield Finding(Level.OK, "WAL", says)
        return
    most = _rows(conn, "SELECT pg_size_bytes(current_setting('max_wal_size'))::bigint")[0][0]
    yield graded(
        "WAL",
        size,
        2 * most + GB,
        10 * most + 10 * GB,
        f"{size_text(size)} of WAL lie on the server",
        "a slot nobody reads, a failing archive_command or wal_keep_size keeps it",
    )


def _indexes(conn: sa.Connection) -> Iterator[Finding]:
    for (name,) in _rows(
        conn,
        "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE NOT i.indisvalid AND c.relkind = 'i'",
    ):
        yield Finding(
            Level.PROBLEM,
            "index",
            f"{name} is not valid, so nobody uses it",
            f"rebuild it: REINDEX INDEX CONCURRENTLY {name}",
        )


def _months(conn: sa.Connection) -> Iterator[Finding]:
    from interlock.store import partitions

    if not partitions.partitioned(conn):
        return
    months = partitions.months(conn)
    strays = conn.exec_driver_sql(f"SELECT 1 FROM {partitions.OTHER} LIMIT 1").first() is not None
    says = f"the history lies in {len(months)} tables, the last is {months[-1].name if months else 'missing'}"
    if strays:
        yield Finding(
            Level.WARNING,
            "months",
            f"{says}; some rows belong to none of them",
            "let a worker run all the time, it makes months ahead; or run: interlock db partition --apply",
        )
    else:
        yield Finding(Level.OK, "months", says)


CHECKS: tuple[Check, ...] = (
    _server,
    _dead_rows,
    _autovacuum,
    _snapshots,
    _locks,
    _connections,
    _wal,
    _indexes,
    _months,
)


def sizes(conn: sa.Connection) -> list[Size]:
    """Tables and indexes, the largest first, as last counted: counting them now would need a lock."""
    rows = _rows(
        conn,
        "SELECT c.relname, CASE WHEN c.relkind = 'r' THEN 'table' ELSE 'index' END, "
        "(c.relpages + coalesce((SELECT o.relpages FROM pg_class o WHERE o.oid = c.reltoastrelid), 0))::bigint "
        "* current_setting('block_size')::bigint, s.n_live_tup, s.n_dead_tup "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid "
        "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'i') ORDER BY 3 DESC",
    )
    return [Size(*row) for row in rows]
