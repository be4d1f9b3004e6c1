"""`interlock jobs list`, `sources` and `why`: postings, boards, and why something is not among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.apps.jobs.commands.database import Workspace, settings_of
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, opened
from interlock.console.printing import Json, as_json, clean, short, table, when

if TYPE_CHECKING:
    from interlock.apps.jobs.finder.records.why import Why


def list_(
    q: Annotated[str | None, typer.Option("--q", help="Words of title, company, place or address.")] = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help="matched, filtered, open, saved, …; may be given several times."),
    ] = None,
    min_score: Annotated[
        int | None, typer.Option("--min-score", min=0, max=100, help="Only with this score or more.")
    ] = None,
    company: Annotated[str | None, typer.Option("--company", help="A company's name or id.")] = None,
    workplace: Annotated[str | None, typer.Option("--workplace", help="remote, hybrid, onsite or unknown.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="A source's id, or a kind such as greenhouse.")] = None,
    after: Annotated[str | None, typer.Option("--after", help="The cursor of the page before.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")] = 50,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """List postings, the best first."""
    settings_of(config, database)
    from interlock.apps.jobs.finder.api.answers import PostingOut
    from interlock.apps.jobs.finder.records import lists

    wanted = lists.Filter(q, tuple(state or ()), min_score, company, workplace, source)
    with opened(database, apps, config) as engine:
        now = engine.clock.now()
        page = engine.read(lambda conn: lists.page(conn, workspace, wanted, now, after=after, limit=limit))
        counts = engine.read(lambda conn: lists.counts(conn, workspace))
    if in_json:
        as_json({"postings": [PostingOut.of(one).model_dump(mode="json") for one in page.rows], "next": page.next})
        return
    table(
        ("score", "outcome", "title", "company", "place", "pay", "first seen", "url"),
        [
            (
                "" if one.score is None else str(one.score),
                one.decision or one.outcome,
                short(one.title or "unknown", 50),
                short(one.company_name or "unknown", 30),
                short(f"{one.workplace} {one.location}".strip(), 40),
                pay(one),
                when(one.first_seen)[:10],
                one.url or "",
            )
            for one in page.rows
        ],
    )
    many = ", ".join(f"{number} {name}" for name, number in counts["outcomes"].items() if number)
    more = f"; continue with --after {page.next}" if page.next else ""
    typer.echo(f"{len(page.rows)} shown; of all that are not closed: {many or 'none'}{more}")


def pay(row: Any) -> str:
    """The pay for a year, as short as it can be."""
    if row.annual_min is None and row.annual_max is None:
        return ""
    ends = dict.fromkeys(f"{one / 1000:.0f}k" for one in (row.annual_min, row.annual_max) if one is not None)
    return f"{'-'.join(ends)} {row.currency or ''}".strip()


def sources(
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """List sources with their health."""
    settings_of(config, database)
    from interlock.apps.jobs.finder.api.answers import SourceOut
    from interlock.apps.jobs.finder.records import sources as records

    with opened(database, apps, config) as engine:
        rows = engine.read(lambda conn: records.page(conn, workspace, limit=1000))
    if in_json:
        as_json([SourceOut.of(one).model_dump(mode="json") for one in rows])
        return
    table(
        ("id", "name", "kind", "state", "last crawl", "verdict", "failures", "why"),
        [
            (
                str(one.id),
                short(one.name, 40),
                one.source_type,
                one.status,
                when(one.last_scraped_at),
                one.last_scraped_status or "",
                str(one.consecutive_failures or ""),
                short(one.status_reason, 60),
            )
            for one in rows
        ],
    )


def why(
    asked: Annotated[list[str], typer.Argument(metavar="URL|WORDS", help="A posting's address, or words of it.")],
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Say why a posting is, or is not, among the matches."""
    settings = settings_of(config, database)
    from interlock.apps.jobs.finder.api.reason_answers import WhyOut
    from interlock.apps.jobs.finder.records.why import why as look

    hosts = settings.section("jobs").private_hosts
    with opened(database, apps, config) as engine:
        now, text = engine.clock.now(), " ".join(asked)
        found = engine.read(lambda conn: look(conn, workspace, text, now, private_hosts=hosts))
    if in_json:
        as_json(WhyOut.of(found).model_dump(mode="json"))
        return
    _print(found)


def _print(found: Why) -> None:
    for one in found.answers:
        row = one.row
        typer.echo(f"{clean(row.title or 'unknown')} · {clean(row.company_name or 'unknown')} · {clean(row.url or '')}")
        score = "" if row.score is None else f" It scores {row.score}."
        typer.echo(f"  {clean(one.sentence)}{score}")
        if one.shown_as:
            typer.echo(f"  It is listed as posting {one.shown_as}.")
        if one.item_error:
            typer.echo(f"  error: {clean(one.item_error)}")
        for check in one.checks:
            points = "" if check.points is None else f" ({check.points} strike{'s' if check.points != 1 else ''})"
            quote = f' "{short(check.quote, 100)}"' if check.quote else ""
            if check.result == "hit":
                typer.echo(f"  ✗ {check.name}: {clean(check.reason)}{points}{quote}")
            elif check.result == "skipped":
                typer.echo(f"  - {check.name}: skipped, {clean(check.reason)}")
        passed = [check.name for check in one.checks if check.result == "performed"]
        if passed:
            typer.echo(f"  ✓ {', '.join(passed)}")
    for line in (*(one.sentence for one in found.sources), *found.notes):
        typer.echo(clean(line))
