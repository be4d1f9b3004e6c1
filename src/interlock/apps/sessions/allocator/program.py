"""`interlock allocator`: the allocator as a service of its own, with one token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from interlock.config import Settings


def allocator(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8440,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder for the embedded database.", show_default="data")
    ] = None,
    database: Annotated[
        str, typer.Option("--database", help="The database.", show_default="from the configuration")
    ] = "",
    items: Annotated[
        Path | None, typer.Option("--items", help="A JSON list; what of it no pool has is added at the start.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", envvar="INTERLOCK_CONFIG", help="The configuration file.")
    ] = None,
) -> None:
    """Lend sandboxes over HTTP, without the rest of Interlock. It needs `sessions.allocator.token`."""
    from interlock.apps.sessions.allocator.standalone import StandaloneAllocator

    service = StandaloneAllocator(_settings(config, data, database), host=host, port=port, items=_items(items))
    service.run(lambda: typer.echo(f"the allocator is on {service.url}; Ctrl+C ends it"))


def _settings(config: Path | None, data: Path | None, database: str) -> Settings:
    from interlock.config import load

    given: dict[str, Any] = {"data": data, "database": database}
    return load(config, {name: value for name, value in given.items() if value})


def _items(path: Path | None) -> list[Any]:
    from interlock.machine import InterlockError

    if path is None:
        return []
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InterlockError(f"the items in {path} cannot be read: {error}") from error
    if not isinstance(found, list):
        raise InterlockError(f"{path} must contain a JSON list of items, not {type(found).__name__}")
    return found
