"""`interlock jobs crawl`: crawl sources now, and see how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.apps.jobs.commands.database import Workspace, finder, settings_of, wait
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database
from interlock.console.printing import Json, as_json, clean, login, short, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.apps.jobs.finder.records.sources import CrawlRow, SourceRow
    from interlock.engine import Instance


def crawl(
    wanted: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE", help="Ids, names or addresses.", show_default="all active ones"),
    ] = None,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Crawl sources and wait for their verdicts. Exit code 1 if one failed."""
    settings = settings_of(config, database)
    from interlock.apps.jobs.finder import intake
    from interlock.apps.jobs.finder.machine import source
    from interlock.apps.jobs.finder.models import SourceStage
    from interlock.apps.jobs.finder.records import sources
    from interlock.machine import USER, Actor, InterlockError

    with finder(database, apps, settings) as engine:
        rows = engine.read(lambda conn: chosen(conn, workspace, wanted))
        if not rows:
            raise InterlockError(
                "there is no active source; add one with: interlock jobs add URL, or see which wait for a person with: "
                "interlock jobs sources"
            )
        actor = Actor(USER, login())
        started = engine.write(lambda unit: [intake.crawl(unit, workspace, row.id, actor).item for row in rows])
        ids = [one.id for one in started]
        found = wait(engine, source, ids, [row.name for row in rows], [SourceStage.CRAWL], quiet=in_json)
        last = engine.read(
            lambda conn: [
                next((one for one in sources.crawls(conn, row.id) if one.id == item.id), None)
                for row, item in zip(rows, found, strict=True)
            ]
        )
    if in_json:
        as_json([_as_json(row, item, one) for row, item, one in zip(rows, found, last, strict=True)])
    else:
        table(
            ("source", "verdict", "postings", "new", "changed", "closed", "why"),
            [_line(row, item, one) for row, item, one in zip(rows, found, last, strict=True)],
        )
    if any(item.state == "FAILED" for item in found):
        raise typer.Exit(1)


def chosen(conn: Any, workspace: str, wanted: Sequence[str] | None) -> list[SourceRow]:
    """The sources that are named by id, name or address; all active ones if none is."""
    from interlock.apps.jobs.finder.records import sources
    from interlock.machine import InterlockError

    if not wanted:
        return sources.page(conn, workspace, state=sources.ACTIVE, limit=1000)
    every = sources.page(conn, workspace, limit=10_000)
    found = []
    for text in wanted:
        same = [row for row in every if text in (str(row.id), row.name, row.url)]
        near = same or [row for row in every if text.lower() in f"{row.name} {row.url}".lower()]
        if len(near) != 1:
            many = "no source is" if not near else f"{len(near)} sources are"
            shown = "".join(f"\n  {row.id}  {row.name}" for row in near[:10])
            raise InterlockError(f"{many} named {text!r}; see: interlock jobs sources{shown}")
        found += near
    return found


def _line(row: SourceRow, item: Instance, crawl: CrawlRow | None) -> tuple[str, ...]:
    if crawl is None:
        why = item.error["message"] if item.error else str(item.data.get("message", ""))
        return (short(row.name, 40), item.state, "", "", "", "", short(why, 100))
    counts = [str(crawl.counts.get(name, 0)) for name in ("parsed", "new", "changed", "closed")]
    return (short(row.name, 40), crawl.verdict, *counts, short("; ".join(crawl.reasons), 100))


def _as_json(row: SourceRow, item: Instance, crawl: CrawlRow | None) -> dict[str, Any]:
    return {
        "source": str(row.id),
        "name": clean(row.name),
        "crawl": str(item.id),
        "state": item.state,
        "verdict": crawl.verdict if crawl else None,
        "reasons": list(crawl.reasons) if crawl else [],
        "counts": dict(crawl.counts) if crawl else {},
        "error": item.error,
    }
