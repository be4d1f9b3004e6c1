"""Printing: tables for people, JSON for scripts."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from interlock.engine import Instance

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
As = Annotated[
    str,
    typer.Option("--as", envvar="INTERLOCK_USER", help="Your name; the history shows it.", show_default="your login"),
]

Row = tuple[str, ...]
_wide = False
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WHOLE = re.compile(r"\d\d-\d\d \d\d:\d\d|[0-9a-f]{8}|[-+$]?[\d.,]+ ?%?")
"""What is never cut: short times, short ids, and numbers."""
SHORT_ID = 8
"""Characters of the end of an id, which commands accept in its place."""
NARROWEST = 6

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, wrap: bool = False) -> None:
    """Plain columns. In a terminal they fit its width, unless `--wide` was given; elsewhere nothing is cut.

    With `wrap`, the last column goes on in further lines instead of being cut.
    """
    from interlock.machine.drawing import columns

    names, shown = tuple(header), [tuple(map(clean, row)) for row in rows]
    if not shown and sys.stdout.isatty():
        typer.echo("none")
        return
    if sys.stdout.isatty() and not _wide:
        width = shutil.get_terminal_size().columns
        if wrap:
            shown = wrapped(names, shown, width)
        narrow = fitted(names, shown, width)
        if _width(*narrow) > width:
            typer.echo(records(names, shown, width), nl=False)
            return
        names, shown = narrow
    typer.echo(columns(names, shown), nl=False)


def cut_nothing() -> None:
    """Print tables as wide as they need: `--wide`."""
    global _wide
    _wide = True


def fitted(header: Row, rows: list[Row], width: int) -> tuple[Row, list[Row]]:
    """The table, if it fits; else without empty columns, with short ids and times, names on lines, and long cells cut.

    Ids, times and numbers are never cut, so that a table of many of them may still be too wide.
    """
    if _width(header, rows) <= width:
        return header, rows
    full = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    brief = [tuple(_brief(row[i]) for i in full) for row in rows]
    names = tuple(header[i] for i in full)
    header, rows = names, brief
    most = max((len(cell) for row in brief for cell in row), default=NARROWEST)
    while _width(header, rows) > width and most >= NARROWEST:
        # Never below the longest word of its name, which the column has anyway.
        least = [max(most, *map(len, name.split()), 0) for name in names]
        rows = [tuple(_cut(cell, n) for cell, n in zip(row, least, strict=True)) for row in brief]
        header = tuple(_lines(name, max((len(row[i]) for row in rows), default=0)) for i, name in enumerate(names))
        most -= 1
    return header, rows


def wrapped(header: Row, rows: list[Row], width: int) -> list[Row]:
    """The rows with their last cell on as many lines as it needs."""
    import textwrap

    before = sum(max(len(row[i]) for row in [header, *rows]) + 2 for i in range(len(header) - 1))
    empty = ("",) * (len(header) - 1)
    made: list[Row] = []
    for row in rows:
        first, *more = textwrap.wrap(row[-1], max(width - before, 20)) or [""]
        made += [(*row[:-1], first), *((*empty, line) for line in more)]
    return made


def records(header: Row, rows: list[Row], width: int) -> str:
    """The rows below each other, for a terminal that is too narrow for a table."""
    room = max(map(len, header))

    def lines(row: Row) -> str:
        known = [(name, _brief(cell)) for name, cell in zip(header, row, strict=True) if cell]
        return "".join(f"{_cut(f'{name:<{room}}  {cell}', width)}\n" for name, cell in known)

    return "\n".join(map(lines, rows))


def _lines(name: str, width: int) -> str:
    """The name of a column on as many lines as its width needs."""
    import textwrap

    return "\n".join(textwrap.wrap(name, max(width, *map(len, name.split())), break_on_hyphens=False)) if name else ""


def _cut(cell: str, width: int) -> str:
    if len(cell) <= width or WHOLE.fullmatch(cell):
        return cell
    return f"{cell[: width - 1].rstrip('…')}…"


def _brief(cell: str) -> str:
    """The end of an id, which commands accept in its place; a time without its year and seconds."""
    if ID.fullmatch(cell):
        return cell[-SHORT_ID:]
    return cell[5:16] if TIME.fullmatch(cell) else cell


def _width(header: Row, rows: list[Row]) -> int:
    """The width of the table; names may stand on several lines."""
    named = [max(map(len, name.split("\n"))) for name in header]
    return sum(max(n, *(len(row[i]) for row in rows), 0) + 2 for i, n in enumerate(named)) - 2


def clean(text: str) -> str:
    """Text without control characters: content from outside must not control the terminal."""
    return "".join(c if c.isprintable() else "·" for c in text)


def short(text: str, most: int = 60) -> str:
    """Text on one line, cut to a maximum length."""
    flat = clean(" ".join(text.split()))
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def bars(quiet: bool = False) -> Progress:
    """Progress bars on the standard error; the standard output has only the result."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)


@contextmanager
def until_interrupted(wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, for work in batches: it stops after the current one, on a second Ctrl-C at once."""
    pressed = threading.Event()

    def press(*_: object) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        typer.echo("stopping after this batch; Ctrl-C again stops at once", err=True)

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def counted(number: int, word: str) -> str:
    """A number with its noun: 1 instance, 1,200 instances."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def verified(instances: int, rows: int) -> str:
    """What a verification without problems says."""
    size = f"{counted(instances, 'instance')}, {counted(rows, 'history row')}"
    return f"verified: {size}; all hash chains and replays agree"


def as_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))


def when(at: int | None) -> str:
    from interlock.store import moment

    return f"{moment(at):%Y-%m-%d %H:%M:%S}" if at is not None else ""


def times_shown(value: Any) -> dict[str, Any]:
    """A value of the engine for scripts: its fields, with times as text and secrets hidden."""
    from dataclasses import fields

    from interlock.engine import secrets

    made: dict[str, Any] = {}
    for field in fields(value):
        found = getattr(value, field.name)
        is_time = "Micros" in str(field.type) and field.name != "took"
        made[field.name] = (when(found) or None) if is_time else secrets.shown(found) if _plain(found) else found
    return made


def _plain(value: Any) -> bool:
    return isinstance(value, str | dict | list)


def described(instance: Instance) -> dict[str, Any]:
    """An instance for scripts."""
    return {
        "id": str(instance.id),
        "machine": instance.machine,
        "version": instance.version,
        "state": instance.state,
        "seq": instance.seq,
        "workspace": instance.workspace,
        "key": instance.key,
        "data": instance.shown_data,
        "paused": instance.paused_at is not None,
        "created_at": when(instance.created_at),
        "entered_at": when(instance.entered_at),
        "finished_at": when(instance.finished_at) or None,
        "due_at": when(instance.due_at) or None,
        "waits_for": instance.wake,
        "error": instance.error,
        "parent": str(instance.parent) if instance.parent else None,
        "root": str(instance.root),
        "trace_id": instance.trace_id,
    }


def login() -> str:
    """The login name of the user."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"
