"""A thread pool for the engine's own blocking calls, used from an event loop.

It is separate from the loop's default pool, which belongs to handlers (`asyncio.to_thread`, host name lookups). Waiting
in that pool for a coroutine that needs one of its threads could deadlock. Nothing in this pool waits for a loop.
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
    """One pool for all event loops of the process. Threads start on demand."""
    global _threads
    with _lock:
        if _threads is None:
            _threads = ThreadPoolExecutor(MOST, thread_name_prefix="interlock-aside")
        return _threads


async def aside(function: Callable[..., T], /, *args: Any, **options: Any) -> T:
    """Run a call that waits only for the database, without blocking the event loop."""
    context = contextvars.copy_context()
    job = partial(context.run, function, *args, **options)
    return await asyncio.get_running_loop().run_in_executor(_pool(), job)


async def surely(function: Callable[..., T], /, *args: Any, **options: Any) -> T:
    """Like `aside`, but always run to the end: a cancellation is raised afterwards."""
    running = asyncio.ensure_future(aside(function, *args, **options))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        running.exception()  # marks the error as retrieved; the cancellation is raised instead
        raise
