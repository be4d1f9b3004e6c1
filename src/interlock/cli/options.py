"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from interlock.engine import Engine
    from interlock.machine import Registry

Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="INTERLOCK_DATABASE",
        help="Where the data is: sqlite:///file.db or postgresql://user@host/name.",
    ),
]
App = Annotated[
    list[str] | None,
    typer.Option("--app", help="Machines of your own, as package.module:registry; may be given several times."),
]
DEFAULT_DATABASE = "sqlite:///interlock.db"


def registry_of(apps: list[str] | None) -> Registry:
    """The installed machines, and those of `--app`."""
    from interlock.machine import installed, load

    everything = installed()
    for spec in apps or ():
        for machine in load(spec):
            everything.add(machine)
    return everything


@contextmanager
def opened(database: str, apps: list[str] | None) -> Iterator[Engine]:
    """An engine on a database that is there and has our schema; nothing is created by looking."""
    from pathlib import Path

    import sqlalchemy as sa

    from interlock.engine import Engine
    from interlock.store import StoreError, open_store

    url = sa.make_url(database)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        raise StoreError(f"there is no database {url.database}; name it with --database or INTERLOCK_DATABASE")
    with open_store(database) as store:
        yield Engine(store, registry_of(apps), migrate_schema=False, register=False)
