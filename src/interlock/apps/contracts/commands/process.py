"""`interlock contracts process`: ingest files, and optionally wait for them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.apps.contracts.commands.settings import contract_settings
from interlock.console.options import (
    DEFAULT_DATABASE,
    App,
    Config,
    Database,
    parsed,
    registry_of,
    with_demo,
)
from interlock.console.printing import As, Json, as_json, bars, clean, login, short, table

if TYPE_CHECKING:
    from interlock.apps.contracts.ingest.intake import Intake
    from interlock.config import Settings
    from interlock.engine import Engine, Instance

Files = Annotated[list[Path], typer.Argument(help="PDF, Word or text files.", show_default=False)]
Vertical = Annotated[str, typer.Option("--vertical", help="The kind of contract; see: interlock contracts verticals.")]
LOOK_EVERY = 0.1


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
    from interlock.machine import USER, Actor

    intakes = _intakes(files, vertical, settings)  # before a database is touched: all of them, or none
    with _engine(database, apps, settings) as engine:
        ids = _taken(engine, intakes, compare_with, Actor(USER, user or login()), settings)
        if wait:
            _wait(engine, ids, [one.filename for one in intakes], quiet=in_json)
        found = engine.read(lambda conn: _workflows(conn, ids))
        working = _somebody_works(engine)
    if in_json:
        as_json(found)
    else:
        _table([one.filename for one in intakes], found, settings)
        if not wait and not working:
            typer.echo("no worker is running on this database; start one with: interlock up, or use --wait")
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


@contextmanager
def _engine(database: str, apps: list[str] | None, settings: Settings) -> Iterator[Engine]:
    """An engine that can also do the work; creates a missing database."""
    from interlock import ai
    from interlock.engine import Engine
    from interlock.store import migrate, open_store

    where = database or settings.database_url
    parsed(where)
    with open_store(where) as store:
        migrate.upgrade(store)
        engine = Engine(store, with_demo(store, registry_of(apps)))
        ai.configure(engine, settings.ai)
        engine.core.settings["contracts"] = settings.section("contracts")
        yield engine


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
    from interlock.apps.contracts.workflow.answers import workflow

    return [workflow(conn, one) for one in _instances(conn, ids)]


def _instances(conn: Any, ids: Sequence[UUID]) -> list[Instance]:
    from interlock.apps.contracts.machine import contract
    from interlock.engine.application import instances

    found = {one.id: one for one in instances(conn, contract.name, ids=ids, limit=len(ids))}
    return [found[id] for id in ids]


def _somebody_works(engine: Engine) -> bool:
    """Whether a live worker processes contracts."""
    from interlock.apps.contracts.machine import contract
    from interlock.engine.application import is_served

    return engine.read(lambda conn: is_served(conn, engine.clock.now(), contract.queue))


# -- waiting


def _wait(engine: Engine, ids: Sequence[UUID], names: Sequence[str], *, quiet: bool) -> None:
    """Wait until all are done or need a person; do the work here if no worker is alive."""
    from interlock.apps.contracts.machine import contract
    from interlock.worker import Worker

    with ExitStack() as stack:
        progress = stack.enter_context(bars(quiet))
        whole = progress.add_task("contracts", total=len(ids))
        rows: dict[UUID, Any] = {}
        while True:
            if not _somebody_works(engine):  # now, or no more: whoever did it may stop while we wait
                stack.enter_context(Worker(engine, queues=[contract.queue]))
            found = engine.read(lambda conn: _instances(conn, ids))
            for one, name in zip(found, names, strict=True):
                if not _at_rest(one) or one.id in rows:
                    if one.id not in rows:
                        rows[one.id] = progress.add_task(short(name, 40), total=len(STEPS))
                    progress.update(rows[one.id], completed=_done(one), description=f"{short(name, 40)}  {one.state}")
            progress.update(whole, completed=sum(map(_at_rest, found)))
            if all(map(_at_rest, found)):
                return
            time.sleep(LOOK_EVERY)


STEPS = ("pending", "parsing_pdf", "extracting", "validating", "validated", "comparing")


def _at_rest(one: Instance) -> bool:
    """Whether it is finished or waits for a person: a review, a pause, an unstarted step."""
    by_itself = one.wake is not None or one.paused_wake is not None
    return one.finished_at is not None or one.state == "review_required" or one.paused_at is not None or not by_itself


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
