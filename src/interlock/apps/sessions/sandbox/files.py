"""Files of a working tree, opened so that no path leads out of it. The standard library is enough.

A path is walked name by name from the tree's folder. A link on the way is refused, so it does not matter what it points
to or who changes it meanwhile. A file with several names (hard links) is refused, because another of its names may be
outside; writing replaces the file, so that no other name changes. `.git` is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from interlock.apps.sessions.sandbox.confinement import FOLDER, OUTSIDE_ID
from interlock.apps.sessions.sandbox.slot import WORKSPACE

MAX_READ = 10 * 1024**2
MAX_WRITE = 20 * 1024**2
MAX_DEPTH = 100


class ToolRefused(Exception):
    """A tool call that cannot be done; the message is for the agent."""


class TreeFiles:
    """The files of one working tree."""

    def __init__(self, tree: Path, most: int = MAX_WRITE) -> None:
        self._tree, self._most = tree, min(most, MAX_WRITE)

    def parts(self, path: str) -> list[str]:
        """The names of a path inside the tree; paths below /workspace may be absolute."""
        if "\0" in path:
            raise ToolRefused("a path has no NUL")
        if path == WORKSPACE or path.startswith(WORKSPACE + "/"):
            path = path[len(WORKSPACE) :].lstrip("/")
        elif path.startswith("/"):
            raise ToolRefused(f"{path[:200]!r} is outside the sandbox: paths are relative to {WORKSPACE}")
        names = [one for one in path.split("/") if one not in ("", ".")]
        if ".." in names:
            raise ToolRefused(f"{path[:200]!r} has `..`: write the path from {WORKSPACE}")
        if any(one.lower() == ".git" for one in names):
            raise ToolRefused("`.git` is not a file of the work: use git in the shell")
        if len(names) > MAX_DEPTH:
            raise ToolRefused("the path is too deep")
        return names

    @contextmanager
    def folder(self, names: list[str], *, create: bool = False) -> Iterator[int]:
        """The folder with these names, as a descriptor."""
        number = os.open(self._tree, FOLDER)
        try:
            for name in names:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=number)
                        _own(name, number)
                below = self._opened(name, FOLDER, number)
                os.close(number)
                number = below
            yield number
        finally:
            os.close(number)

    @staticmethod
    def _opened(name: str, flags: int, folder: int) -> int:
        try:
            return os.open(name, flags, dir_fd=folder)
        except OSError as error:
            with suppress(OSError):
                if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise ToolRefused(f"{name!r} is a link: name the file that it points to") from None
            raise ToolRefused(f"{name!r}: {error.strerror}") from None

    def read(self, path: str) -> bytes:
        *above, name = self._named(path)
        with self.folder(above) as folder:
            # A FIFO would wait for a writer, forever.
            number = self._opened(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, folder)
            try:
                self._check(os.fstat(number), path)
                with os.fdopen(number, "rb", closefd=False) as file:
                    content = file.read(MAX_READ + 1)
            finally:
                os.close(number)
        if len(content) > MAX_READ:
            raise ToolRefused(f"{path!r} is larger than {MAX_READ // 1024**2} MB: use the shell to look at parts of it")
        return content

    def write(self, path: str, content: bytes) -> bool:
        """Write the file, and the folders above it; whether it is new."""
        *above, name = self._named(path)
        self.check_size(path, len(content))
        with self.folder(above, create=True) as folder:
            mode, new = 0o644, True
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    raise ToolRefused(f"{name!r} is a link: name the file that it points to")
                self._check(found, path)
                mode, new = stat.S_IMODE(found.st_mode) & 0o777, False
            beside = f".{uuid4().hex}.new"
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(content)
                    os.fchmod(number, mode)
                _own(beside, folder)
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=folder)
                raise ToolRefused(f"{path!r}: {error.strerror}") from None
        return new

    def delete(self, path: str) -> None:
        *above, name = self._named(path)
        with self.folder(above) as folder:
            try:
                os.unlink(name, dir_fd=folder)
            except OSError as error:
                raise ToolRefused(f"{path!r}: {error.strerror}") from None

    def walk(self, path: str, limit: int) -> Iterator[str]:
        """Files below a folder, without `.git` and without following links."""
        waiting, count = [self.parts(path)], 0
        while waiting and count < limit:
            names = waiting.pop(0)
            with self.folder(names) as folder, os.scandir(folder) as entries:
                found = sorted(entries, key=lambda one: one.name)
                for one in found:
                    if one.name.lower() == ".git":
                        continue
                    if one.is_dir(follow_symlinks=False):
                        if len(names) < MAX_DEPTH:  # no call can name what is below
                            waiting.append([*names, one.name])
                    elif count < limit:
                        count += 1
                        yield "/".join([*names, one.name])

    def _named(self, path: str) -> list[str]:
        names = self.parts(path)
        if not names:
            raise ToolRefused("name a file")
        return names

    def check_size(self, path: str, size: int) -> None:
        """Refuse to write more than a file may have."""
        if size > self._most:
            raise ToolRefused(f"{path[:200]!r} would have {size:,} bytes, and {self._most:,} can be written")

    @staticmethod
    def _check(found: os.stat_result, path: str) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise ToolRefused(f"{path[:200]!r} is not a regular file")
        if found.st_nlink > 1:
            raise ToolRefused(f"{path[:200]!r} has several names (hard links): copy it in the shell first")


def _own(name: str, folder: int) -> None:
    """What the service makes as root belongs to the user of commands."""
    if os.geteuid() == 0:
        os.chown(name, OUTSIDE_ID, OUTSIDE_ID, dir_fd=folder, follow_symlinks=False)
