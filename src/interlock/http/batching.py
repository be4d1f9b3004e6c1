"""Batches requests: those that arrive during a commit share the next transaction.

There is no timer: a lone request is served at once. Under load many share the round trips and the commit of one
transaction. A request that needs a closer look is not served by its batch: it goes alone, as if there were none.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from interlock.http.service import Service

MOST = 32
AT_ONCE = 2
"""Concurrent transactions of a process: while one waits for the disk, the next is prepared."""
ENOUGH = 8
"""The least size of a batch that starts beside another. Fewer requests wait, so that they share a commit."""

A = TypeVar("A")
R = TypeVar("R")


class Batcher(ABC, Generic[A, R]):
    """The requests of one kind and process that wait for the next transaction."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[tuple[A, asyncio.Future[R | None]]] = []
        self._under_way: set[asyncio.Future[Sequence[R | Exception | None]]] = set()
        self._called = False
        self._at_once = 1 if service.engine.store.one_writer else AT_ONCE

    @abstractmethod
    def _make(self, asked: Sequence[A]) -> Coroutine[Any, Any, Sequence[R | Exception | None]]:
        """Serve a batch. For each request its result, the error that it is answered with, or None: it goes alone."""

    async def submit(self, asked: A) -> R | None:
        """The result, after the commit; None if the request must be served alone."""
        loop = asyncio.get_running_loop()
        made: asyncio.Future[R | None] = loop.create_future()
        self._waiting.append((asked, made))
        self._schedule(loop)
        return await made

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start a batch once a turn of the event loop brings no more requests."""
        enough = not self._under_way or len(self._waiting) >= ENOUGH
        if not self._called and enough and len(self._under_way) < self._at_once:
            self._called = True
            loop.call_soon(self._wait_for_more, loop, len(self._waiting))

    def _wait_for_more(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        if seen < len(self._waiting) < MOST:
            loop.call_soon(self._wait_for_more, loop, len(self._waiting))
        else:
            self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._called = False
        self._waiting = [one for one in self._waiting if not one[1].done()]  # the caller has gone
        group = self._waiting[:MOST]
        del self._waiting[:MOST]
        if not group:
            return
        made = loop.create_task(self._make([asked for asked, _ in group]))
        self._under_way.add(made)
        made.add_done_callback(partial(self._end, loop, [waits for _, waits in group]))
        if self._waiting:
            self._schedule(loop)

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        group: Sequence[asyncio.Future[R | None]],
        made: asyncio.Future[Sequence[R | Exception | None]],
    ) -> None:
        self._under_way.discard(made)
        error = asyncio.CancelledError() if made.cancelled() else made.exception()
        results = [None] * len(group) if error is not None else made.result()
        for waits, result in zip(group, results, strict=True):
            if waits.done():
                continue
            if isinstance(error, asyncio.CancelledError):
                waits.cancel()
            elif error is not None:
                waits.set_exception(error)
            elif isinstance(result, Exception):
                waits.set_exception(result)
            else:
                waits.set_result(result)
        if self._waiting:
            self._schedule(loop)
