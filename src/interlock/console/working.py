"""Commands that start work, and wait for it: they do it themselves if no worker is alive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import typer

from interlock.console.options import parsed, with_demo
from interlock.console.printing import bars, short

if TYPE_CHECKING:
    from interlock.config import Settings
    from interlock.engine import Engine, Instance
    from interlock.machine import Machine

LOOK_EVERY = 0.1


@contextmanager
def working_engine(database: str, apps: list[str] | None, settings: Settings) -> Iterator[Engine]:
    """An engine that can also do the work; creates a missing database."""
    from interlock import ai
    from interlock.engine import Engine
    from interlock.machine import installed
    from interlock.store import migrate, open_store

    where = database or settings.database_url
    parsed(where)
    with open_store(where) as store:
        migrate.upgrade(store)
        registry = installed([*settings.apps, *(apps or ())]).configured(settings.sections)
        engine = Engine(store, with_demo(store, registry))
        ai.configure(engine, settings.ai)
        engine.core.settings |= {"data": settings.data, **settings.sections}
        yield engine


def has_worker(engine: Engine, machine: Machine) -> bool:
    """Whether a live worker works on this machine."""
    from interlock.engine.application import is_served

    return engine.read(lambda conn: is_served(conn, engine.clock.now(), machine.queue))


def hint_of_worker(engine: Engine, machine: Machine) -> None:
    """Print how to start a worker, if none is alive."""
    if not has_worker(engine, machine):
        typer.echo("no worker is running on this database; start one with: interlock up, or use --wait")


def in_order(conn: Any, machine: Machine, ids: Sequence[UUID]) -> list[Instance]:
    """The instances with these ids, in the order of the ids."""
    from interlock.engine.application import instances

    found = {one.id: one for one in instances(conn, machine.name, ids=ids, limit=len(ids))}
    return [found[id] for id in ids]


def has_stopped(one: Instance) -> bool:
    """Whether it has ended or waits for a person: a pause, an unstarted step, a dead letter."""
    continues = one.wake is not None or one.paused_wake is not None
    return one.finished_at is not None or one.paused_at is not None or not continues


def wait_for(
    engine: Engine,
    machine: Machine,
    ids: Sequence[UUID],
    names: Sequence[str],
    *,
    what: str,
    steps: int,
    progress_of: Callable[[Instance], tuple[int, str]],
    queues: Sequence[str] = (),
    stopped: Callable[[Instance], bool] = has_stopped,
    then: Callable[[Any], None] | None = None,
    quiet: bool = False,
) -> list[Instance]:
    """Wait until all have stopped, with a bar for each; `progress_of` returns the steps done and the state in words.

    Without a live worker the work in `queues` (the machine's unless named) is done here, and `then` is called with the
    bars before that ends.
    """
    from interlock.worker import Worker

    here = False
    with ExitStack() as stack:
        progress = stack.enter_context(bars(quiet))
        whole = progress.add_task(what, total=len(ids))
        rows: dict[UUID, Any] = {}
        while True:
            if not has_worker(engine, machine):  # now, or no more: whoever did it may stop while we wait
                stack.enter_context(Worker(engine, queues=queues or [machine.queue]))
                here = True
            found = engine.read(lambda conn: in_order(conn, machine, ids))
            for one, name in zip(found, names, strict=True):
                if one.id not in rows and stopped(one):
                    continue
                if one.id not in rows:
                    rows[one.id] = progress.add_task(short(name, 40), total=steps)
                done, words = (steps, one.state) if one.finished_at is not None else progress_of(one)
                progress.update(rows[one.id], completed=done, description=f"{short(name, 40)}  {words}")
            progress.update(whole, completed=sum(map(stopped, found)))
            if all(map(stopped, found)):
                if here and then is not None:
                    then(progress)
                return found
            time.sleep(LOOK_EVERY)
