"""Futures that others hold: each is given its own result, whatever its holder does to it or in its callbacks.

A holder may cancel a future that waits in a queue; then its job is not begun. Once the job is begun it is too late to
cancel. A callback may raise anything, and a careless holder may set the future himself: neither reaches the others.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, InvalidStateError
from typing import Any

log = logging.getLogger("interlock.store")


def begin(future: Future[Any]) -> bool:
    """Whether its job is to be run; False when the future was cancelled, or set by somebody else. Asked once."""
    try:
        return future.set_running_or_notify_cancel()
    except (InvalidStateError, RuntimeError):
        return False
    except BaseException:
        log.exception("a callback of a cancelled write failed")
        return False


def settle(future: Future[Any], result: Any, error: BaseException | None = None) -> None:
    """Give the future what its job came to, if it has not got anything yet."""
    if future.done():
        return
    try:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
    except InvalidStateError:
        return  # somebody else was quicker
    except BaseException:
        # concurrent.futures lets through what is no Exception; the result itself was set before.
        log.exception("a callback of a write failed")
