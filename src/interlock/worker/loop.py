"""A loop: a thread that repeats one job, survives errors and recovers by itself."""

from __future__ import annotations

import logging
import random
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from uuid import UUID

from interlock.machine import InterlockError
from interlock.store import StoreClosed

log = logging.getLogger("interlock.worker")


@dataclass
class Identity:
    """The identity of this worker: a new id at each start, and after others declared it lost."""

    id: UUID


class Loop(ABC):
    """The base class of all loops. Subclasses implement `once`."""

    name: str
    pause: float
    """Seconds between two rounds without a wake-up."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self.troubles = 0
        """Failed rounds since the last successful one."""
        self.rounds = 0
        """Successful rounds."""
        self._trouble = ""

    @abstractmethod
    def once(self) -> bool:
        """Run one round. True asks for another round at once."""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"interlock-{self.name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        if not self._awake.is_set():  # otherwise a round is about to begin and covers this
            self._awake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._awake.set()

    def join(self, timeout: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def longest_wait(self) -> float:
        """Seconds after which a failing round is tried again at the latest."""
        return 5.0

    def _is_new(self, error: BaseException) -> bool:
        """Whether the last failed round failed otherwise: a lasting error has its traceback logged once."""
        before, self._trouble = self._trouble, f"{type(error).__name__}: {error}"
        return self.troubles == 1 or before != self._trouble

    def wait(self) -> float:
        """How long to wait for a wake-up. A loop may wait longer while idle."""
        return self.pause

    def _run(self) -> None:
        while not self.stopping:
            # Cleared before the round, so that a wake-up during it starts another one.
            self._awake.clear()
            try:
                more = self.once()
                if self.troubles:
                    log.info("%s recovered after %d failed rounds", self.name, self.troubles)
                self.troubles = 0
                self.rounds += 1
                if not more:
                    self._awake.wait(self.wait())
            except StoreClosed:
                return
            except BaseException as error:  # also SystemExit: guards and models of applications run in here
                self.troubles += 1
                trace = error if not isinstance(error, InterlockError) and self._is_new(error) else None
                log.warning("%s failed, trying again: %s", self.name, error, exc_info=trace)
                wait = min(0.05 * 2 ** min(self.troubles, 30), self.longest_wait)
                self._stopping.wait(wait * random.uniform(0.5, 1.0))  # noqa: S311
