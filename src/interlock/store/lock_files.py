"""Lock files of workers: a process keeps one locked while it lives, so that others on its machine see when it died."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

from interlock.store import private

try:
    import fcntl
except ImportError:  # not on Windows: there a lost worker is found by its heartbeat alone
    fcntl = None  # type: ignore[assignment]


class LockFiles:
    """The lock files of one process, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: dict[str, int] = {}

    def take(self, name: UUID) -> str | None:
        if fcntl is None:
            return None
        private.folder(self._folder, ours=lambda _: True)
        path = str(self._folder / f"{name}.lock")
        handle = private.handle(Path(path))
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._taken[path] = handle
        return path

    def drop(self, path: str) -> None:
        handle = self._taken.pop(path, None)
        if handle is not None:
            os.close(handle)
            Path(path).unlink(missing_ok=True)

    def drop_all(self) -> None:
        for path in list(self._taken):
            self.drop(path)

    def remove(self, path: str) -> None:
        """Remove the file of a process that died."""
        if path not in self._taken and Path(path).parent == self._folder:
            Path(path).unlink(missing_ok=True)

    def is_dead(self, path: str | None) -> bool:
        """Whether the process of the file has died. False if nothing proves it."""
        if fcntl is None or path is None or path in self._taken:
            return False
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:  # even a missing file proves nothing: the other process may use another path
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True
