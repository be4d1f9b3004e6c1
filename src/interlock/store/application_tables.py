"""Tables of applications. The table `application_table` describes them.

So a process without an application's code can still back up its rows, erase them, and remove them with their instance.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.machine import Application, InterlockError, Personal, attribute
from interlock.store.columns import SECRET, Reference, metadata, text
from interlock.store.errors import MigrationFailed, StoreError
from interlock.store.sql import among

KINDS: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "id": Reference,
    "int": sa.BigInteger,
    "real": sa.Float,
    "bytes": sa.LargeBinary,
    "text": sa.Text,
    SECRET: sa.Text,
}
HIDDEN = "[hidden]"
"""Stands for a secret in an export."""

# The tables of applications, their columns, and which of them are personal.
application_table = sa.Table(
    "application_table",
    metadata,
    text("name", primary=True),
    text("application"),
    text("columns"),  # [[name, kind], …]
    text("personal", null=True),  # {"columns": [name, …], "erase": …}
)
T = application_table


@dataclass(frozen=True, slots=True)
class ApplicationTable:
    """One table of an application."""

    name: str
    application: str
    columns: tuple[tuple[str, str], ...]
    """Name and kind."""
    personal: Personal | None = None

    @property
    def of_instances(self) -> bool:
        """Whether its rows belong to instances."""
        return ("instance_id", "id") in self.columns

    @property
    def texts(self) -> list[str]:
        """Its columns with text."""
        return [name for name, kind in self.columns if KINDS[kind] is sa.Text]

    def exported(self, row: sa.Row[Any]) -> dict[str, Any]:
        """A row as an export has it: without secrets."""
        pairs = zip(self.columns, row, strict=True)
        return {name: HIDDEN if value and kind == SECRET else value for (name, kind), value in pairs}

    def as_table(self) -> sa.Table:
        """The table for statements."""
        return _table(self.name, self.columns)


@cache  # so that statements are compiled once for each table
def _table(name: str, columns: tuple[tuple[str, str], ...]) -> sa.Table:
    return sa.Table(name, sa.MetaData(), *(sa.Column(column, KINDS[kind]) for column, kind in columns))


def kind_of(column: sa.Column[Any]) -> str:
    """The kind of a column: id, int, real, bytes, text or secret. Databases and backups support no others."""
    kind = column.type
    for name, types in (("id", sa.Uuid), ("int", sa.Integer), ("real", sa.Float), ("bytes", sa.LargeBinary)):
        if isinstance(kind, types):
            return name
    if isinstance(kind, sa.String) and not isinstance(kind, sa.Enum):
        return SECRET if column.info.get(SECRET) else "text"
    raise InterlockError(
        f"the column {column.table.name}.{column.name} is a {type(kind).__name__}; use the columns of "
        "interlock.store.columns: id_, text, secret, number, at and binary"
    )


# -- what the code declares


def declared(applications: Iterable[Application]) -> list[ApplicationTable]:
    """The tables that the applications declare. Refused if they cannot be backed up or erased."""
    from interlock.store import service_tables  # noqa: F401 - so that the metadata has every table

    found: dict[str, ApplicationTable] = {}
    for application in applications:
        for one in _tables_of(application):
            if one.name in metadata.tables or one.name in found:
                raise InterlockError(
                    f"the application {application.name!r} has a table {one.name!r}, which is taken; "
                    f"name it {application.name}_{one.name}"
                )
            found[one.name] = one
    return sorted(found.values(), key=lambda one: one.name)


def _tables_of(application: Application) -> list[ApplicationTable]:
    if application.tables is None:
        if application.migrations or application.personal:
            raise InterlockError(f"the application {application.name!r} names no tables for its migrations")
        return []
    if application.migrations is None:
        raise InterlockError(f"the application {application.name!r} has tables and no migrations that make them")
    given = attribute(application.tables, "a MetaData", "metadata")
    if not isinstance(given, sa.MetaData):
        raise InterlockError(f"{application.tables!r} is a {type(given).__name__}, not a MetaData")
    personal = {one.table: one for one in application.personal}
    if unknown := sorted(set(personal) - set(given.tables)):
        raise InterlockError(f"the application {application.name!r} has no table {unknown[0]!r}, named as personal")
    return [_described(application.name, table, personal.get(table.name)) for table in given.sorted_tables]


def _described(application: str, table: sa.Table, personal: Personal | None) -> ApplicationTable:
    if table.foreign_keys or table.autoincrement_column is not None:
        raise InterlockError(
            f"the table {table.name!r} has a foreign key, or an automatic number; backups cannot carry "
            "them: use id_(…, primary=True), and remove rows yourself"
        )
    kinds = {column.name: kind_of(column) for column in table.columns}
    if personal is not None:
        wrong = [name for name in personal.columns if kinds.get(name) != "text"]
        if wrong or kinds.get("instance_id") != "id":
            raise InterlockError(
                f"the table {table.name!r} is named as personal; it needs a column instance_id of kind id, and "
                f"{', '.join(wrong) or 'its columns'} as text"
            )
        if personal.erase == "empty" and (unique := sorted(_unique(table) & set(personal.columns))):
            raise InterlockError(
                f"the column {table.name}.{unique[0]} is unique, so two rows cannot both be emptied; use erase='delete'"
            )
    return ApplicationTable(table.name, application, tuple(kinds.items()), personal)


def _unique(table: sa.Table) -> set[str]:
    """Columns whose values are unique."""
    keys = [one for one in table.constraints if isinstance(one, sa.PrimaryKeyConstraint | sa.UniqueConstraint)]
    return {column.name for one in [*keys, *(i for i in table.indexes if i.unique)] for column in one.columns}


# -- what the database has


def known(conn: sa.Connection) -> list[ApplicationTable]:
    """The tables of applications in this database, also of those whose code is not loaded."""
    return [
        _read(row.name, row.application, row.columns, row.personal)
        for row in conn.execute(sa.select(T).order_by(T.c.name))
    ]


def rows_of(conn: sa.Connection, ids: Collection[UUID]) -> dict[UUID, dict[str, list[dict[str, Any]]]]:
    """What exports have of these instances: instance → table → rows, whether the application's code is here or not."""
    found: dict[UUID, dict[str, list[dict[str, Any]]]] = {}
    for one in known(conn):
        if one.of_instances:
            table = one.as_table()
            query = sa.select(table).where(among(conn, table.c.instance_id, ids))
            for row in conn.execute(query.order_by(*table.c)):
                values = one.exported(row)
                del values["instance_id"]
                found.setdefault(row.instance_id, {}).setdefault(one.name, []).append(values)
    return found


def other_rows(conn: sa.Connection) -> Iterator[tuple[ApplicationTable, dict[str, Any]]]:
    """What exports have of that which applications keep beside instances."""
    for one in known(conn):
        if not one.of_instances:
            query = sa.select(one.as_table()).order_by(*one.as_table().c)
            for row in conn.execution_options(yield_per=500).execute(query):
                yield one, one.exported(row)


def _read(name: str, application: str, columns: str, personal: str | None) -> ApplicationTable:
    try:
        said = json.loads(personal) if personal is not None else None
        kinds = tuple((str(column), str(kind)) for column, kind in json.loads(columns))
        own = None if said is None else Personal(name, tuple(said["columns"]), said["erase"])
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"the row {name!r} of application_table cannot be read ({error}); write it again where the application "
            f"{application!r} is loaded: interlock db migrate"
        ) from error
    return ApplicationTable(name, application, kinds, own)


def _written(one: ApplicationTable) -> dict[str, Any]:
    personal = one.personal and {"columns": list(one.personal.columns), "erase": one.personal.erase}
    return {
        "name": one.name,
        "application": one.application,
        "columns": json.dumps(one.columns),
        "personal": json.dumps(personal) if personal else None,
    }


def is_recorded(conn: sa.Connection, names: Collection[str], tables: Iterable[ApplicationTable]) -> bool:
    """Whether the database describes these applications as their code does."""
    if not names:
        return True
    found = {row.name: dict(row._mapping) for row in conn.execute(sa.select(T).where(T.c.application.in_(names)))}
    return found == {one.name: _written(one) for one in tables}


def record(conn: sa.Connection, names: Collection[str], tables: Sequence[ApplicationTable]) -> None:
    """Describe the tables of these applications in the database."""
    owners = {row.name: row.application for row in conn.execute(sa.select(T.c.name, T.c.application))}
    for one in tables:
        if owners.get(one.name, one.application) != one.application:
            raise InterlockError(
                f"the table {one.name!r} of the application {one.application!r} belongs to the application "
                f"{owners[one.name]!r} in this database; give it another name"
            )
    conn.execute(sa.delete(T).where(T.c.application.in_(names)))
    if tables:
        conn.execute(sa.insert(T), [_written(one) for one in tables])


def require_made(conn: sa.Connection, tables: Iterable[ApplicationTable]) -> None:
    """Refuse tables that differ from their declaration: a backup would fail, or lose a column."""
    inspector = sa.inspect(conn)
    for one in tables:
        made = (
            {column["name"] for column in inspector.get_columns(one.name)} if inspector.has_table(one.name) else set()
        )
        declared = {name for name, _ in one.columns}
        if made != declared:
            odd = ", ".join(sorted(made ^ declared)) if made else "all of it"
            raise MigrationFailed(
                f"the migrations of the application {one.application!r} do not make the table {one.name!r} as it is "
                f"declared: {odd} differs; add a revision, or declare what it makes; nothing was changed"
            )


def require_recorded(conn: sa.Connection, application: str, made: Collection[str]) -> None:
    """Refuse tables that a migration makes and nobody declares: no backup would have their rows."""
    if not made:
        return
    known_here = set(conn.execute(sa.select(T.c.name)).scalars())
    if strange := sorted(set(made) - known_here):
        raise MigrationFailed(
            f"a migration of the application {application!r} makes the table {strange[0]!r}, which is not among its "
            "tables; declare it, so that backups have its rows; nothing was changed"
        )
