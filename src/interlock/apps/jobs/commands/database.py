"""How the commands reach the database, and wait for items that work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from interlock.console.options import parsed, registry_of, with_demo
from interlock.console.printing import bars, short

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.engine import Engine, Instance
    from interlock.machine import Machine

Workspace = Annotated[str, typer.Option("--workspace", help="The workspace.")]
LOOK_EVERY = 0.1
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
    """An engine that can also do the work; creates a missing database, and takes over a changed profile file."""
    from interlock import ai
    from interlock.apps.jobs.finder.steps.duties import read_profile_file
    from interlock.engine import Engine
    from interlock.store import migrate, open_store

    where = database or settings.database_url
    parsed(where)
    with open_store(where) as store:
        migrate.upgrade(store)
        engine = Engine(store, with_demo(store, registry_of(apps)))
        ai.configure(engine, settings.ai)
        engine.core.settings |= settings.sections
        read_profile_file(engine)
        yield engine


def somebody_works(engine: Engine, machine: Machine) -> bool:
    """Whether a live worker works on this machine."""
    from interlock.engine.application import is_served

    return engine.read(lambda conn: is_served(conn, engine.clock.now(), machine.queue))


def items(conn: Any, machine: Machine, ids: Sequence[UUID]) -> list[Instance]:
    from interlock.engine.application import instances

    found = {one.id: one for one in instances(conn, machine.name, ids=ids, limit=len(ids))}
    return [found[id] for id in ids]


def wait(
    engine: Engine,
    machine: Machine,
    ids: Sequence[UUID],
    names: Sequence[str],
    stages: Sequence[str],
    *,
    quiet: bool,
) -> list[Instance]:
    """Wait until all have ended, with a bar for each. If no worker is alive, do the work here, with what it starts."""
    from interlock.apps.jobs.finder import company, listing, source
    from interlock.worker import Worker

    here, queues = False, sorted({one.queue for one in (company, source, listing)})
    with ExitStack() as stack:
        progress = stack.enter_context(bars(quiet))
        whole = progress.add_task(f"{machine.name} items", total=len(ids))
        rows: dict[UUID, Any] = {}
        while True:
            if not somebody_works(engine, machine):  # now, or no more: whoever did it may stop while we wait
                stack.enter_context(Worker(engine, queues=queues))
                here = True
            found = engine.read(lambda conn: items(conn, machine, ids))
            for one, name in zip(found, names, strict=True):
                if one.id not in rows:
                    rows[one.id] = progress.add_task(short(name, 40), total=len(stages))
                stage = str(one.data.get("stage", ""))
                done = len(stages) if at_rest(one) else stages.index(stage) if stage in stages else 0
                progress.update(rows[one.id], completed=done, description=f"{short(name, 40)}  {stage} {one.state}")
            progress.update(whole, completed=sum(map(at_rest, found)))
            if all(map(at_rest, found)):
                if here:
                    _follow(engine, ids, progress)
                return found
            time.sleep(LOOK_EVERY)


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
                many += sum(not at_rest(one) for one in children)
                below += [one.id for one in children]
        above = below
    return many


def at_rest(one: Instance) -> bool:
    """Whether it is finished or waits for a person: a pause, an unstarted step, a dead letter."""
    by_itself = one.wake is not None or one.paused_wake is not None
    return one.finished_at is not None or one.paused_at is not None or not by_itself


def hint_of_worker(engine: Engine, machine: Machine) -> None:
    if not somebody_works(engine, machine):
        typer.echo("no worker is running on this database; start one with: interlock up, or use --wait")
