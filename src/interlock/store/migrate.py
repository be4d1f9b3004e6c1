"""Migrates a database to the schema of this code, and refuses a newer one.

The core has one branch of revisions. Each application with tables has its own, with its own version table
(`alembic_version_NAME`). A process without an application's code leaves its tables alone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from interlock.machine import Application, InterlockError
from interlock.store import application_tables
from interlock.store.database import Job, Store
from interlock.store.errors import MigrationFailed, SchemaMismatch

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")
Applications = Iterable[Application]
# Alembic keeps its state in a global, so a process migrates one database at a time.
_ALEMBIC = threading.Lock()
_under_way: list[Branch] = []
"""The branch whose revisions are running, to name it in an error."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of revisions: of the core or of an application."""

    name: str
    package: str
    """The package with its revisions, as files v0001_what.py."""
    version_table: str

    @property
    def revisions(self) -> tuple[str, ...]:
        """All revisions that this code has, in order, from the names of their files: Alembic takes 0.3 s for it."""
        try:
            names = [file.name for file in files(self.package).iterdir()]
        except ModuleNotFoundError as error:
            raise InterlockError(f"the migrations of the application {self.name!r} cannot be loaded: {error}") from None
        found = sorted(found[1] for name in names if (found := re.fullmatch(r"v(\d+)_\w+\.py", name)))
        if not found:
            raise InterlockError(f"{self.package} has no revision of the application {self.name!r}, as v0001_first.py")
        return tuple(found)


CORE = Branch("core", "interlock.store.migrations.versions", "alembic_version")


def branches(applications: Applications = ()) -> list[Branch]:
    """The core first, then the applications that have tables, by name."""
    found = [
        Branch(one.name, one.migrations, version_table(one.name))
        for one in sorted(applications, key=lambda one: one.name)
        if one.migrations is not None
    ]
    if any(one.name == CORE.name for one in found):
        raise InterlockError(f"an application with tables cannot be named {CORE.name!r}; give it another name")
    return [CORE, *found]


def version_table(application: str) -> str:
    """The version table of an application."""
    return f"{CORE.version_table}_{application}"


@dataclass(frozen=True, slots=True)
class BranchStatus:
    """The revision of a branch in the database, and the one of this code."""

    name: str
    current: str | None
    wanted: str
    pending: tuple[str, ...]
    """Revisions that `db migrate` would apply, in order."""
    unknown: bool
    """The revision in the database is newer than this code."""

    @property
    def ready(self) -> bool:
        return self.current == self.wanted


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """The schema status of a database: of the core and of applications."""

    branches: tuple[BranchStatus, ...]

    @property
    def core(self) -> BranchStatus:
        return self.branches[0]

    @property
    def applications(self) -> tuple[BranchStatus, ...]:
        return self.branches[1:]

    @property
    def ready(self) -> bool:
        return all(one.ready for one in self.branches)

    @property
    def unknown(self) -> bool:
        """Whether something in the database is newer than this code."""
        return any(one.unknown for one in self.branches)

    @property
    def usable(self) -> bool:
        """Whether this code can use it. Applications may have no tables yet."""
        return self.core.ready and all(one.ready or one.current is None for one in self.applications)


def revisions() -> tuple[str, ...]:
    """The revisions of the core, in order."""
    return CORE.revisions


def _config(branch: Branch = CORE) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "interlock.store:migrations")
    config.set_main_option("version_locations", str(files(branch.package)).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["version_table"] = branch.version_table
    return config


def status(store: Store, applications: Applications = ()) -> SchemaStatus:
    return store.read(partial(_status, lines=branches(applications)))


def _status(conn: sa.Connection, lines: list[Branch]) -> SchemaStatus:
    inspector = sa.inspect(conn)
    return SchemaStatus(tuple(_branch_status(conn, inspector, branch) for branch in lines))


def _branch_status(conn: sa.Connection, inspector: sa.Inspector, branch: Branch) -> BranchStatus:
    order = list(branch.revisions)
    current = revision(conn, branch.version_table) if inspector.has_table(branch.version_table) else None
    unknown = current is not None and current not in order
    pending = () if unknown else tuple(order[order.index(current) + 1 :] if current else order)
    return BranchStatus(branch.name, current, order[-1], pending, unknown)


def revision(conn: sa.Connection, table: str) -> str | None:
    """The revision in a version table."""
    found: str | None = conn.exec_driver_sql(f'SELECT version_num FROM "{table}"').scalar()
    return found


def applied(conn: sa.Connection) -> dict[str, str | None]:
    """The revision of every application with tables in this database, also of those that are not loaded."""
    names = sorted({one.application for one in application_tables.known(conn)})
    return {name: revision(conn, version_table(name)) for name in names}


def upgrade(store: Store, applications: Applications = ()) -> SchemaStatus:
    """Apply missing revisions, all or nothing. Safe while others work, and when two processes start at once."""
    applications = list(applications)
    lines, declared = branches(applications), application_tables.declared(applications)
    names = [branch.name for branch in lines[1:]]

    def look(conn: sa.Connection) -> SchemaStatus | None:
        found = _status(conn, lines)
        return found if found.ready and application_tables.is_recorded(conn, names, declared) else None

    found = store.read(look)
    if found is not None:
        return found
    run_exclusively(store, partial(bring, applications=applications))
    return status(store, applications)


def run_exclusively(store: Store, job: Job[T]) -> T:
    """Run a job that may call `bring`, in one transaction, while nobody else changes tables."""
    with _ALEMBIC:
        _under_way.clear()
        try:
            return store.schema(job)
        except InterlockError:
            raise
        except Exception as error:
            if not _under_way or _under_way[0] is CORE:
                raise
            said = next(iter(str(getattr(error, "orig", None) or error).splitlines()), "")
            raise MigrationFailed(
                f"a migration of the application {_under_way[0].name!r} failed: {type(error).__name__}: {said}; "
                "nothing was changed"
            ) from error


def bring(conn: sa.Connection, applications: Applications = (), to: Mapping[str, str] | None = None) -> None:
    """Apply missing revisions in the caller's transaction; with `to`, only these branches up to these revisions."""
    applications = list(applications)
    lines, declared = branches(applications), application_tables.declared(applications)
    _refuse_newer(_status(conn, lines))
    for branch in lines:
        if to is None or branch.name in to:
            _apply(conn, branch, to[branch.name] if to is not None else None)
        if branch is CORE and to is None:  # before a table is created that another application has
            application_tables.record(conn, [one.name for one in lines[1:]], declared)
    if to is None:
        application_tables.require_made(conn, declared)


def _apply(conn: sa.Connection, branch: Branch, to: str | None) -> None:
    from alembic import command

    _under_way[:] = [branch]
    before = set(sa.inspect(conn).get_table_names()) if branch is not CORE else set()
    config = _config(branch)
    config.attributes["connection"] = conn
    command.upgrade(config, to or "head")
    _under_way.clear()
    reached, wanted = revision(conn, branch.version_table), to or branch.revisions[-1]
    if reached != wanted:
        raise MigrationFailed(
            f"the revisions of the application {branch.name!r} end in {reached!r}, its files in {wanted!r}: the file "
            f"of a revision is named after it, as v{wanted}_what.py for {wanted!r}; nothing was changed"
        )
    if branch is not CORE and to is None:
        made = set(sa.inspect(conn).get_table_names()) - before - {branch.version_table}
        application_tables.require_recorded(conn, branch.name, made)


def require(store: Store, applications: Applications = ()) -> None:
    """Raise SchemaMismatch if this code cannot use the schema. Applications may have no tables yet."""
    found = status(store, applications)
    _refuse_newer(found)
    if not found.core.ready:
        raise SchemaMismatch(
            f"the database {_shown(store)} has schema {found.core.current or 'none'} and needs {found.core.wanted}; "
            "run: interlock db migrate"
        )
    for one in found.applications:
        if one.current is not None and not one.ready:
            raise SchemaMismatch(
                f"the tables of the application {one.name!r} in {_shown(store)} have schema {one.current} and need "
                f"{one.wanted}; run: interlock db migrate"
            )


def _refuse_newer(found: SchemaStatus) -> None:
    if found.core.unknown:
        raise SchemaMismatch(
            f"the database has schema {found.core.current}, which is newer than this code (it knows up to "
            f"{found.core.wanted}); upgrade interlock, nothing was changed"
        )
    for one in found.applications:
        if one.unknown:
            raise SchemaMismatch(
                f"the tables of the application {one.name!r} have schema {one.current}, which is newer than its code "
                f"(it knows up to {one.wanted}); upgrade its package, nothing was changed"
            )


def _shown(store: Store) -> str:
    return sa.make_url(store.url).render_as_string(hide_password=True)
