"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
