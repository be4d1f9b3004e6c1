"""`interlock export`: instances with their histories as JSON lines, or instances as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from interlock.console.options import DEFAULT_DATABASE, App, Database, check_state, opened
from interlock.console.printing import described

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from interlock.engine import Engine, Instance

COLUMNS = ("id", "machine", "state", "workspace", "key", "seq", "created_at", "entered_at", "finished_at", "paused")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


def export(
    file: Annotated[Path | None, typer.Argument(help="The file to write; without it, the standard output.")] = None,
    format: Annotated[
        Format, typer.Option("--format", help="jsonl has everything; csv has one line per instance.")
    ] = Format.JSONL,
    machine: Annotated[str | None, typer.Option(help="Only of this machine.")] = None,
    state: Annotated[str | None, typer.Option(help="Only in this state.")] = None,
    workspace: Annotated[str | None, typer.Option(help="Only of this workspace.")] = None,
    without_history: Annotated[bool, typer.Option("--without-history", help="Leave out the histories.")] = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Write instances, newest first, each with its history. It reads page by page and blocks nobody.

    An instance includes its rows in tables of applications. Without a filter, rows of applications that belong to no
    instance follow, one line each.
    """
    from rich.console import Console
    from rich.progress import Progress

    from interlock.engine.listing import Where

    where = Where(machine=machine, state=state, workspace=workspace)
    with ExitStack() as stack:
        # The database and the filters first: if there is an error in them, an existing file keeps its content.
        engine = stack.enter_context(opened(database, apps))
        total = engine.count(where)
        if machine is not None and not total.n:
            check_state(engine, machine, state)
        target = stack.enter_context(_target(file))
        progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
        bar = progress.add_task("exporting", total=total.n if total.exact else None)
        done, after = 0, None
        write = _csv(target) if format is Format.CSV else _jsonl(target, engine, history=not without_history)
        while True:
            page = engine.page(where, after=after, limit=500)
            write(page.instances)
            done += len(page.instances)
            progress.update(bar, completed=done)
            if page.next is None:
                break
            after = page.next
        others = 0
        if format is Format.JSONL and (machine, state, workspace) == (None, None, None):
            others = engine.read(lambda conn: _others(target, conn))
    typer.echo(f"{done} instances" + (f", {others} other rows of applications" if others else ""), err=True)


@contextmanager
def _target(file: Path | None) -> Iterator[TextIO]:
    import sys

    from interlock.machine import InterlockError
    from interlock.store import private

    if file is None:
        yield sys.stdout
        return
    try:
        opened_file = private.write_text(file, newline="")
    except OSError as error:
        raise InterlockError(f"cannot write to {file}: {error.strerror}; name another file") from error
    with opened_file:
        yield opened_file


def _csv(target: TextIO) -> Any:
    import csv

    writer = csv.DictWriter(target, COLUMNS, extrasaction="ignore")
    writer.writeheader()

    def write(instances: Sequence[Instance]) -> None:
        for instance in instances:
            write_one(instance)

    def write_one(instance: Instance) -> None:
        # A spreadsheet would run a cell that begins like a formula.
        row = {name: _harmless(value) for name, value in described(instance).items()}
        writer.writerow(row)

    return write


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _jsonl(target: TextIO, engine: Engine, *, history: bool) -> Any:
    import json
    from dataclasses import asdict

    from interlock.store.application_tables import rows_of

    def write(instances: Sequence[Instance]) -> None:
        kept = engine.read(lambda conn: rows_of(conn, [one.id for one in instances]))
        for instance in instances:
            write_one(instance, kept.get(instance.id))

    def write_one(instance: Instance, kept: Mapping[str, Any] | None) -> None:
        record = described(instance)
        if kept:
            record["tables"] = kept
        if history:
            rows: list[Any] = []
            while page := engine.history(instance.id, after=rows[-1].seq if rows else 0):
                rows += page
            record["history"] = [asdict(row) for row in rows]
        target.write(json.dumps(record, default=_spelled, ensure_ascii=False) + "\n")

    return write


def _others(target: TextIO, conn: Connection) -> int:
    """Write what applications keep beside instances; how many rows there are."""
    import json

    from interlock.store.application_tables import other_rows

    count = 0
    for table, row in other_rows(conn):
        count += 1
        record = {"application": table.application, "table": table.name, "row": row}
        target.write(json.dumps(record, default=_spelled, ensure_ascii=False) + "\n")
    return count


def _spelled(value: Any) -> str:
    """What JSON has no word for: bytes in hexadecimal, as archives have them."""
    return value.hex() if isinstance(value, bytes) else str(value)
