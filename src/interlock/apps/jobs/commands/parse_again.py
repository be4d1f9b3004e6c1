"""`interlock jobs parse-again`: read kept answers with the parser of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.apps.jobs.commands.crawl import chosen
from interlock.apps.jobs.commands.database import Workspace, finder, settings_of
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database
from interlock.console.printing import Json, as_json, bars, login, short, table

if TYPE_CHECKING:
    from interlock.apps.jobs.finder.parse_again import Reading


def parse_again(
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="Only this one: id, name or address.", show_default="all active ones"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Read the kept answers of sources again, and store and say what is read differently. Nothing is fetched."""
    settings = settings_of(config, database)
    from interlock.apps.jobs.finder.parse_again import read_again, store
    from interlock.machine import USER, Actor

    actor = Actor(USER, login())
    found: list[Reading] = []
    with finder(database, apps, settings) as engine, bars(in_json) as progress:
        rows = engine.read(lambda conn: chosen(conn, workspace, source))
        bar = progress.add_task("sources", total=len(rows))
        for row in rows:
            reading = engine.read(lambda conn, row=row: read_again(conn, row))  # type: ignore[misc]
            if not dry_run:
                engine.write(lambda unit, reading=reading: store(unit, reading, actor))  # type: ignore[misc]
            found.append(reading)
            progress.advance(bar)
    if in_json:
        as_json([_as_json(one) for one in found])
        return
    table(("source", "kept answers", "postings", "changed", "new", "fields"), [_line(one) for one in found])
    word = "would change" if dry_run else "changed"
    typer.echo(
        f"{sum(len(one.changed) for one in found)} postings {word}, {sum(len(one.new) for one in found)} are new"
    )


def _line(one: Reading) -> tuple[str, ...]:
    fields = ", ".join(f"{name} {many}" for name, many in one.fields.most_common())
    numbers = (str(one.postings), str(len(one.changed)), str(len(one.new)))
    return (short(one.source.name, 40), one.verdict, *numbers, short(fields or "; ".join(one.reasons), 100))


def _as_json(one: Reading) -> dict[str, Any]:
    return {
        "source": str(one.source.id),
        "name": one.source.name,
        "verdict": one.verdict,
        "reasons": list(one.reasons),
        "postings": one.postings,
        "unchanged": one.unchanged,
        "fields": dict(one.fields),
        "changed": [
            {"id": str(each.id), "title": each.posting.title, "url": each.posting.url, "fields": list(each.fields)}
            for each in one.changed
        ],
        "new": [{"title": each.posting.title, "url": each.posting.url} for each in one.new],
    }
