"""`interlock sample`: run a small machine to its end, with progress and a report."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from uuid import UUID

    from interlock.engine import Engine, Instance

CONTENTS = ("tea", "books", "a kettle", "an anvil", "clock parts", "a violin", "two chairs", "seeds")


def run(
    count: Annotated[int, typer.Option("--count", min=1, max=100_000, help="How many parcels.")] = 200,
    data: Annotated[Path, typer.Option("--data", help="The folder for its database.")] = Path("data"),
) -> None:
    """Run the sample machine: parcels are weighed, labelled, sometimes cleared by a person, and shipped."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from interlock.apps.sample import parcel
    from interlock.engine import Engine
    from interlock.machine import as_table
    from interlock.worker import Worker

    console = Console()
    url = f"sqlite:///{data / 'sample.db'}"
    console.print(as_table(parcel), markup=False, highlight=False)
    begun = time.monotonic()
    with Engine(url, [parcel]) as engine:
        ids = engine.create_many("parcel", [{"content": CONTENTS[n % len(CONTENTS)]} for n in range(count)])
        decided = 0
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=console) as progress, Worker(engine):
            bar = progress.add_task("parcels finished", total=count)
            while True:
                decided += _decide(engine)
                at_rest = sum(1 for i in _all(engine, ids) if i.finished_at is not None)
                progress.update(bar, completed=at_rest)
                if at_rest == count:
                    break
                time.sleep(0.05)
        took = time.monotonic() - begun
        _report(console, engine, ids, decided, took)
        typer.echo(f"the data is in {data / 'sample.db'}; verify it with: interlock audit verify --database {url}")


def _all(engine: Engine, ids: list[UUID]) -> list[Instance]:
    import sqlalchemy as sa

    from interlock.engine.unit import load
    from interlock.store.tables import instance

    query = sa.select(instance).where(instance.c.id >= min(ids)).order_by(instance.c.id)
    return engine.read(lambda conn: load(conn, conn.execute(query).all()))


def _decide(engine: Engine) -> int:
    """The sample's own reviewer: clears three of four."""
    from interlock.engine import EngineError
    from interlock.machine import USER, Actor

    reviewer = Actor(USER, "sample reviewer")
    done = 0
    for review in engine.reviews.waiting(limit=50):
        try:
            decision = "send back" if review.id.int % 4 == 0 else "clear"
            engine.reviews.decide(review.id, decision, actor=reviewer, reason="the sample decides automatically")
            done += 1
        except EngineError:
            continue  # the parcel's timer, or another reviewer, was first
    return done


def _report(console: object, engine: Engine, ids: list[UUID], decided: int, took: float) -> None:
    instances = _all(engine, ids)
    states = Counter(instance.state for instance in instances)
    rows = sum(instance.seq for instance in instances)
    retried = sum(1 for i in ids if any(row.kind == "failed" for row in engine.history(i)))
    verdict = engine.verify()
    typer.echo(f"{len(ids)} parcels in {took:.1f} s: " + ", ".join(f"{n} {s}" for s, n in sorted(states.items())))
    typer.echo(f"{retried} had a busy scale and were weighed again; {decided} were decided in review")
    typer.echo(f"{rows} history rows; every chain verifies: {'yes' if not verdict.problems else verdict.problems[0]}")
    typer.echo("\nthe last one, explained:")
    typer.echo(f"  {engine.explain(ids[-1]).sentence}")
    for row in engine.history(ids[-1]):
        what = f"{row.from_state} → {row.to_state}" if row.from_state else row.to_state or row.payload.get("status", "")
        typer.echo(f"  {row.seq:>2}  {row.kind:<8} {what:<22} by {row.actor.partition(':')[0]}")
