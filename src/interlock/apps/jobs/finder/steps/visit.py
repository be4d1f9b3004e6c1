"""What every stage has at hand: the settings, the time, and the polite client, whose answers are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

import sqlalchemy as sa

from interlock.apps.jobs.finder.fetching import Fetcher, HostBusy, raw, shared_rate
from interlock.apps.jobs.finder.fetching.rendered import Renderer
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.sources.answer import Answer, Request
from interlock.apps.jobs.settings import JobsSettings
from interlock.engine import Claim
from interlock.engine.application import Unit
from interlock.machine import Again, Outcome, WorkError
from interlock.store import Micros, micros
from interlock.worker import AsyncTask

BUSY = (429, 503)
NOT_MODIFIED = 304
LATER = timedelta(minutes=10)
MOST_PAUSES = 24
"""How often an item waits for a busy host. From then on it is a failure, so that it comes to an end."""
sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
"""How a request waits for its turn. A test lets its clock pass instead."""


class NoRetryHelps(WorkError):
    """Another attempt would end the same."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One run of a stage."""

    task: AsyncTask[Any]
    settings: JobsSettings
    now: datetime

    @property
    def private_hosts(self) -> list[str]:
        return self.settings.private_hosts

    async def fetch(self, request: Request, *, most_bytes: int | None = None, render: bool = False) -> Answer:
        """The answer to a request, kept for a better parser. What is stored and still valid is not sent again.

        A host that asks for a pause is asked once more after it.
        """
        task = self.task
        known = await task.read(raw.known, task.workspace, request)
        with _working_for(task):
            answer = await self._sent(request, most_bytes, known, render)
            if answer.status in BUSY:
                answer = await self._sent(request, most_bytes, known, render)
        if answer.status != NOT_MODIFIED:
            packed = await asyncio.to_thread(raw.packed, answer)
            await task.write(_keep, task.workspace, request, answer, packed)
            return answer
        await task.write(_keep, task.workspace, request, answer, None)
        stored = await task.read(raw.stored_answer, task.workspace, request)
        return answer if stored is None else replace(stored, request=request)

    async def fetched_after(self, request: Request, moment: Micros) -> Answer | None:
        """The answer if it was fetched after this moment, without asking again."""
        task = self.task
        known = await task.read(raw.known, task.workspace, request)
        if known is None or known.fetched_at <= moment:
            return None
        return await task.read(raw.stored_answer, task.workspace, request)

    async def _sent(self, request: Request, most_bytes: int | None, known: raw.Stored | None, render: bool) -> Answer:
        fetcher = _client(self.settings).fetcher
        if render:
            return await Renderer(fetcher, self.settings).fetch(request, most_bytes=most_bytes)
        return await fetcher.fetch(request, most_bytes=most_bytes, known=known)


def visiting(handler: Callable[[Visit], Awaitable[Outcome]]) -> Callable[[AsyncTask[Any]], Awaitable[Outcome]]:
    """A handler that fetches. It comes back later when a host wants a long pause, which is no failure.

    Connections stay open while any such handler runs.
    """

    @wraps(handler)
    async def call(task: AsyncTask[Any]) -> Outcome:
        visit = Visit(task, settings_in(await task.setting("jobs")), await task.now())
        client = _client(visit.settings)
        client.visits += 1
        try:
            return await handler(visit)
        except HostBusy as busy:
            pauses = task.data.pauses + 1
            if pauses > MOST_PAUSES:
                raise
            return Again(busy.retry_after or LATER, data={"pauses": pauses}, reason=str(busy))
        finally:
            client.visits -= 1
            if not client.visits:
                await client.fetcher.aclose()

    return call


def _keep(unit: Unit, claim: Claim, workspace: str, request: Request, answer: Answer, packed: bytes | None) -> None:
    raw.keep(unit.conn, workspace, request, answer, unit.now, packed)


# -- the rate per host, which all processes keep together through the database

_task: ContextVar[AsyncTask[Any]] = ContextVar("task")


@contextmanager
def _working_for(task: AsyncTask[Any]) -> Iterator[None]:
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


class TaskPacer:
    """Reserves times through the task that sends the request."""

    async def reserve(self, host: str, interval: float, most: float = float("inf")) -> float:
        task = _task.get()
        if interval <= 0:  # only a pause can be in the way, so a look is enough
            return await task.read(_remaining, host, await task.now())
        return await task.write(_reserve, host, interval, most)

    async def block(self, host: str, seconds: float) -> None:
        await _task.get().write(_block, host, seconds)


def _remaining(conn: sa.Connection, host: str, now: datetime) -> float:
    return shared_rate.remaining(conn, host, micros(now))


def _reserve(unit: Unit, claim: Claim, host: str, interval: float, most: float) -> float:
    return shared_rate.reserve(unit.conn, host, interval, most, unit.now)


def _block(unit: Unit, claim: Claim, host: str, seconds: float) -> None:
    shared_rate.block(unit.conn, host, seconds, unit.now)


@dataclass(slots=True)
class Client:
    """The client of this process, and how many handlers use it."""

    fetcher: Fetcher
    visits: int = 0


_clients: dict[str, Client] = {}


def _client(settings: JobsSettings) -> Client:
    key = settings.model_dump_json()
    if key not in _clients:
        _clients[key] = Client(Fetcher(settings, pacer=TaskPacer(), sleep=lambda seconds: sleep(seconds)))
    return _clients[key]
