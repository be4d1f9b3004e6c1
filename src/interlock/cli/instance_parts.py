"""`interlock instance artifacts|effects|family`: what belongs to an instance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, id_of, opened
from interlock.console.printing import Json, as_json, described, table, times_shown, when

if TYPE_CHECKING:
    from interlock.engine import Engine

Id = Annotated[str, typer.Argument(help="The instance's id, or the end of it.")]


def artifacts(
    instance: Id,
    name: Annotated[str | None, typer.Argument(help="Write the content of this one, to the standard output.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="The file to write the content to.")] = None,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List the artifacts of an instance, or write the content of one."""
    from interlock.engine import artifacts

    with opened(database, apps) as engine:
        id = engine.get(id_of(engine, "instance", instance)).id
        found = engine.read(lambda conn: artifacts.of(conn, id))
        if name is not None:
            _write(_content(engine, id, found, name), to)
            return
    if in_json:
        as_json([times_shown(one) for one in found])
        return
    table(
        ("name", "type", "bytes", "step", "stored (UTC)"),
        [(one.name, one.media_type, f"{one.size:,}", one.step, when(one.at)) for one in found],
    )


def _content(engine: Engine, id: Any, found: Any, name: str) -> bytes:
    from interlock.engine import NotFound, artifacts

    named = [one for one in found if one.name == name]
    if not named:
        there = ", ".join(one.name for one in found) or "none"
        raise NotFound(f"instance {id} has no artifact {name!r}; there are: {there}")
    return engine.read(lambda conn: artifacts.read(conn, id, named[0].hash))


def _write(content: bytes, to: Path | None) -> None:
    from interlock.store import private

    if to is None:
        sys.stdout.buffer.write(content)
        return
    with private.write_bytes(to) as file:
        file.write(content)
    typer.echo(f"{to}: {len(content):,} bytes")


def effects(instance: Id, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List what an instance sent to the outside, with the outcome of each."""
    from interlock.engine import effects

    with opened(database, apps) as engine:
        id = engine.get(id_of(engine, "instance", instance)).id
        found = engine.read(lambda conn: effects.of(conn, id))
    if in_json:
        as_json([times_shown(one) for one in found])
        return
    table(
        ("effect", "status", "step", "recorded (UTC)", "sent", "error"),
        [(one.kind, one.status, one.step, when(one.intended_at), str(one.sends), one.error or "") for one in found],
    )


def family(instance: Id, in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None) -> None:
    """List the instances that an instance belongs to: what started it, and what they started."""
    from interlock.engine.listing import Where

    with opened(database, apps) as engine:
        found = engine.get(id_of(engine, "instance", instance))
        page = engine.page(Where(root=found.root), limit=500)
    shown = page.instances[::-1]
    if in_json:
        as_json([described(one) for one in shown])
        return
    table(
        ("id", "machine", "state", "created (UTC)", "parent"),
        [(str(one.id), one.machine, one.state, when(one.created_at), str(one.parent or "")) for one in shown],
    )
    if page.next:
        typer.echo("the newest 500 are shown", err=True)


def add_to(app: typer.Typer) -> None:
    """Add the commands to `interlock instance`."""
    for one in (artifacts, effects, family):
        app.command(one.__name__)(one)
