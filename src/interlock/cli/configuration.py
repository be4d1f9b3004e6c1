"""`interlock config`: check the configuration, and show it with its secrets hidden."""

from __future__ import annotations

import typer

from interlock.console.options import Config
from interlock.console.printing import Json, as_json

app = typer.Typer(rich_markup_mode=None, help="The configuration: check it, show it.", no_args_is_help=True)


@app.command()
def check(config: Config = None) -> None:
    """Read the settings, load the machines, connect to the database. Exit code 1 if something is wrong."""
    import sqlalchemy as sa

    from interlock.config import load
    from interlock.machine import installed
    from interlock.store import migrate, open_store
    from interlock.store.database import file_of

    settings = load(config)
    registry = installed(settings.apps)
    typer.echo(f"settings  fine, {len(registry)} machines")
    url = sa.make_url(settings.database_url)
    shown = url.render_as_string(hide_password=True)
    file = file_of(url)
    if file is not None and not file.exists():
        typer.echo(f"database  {shown} is not there yet; it is made at the first start")
        return
    with open_store(settings.database_url, wakeup="poll") as store:
        found = migrate.status(store, registry.applications.values())
    for one in found.branches:
        whose = shown if one is found.core else one.name
        needs = "" if one.ready else f", needs {one.wanted}"
        typer.echo(f"{'database' if one is found.core else 'tables':8}  {whose}, schema {one.current or 'none'}{needs}")
    raise typer.Exit(0 if found.usable else 1)


@app.command()
def show(config: Config = None, in_json: Json = False) -> None:
    """Print every setting in force."""
    from interlock.config import load, shown

    plain = shown(load(config))
    if in_json:
        as_json(plain)
        return
    tables = {name: value for name, value in plain.items() if isinstance(value, dict)}
    for name, value in plain.items():
        if name not in tables:
            typer.echo(f"{name} = {_toml(value)}")
    for name, table in tables.items():
        _print(name, table)


def _print(name: str, table: dict[str, object]) -> None:
    typer.echo(f"\n[{name}]")
    for key, value in table.items():
        if not isinstance(value, dict):
            typer.echo(f"{key} = {_toml(value)}")
    for key, value in table.items():
        if isinstance(value, dict):
            _print(f"{name}.{key}", value)


def _toml(value: object) -> str:
    import json

    return "# not set" if value is None else json.dumps(value)
