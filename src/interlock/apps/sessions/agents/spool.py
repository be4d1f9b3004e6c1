"""The folder of one run: what the agent printed, and how its process ended. It outlives the worker.

`started` is made by the worker that starts the run, `launched` by the supervisor just before the agent, `ended` after
its last process is gone. The supervisor holds `lock` all the while.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from interlock.apps.sessions.agents.values import AlreadyStarted
from interlock.machine import InterlockError
from interlock.store import private

CHUNK = 1024 * 1024
MARK = "INTERLOCK_RUN"
"""The variable that marks every process of a run."""


class StillRunning(InterlockError):
    """The run has not ended yet; ask again later."""


class Spool:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> str:
        """Mark the run as started, once; the mark proves to the supervisor that it is still wanted."""
        private.folder(self.folder)
        nonce = uuid4().hex
        try:
            number = os.open(self.folder / "started", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise AlreadyStarted(f"the run in {self.folder.name} was started before; recover it instead") from None
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(nonce)
        return nonce

    def unstart(self) -> None:
        """Take the mark back: the agent was certainly not started."""
        with suppress(FileNotFoundError):
            (self.folder / "started").unlink()

    def kill_rest(self) -> None:
        """Kill what a supervisor that was itself killed left running: processes with the run's mark."""
        try:
            mark = f"{MARK}={(self.folder / 'started').read_text('utf-8')}".encode()
        except FileNotFoundError:
            return
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    @property
    def was_started(self) -> bool:
        return (self.folder / "started").exists()

    @property
    def was_launched(self) -> bool:
        return (self.folder / "launched").exists()

    def ended(self) -> dict[str, Any] | None:
        """What the supervisor wrote at the end; None if it was killed before."""
        try:
            found = json.loads((self.folder / "ended").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def stderr(self, length: int = 4000) -> str:
        try:
            return (self.folder / "stderr").read_bytes().decode("utf-8", "replace").replace("\0", "\ufffd")[-length:]
        except FileNotFoundError:
            return ""

    def chunks(self, offset: int = 0) -> Iterator[bytes]:
        """What was printed after the offset, until now."""
        try:
            with (self.folder / "stdout").open("rb") as file:
                file.seek(offset)
                while chunk := file.read(CHUNK):
                    yield chunk
        except FileNotFoundError:
            return

    @contextmanager
    def locked(self, patience: float) -> Iterator[None]:
        """Lock the run while its supervisor is gone; StillRunning if that takes too long."""
        number = os.open(self.folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= deadline:
                        raise StillRunning(f"the run in {self.folder.name} is still being ended") from None
                    time.sleep(0.05)
            yield
        finally:
            os.close(number)


def forget(folder: Path) -> None:
    """Remove the files of a run whose outcome is stored."""
    shutil.rmtree(folder, ignore_errors=True)
