"""Statements that are compiled once and go to the driver as they are.

SQLAlchemy's way from an expression to the driver costs 100 to 300 µs for each call, many times what SQLite needs for
the statement itself; compiled once it costs 10. Such a statement takes its values by name, gives plain tuples, and is
for what runs with every request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from interlock.store.arrays import array
from interlock.store.columns import read_id, read_reference

ARRAYS: dict[type, Any] = {kind: postgresql.ARRAY(kind) for kind in (sa.Text, sa.Uuid, sa.BigInteger)}

Statement = sa.Select[Any] | sa.TextualSelect | sa.TextClause | sa.sql.dml.UpdateBase


def listed(name: str, kinds: Mapping[str, Any], dialect: str) -> Any:
    """Rows that are given as a value, to select from; `many` binds them. A hundred cost hardly more than one."""
    if dialect == "postgresql":
        arrays = [sa.bindparam(f"{name}_{n}", type_=ARRAYS[type(kind)]) for n, kind in enumerate(kinds.values())]
        return sa.func.unnest(*arrays).table_valued(*kinds).render_derived(name=name)
    each = sa.func.json_each(sa.bindparam(name)).table_valued("value", name=f"{name}_rows")
    columns = [sa.func.json_extract(each.c.value, f"$[{n}]").label(column) for n, column in enumerate(kinds)]
    return sa.select(*columns).subquery(name)


def many(conn: sa.Connection, name: str, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The values of a `listed`."""
    if conn.dialect.name == "postgresql":
        return {f"{name}_{n}": array(column) for n, column in enumerate(zip(*rows, strict=True))}
    plain = [[value.hex if isinstance(value, UUID) else value for value in row] for row in rows]
    return {name: orjson.dumps(plain).decode()}


def one_of(conn: sa.Connection, values: Sequence[str]) -> Any:
    """Texts as one value: an array for PostgreSQL's `= ANY`, JSON for SQLite's `json_each`."""
    return array(values) if conn.dialect.name == "postgresql" else orjson.dumps(values).decode()


class Prepared:
    """A statement; or a function of the dialect's name that makes it, where the two databases spell it differently."""

    def __init__(self, statement: Statement | Callable[[str], Statement]) -> None:
        self._make: Callable[[str], Statement] = statement if callable(statement) else lambda _: statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, conn: sa.Connection, **values: Any) -> list[tuple[Any, ...]]:
        """What it selects or returns."""
        compiled = self._for(conn)
        found: list[tuple[Any, ...]] = compiled.run(conn, values).fetchall()
        return compiled.read(found) if compiled.ids and found else found

    def first(self, conn: sa.Connection, **values: Any) -> tuple[Any, ...] | None:
        found = self.rows(conn, **values)
        return found[0] if found else None

    def count(self, conn: sa.Connection, **values: Any) -> int:
        """How many rows it changed."""
        done: int = self._for(conn).run(conn, values).rowcount
        return done

    def _for(self, conn: sa.Connection) -> _Compiled:
        name = conn.dialect.name
        compiled = self._compiled.get(name)
        if compiled is None:
            compiled = self._compiled[name] = _Compiled(self._make(name), conn.dialect)
        return compiled


class _Compiled:
    """A statement as one of the two drivers takes it."""

    def __init__(self, statement: Statement, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self.fixed = dict(compiled.params)
        self.order = tuple(compiled.positiontup or ())
        self.sqlite = dialect.name == "sqlite"
        columns = [] if isinstance(statement, sa.TextClause) else list(statement.exported_columns)
        self.ids = [n for n, c in enumerate(columns) if isinstance(c.type, sa.Uuid)] if self.sqlite else []

    def bound(self, values: dict[str, Any]) -> Any:
        """The values as the driver takes them: by name for psycopg, in order and with ids as text for SQLite."""
        given = self.fixed | values
        if not self.sqlite:
            return given
        return [value.hex if isinstance(value := given[name], UUID) else value for name in self.order]

    def run(self, conn: sa.Connection, values: dict[str, Any]) -> Any:
        raw: Any = conn.connection.dbapi_connection
        if self.sqlite:
            return raw.execute(self.text, self.bound(values))
        from interlock.store.postgres import told_as_ours

        with told_as_ours(conn):
            return raw.execute(self.text, self.bound(values))

    def read(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        first, *others = self.ids
        read = []
        for row in rows:
            values, text = list(row), row[first]
            made = values[first] = read_id(text)
            for n in others:
                other = row[n]
                if other is not None:  # most instances are their own root
                    values[n] = made if other == text else read_reference(other)
            read.append(tuple(values))
        return read
