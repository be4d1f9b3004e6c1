"""`interlock alert`: what is wrong, and the rules that report it."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from interlock.cli.users import by
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, audit_settings, id_of, opened
from interlock.console.printing import As, Json, as_json, short, table, times_shown, when

app = typer.Typer(rich_markup_mode=None, help="Alerts: list, acknowledge, change the rules.", no_args_is_help=True)


@app.command("list")
def list_(
    closed: Annotated[bool, typer.Option("--closed", help="Those that are over.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """List open alerts, newest first. Exit code 1 if there is one that nobody acknowledged."""
    from interlock.watch import alerts

    status = "closed" if closed else "open"
    with opened(database, apps) as engine:
        found = engine.read(lambda conn: alerts.page(conn, status=status, limit=limit)).alerts
    if in_json:
        as_json([times_shown(one) for one in found])
    else:
        table(
            ("id", "rule", "since (UTC)", "acknowledged by", "what"),
            [(str(a.id), a.rule, when(a.opened_at), a.acknowledged_by or "", short(a.sentence, 200)) for a in found],
        )
    if not closed and any(a.acknowledged_at is None for a in found):
        raise typer.Exit(1)


@app.command()
def acknowledge(
    alert: Annotated[str, typer.Argument(help="The alert's id, or the end of it.")],
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Acknowledge an alert: it is not reported again."""
    from interlock.watch import alerts

    with opened(database, apps) as engine:
        id = id_of(engine, "alert", alert)
        done = engine.write(lambda unit: alerts.acknowledge(unit, id, by(user)))
    typer.echo(f"{done.rule}: acknowledged by {done.acknowledged_by}")


@app.command()
def rules(
    in_json: Json = False, database: Database = DEFAULT_DATABASE, apps: App = None, config: Config = None
) -> None:
    """List the rules, built in and your own."""
    from interlock.watch import rules as alert_rules

    settings = audit_settings(database, config, apps)
    with opened(database, apps, config) as engine:
        found = engine.read(lambda conn: alert_rules.every(conn, settings.alerts, engine.registry))
    if in_json:
        as_json([one.model_dump(mode="json", by_alias=True) for one in found])
        return
    table(
        ("name", "measures", "condition", "of"),
        [(r.name, r.metric, f"{r.op} {r.threshold:g}", r.machine or "all machines") for r in found],
    )


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(help="The rule's name.")],
    metric: Annotated[str, typer.Argument(help="What it measures; an error lists the metrics.")],
    condition: Annotated[
        str, typer.Argument(help="A comparison with the threshold: '> 300'. Seconds, parts or counts.")
    ],
    machine: Annotated[str | None, typer.Option(help="Of this machine, or `each`; else of all together.")] = None,
    state: Annotated[str | None, typer.Option(help="The state that state_count counts.")] = None,
    minutes: Annotated[float, typer.Option("--for", min=0, help="Minutes that it must last before it opens.")] = 0,
    notify: Annotated[
        list[str] | None,
        typer.Option(help="Who is notified: mail:ann@example.com or webhook:NAME; can be given several times."),
    ] = None,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Create a rule of your own, or replace the one of this name."""
    from interlock.watch import rules as alert_rules

    op, threshold = _condition(condition)
    given = {"name": name, "metric": metric, "op": op, "threshold": threshold, "machine": machine, "state": state}
    with opened(database, apps) as engine:
        rule = {**given, "for": minutes * 60, "notify": tuple(notify or ())}
        made = engine.write(lambda unit: alert_rules.put(unit, rule, by(user)))
    if in_json:
        as_json(made.model_dump(mode="json", by_alias=True))
    else:
        typer.echo(f"rule {made.name}: {made.metric} {made.op} {made.threshold:g}, of {made.machine or 'all machines'}")


def _condition(text: str) -> tuple[str, float]:
    found = re.fullmatch(r"\s*([<>]=?)\s*(\S+)\s*", text)
    try:
        if found:
            return found[1], float(found[2])
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not a condition; write it as '> 300', '>= 0.2' or '< 1'")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The rule's name.")],
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Remove a rule of your own; its alerts close."""
    from interlock.watch import rules as alert_rules

    with opened(database, apps) as engine:
        engine.write(lambda unit: alert_rules.remove(unit, name, by(user)))
    typer.echo(f"rule {name} is removed")
