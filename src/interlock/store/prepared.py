"""Statements that are compiled once and passed directly to the driver.

SQLAlchemy needs 100 to 300 µs per call to get from an expression to the driver, many times what SQLite needs for the
statement itself. A prepared statement needs 10. It takes its values by name, returns plain tuples, and is meant for
what runs with every request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.store.columns import read_id, read_reference

Statement = sa.Select[Any] | sa.TextualSelect | sa.TextClause | sa.sql.dml.UpdateBase


class Prepared:
    """A prepared statement. It is given as a statement, or as a function that makes it from the dialect's name."""

    def __init__(self, statement: Statement | Callable[[str], Statement], *, binary: bool = False) -> None:
        self._binary = binary
        """Whether PostgreSQL sends the rows in its binary format, which takes two thirds of the time to read."""
        self._make: Callable[[str], Statement] = statement if callable(statement) else lambda _: statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, conn: sa.Connection, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that it selects or returns."""
        compiled = self._for(conn)
        found: list[tuple[Any, ...]] = compiled.run(conn, values).fetchall()
        return compiled.read(found) if compiled.ids and found else found

    def first(self, conn: sa.Connection, **values: Any) -> tuple[Any, ...] | None:
        found = self.rows(conn, **values)
        return found[0] if found else None

    def run(self, conn: sa.Connection, **values: Any) -> None:
        """Execute it without asking for a result, so that `Store.at_once` need not wait for one."""
        self._for(conn).run(conn, values)

    def count(self, conn: sa.Connection, **values: Any) -> int:
        """The number of rows that it changed."""
        done: int = self._for(conn).run(conn, values).rowcount
        return done

    def _for(self, conn: sa.Connection) -> _Compiled:
        name = conn.dialect.name
        compiled = self._compiled.get(name)
        if compiled is None:
            compiled = self._compiled[name] = _Compiled(self._make(name), conn.dialect, self._binary)
        return compiled


class _Compiled:
    """A statement compiled for one of the two drivers."""

    def __init__(self, statement: Statement, dialect: sa.Dialect, binary: bool) -> None:
        self.binary = binary
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self.fixed = dict(compiled.params)
        self.order = tuple(compiled.positiontup or ())
        self.sqlite = dialect.name == "sqlite"
        columns = [] if isinstance(statement, sa.TextClause) else list(statement.exported_columns)
        self.ids = [n for n, c in enumerate(columns) if isinstance(c.type, sa.Uuid)] if self.sqlite else []

    def bound(self, values: dict[str, Any]) -> Any:
        """The values for the driver: by name for psycopg, in order and with ids as text for SQLite."""
        given = self.fixed | values
        if not self.sqlite:
            return given
        return [value.hex if isinstance(value := given[name], UUID) else value for name in self.order]

    def run(self, conn: sa.Connection, values: dict[str, Any]) -> Any:
        raw: Any = conn.connection.dbapi_connection
        if self.sqlite:
            return raw.execute(self.text, self.bound(values))
        from interlock.store.postgres import sqlalchemy_errors

        with sqlalchemy_errors(conn):
            return raw.execute(self.text, self.bound(values), binary=self.binary)

    def read(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        first, *others = self.ids
        read = []
        if not others and first == 0:
            return [(read_id(row[0]), *row[1:]) for row in rows]
        for row in rows:
            values, text = list(row), row[first]
            made = values[first] = read_id(text)
            for n in others:
                other = row[n]
                if other is not None:  # most instances are their own root
                    values[n] = made if other == text else read_reference(other)
            read.append(tuple(values))
        return read
