"""How the commands reach the database, and wait for items that work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.console.working import LOOK_EVERY, has_stopped, wait_for, working_engine

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.engine import Engine, Instance
    from interlock.machine import Machine

Workspace = Annotated[str, typer.Option("--workspace", help="The workspace.")]
MOST_CHILDREN = 20_000
NEEDED = ("selectolax", "yaml", "ahocorasick", "tldextract", "httpx2")


def settings_of(config: Path | None, database: str = "") -> Settings:
    """The settings; one clear line where the extra is not installed."""
    from interlock.config import load
    from interlock.machine.extras import require

    require("jobs", *NEEDED)
    return load(config, {"database": database} if database else None)


@contextmanager
def finder(database: str, apps: list[str] | None, settings: Settings) -> Iterator[Engine]:
    """An engine that can also do the work; takes over a changed profile file."""
    from interlock.apps.jobs.finder.steps.duties import read_profile_file

    with working_engine(database, apps, settings) as engine:
        read_profile_file(engine)
        yield engine


def wait(
    engine: Engine,
    machine: Machine,
    ids: Sequence[UUID],
    names: Sequence[str],
    stages: Sequence[str],
    *,
    quiet: bool,
) -> list[Instance]:
    """Wait until all have stopped. Work that is done here includes what they start."""
    from interlock.apps.jobs.finder import company, listing, source

    def progress_of(one: Instance) -> tuple[int, str]:
        stage = str(one.data.get("stage", ""))
        done = len(stages) if has_stopped(one) else stages.index(stage) if stage in stages else 0
        return done, f"{stage} {one.state}"

    return wait_for(
        engine,
        machine,
        ids,
        names,
        what=f"{machine.name} items",
        steps=len(stages),
        progress_of=progress_of,
        queues=sorted({one.queue for one in (company, source, listing)}),
        then=partial(_follow, engine, ids),
        quiet=quiet,
    )


def _follow(engine: Engine, ids: Sequence[UUID], progress: Any) -> None:
    """Wait for what the items have started: nobody else would work on it."""
    bar = progress.add_task("what follows", total=None)
    most = 0
    while left := engine.read(lambda conn: _open_below(conn, ids)):
        most = max(most, left)
        progress.update(bar, completed=most - left, total=most)
        time.sleep(LOOK_EVERY)


def _open_below(conn: Any, ids: Sequence[UUID]) -> int:
    """How many descendants have not ended or stopped."""
    from interlock.apps.jobs.finder.records.lists import MACHINES
    from interlock.engine.application import instances

    many, above = 0, list(ids)
    while above:
        below: list[UUID] = []
        for parent in above:
            for name in MACHINES:
                children = instances(conn, name, children_of=parent, limit=MOST_CHILDREN)
                many += sum(not has_stopped(one) for one in children)
                below += [one.id for one in children]
        above = below
    return many
