"""SQL that SQLite and PostgreSQL write differently, one function each.

Code above the store uses these functions instead of asking for the dialect. A statement whose text differs completely,
because each database needs its own to keep its plan, is one `Prepared` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from interlock.store import tables as t
from interlock.store.arrays import array
from interlock.store.prepared import Prepared

ARRAYS: dict[type, Any] = {kind: postgresql.ARRAY(kind) for kind in (sa.Text, sa.Uuid, sa.BigInteger)}


def upsert(table: sa.Table) -> postgresql.Insert:
    """An INSERT that may have `on_conflict_do_nothing` or `on_conflict_do_update`, on both databases."""
    return postgresql.insert(table)


# -- many values in one statement


def among(conn: sa.Connection, column: sa.ColumnElement[Any], ids: Iterable[UUID]) -> sa.ColumnElement[bool]:
    """The condition that a column has one of the ids. PostgreSQL gets them as one array: half the work of a hundred."""
    if conn.dialect.name == "postgresql":
        return column == sa.any_(sa.literal(list(ids), type_=postgresql.ARRAY(sa.Uuid())))
    return column.in_(list(ids))


def hex_of(column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """An id as 32 hexadecimal digits. SQLite stores it so."""
    return sa.func.replace(sa.cast(column, sa.Text), "-", "")


def listed(name: str, kinds: Mapping[str, Any], dialect: str) -> Any:
    """Rows that are passed as one value, to select from. `many` binds them."""
    if dialect == "postgresql":
        arrays = [sa.bindparam(f"{name}_{n}", type_=ARRAYS[type(kind)]) for n, kind in enumerate(kinds.values())]
        return sa.func.unnest(*arrays).table_valued(*kinds).render_derived(name=name)
    each = sa.func.json_each(sa.bindparam(name)).table_valued("value", name=f"{name}_rows")
    columns = [sa.func.json_extract(each.c.value, f"$[{n}]").label(column) for n, column in enumerate(kinds)]
    return sa.select(*columns).subquery(name)


def many(conn: sa.Connection, name: str, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The parameters of a `listed`."""
    if conn.dialect.name == "postgresql":
        return {f"{name}_{n}": array(column) for n, column in enumerate(zip(*rows, strict=True))}
    plain = [[value.hex if isinstance(value, UUID) else value for value in row] for row in rows]
    return {name: orjson.dumps(plain).decode()}


def one_of(conn: sa.Connection, values: Sequence[str]) -> Any:
    """Texts as one value, for the statements below: an array for PostgreSQL, JSON for SQLite."""
    return array(values) if conn.dialect.name == "postgresql" else orjson.dumps(values).decode()


def ids_of(conn: sa.Connection, ids: Sequence[UUID]) -> Any:
    """Ids as one value, for the statements below. PostgreSQL gets them in its binary format."""
    if conn.dialect.name != "postgresql":
        return one_of(conn, [one.hex for one in ids])
    from interlock.store.binary_arrays import binary_array  # needs the driver, which is an extra

    return binary_array(ids)


def is_claimed() -> sa.ColumnElement[bool]:
    """The condition that a worker has the instance, in place or by a lease that an index finds."""
    return sa.or_(t.instance.c.holder.is_not(None), t.instance.c.taken_by.is_not(None))


# -- locks and plans, which SQLite does not need


def lock_number(conn: sa.Connection, number: int) -> None:
    """Lock a number until the transaction ends. SQLite has one writer and needs no lock."""
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({number})")


def lock_table(conn: sa.Connection, table: sa.Table) -> None:
    """Lock the table against writers, and against locks of its rows, until the transaction ends."""
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(f'LOCK TABLE "{table.name}" IN EXCLUSIVE MODE')


def prefer_indexes(conn: sa.Connection) -> None:
    """Make this transaction read by indexes.

    PostgreSQL does not know that a batch is small compared with its tables. For ten rows it read all instances, and
    compiled that first: 50 ms, by the indexes 6 ms, and 20,000 rows take no longer than before.
    """
    if conn.dialect.name == "postgresql":
        names = ("jit", "enable_seqscan", "enable_hashjoin", "enable_mergejoin")
        conn.exec_driver_sql("SELECT " + ", ".join(f"set_config('{name}', 'off', true)" for name in names))


# -- instances and leases, many at once

INSTANCE = ", ".join(f"instance.{column.name}" for column in t.instance.c)
HERE = "workspace = :workspace AND machine = :machine AND {key} = given.{value}"


def _lock_instances(dialect: str, others: str = "") -> Any:
    if dialect == "postgresql":
        text = f"SELECT {INSTANCE} FROM instance WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE{others}"
    else:
        text = f"SELECT {INSTANCE} FROM json_each(:ids) AS given CROSS JOIN instance ON instance.id = given.value"
    return sa.text(text).columns(*t.instance.c)


def _large_data_of(dialect: str) -> Any:
    D = t.instance_data
    if dialect == "postgresql":
        text = "SELECT instance_id, data FROM instance_data WHERE instance_id = ANY(CAST(:ids AS uuid[]))"
    else:
        text = (
            "SELECT instance_id, data FROM json_each(:ids) AS given "
            "CROSS JOIN instance_data ON instance_data.instance_id = given.value"
        )
    return sa.text(text).columns(D.c.instance_id, D.c.data)


def _open_reviews(dialect: str) -> Any:
    R = t.review
    columns = R.c.instance_id, R.c.id, R.c.state, R.c.role, R.c.decisions, R.c.claimed_by, R.c.claimed_until
    which = "= ANY(CAST(:ids AS uuid[]))" if dialect == "postgresql" else "IN (SELECT value FROM json_each(:ids))"
    names = ", ".join(column.name for column in columns)
    text = f"SELECT {names} FROM review WHERE instance_id {which} AND status = 'open' ORDER BY id"
    return sa.text(text).columns(*columns)


def _lease_instances(dialect: str) -> Any:
    which = "= ANY(CAST(:ids AS uuid[]))" if dialect == "postgresql" else "IN (SELECT value FROM json_each(:ids))"
    return sa.text(
        "UPDATE instance SET wake = 'lease', due_at = :until, holder = :worker, claimed_at = :now, fence = fence + 1 "
        f"WHERE id {which}"
    )


def _lease_in_place(dialect: str) -> Any:
    which = "= ANY(CAST(:ids AS uuid[]))" if dialect == "postgresql" else "IN (SELECT value FROM json_each(:ids))"
    return sa.text(
        "UPDATE instance SET taken_until = :until, taken_by = :worker, claimed_at = :now, fence = fence + 1 "
        f"WHERE id {which}"
    )


def _in_place(dialect: str) -> str:
    which = "= ANY(CAST(:ids AS uuid[]))" if dialect == "postgresql" else "IN (SELECT value FROM json_each(:ids))"
    return f"id {which} AND taken_by IS NOT NULL"


def _settle_leases(dialect: str) -> Any:
    which = _in_place(dialect)
    if dialect == "postgresql":
        which = f"id = ANY(ARRAY(SELECT id FROM instance WHERE {which} ORDER BY id FOR UPDATE SKIP LOCKED))"
    sets = "wake = 'lease', due_at = taken_until, holder = taken_by, taken_by = NULL, taken_until = NULL"
    return sa.text(f"UPDATE instance SET {sets} WHERE {which}")


def _leases_in_place(dialect: str) -> Any:
    I = t.instance  # noqa: E741
    text = f"SELECT id, taken_by, fence FROM instance WHERE {_in_place(dialect)}"
    return sa.text(text).columns(I.c.id, I.c.taken_by, I.c.fence)


def _remove_batches(dialect: str) -> Any:
    which = "= ANY(CAST(:ids AS uuid[]))" if dialect == "postgresql" else "IN (SELECT value FROM json_each(:ids))"
    return sa.text(f"DELETE FROM claim_batch WHERE id {which}")


def _lock_by_key(dialect: str) -> Any:
    """One probe of the unique index for each key.

    With old statistics, or none, the database would scan everything in the workspace instead.
    """
    if dialect == "postgresql":
        of_one = f"SELECT {INSTANCE} FROM instance WHERE {HERE.format(key='unique_key', value='key')} FOR UPDATE"
        text = f"SELECT i.* FROM unnest(CAST(:keys AS text[])) AS given (key), LATERAL ({of_one}) AS i"
    else:
        here = HERE.format(key="unique_key", value="value")
        text = f"SELECT {INSTANCE} FROM json_each(:keys) AS given CROSS JOIN instance ON {here}"
    return sa.text(text).columns(*t.instance.c)


def _taken_keys(dialect: str) -> Any:
    parts = []
    for table, column, keys in (("instance", "unique_key", ":keys"), ("kept_key", "key", ":kept")):
        if dialect == "postgresql":
            probe = f"SELECT 1 FROM {table} WHERE {HERE.format(key=column, value='key')} LIMIT 1"
            parts.append(f"SELECT given.key FROM unnest(CAST({keys} AS text[])) AS given (key), LATERAL ({probe}) AS i")
        else:
            here = HERE.format(key=f"{table}.{column}", value="value")
            parts.append(f"SELECT given.value FROM json_each({keys}) AS given CROSS JOIN {table} ON {here}")
    return sa.text(" UNION ALL ".join(parts)).columns(sa.Column("key", sa.Text))


def _active_leases(dialect: str) -> Any:
    if dialect == "postgresql":
        text = "SELECT name, holder, fence, until FROM lease WHERE name = ANY(CAST(:names AS text[])) AND until > :now"
    else:
        text = (
            "SELECT lease.name, holder, fence, until FROM json_each(:names) AS given "
            "CROSS JOIN lease ON lease.name = given.value WHERE until > :now"
        )
    L = t.lease
    return sa.text(f"{text} AND holder IS NOT NULL").columns(L.c.name, L.c.holder, L.c.fence, L.c.until)


LOCK_INSTANCES = Prepared(_lock_instances)
"""The instances with these `ids` (`one_of`), locked in the order of their ids."""
LOCK_FREE_INSTANCES = Prepared(partial(_lock_instances, others=" SKIP LOCKED"))
"""The same without those that others have locked."""
LOCK_ROWS = Prepared(
    sa.text(
        "SELECT count(*) FROM "
        "(SELECT 1 FROM instance WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE) AS locked"
    ).columns(sa.Column("count", sa.BigInteger))
)
"""Lock the instances with these `ids` (`one_of`) in the order of their ids. For PostgreSQL."""
LARGE_DATA_OF = Prepared(_large_data_of)
"""The data that is not in the row, of the instances with these `ids` (`one_of`)."""
OPEN_REVIEWS = Prepared(_open_reviews)
"""The open reviews of the instances with these `ids` (`one_of`): whose, and who may decide them."""
LEASE_INSTANCES = Prepared(_lease_instances)
"""Lease the instances with these `ids` (`ids_of`) to `worker` until `until`."""
LEASE_IN_PLACE = Prepared(_lease_in_place)
"""The same without touching an index. The instances stay among the ready ones."""
SETTLE_LEASES = Prepared(_settle_leases)
"""Give those of the instances with these `ids` (`one_of`) that are claimed in place a lease that an index finds. Locked
ones are skipped."""
LEASES_IN_PLACE = Prepared(_leases_in_place)
"""Those of the instances with these `ids` (`one_of`) that are claimed in place: id, holder, fence."""
REMOVE_BATCHES = Prepared(_remove_batches)
"""Remove the batches of claims in place with these `ids` (`ids_of`)."""
LOCK_BY_KEY = Prepared(_lock_by_key)
"""The instances of a `workspace` and a `machine` with these `keys` (`one_of`), locked in the order given."""
TAKEN_KEYS = Prepared(_taken_keys)
"""The `keys` that an instance has, and those of `kept` that a removed one keeps (`one_of`, both)."""
ACTIVE_LEASES = Prepared(_active_leases)
"""The leases with these `names` (`one_of`) that somebody holds at `now`."""
