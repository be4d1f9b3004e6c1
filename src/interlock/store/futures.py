"""Sets the results of futures, whatever their owners do with them.

A future may be cancelled while its job waits in a queue; then the job is not run. A callback may raise anything, and an
owner may set the future himself. Neither affects the other futures.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, InvalidStateError
from typing import Any

log = logging.getLogger("interlock.store")


def begin(future: Future[Any]) -> bool:
    """Whether to run the job. False if the future was cancelled or set by its owner. Call it once."""
    try:
        return future.set_running_or_notify_cancel()
    except (InvalidStateError, RuntimeError):
        return False
    except BaseException:
        log.exception("a callback of a cancelled write failed")
        return False


def settle(future: Future[Any], result: Any, error: BaseException | None = None) -> None:
    """Set the result or the error of the future, unless it has one."""
    if future.done():
        return
    try:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
    except InvalidStateError:
        return  # its owner was faster
    except BaseException:
        # A callback raised something that is no Exception; the result is set already.
        log.exception("a callback of a write failed")
