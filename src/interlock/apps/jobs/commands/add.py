"""`interlock jobs add`: give the finder an address, whatever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.apps.jobs.commands.database import Workspace, finder, settings_of, wait
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database
from interlock.console.printing import Json, as_json, clean, login
from interlock.console.working import hint_of_worker, in_order

if TYPE_CHECKING:
    from interlock.engine import Instance

WORDS = {"company": "a company's website", "source": "a source of postings", "listing": "one posting"}


def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="A company's website, a job board, or a posting.")],
    name: Annotated[str, typer.Option("--name", help="The company's name.", show_default=False)] = "",
    kind: Annotated[
        str | None,
        typer.Option(
            "--as", help="company, source or listing, where the address is taken for the wrong one.", show_default=False
        ),
    ] = None,
    waits: Annotated[bool, typer.Option("--wait", help="Wait until it has gone through its stages.")] = False,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Add a company, a source or a posting by its address. One that is still open is not added again."""
    settings = settings_of(config, database)
    from interlock.apps.jobs.finder import intake, machine, models
    from interlock.apps.jobs.finder.recognition import KINDS, recognise
    from interlock.machine import USER, Actor, InterlockError

    if kind is not None and kind not in KINDS:
        raise InterlockError(f"--as {kind!r} is none of {', '.join(KINDS)}")
    hosts = settings.section("jobs").private_hosts
    found = recognise(url, hosts)
    taken, reason = kind or found.kind, "as you say" if kind else found.reason
    actor = Actor(USER, login())

    def put(unit: Any) -> intake.Added:
        if taken == "company":
            return intake.add_company(unit, workspace, name, found.url, actor)
        if taken == "source":
            return intake.add_source(unit, workspace, found.url, actor, company_name=name)
        return intake.add_listing(unit, workspace, found.url, actor)

    machines = {"company": machine.company, "source": machine.source, "listing": machine.listing}
    stages = {"company": models.CompanyStage, "source": models.SourceStage, "listing": models.ListingStage}
    with finder(database, apps, settings) as engine:
        added = engine.write(put, name="create")
        if not in_json:
            known = "" if added.new else ", which is open already"
            typer.echo(f"taken for {WORDS[taken]}: {clean(reason)}{known}")
        item: Instance = added.item
        if waits:
            [item] = wait(engine, machines[taken], [item.id], [found.url], list(stages[taken]), quiet=in_json)
        else:
            [item] = engine.read(lambda conn: in_order(conn, machines[taken], [added.item.id]))
        if in_json:
            as_json({"id": str(item.id), "kind": taken, "reason": reason, "new": added.new, **_result(item)})
        else:
            _print(item)
            if not waits:
                hint_of_worker(engine, machines[taken])
    if waits and item.state == "FAILED":
        raise typer.Exit(1)


def _result(item: Instance) -> dict[str, Any]:
    return {
        "state": item.state,
        "stage": item.data.get("stage"),
        "message": item.data.get("message", ""),
        "tracking_id": item.trace_id,
    }


def _print(item: Instance) -> None:
    message = clean(str(item.data.get("message", "")))
    typer.echo(
        f"{item.machine} {item.id}  {item.data.get('stage', '')} {item.state}{': ' + message if message else ''}"
    )
    if item.error:
        typer.echo(f"error: {clean(item.error['message'])}", err=True)
