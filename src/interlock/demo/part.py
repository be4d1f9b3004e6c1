"""A part of the demo's world: acts instead of handlers, something to begin, and what people do about what waits."""

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
"""What stands in for a handler: it does at once what the step would do, with luck."""

MARA, IVO = Actor(USER, "mara"), Actor(USER, "ivo")


@dataclass(frozen=True, slots=True)
class Scene:
    """A story of the past that has to be there, whatever luck says."""

    fate: str
    hours_ago: float
    left: bool = False
    """Whether nobody does anything about it, so that it still waits."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an act takes in the present, and what is said meanwhile."""

    shortest: float = 0.3
    longest: float = 1.5
    words: tuple[str, ...] = ("at work",)


@dataclass(frozen=True, slots=True)
class Part:
    """What happens with a few machines that belong together."""

    name: str
    acts: Mapping[str, Mapping[str, Act]]
    """Machine → state → act; a machine without work has none."""
    begin: Callable[[Engine, random.Random, str], UUID]
    """Start something new; the fate is that of a scene, or empty."""
    react: Callable[[Engine, Instance, random.Random], None]
    """What a person or an agent does about an instance that waits."""
    waiting: Mapping[tuple[str, str], int]
    """Machine and state in which somebody has to act → how many are left for whoever looks."""
    each: Callable[[Engine, random.Random], None] | None = None
    """What goes on in every round beside."""
    set_up: Callable[[Engine], None] | None = None
    """Put up what belongs around its instances, as far as it is not there yet: a schedule, a token."""
    opening: Callable[[Engine, random.Random], None] | None = None
    """What is already going on when the present begins."""
    share: int = 10
    """How often something of it begins, beside the others."""
    minutes: float = 15.0
    """How long people and agents usually take."""
    scenes: tuple[Scene, ...] = ()
    paces: Mapping[tuple[str, str], Pace] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    """Machine → how its instances look in the demo, where the application has no view for it."""


def oldest(engine: Engine, machine: str, state: str, count: int) -> list[Instance]:
    """The instances that have been in a state for longest."""
    query = sa.select(I).where(I.c.machine == machine, I.c.state == state, I.c.paused_at.is_(None))
    query = query.order_by(I.c.entered_at).limit(count)
    return engine.read(lambda conn: load(conn, conn.execute(query).all()))


def handler(part: Part, machine: str, state: str) -> Callable[..., Any]:
    """A part's act as a handler."""
    return partial(paced, act=part.acts[machine][state], pace=part.paces.get((machine, state), Pace()))


def is_played(handler: object) -> bool:
    """Whether a handler is one of the demo's."""
    return isinstance(handler, partial) and handler.func is paced


async def paced(task: AsyncTask[Any], *, act: Act, pace: Pace) -> Outcome:
    """Take some time without keeping a thread, say how far it is, then act."""
    luck = random.Random(f"{task.id} {task.fence}")  # noqa: S311 - only the demo's
    length = luck.uniform(pace.shortest, pace.longest)
    for number, words in enumerate(pace.words):
        await task.progress(number / len(pace.words), words)
        await asyncio.sleep(length / len(pace.words))
        task.check()
    return await asyncio.to_thread(act, task.task, luck)
