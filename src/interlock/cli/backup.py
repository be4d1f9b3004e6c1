"""`interlock backup` and `interlock restore`: everything in one file, and back into SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.console.options import (
    DEFAULT_DATABASE,
    App,
    Database,
    address,
    audit_keys,
    parsed,
    registry_of,
    store_of,
)
from interlock.console.printing import As, bars, login, verified, when

if TYPE_CHECKING:
    from interlock.engine.audit.signing import Keys
    from interlock.store import Store
    from interlock.store.backup import Manifest


def backup(
    file: Annotated[Path, typer.Argument(help="The new file to write.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the trial restore; every byte is still read again.")
    ] = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Write everything to one file while others work, then test it: restore it on trial and verify every history."""
    from interlock.store.backup import write

    with store_of(database, apps) as store, _progress_bar() as progress:
        manifest = write(store, file, progress)
    size = file.stat().st_size
    typer.echo(f"{file}: {_summary(manifest)}, {size:,} bytes")
    if not quick:
        _prove(file, manifest, audit_keys(database, apps=apps), apps)


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `interlock backup` wrote.")],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the content of the database; without it, the database must be empty."),
    ] = False,
    halt: Annotated[
        bool, typer.Option("--halt", help="Leave every machine halted, so that you can look around first.")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="Leave out the rows of this application; may be given several times."),
    ] = None,
    user: As = "",
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
) -> None:
    """Restore a backup into an SQLite or PostgreSQL database, all of it or nothing."""
    from interlock.machine import USER, Actor
    from interlock.store.restoring import restore

    where = address(database, apps)
    loaded = registry_of(apps).applications.values()
    with _opened(where) as store, _progress_bar() as progress:
        actor = str(Actor(USER, user or login())) if halt else None
        manifest = restore(
            store, file, applications=loaded, without=without or (), replace=replace, halted_by=actor, progress=progress
        )
    typer.echo(f"restored: {_summary(manifest)}, made {when(manifest.made_at)} UTC")
    problems = _verify(where, audit_keys(database, apps=apps))
    if halt:
        typer.echo("all machines are halted: no work starts until somebody resumes them on the page Halt")
    raise typer.Exit(1 if problems else 0)


def _summary(manifest: Manifest) -> str:
    return (
        f"schema {manifest.schema}, {manifest.count('instance'):,} instances, "
        f"{manifest.count('history'):,} history rows, {manifest.rows:,} rows in all"
    )


@contextmanager
def _progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    with bars() as progress:
        bar = progress.add_task("", total=None)
        yield lambda what, done, total: progress.update(bar, description=what, completed=done, total=total or None)


@contextmanager
def _opened(where: str) -> Iterator[Store]:
    """Open the database; a new file is removed again after an error."""
    from interlock.store import open_store
    from interlock.store.database import file_of

    file = file_of(parsed(where))
    new = file is not None and not file.exists()
    try:
        with open_store(where, wakeup="poll") as store:
            yield store
    except BaseException:
        if file is not None and new:
            for name in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
                name.unlink(missing_ok=True)
        raise


def _prove(file: Path, manifest: Manifest, keys: Keys | None, apps: list[str] | None) -> None:
    """Restore it into a temporary database and verify every history."""
    import tempfile

    from interlock.store import open_store
    from interlock.store.restoring import restore

    loaded = registry_of(apps).applications
    without = sorted(manifest.applications.keys() - loaded.keys())
    if without:
        typer.echo(f"not tested, because their code is not loaded: the tables of {', '.join(without)}")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.absolute().parent) as folder:
        where = f"sqlite:///{folder}/trial.db"
        with open_store(where, durability="normal", wakeup="poll") as store, _progress_bar() as progress:
            restore(store, file, applications=loaded.values(), without=without, progress=progress)
        problems = _verify(where, keys)
    if problems:
        typer.echo("the backup matches the database, but the database's history is broken")
        raise typer.Exit(1)


def _verify(where: str, keys: Keys | None) -> int:
    """Verify every chain and checkpoint; returns the number of problems."""
    from interlock.engine import Verdict
    from interlock.engine.audit import checkpoint_verification, verifying
    from interlock.store import open_store

    total = Verdict()
    with open_store(where, wakeup="poll") as store, _progress_bar() as progress:
        for parts in (verifying.verify(store), checkpoint_verification.verify(store, keys)):
            for part in parts:
                total += part
                progress("verifying", total.instances, 0)
    for problem in total.problems[:100]:
        typer.echo(f"BROKEN  {problem}")
    if not total.problems:
        typer.echo(verified(total.instances, total.rows))
    return len(total.problems)
