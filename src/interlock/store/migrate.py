"""Bringing a database to the schema of this code, and refusing one that is newer."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from interlock.store.database import Store
from interlock.store.errors import SchemaMismatch

# Alembic keeps what it works on in a global, so one process migrates one database at a time.
_ALEMBIC = threading.Lock()


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """Which revision the database has, and which this code wants."""

    current: str | None
    wanted: str
    pending: tuple[str, ...]
    """Revisions that `db migrate` would apply, in order."""
    unknown: bool
    """The database has a revision that this code has never heard of: it is newer."""

    @property
    def ready(self) -> bool:
        return self.current == self.wanted


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "interlock.store:migrations")
    config.set_main_option("path_separator", "os")
    return config


def status(store: Store) -> SchemaStatus:
    return store.read(_status)


def _status(conn: sa.Connection) -> SchemaStatus:
    scripts = ScriptDirectory.from_config(_config())
    wanted = scripts.get_current_head()
    assert wanted is not None
    current = MigrationContext.configure(conn).get_current_revision()
    order = [script.revision for script in scripts.walk_revisions()][::-1]
    unknown = current is not None and current not in order
    pending = () if unknown else tuple(order[order.index(current) + 1 :] if current else order)
    return SchemaStatus(current, wanted, pending, unknown)


def upgrade(store: Store) -> SchemaStatus:
    """Apply what is missing, all or nothing; safe while others run, and when two start at once."""

    def run(conn: sa.Connection) -> None:
        _refuse_newer(_status(conn))
        config = _config()
        config.attributes["connection"] = conn
        command.upgrade(config, "head")

    with _ALEMBIC:
        store.schema(run)
    return status(store)


def require(store: Store) -> None:
    """Refuse a database whose schema this code cannot use."""
    found = status(store)
    _refuse_newer(found)
    if not found.ready:
        raise SchemaMismatch(
            f"the database {_shown(store)} has schema {found.current or 'none'} and needs {found.wanted}; "
            "run: interlock db migrate"
        )


def _refuse_newer(found: SchemaStatus) -> None:
    if found.unknown:
        raise SchemaMismatch(
            f"the database has schema {found.current}, which is newer than this code (it knows up to "
            f"{found.wanted}); upgrade interlock, nothing was changed"
        )


def _shown(store: Store) -> str:
    return sa.make_url(store.url).render_as_string(hide_password=True)
