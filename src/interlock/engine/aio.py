"""The engine for asyncio programs: each call runs in a thread, so the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from interlock.engine.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Engine, P], T],
) -> Callable[Concatenate[AsyncEngine, P], Awaitable[T]]:
    async def call(self: AsyncEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.call(method, self.engine, *args, **kwargs)

    call.__doc__ = method.__doc__
    return call


class AsyncEngine:
    """An engine whose methods are awaited. `call` runs any other of its functions, such as a review's decide."""

    def __init__(self, engine: Engine, *, threads: int = 32) -> None:
        self.engine = engine
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="interlock-async")

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function of the engine, or of one of its parts (`reviews`, `outbox`, …), in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *args, **kwargs))

    create = _awaited(Engine.create)
    create_or_get = _awaited(Engine.create_or_get)
    fire = _awaited(Engine.fire)
    force = _awaited(Engine.force)
    cancel = _awaited(Engine.cancel)
    pause = _awaited(Engine.pause)
    resume = _awaited(Engine.resume)
    get = _awaited(Engine.get)
    find = _awaited(Engine.find)
    history = _awaited(Engine.history)
    at = _awaited(Engine.at)
    explain = _awaited(Engine.explain)
    verify = _awaited(Engine.verify)

    async def close(self) -> None:
        await self.call(self.engine.close)
        self._threads.shutdown(wait=False)
