"""A part of the demo: acts that replace handlers, a way to start instances, and what people do about waiting ones."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import Engine, Instance
from interlock.engine.unit import load
from interlock.machine import USER, Actor, Outcome
from interlock.store import tables
from interlock.worker import AsyncTask, Task

if TYPE_CHECKING:
    from interlock.dashboard.views import View

I = tables.instance  # noqa: E741

Act = Callable[[Task[Any], random.Random], Outcome]
"""Replaces a handler: it does at once what the step would do; `random.Random` chooses between outcomes."""

MARA, IVO = Actor(USER, "mara"), Actor(USER, "ivo")


@dataclass(frozen=True, slots=True)
class Scene:
    """A story of the past that the demo always has."""

    fate: str
    hours_ago: float
    left: bool = False
    """Whether nobody acts on it, so that it still waits."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an act takes in the present, and the progress it shows."""

    shortest: float = 0.3
    longest: float = 1.5
    words: tuple[str, ...] = ("at work",)


@dataclass(frozen=True, slots=True)
class Part:
    """The demo of a few machines that belong together."""

    name: str
    acts: Mapping[str, Mapping[str, Act]]
    """Machine → state → act; a machine without work has none."""
    begin: Callable[[Engine, random.Random, str], UUID]
    """Create an instance; the string is the `fate` of a scene, or empty."""
    react: Callable[[Engine, Instance, random.Random], None]
    """What a person or an agent does about an instance that waits."""
    waiting: Mapping[tuple[str, str], int]
    """Machine and state in which somebody has to act → how many instances are left waiting."""
    past: bool = True
    """Whether it has stories of the past. One whose real handlers do the work in the present may have none."""
    configure: Callable[[Engine], None] | None = None
    """Adds to the configuration what its instances need, in every process and command that uses a demo's database."""
    start: Callable[[Engine], None] | None = None
    """Runs first whenever the service starts: a server that its instances need."""
    each: Callable[[Engine, random.Random], None] | None = None
    """Runs in every round."""
    set_up: Callable[[Engine], None] | None = None
    """Add what its instances need and is missing: a schedule, a token."""
    opening: Callable[[Engine, random.Random], None] | None = None
    """Runs once when the present begins."""
    share: int = 10
    """How often an instance of it begins, relative to other parts."""
    minutes: float = 15.0
    """How long people and agents usually take to act."""
    scenes: tuple[Scene, ...] = ()
    paces: Mapping[tuple[str, str], Pace] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    """Machine → its view in the demo, where the application has none."""


def oldest(engine: Engine, machine: str, state: str, count: int) -> list[Instance]:
    """The instances that have been in a state longest."""
    query = sa.select(I).where(I.c.machine == machine, I.c.state == state, I.c.paused_at.is_(None))
    query = query.order_by(I.c.entered_at).limit(count)
    return engine.read(lambda conn: load(conn, conn.execute(query).all()))


def handler(part: Part, machine: str, state: str) -> Callable[..., Any]:
    """A part's act as a handler."""
    return partial(play, act=part.acts[machine][state], pace=part.paces.get((machine, state), Pace()))


def is_played(handler: object) -> bool:
    """Whether a handler is one of the demo's."""
    return isinstance(handler, partial) and handler.func is play


async def play(task: AsyncTask[Any], *, act: Act, pace: Pace) -> Outcome:
    """Wait a while without occupying a thread, report progress, then act."""
    rng = random.Random(f"{task.id} {task.fence}")  # noqa: S311 - only the demo's
    length = rng.uniform(pace.shortest, pace.longest)
    for number, words in enumerate(pace.words):
        await task.progress(number / len(pace.words), words)
        await asyncio.sleep(length / len(pace.words))
        task.check()
    return await asyncio.to_thread(act, task.task, rng)
