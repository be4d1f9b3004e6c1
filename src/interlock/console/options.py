"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

if TYPE_CHECKING:
    from sqlalchemy import URL

    from interlock.config import Settings
    from interlock.engine import Engine
    from interlock.engine.audit.signing import Keys
    from interlock.engine.short_ids import Named
    from interlock.machine import Registry
    from interlock.store import Store

Database = Annotated[
    str,
    typer.Option(
        "--database",
        help="The database: sqlite:///file.db or postgresql://user@host/name.",
        show_default="from the configuration, else data/interlock.db",
    ),
]
App = Annotated[
    list[str] | None,
    typer.Option("--app", help="Your own machines, as package.module:registry; may be given several times."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", envvar="INTERLOCK_CONFIG", help="The configuration file.", show_default="interlock.toml"),
]
DEFAULT_DATABASE = ""
"""Not given on the command line: the configuration decides."""


def address(database: str, apps: list[str] | None = None, config: Path | None = None) -> str:
    """The address of the database: that of the command line, else that of the configuration."""
    if database:
        return database
    from interlock.config import load

    return load(config, apps=apps or ()).database_url


def parsed(where: str) -> URL:
    """The parsed address. Raises if it is none."""
    import sqlalchemy as sa

    from interlock.store import StoreError

    try:
        return sa.make_url(where)
    except (sa.exc.ArgumentError, ValueError):
        raise StoreError(
            f"{where!r} is not a database address; use sqlite:///file.db or postgresql://host/name"
        ) from None


def registry_of(apps: list[str] | None, config: Path | None = None) -> Registry:
    """The installed machines, those of the configuration, and those of `--app`."""
    from interlock.config import load as load_settings
    from interlock.machine import installed

    settings = load_settings(config, apps=apps or ())
    return installed(settings.apps).configured(settings.sections)


def registry_here(database: str, apps: list[str] | None) -> Registry:
    """The machines, with those of the demo where the database has it; the code alone where there is no database."""
    from interlock.store import StoreError, open_store
    from interlock.store.database import file_of

    registry, where = registry_of(apps), address(database, apps)
    file = file_of(parsed(where))
    if file is not None and not file.exists():
        return registry
    try:
        with open_store(where, wakeup="poll") as store:
            return with_demo(store, registry)
    except StoreError:
        return registry


@contextmanager
def opened(database: str, apps: list[str] | None, config: Path | None = None) -> Iterator[Engine]:
    """An engine on an existing database with our schema; it creates nothing."""
    from interlock.engine import Engine
    from interlock.engine.audit import signing

    with store_of(database, apps, config) as store:
        registry = with_demo(store, registry_of(apps, config))
        settings = audit_settings(database, config, apps)
        engine = Engine(store, registry, migrate_schema=False, register=False, audit_keys=signing.find(settings))
        engine.core.settings |= {"data": settings.data, **settings.sections}
        configure_demo(engine)
        yield engine


def id_of(engine: Engine, kind: Named, given: str) -> UUID:
    """The id that a caller means: the whole, or the end of it, as lists show it."""
    from interlock.engine import short_ids

    return engine.read(lambda conn: short_ids.find(conn, kind, given))


def check_state(engine: Engine, machine: str | None, state: str | None = None) -> None:
    """Raise an error that names a machine or state that there is not, for a filter that found nothing."""
    from interlock.engine import InvalidData

    of = [engine.registry[machine]] if machine is not None else list(engine.registry)
    if state is not None and not any(state in one.states for one in of):
        known = f"; there are: {', '.join(of[0].states)}" if machine is not None else "; see: interlock machine list"
        raise InvalidData(f"{machine or 'no machine'} has {'no' if machine else 'a'} state {state!r}{known}")


def json_object(given: str, option: str) -> dict[str, Any]:
    """The JSON object that an option has. Raises InvalidData with what was given."""
    import json

    from interlock.engine import InvalidData

    try:
        found = json.loads(given)
    except ValueError as error:
        raise InvalidData(f"{option} is not JSON: {error}; given: {given[:100]!r}") from error
    if not isinstance(found, dict):
        raise InvalidData(f"{option} must be a JSON object, such as '{{\"name\": 1}}', not {given[:100]!r}")
    return found


def audit_settings(database: str, config: Path | None = None, apps: list[str] | None = None) -> Settings:
    """The settings with the database of the command line: its audit key may be beside it."""
    from interlock.config import load

    return load(config, {"database": database} if database else None, apps=apps or ())


def audit_keys(database: str, config: Path | None = None, apps: list[str] | None = None) -> Keys | None:
    from interlock.engine.audit import signing

    return signing.find(audit_settings(database, config, apps))


@contextmanager
def store_of(database: str, apps: list[str] | None = None, config: Path | None = None) -> Iterator[Store]:
    """An existing database."""
    from interlock.store import StoreError, open_store
    from interlock.store.database import file_of

    where = address(database, apps, config)
    file = file_of(parsed(where))
    if file is not None and not file.exists():
        raise StoreError(
            f"there is no database {file}; start one with: interlock up, or name another with --database{_elsewhere()}"
        )
    with open_store(where) as store:
        yield store


def _elsewhere() -> str:
    """The services that run in other folders, for the message about a database that is not there."""
    from interlock.console.running import services

    found = "; ".join(f"{one.described}, started in {one.folder}" for one in services())
    return f"; services that run now: {found}" if found else ""


def configure_demo(engine: Engine) -> None:
    """Add to the configuration what the demo's instances need, in a database that the demo filled."""
    from interlock.demo.mark import is_demo
    from interlock.store import migrate

    if migrate.status(engine.store).core.ready and engine.read(is_demo):
        from interlock.demo.parts import configure

        configure(engine)


def with_demo(store: Store, registry: Registry) -> Registry:
    """The machines; with the demo's in a database that the demo filled."""
    from interlock.demo.mark import is_demo
    from interlock.store import migrate

    if not migrate.status(store).core.ready or not store.read(is_demo):
        return registry
    from interlock.demo.parts import played

    return played(registry)
