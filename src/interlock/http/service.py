"""The context of all endpoints: engine, people, settings, live feed, and threads for blocking calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import sqlalchemy as sa
from pydantic import BaseModel
from starlette.responses import Response

from interlock.config import Settings
from interlock.engine import Engine
from interlock.engine.unit import Unit
from interlock.http.heavy import Heavy
from interlock.http.waiting_slots import WaitingSlots
from interlock.people import NotAuthenticated, People, Principal
from interlock.people.caller_check import confirm
from interlock.people.changes import CHANGED
from interlock.store import StoreError
from interlock.worker.loop import Loop

if TYPE_CHECKING:
    from interlock.http.caller import Callers
    from interlock.http.live import Hub

P = ParamSpec("P")
T = TypeVar("T")
WAITS_OF_ONE, WAITS = 50, 200
"""Requests that wait for a step to end: limits per caller and in total."""


class UseWriter(Loop):
    """Records from time to time which tokens were used."""

    name = "token-uses"
    pause = 30.0

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def once(self) -> bool:
        self._service.callers.write_uses()
        return False


class Service:
    """The HTTP service of one process."""

    def __init__(self, engine: Engine, settings: Settings, *, threads: int = 16) -> None:
        from interlock.http.caller import Callers
        from interlock.http.live import Hub

        self.engine, self.settings = engine, settings
        self.people = People(engine)
        self.callers: Callers = Callers(self.people)
        self.hub: Hub = Hub(engine)
        self.callers.on_change.append(self.hub.nudge)
        self._leave = engine.store.subscribe(self._hear)
        self.stopping = False
        self.listens_at: str | None = None
        """The address it listens on, once it does."""
        self.heavy = Heavy()
        limits = settings.http
        self.streams = WaitingSlots(
            "live streams", each=limits.streams_per_caller, of_all=limits.stream_limit, kind="streams"
        )
        self.waits = WaitingSlots("requests that wait", each=WAITS_OF_ONE, of_all=WAITS, kind="too-busy")
        self._singletons: dict[Callable[[Service], Any], Any] = {}
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="interlock-http")

    @property
    def address(self) -> str:
        """The public URL of this service, for links; never taken from a request."""
        return self.settings.http.url or self.listens_at or self.settings.http.address()

    def _hear(self, hints: frozenset[str]) -> None:
        if CHANGED in hints:
            self.callers.forget()

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call (a read, a password check) in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *args, **kwargs))

    async def read(self, job: Callable[[sa.Connection], T]) -> T:
        return await self.call(self.engine.read, job)

    async def answer(self, build: Callable[[], BaseModel]) -> Response:
        """Build an answer with many rows in a thread: collect, redact and serialise it."""

        def spelled() -> bytes:
            return build().model_dump_json(by_alias=True).encode()

        return Response(await self.call(spelled), media_type="application/json")

    async def write(self, job: Callable[[Unit], T], name: str) -> T:
        """Run the job in one transaction, without blocking a thread on the disk."""
        return await asyncio.wrap_future(self.engine.submit(job, name))

    async def write_as(self, who: Principal, job: Callable[[Unit], T], name: str) -> T:
        """Like `write`, on behalf of a caller: re-checks their permissions inside the transaction."""
        alone = name == "people"

        def run(unit: Unit) -> T:
            confirm(unit, who, alone=alone)
            return job(unit)

        try:
            return await self.write(run, name)
        except NotAuthenticated:
            self.callers.forget()
            raise

    def singleton(self, kind: Callable[[Service], T]) -> T:
        """A value that an application keeps for the life of this service, created on first use."""
        found: T | None = self._singletons.get(kind)
        if found is None:
            found = self._singletons[kind] = kind(self)
        return found

    def close(self) -> None:
        self._leave()
        self.hub.close()
        with suppress(StoreError):
            self.callers.write_uses()
        self.heavy.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
