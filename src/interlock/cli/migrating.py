"""`interlock machine migrate`: move running instances to another version of their machine, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, opened
from interlock.console.printing import INTERRUPTED, As, Json, as_json, bars, login, short, table, until_interrupted

if TYPE_CHECKING:
    from interlock.engine import Engine
    from interlock.engine.versions.adapting import Route
    from interlock.engine.versions.batches import Report


def migrate(
    name: Annotated[str, typer.Argument(help="The machine.")],
    plan: Annotated[bool, typer.Option("--plan", help="Show what would be done; change nothing.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it.")] = False,
    back: Annotated[
        bool, typer.Option("--back", help="Undo migrations of instances that have not changed since.")
    ] = False,
    source: Annotated[int | None, typer.Option("--from", help="Only instances of this version.")] = None,
    to: Annotated[
        int | None, typer.Option("--to", help="The target version; without it, that of the code.", show_default=False)
    ] = None,
    maps: Annotated[
        list[str] | None,
        typer.Option("--map", help="old=new: the new state for instances of a state; may be given several times."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="With --back: only migrations since this time, as 2026-11-15T12:00Z."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=5000, help="Instances per transaction.")] = 200,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for instances that workers hold.")
    ] = 60.0,
    workspace: Annotated[str | None, typer.Option("--workspace", help="Only of this workspace.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; the history keeps it.")] = "",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Move running instances to another version. Exit code 1 if some cannot be moved or are still busy."""
    from interlock.engine.versions import migrating
    from interlock.machine import USER, Actor

    if plan == apply:
        raise typer.BadParameter("say either --plan or --apply")
    if back and (to is not None or maps):
        raise typer.BadParameter("--back moves instances to where they came from; leave out --to and --map")
    if since is not None and not back:
        raise typer.BadParameter("--since is for --back")
    renamed = _maps(maps or [])
    actor = Actor(USER, user or login())
    with opened(database, apps) as engine, bars(in_json) as progress, until_interrupted(apply) as stopping:
        bar = progress.add_task("planning" if plan else "migrating", total=None)
        options: dict[str, Any] = {"progress": lambda n: progress.advance(bar, n)}
        way = None
        if back:
            report = migrating.back(
                engine,
                name,
                actor,
                since=_moment(since),
                source=source,
                workspace=workspace,
                reason=reason,
                dry=plan,
                batch=batch,
                patience=wait,
                stopping=stopping,
                **options,
            )
        else:
            if apply:
                engine.core.register()
            way = migrating.route(engine, name, to=to, source=source, renamed=renamed, workspace=workspace)
            progress.update(bar, total=migrating.count(engine, way))
            if plan:
                report = migrating.plan(engine, way, **options)
            else:
                report = migrating.apply(
                    engine, way, actor, reason=reason, batch=batch, patience=wait, stopping=stopping, **options
                )
        shown = _report_json(engine, name, way, report, applied=apply)
    if in_json:
        as_json(shown)
    else:
        _print(shown, applied=apply)
    if report.stopped:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(1 if report.refused or (apply and report.busy) else 0)


def _maps(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        old, equals, new = (part.strip() for part in one.partition("="))
        if not (old and equals and new):
            raise typer.BadParameter(f"{one!r} is not a mapping; write it as --map old=new")
        if found.get(old, new) != new:
            raise typer.BadParameter(f"state {old!r} is mapped twice, to {found[old]!r} and to {new!r}")
        found[old] = new
    return found


def _moment(since: str | None) -> int:
    from interlock.store import micros

    if since is None:
        return 0
    try:
        found = datetime.fromisoformat(since)
    except ValueError:
        raise typer.BadParameter(f"{since!r} is not a time; write it as 2026-11-15T12:00Z") from None
    return micros(found if found.tzinfo is not None else found.replace(tzinfo=UTC))


def _report_json(engine: Engine, name: str, way: Route | None, report: Report, *, applied: bool) -> dict[str, Any]:
    """The report for scripts."""
    from interlock.console.printing import when

    stranded = engine.core.unserved
    versions: list[dict[str, Any]] = []
    for version in (*way.sources.values(), way.to) if way is not None else ():
        served = (name, version.number) in engine.core.served
        versions.append(
            {
                "version": version.number,
                "digest": version.digest[:12],
                "since": when(version.registered_at),
                "goal": version is way.to if way is not None else False,
                "served": served,
                "problems": stranded.get((name, version.number), []),
            }
        )
    return {
        "machine": name,
        "applied": applied,
        "stopped": report.stopped,
        "versions": versions,
        **report.as_values(),
    }


def _print(shown: dict[str, Any], *, applied: bool) -> None:
    """The report for people: first what moves, then what cannot."""
    if shown["versions"]:
        typer.echo(f"{shown['machine']}: versions")
        table(
            ("version", "digest", "since (UTC)", "this code"),
            [
                (
                    f"{v['version']}{' (goal)' if v['goal'] else ''}",
                    v["digest"],
                    v["since"],
                    "serves it" if v["served"] else "does not serve it",
                )
                for v in shown["versions"]
            ],
        )
        for v in shown["versions"]:
            for problem in v["problems"]:
                typer.echo(f"  version {v['version']}: {short(problem, 150)}")
    moved, refused = sum(one["count"] for one in shown["moved"]), sum(one["count"] for one in shown["refused"])
    busy = sum(one["count"] for one in shown["busy"])
    if shown["moved"]:
        typer.echo("\nmoved" if applied else "\nwould be moved")
        table(
            ("from", "state", "to", "state", "instances"),
            [
                (str(m["from_version"]), m["from"], str(m["to_version"]), m["to"], f"{m['count']:,}")
                for m in shown["moved"]
            ],
        )
    for title, key, columns in (
        ("data", "fields", ("field", "what")),
        ("timers", "timers", ("state", "change")),
        ("reviews", "reviews", ("state", "what")),
        ("claimed by workers, skipped for now", "busy", ("version", "state")),
    ):
        if shown[key]:
            typer.echo(f"\n{title}")
            rows = [(*(str(one[column]) for column in columns), f"{one['count']:,}") for one in shown[key]]
            table((*columns, "instances"), rows)
    if shown["refused"]:
        typer.echo("\nnot moved" if applied else "\nwould not be moved")
        for one in shown["refused"]:
            typer.echo(
                f"  version {one['version']}, {short(one['state'])}: {one['count']:,}: {short(one['reason'], 200)}"
            )
            for example in one["examples"]:
                detail = "" if example["detail"] == one["reason"] else short(example["detail"], 200)
                typer.echo(f"    {example['instance']}  {detail}".rstrip())
    done = "moved" if applied else "would be moved"
    typer.echo(
        f"\n{moved:,} {done}, {busy:,} claimed by workers, {refused:,} {'refused' if applied else 'would be refused'}"
    )
    if shown["stopped"]:
        typer.echo("stopped before the end; run it again to continue")
    elif applied and busy:
        typer.echo("run it again when the workers have finished them")
