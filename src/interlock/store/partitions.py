"""Monthly partitions of the history on PostgreSQL, each dropped as a whole when everything in it is old.

The month is the one in which an instance was created, which its id says (UUIDv7 begins with the time). So a history is
in one partition, `(instance_id, seq)` is unique over all of them, and reading a history uses one of them.

An existing history becomes the first partition without being copied. A constraint that all its ids are before the next
month is validated while others work; then the tables are exchanged within a few milliseconds.

    history                 the partitioned table
      history_before        the existing history, and whatever begins before the first month
      history_2026_12 …     a month, created ahead
      history_other         ids of no month; empty as long as months are created ahead
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import sqlalchemy as sa

from interlock.store.clock import Micros, micros, moment
from interlock.store.database import Store
from interlock.store.errors import StoreError
from interlock.store.tables import history as H
from interlock.store.tables import instance as I

BEFORE, OTHER = "history_before", "history_other"
AHEAD = 3
"""Months that are created before they begin."""
PATIENCE = "SELECT set_config('lock_timeout', '500ms', true)"
"""Waiting for such a lock blocks everybody else, so give up early and try again later."""
HIGHEST = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class Month:
    """A partition: the histories of instances with ids from `low` up to but not including `high`."""

    name: str
    low: UUID
    high: UUID

    def has(self, instance_id: UUID) -> bool:
        return self.low <= instance_id < self.high


@dataclass(frozen=True, slots=True)
class Plan:
    """The current partitions, and what `apply` would do."""

    partitioned: bool
    rows: int
    """Rows of the whole history, as the database estimates."""
    size: int
    """Bytes, including indexes."""
    months: tuple[Month, ...]
    missing: tuple[str, ...]
    """Months that would be created."""
    strays: int
    """Rows that belong to no month, counted up to 1,000."""


def first_id(at: Micros) -> UUID:
    """The lowest id that can be created at this time."""
    return UUID(int=(at // 1000) << 80)


def begun(instance_id: UUID) -> Micros:
    return (instance_id.int >> 80) * 1000


def month_of(at: Micros, later: int = 0) -> Month:
    """The month of a time, or a later one."""
    begin = moment(at)
    number = begin.year * 12 + begin.month - 1 + later
    low, high = (datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC) for n in (number, number + 1))
    return Month(f"history_{low:%Y_%m}", first_id(micros(low)), first_id(micros(high)))


def partitioned(conn: sa.Connection) -> bool:
    if conn.dialect.name != "postgresql":
        return False
    kind = conn.exec_driver_sql("SELECT relkind::text FROM pg_class WHERE oid = to_regclass('history')").scalar()
    return bool(kind == "p")


def months(conn: sa.Connection) -> list[Month]:
    """The partitions, the oldest first, without `history_other`."""
    rows = conn.exec_driver_sql(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid "
        "WHERE h.inhparent = to_regclass('history')"
    ).all()
    found = []
    for name, bound in rows:
        ends = re.fullmatch(r"FOR VALUES FROM \((MINVALUE|'[^']+')\) TO \('([^']+)'\)", bound)
        if ends is not None:
            low = UUID(int=0) if ends[1] == "MINVALUE" else UUID(ends[1].strip("'"))
            found.append(Month(name, low, UUID(ends[2])))
    return sorted(found, key=lambda month: month.low)


def plan(conn: sa.Connection, now: Micros) -> Plan:
    _only_postgres(conn.dialect.name)
    done = partitioned(conn)
    there = months(conn) if done else []
    rows, size = conn.exec_driver_sql(
        "SELECT coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint, "
        "coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint "
        "FROM pg_class c WHERE c.oid = to_regclass('history') OR c.oid IN "
        "(SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('history'))"
    ).one()
    strays = 0
    if done:
        query = f"SELECT count(*) FROM (SELECT 1 FROM {OTHER} LIMIT 1000) AS few"
        strays = conn.exec_driver_sql(query).scalar_one()
    missing = _missing(there, now) if done else _wanted(_first(conn, now))
    return Plan(done, rows, size, tuple(there), tuple(month.name for month in missing), strays)


def _only_postgres(dialect: str) -> None:
    if dialect != "postgresql":
        raise StoreError("only PostgreSQL can partition the history by month; on SQLite retention deletes its rows")


def _first(conn: sa.Connection, now: Micros) -> Micros:
    """A time in the last month that stays in the existing table: no id is later."""
    newest = conn.execute(sa.select(I.c.id).order_by(I.c.id.desc()).limit(1)).scalar()
    last = conn.execute(sa.select(H.c.instance_id).order_by(H.c.instance_id.desc()).limit(1)).scalar()
    return max([now, *(begun(one) for one in (newest, last) if one is not None)])


def _wanted(at: Micros) -> list[Month]:
    return [month_of(at, later) for later in range(1, AHEAD + 1)]


def _missing(there: list[Month], now: Micros) -> list[Month]:
    """Months from now on that have no partition."""
    covered = max((month.high for month in there), default=UUID(int=0))
    return [month for month in (month_of(now, later) for later in range(AHEAD + 1)) if month.low >= covered]


def apply(store: Store, now: Micros) -> Plan:
    """Partition the history by month, or create missing months. Safe to repeat, and while others work."""
    _only_postgres(store.dialect)
    if not store.read(partitioned):
        first = store.read(lambda conn: _first(conn, now))
        bound = month_of(first, 1).low
        # In its own transaction: it needs a strong lock for a moment, and the validation a weaker one.
        store.schema(lambda conn: _promise(conn, bound))
        store.schema(_look_at_all)
        store.schema(lambda conn: _exchange(conn, bound))
        store.schema(lambda conn: _make(conn, _wanted(first)))
    look_ahead(store, now)
    return store.read(lambda conn: plan(conn, now))


def look_ahead(store: Store, now: Micros) -> list[str]:
    """Create the next months. Returns their names; none if the history is not partitioned."""
    if not store.read(partitioned):
        return []
    missing = store.read(lambda conn: _missing(months(conn), now))
    return store.schema(lambda conn: _make(conn, missing)) if missing else []


def _run(conn: sa.Connection, *statements: str) -> None:
    conn.exec_driver_sql(PATIENCE)
    for statement in statements:
        conn.exec_driver_sql(statement)


def _promise(conn: sa.Connection, bound: UUID) -> None:
    query = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'history_before_bound'"
    if partitioned(conn) or str(bound) in str(conn.exec_driver_sql(query).scalar()):
        return  # another process does it, or has done it
    _run(
        conn,
        "ALTER TABLE history DROP CONSTRAINT IF EXISTS history_before_bound",
        f"ALTER TABLE history ADD CONSTRAINT history_before_bound CHECK (instance_id < '{bound}') NOT VALID",
    )


def _look_at_all(conn: sa.Connection) -> None:
    if not partitioned(conn):
        _run(conn, "ALTER TABLE history VALIDATE CONSTRAINT history_before_bound")


def _exchange(conn: sa.Connection, bound: UUID) -> None:
    """Exchange the tables, the short part under a lock."""
    if partitioned(conn):
        return  # another process was faster
    _run(conn, "LOCK TABLE history IN ACCESS EXCLUSIVE MODE")
    last = conn.exec_driver_sql("SELECT coalesce(max(pos), 0) FROM history").scalar_one()
    given = conn.exec_driver_sql("SELECT last_value FROM " + str(_sequence(conn))).scalar_one()
    _run(
        conn,
        f"ALTER TABLE history RENAME TO {BEFORE}",
        f"ALTER TABLE {BEFORE} RENAME CONSTRAINT pk_history TO pk_{BEFORE}",
        f"ALTER TABLE {BEFORE} RENAME CONSTRAINT uq_history_instance_id_seq TO uq_{BEFORE}",
        f"ALTER INDEX ix_history_feed RENAME TO ix_{BEFORE}",
        f"DROP TRIGGER history_keep ON {BEFORE}",  # attaching it creates the one of the partitioned table
        f"ALTER TABLE {BEFORE} ALTER COLUMN pos DROP IDENTITY",
        f"CREATE TABLE history (LIKE {BEFORE} INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE (instance_id)",
        f"CREATE SEQUENCE history_pos START {max(last, given) + 1} OWNED BY history.pos",
        "ALTER TABLE history ALTER COLUMN pos SET DEFAULT nextval('history_pos')",
        "ALTER TABLE history ADD CONSTRAINT uq_history_instance_id_seq UNIQUE (instance_id, seq)",
        "CREATE INDEX ix_history_feed ON history (xact, pos)",
        "CREATE TRIGGER history_keep BEFORE UPDATE OR DELETE ON history "
        "FOR EACH ROW EXECUTE FUNCTION interlock_keep_history()",
        "CREATE TRIGGER history_no_truncate BEFORE TRUNCATE ON history "
        "FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_history()",
        f"ALTER TABLE history ATTACH PARTITION {BEFORE} FOR VALUES FROM (MINVALUE) TO ('{bound}')",
        f"ALTER TABLE {BEFORE} DROP CONSTRAINT history_before_bound",
        f"CREATE TABLE {OTHER} PARTITION OF history DEFAULT",
        _guard(OTHER),
    )


def _sequence(conn: sa.Connection) -> str:
    found: str = conn.exec_driver_sql("SELECT pg_get_serial_sequence('history', 'pos')").scalar_one()
    return found


def _guard(name: str) -> str:
    """The statement that protects a partition: it does not inherit statement triggers, and can be changed directly."""
    return (
        f"CREATE TRIGGER history_no_truncate BEFORE TRUNCATE ON {name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION interlock_keep_history()"
    )


def _make(conn: sa.Connection, wanted: list[Month]) -> list[str]:
    made = []
    there = {month.name for month in months(conn)}
    for month in wanted:
        ends = f"'{month.low}'", f"'{month.high}'"
        stray = f"SELECT 1 FROM {OTHER} WHERE instance_id >= {ends[0]} AND instance_id < {ends[1]} LIMIT 1"
        if month.name in there or conn.exec_driver_sql(stray).first() is not None:
            continue  # its rows are in `history_other` already, and stay there
        # Created separately and attached: that needs a weaker lock than creating it as a partition.
        _run(
            conn,
            f"CREATE TABLE {month.name} (LIKE history INCLUDING DEFAULTS INCLUDING STORAGE)",
            _guard(month.name),
            f"ALTER TABLE history ATTACH PARTITION {month.name} FOR VALUES FROM ({ends[0]}) TO ({ends[1]})",
        )
        made.append(month.name)
    return made


# -- dropping months


def ended(conn: sa.Connection, age_of: Callable[[str], Micros | None], now: Micros) -> list[Month]:
    """Past months in which no instance must be kept."""
    if not partitioned(conn):
        return []
    over = [month for month in months(conn) if begun(month.high) <= now]
    return [month for month in over if not _needed(conn, month, age_of, now)]


def _needed(conn: sa.Connection, month: Month, age_of: Callable[[str], Micros | None], now: Micros) -> bool:
    inside = (I.c.id >= month.low, I.c.id < month.high)
    machine: str | None = ""
    while machine is not None:
        query = sa.select(I.c.machine).where(I.c.machine > machine).order_by(I.c.machine, I.c.state).limit(1)
        machine = conn.execute(query).scalar()
        if machine is None:
            return False
        age = age_of(machine)
        young = sa.true() if age is None else sa.or_(I.c.finished_at.is_(None), I.c.finished_at > now - age)
        if conn.execute(sa.select(I.c.id).where(*inside, I.c.machine == machine, young).limit(1)).first() is not None:
            return True
    return False


def drop(conn: sa.Connection, month: Month) -> bool:
    """Drop a month, if all its instances were removed. Returns whether it was dropped."""
    inside = (I.c.id >= month.low, I.c.id < month.high)
    if conn.execute(sa.select(I.c.id).where(*inside).limit(1)).first() is not None:
        return False
    without_leave = (
        f"SELECT 1 FROM {month.name} h WHERE NOT EXISTS (SELECT 1 FROM purge p WHERE p.instance_id = h.instance_id "
        "AND p.kind = 'rows' AND p.upto_seq >= h.seq) LIMIT 1"
    )
    if conn.exec_driver_sql(without_leave).first() is not None:
        return False
    _run(conn, f"ALTER TABLE history DETACH PARTITION {month.name}", f"DROP TABLE {month.name}")
    return True
