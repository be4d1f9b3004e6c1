"""`interlock contracts process`: ingest files, and optionally wait for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.apps.contracts.commands.settings import contract_settings
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database
from interlock.console.printing import As, Json, as_json, clean, login, table
from interlock.console.working import has_stopped, hint_of_worker, in_order, wait_for, working_engine

if TYPE_CHECKING:
    from interlock.apps.contracts.ingest.intake import Intake
    from interlock.config import Settings
    from interlock.engine import Engine, Instance

Files = Annotated[list[Path], typer.Argument(help="PDF, Word or text files.", show_default=False)]
Vertical = Annotated[str, typer.Option("--vertical", help="The kind of contract; see: interlock contracts verticals.")]


def process(
    files: Files,
    vertical: Vertical = "commercial",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is done or needs a person.")] = False,
    compare_with: Annotated[
        str | None, typer.Option("--compare-with", help="A workflow's id, `template` or `offers`.", show_default=False)
    ] = None,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Ingest contracts; the same file is the same workflow. Exit code 1 if one was rejected."""
    settings = contract_settings(config)
    from interlock.apps.contracts.machine import contract
    from interlock.machine import USER, Actor

    intakes = _intakes(files, vertical, settings)  # before a database is touched: all of them, or none
    with working_engine(database, apps, settings) as engine:
        ids = _taken(engine, intakes, compare_with, Actor(USER, user or login()), settings)
        if wait:
            _wait(engine, ids, [one.filename for one in intakes], quiet=in_json)
        found = engine.read(lambda conn: _workflows(conn, ids))
        if in_json:
            as_json(found)
        else:
            _table([one.filename for one in intakes], found, settings)
            if not wait:
                hint_of_worker(engine, contract)
    if any(one["state"] in {"rejected", "timed_out"} for one in found):
        raise typer.Exit(1)


def _intakes(files: Sequence[Path], vertical: str, settings: Settings) -> list[Intake]:
    from interlock.apps.contracts.ingest import intake
    from interlock.machine import InterlockError

    found = []
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InterlockError(f"{path} cannot be read: {error.strerror}") from None
        found.append(intake.inspect(content, path.name, vertical, settings.section("contracts")))
    return found


def _taken(
    engine: Engine, files: Sequence[Intake], compare_with: str | None, actor: Any, settings: Settings
) -> list[UUID]:
    from interlock.apps.contracts.ingest import intake
    from interlock.apps.contracts.steps import comparable
    from interlock.engine.application import Unit

    def take(unit: Unit) -> list[UUID]:
        if compare_with:
            comparable(unit.conn, compare_with, "default", settings.section("contracts"))
        return [intake.take_in(unit, one, actor, compare_with=compare_with).id for one in files]

    return engine.write(take, name="create")


def _workflows(conn: Any, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    from interlock.apps.contracts.machine import contract
    from interlock.apps.contracts.workflow.answers import workflow

    return [workflow(conn, one) for one in in_order(conn, contract, ids)]


# -- waiting

STEPS = ("pending", "parsing_pdf", "extracting", "validating", "validated", "comparing")


def _wait(engine: Engine, ids: Sequence[UUID], names: Sequence[str], *, quiet: bool) -> None:
    """Wait until all are done or need a person."""
    from interlock.apps.contracts.machine import contract

    wait_for(
        engine,
        contract,
        ids,
        names,
        what="contracts",
        steps=len(STEPS),
        progress_of=lambda one: (_done(one), one.state),
        stopped=lambda one: has_stopped(one) or one.state == "review_required",
        quiet=quiet,
    )


def _done(one: Instance) -> int:
    if one.state == "failed":
        return STEPS.index((one.failed_step or STEPS[0]).partition(":")[0])
    return STEPS.index(one.state) if one.state in STEPS else len(STEPS) - 2 * (one.state == "review_required")


def _table(names: Sequence[str], found: Sequence[Mapping[str, Any]], settings: Settings) -> None:
    from interlock.apps.contracts.fields.vertical import load_verticals

    required = {
        name: [field.name for field in one.required]
        for name, one in load_verticals(settings.section("contracts").verticals).items()
    }
    rows = []
    for name, one in zip(names, found, strict=True):
        sure, fields = one.get("finalConfidence"), one.get("fields") or {}
        values = [f"{field}: {_value(fields.get(field))}" for field in required.get(one["vertical"], ()) if fields]
        rows.append((name, one["workflowId"], one["state"], "" if sure is None else f"{sure} %", "; ".join(values)))
    table(("file", "workflow", "state", "confidence", "required values"), rows)
    for name, one in zip(names, found, strict=True):
        if error := one.get("lastError"):
            typer.echo(f"error: {clean(name)}: {error['code']}: {clean(error['message'])}", err=True)


def _value(field: Mapping[str, Any] | None) -> str:
    value = None if field is None else field["value"]
    return "none" if value is None else " ".join(str(value).split())
