"""`interlock apply`: what waits for you, approve, reject, schedule, pause, resume, withdraw, rules and export."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from interlock.apps.jobs.commands.database import Workspace, settings_of
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, id_of, opened
from interlock.console.printing import Json, as_json, short, table, when

if TYPE_CHECKING:
    from interlock.engine import Engine, Instance
    from interlock.engine.application import Unit
    from interlock.machine import Actor

R = TypeVar("R")
app = typer.Typer(
    rich_markup_mode=None,
    help="Applications for jobs: see what waits for you, approve, reject, pause, resume, withdraw.",
    no_args_is_help=True,
)
Application = Annotated[str, typer.Argument(help="The application's id, or the end of it.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the history.")]
Rule = Annotated[str | None, typer.Option("--rule", help="A rule's id: it and its applications.")]
All = Annotated[bool, typer.Option("--all", help="Everything.")]


@app.command()
def status(
    application: Annotated[str | None, typer.Argument(help="One application's id, or the end of it.")] = None,
    state: Annotated[list[str] | None, typer.Option("--status", help="Only these; may be given several times.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")] = 50,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Show applications, or one with everything that happened to it."""
    settings_of(config, database)
    from interlock.apps.jobs.autoapply.api.answers import ApplicationOut, LogOut, WholeApplicationOut
    from interlock.apps.jobs.autoapply.packets import details
    from interlock.apps.jobs.autoapply.planned import planned
    from interlock.apps.jobs.autoapply.records import applications, logs, seekers
    from interlock.engine import InvalidData

    for one in state or ():
        if one not in planned.states:
            raise InvalidData(f"{one!r} is not a status of applications; there are: {', '.join(planned.states)}")
    with opened(database, apps, config) as engine:
        if application is not None:
            it = id_of(engine, "instance", application)
            found = engine.read(lambda conn: details.whole(conn, workspace, it))
            rows = engine.read(lambda conn: logs.page(conn, workspace, application=it, limit=500))[::-1]
            shown = WholeApplicationOut.whole(found.row, found.item, found.files, found.outdated)
            if in_json:
                log = [LogOut.of(one).model_dump(mode="json") for one in rows]
                as_json({**shown.model_dump(mode="json"), "log": log})
                return
            table(("value", ""), [(name, _said(value)) for name, value in shown if value not in (None, [], "")])
            table(
                ("at (UTC)", "from", "to", "by", "why"),
                [
                    (when(one.at), one.from_status or "", one.to_status or one.event, one.actor, short(_why(one), 80))
                    for one in rows
                ],
            )
            return
        page = engine.read(lambda conn: applications.page(conn, workspace, statuses=state, limit=limit))
        counts = engine.read(lambda conn: applications.counts(conn, workspace))
        stopped = engine.read(lambda conn: seekers.stopped(conn, workspace))
    if in_json:
        listed = [ApplicationOut.of(one).model_dump(mode="json") for one in page]
        as_json({"applications": listed, "counts": counts, "stopped": stopped is not None})
        return
    table(
        ("id", "status", "waits for", "title", "company", "score", "since (UTC)"),
        [
            (
                str(one.id),
                one.status,
                one.review_reason or one.withdraw_reason or one.paused_by or "",
                short(one.title, 40),
                short(one.company, 30),
                "" if one.score is None else str(one.score),
                when(one.status_at),
            )
            for one in page
        ],
    )
    said = ", ".join(f"{many} {name}" for name, many in counts.items()) or "none yet"
    typer.echo(f"{said}{f'; all are stopped by {stopped.by}' if stopped else ''}")


def _said(value: Any) -> str:
    """A value of an application in one line; for a file its name."""
    if isinstance(value, list):
        return ", ".join(str(getattr(one, "name", one)) for one in value)
    return f"{value:%Y-%m-%d %H:%M:%S} UTC" if isinstance(value, datetime) else str(value)


def _why(row: Any) -> str:
    return row.error or row.reason or ""


@app.command()
def approve(
    application: Application,
    packet: Annotated[str, typer.Argument(help="The hash of the packet that you have read; `status ID` shows it.")],
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Approve exactly this packet; a worker sends it."""
    _act("approve", application, reason, workspace, database, apps, config, packet_hash=packet)


@app.command()
def schedule(
    application: Application,
    at: Annotated[str, typer.Argument(help="When, such as 2026-12-01T08:30, in your time zone; `now` at once.")],
    packet: Annotated[
        str | None, typer.Option("--packet", help="The hash of the packet to approve, where one waits for you.")
    ] = None,
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Choose when an application is sent."""
    settings_of(config, database)
    from interlock.apps.jobs.autoapply.review import scheduling

    with opened(database, apps, config) as engine:
        engine.core.register()
        when_, it = _time(engine, workspace, at), id_of(engine, "instance", application)
        made = engine.write(
            lambda unit: scheduling.schedule(unit, workspace, it, when_, _me(), packet_hash=packet, reason=reason),
            name="fire",
        )
        typer.echo(f"application {made.id} is {made.state}{f', to be sent at {when_}' if when_ else ''}")


def _time(engine: Engine, workspace: str, text: str) -> datetime | None:
    """The time that a person wrote; without an offset it is in the seeker's time zone."""
    from interlock.apps.jobs.finder.records import profiles
    from interlock.engine import InvalidData

    if text == "now":
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(f"{text[:40]!r} is not a time; write it as 2026-12-01T08:30, or now") from None
    found = engine.read(lambda conn: profiles.find(conn, workspace))
    zone = found.profile.time_zone if found is not None and found.profile.time_zone else "UTC"
    return at if at.tzinfo is not None else at.replace(tzinfo=ZoneInfo(zone))


@app.command()
def reject(
    application: Application,
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Withdraw an application because of its packet."""
    _act("reject", application, reason, workspace, database, apps, config)


@app.command()
def withdraw(
    application: Application,
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Withdraw an application, also one that was submitted."""
    _act("withdraw", application, reason, workspace, database, apps, config)


@app.command()
def pause(
    application: Annotated[str | None, typer.Argument(help="The application's id, or the end of it.")] = None,
    rule: Rule = None,
    everything: All = False,
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Pause an application, a rule with its applications, or everything."""
    _many("pause", application, rule, everything, reason, workspace, database, apps, config)


@app.command()
def resume(
    application: Annotated[str | None, typer.Argument(help="The application's id, or the end of it.")] = None,
    rule: Rule = None,
    everything: All = False,
    reason: Reason = "",
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Resume what was paused, or retry what failed."""
    _many("resume", application, rule, everything, reason, workspace, database, apps, config)


@app.command()
def rules(
    file: Annotated[
        Path | None, typer.Argument(help="A YAML or JSON file with a rule to add, or to replace one with --id.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="The rule that the file replaces.")] = None,
    delete: Annotated[str | None, typer.Option("--delete", help="Delete this rule.")] = None,
    workspace: Workspace = "default",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """List rules, or add, replace and delete one."""
    settings_of(config, database)
    import yaml  # type: ignore[import-untyped]

    from interlock.apps.jobs.autoapply.api.answers import RuleOut
    from interlock.apps.jobs.autoapply.queueing import rule_changes
    from interlock.apps.jobs.autoapply.records import rules as stored
    from interlock.engine import InvalidData, NotFound

    wanted = None
    if id is not None and file is None:
        raise InvalidData("--id replaces a rule by one in a file; name the file, too")
    if file is not None:
        try:
            given = yaml.safe_load(file.read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise InvalidData(f"{file} cannot be read as YAML or JSON: {error}") from None
        wanted = rule_changes.checked(given if isinstance(given, dict) else {})

    def change(unit: Unit, actor: Actor) -> None:
        if delete is not None:
            if stored.find(unit.conn, workspace, _rule_id(delete)) is None:
                raise NotFound(f"there is no rule {delete}")
            stored.delete(unit, workspace, _rule_id(delete), actor.name)
        if wanted is not None and id is not None:
            rule_changes.replace(unit, workspace, _rule_id(id), wanted, actor)
        elif wanted is not None:
            rule_changes.add(unit, workspace, wanted, actor)

    with opened(database, apps, config) as engine:
        if wanted is not None or delete is not None:
            engine.core.register()
            engine.write(lambda unit: change(unit, _me()), name="write_rule")
        found = [RuleOut.of(one) for one in engine.read(lambda conn: stored.of(conn, workspace))]
    if in_json:
        as_json({"rules": [one.model_dump(mode="json") for one in found]})
        return
    table(
        ("id", "name", "on", "a week", "approval"),
        [
            (
                str(one.id),
                one.name,
                "paused" if one.paused else "on",
                str(one.rule.get("max_applications_per_week", "")),
                "asks you" if one.rule.get("require_user_approval", True) else "sends automatically",
            )
            for one in found
        ],
    )


@app.command()
def export(
    to: Annotated[
        Path, typer.Argument(help="A file: .json has everything, .csv the applications, .zip the files as well.")
    ],
    workspace: Workspace = "default",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Write everything of auto-apply into a file."""
    settings_of(config, database)
    from interlock.apps.jobs.autoapply.exchange import exporting
    from interlock.engine import InvalidData
    from interlock.store import private

    if to.suffix not in (".json", ".csv", ".zip"):
        raise InvalidData(
            f"{to.name} ends with {to.suffix or 'nothing'}; name a file that ends with .json, .csv or .zip"
        )
    with opened(database, apps, config) as engine:
        if to.suffix == ".zip":
            with private.write_bytes(to) as archive:
                exporting.write_zip(engine.read, workspace, archive, engine.clock.now())
        else:
            now = engine.clock.now()
            parts = (
                exporting.as_csv(engine.read, workspace)
                if to.suffix == ".csv"
                else exporting.as_json(engine.read, workspace, now)
            )
            with private.write_text(to, newline="") as text:
                text.writelines(parts)
    typer.echo(f"written to {to}")


# -- what they share


def _rule_id(text: str) -> UUID:
    from interlock.engine import NotFound

    try:
        return UUID(text)
    except ValueError:
        raise NotFound(f"{text[:80]!r} is not a rule id; give the whole id: interlock apply rules --json") from None


def _me() -> Actor:
    """The person at this computer, who has the database."""
    from interlock.console.printing import login
    from interlock.machine import USER, Actor

    return Actor(USER, login())


def _act(
    verb: str,
    application: str,
    reason: str,
    workspace: str,
    database: str,
    apps: list[str] | None,
    config: Path | None,
    **more: Any,
) -> None:
    settings_of(config, database)
    from interlock.apps.jobs.autoapply.review import deciding

    do: Callable[..., Instance] = getattr(deciding, verb)
    with opened(database, apps, config) as engine:
        engine.core.register()
        it = id_of(engine, "instance", application)
        made = engine.write(lambda unit: do(unit, workspace, it, actor=_me(), reason=reason, **more), name="fire")
        state = "approved, and is sent" if verb == "approve" else made.state
        typer.echo(f"application {made.id} is {state}")


def _many(
    verb: str,
    application: str | None,
    rule: str | None,
    everything: bool,
    reason: str,
    workspace: str,
    database: str,
    apps: list[str] | None,
    config: Path | None,
) -> None:
    from interlock.engine import InvalidData

    if sum((application is not None, rule is not None, everything)) != 1:
        raise InvalidData("name one of: an application's id, --rule ID, --all")
    if application is not None:
        _act(verb, application, reason, workspace, database, apps, config)
        return
    settings_of(config, database)
    from interlock.apps.jobs.autoapply.review import deciding

    def do(unit: Unit) -> deciding.Changed:
        if rule is not None:
            of_rule = deciding.pause_rule if verb == "pause" else deciding.resume_rule
            return of_rule(unit, workspace, _rule_id(rule), _me(), reason=reason)
        of_all = deciding.pause_all if verb == "pause" else deciding.resume_all
        return of_all(unit, workspace, _me(), reason=reason)

    with opened(database, apps, config) as engine:
        engine.core.register()
        done = engine.write(do, name="fire")
        typer.echo(f"{done.applications} applications: {verb}d{f', {done.skipped} skipped' if done.skipped else ''}")
