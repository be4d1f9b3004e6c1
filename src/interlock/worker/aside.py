"""Threads in which the engine's own calls wait for the database while an event loop goes on.

They are not the loop's default pool: that one belongs to the handlers (`asyncio.to_thread`, the look-up of a host's
name), and whoever waits in it for a coroutine that needs a thread of it waits for ever. Nothing here waits for a loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 32
_lock = threading.Lock()
_threads: ThreadPoolExecutor | None = None


def _pool() -> ThreadPoolExecutor:
    """One for all event loops of the process; its threads start when they are needed."""
    global _threads
    with _lock:
        if _threads is None:
            _threads = ThreadPoolExecutor(MOST, thread_name_prefix="interlock-aside")
        return _threads


async def aside(function: Callable[..., T], /, *args: Any, **options: Any) -> T:
    """Run a call that waits for the database, and only for that, without stopping the event loop."""
    context = contextvars.copy_context()
    job = partial(context.run, function, *args, **options)
    return await asyncio.get_running_loop().run_in_executor(_pool(), job)


async def surely(function: Callable[..., T], /, *args: Any, **options: Any) -> T:
    """The same, to its end: a cancellation that comes meanwhile is raised after it."""
    running = asyncio.ensure_future(aside(function, *args, **options))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        running.exception()  # it was seen; the cancellation is what is raised
        raise
