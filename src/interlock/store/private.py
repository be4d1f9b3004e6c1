"""Creates private files and folders, with the modes 0600 and 0700 whatever the umask.

Everything that Interlock writes to a disk is created here: databases, locks, keys, backups, archives, exports. An
existing file with wider permissions is tightened when it is opened, and the log says so. Other things (a folder with
foreign files, a pipe, a device) keep their modes.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from interlock.machine import InterlockError

log = logging.getLogger("interlock.store")
FILE, FOLDER = 0o600, 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_POSIX = os.name == "posix"


class NotPrivate(InterlockError):
    """Others can read a file that must be secret, and its mode cannot be changed."""


def folder(path: Path, *, ours: Callable[[str], bool] | None = None) -> Path:
    """Create the folder, and missing ones above it, for this user alone.

    An existing folder is tightened if `ours` is true for every name in it. Without `ours` its mode stays.
    """
    missing = []
    above = path.absolute()
    while not above.exists():
        missing.append(above)
        above = above.parent
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(above))
    for one in reversed(missing):
        try:
            one.mkdir(FOLDER)
        except FileExistsError:  # another process created it
            continue
        if _POSIX:
            one.chmod(FOLDER)  # the umask may have removed bits
    if not missing and ours is not None:
        _tighten_folder(path, ours)
    return path


def _tighten_folder(path: Path, ours: Callable[[str], bool]) -> None:
    found = path.stat()
    if not _POSIX or not found.st_mode & OTHERS or not stat.S_ISDIR(found.st_mode):
        return
    if found.st_mode & stat.S_ISVTX or not all(ours(name) for name in os.listdir(path)):
        log.debug("the folder %s has other files too; it keeps its mode, what is written there is private", path)
        return
    _tighten(path, FOLDER, found.st_mode)


def file(path: Path) -> Path:
    """Create an empty file, or tighten an existing one."""
    try:
        os.close(create(path))
    except FileExistsError:  # not opened, because it may be read-only
        tighten(path)
    return path


def create(path: Path) -> int:
    """Open a new file. Raises FileExistsError if it exists."""
    return _opened(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)


def create_text(path: Path, text: str) -> None:
    """Write UTF-8 text to a new file. Raises FileExistsError if it exists."""
    with os.fdopen(create(path), "w", encoding="utf-8") as opened:
        opened.write(text)


def handle(path: Path) -> int:
    """Open a file, and create it if it does not exist."""
    return _opened(path, os.O_CREAT | os.O_RDWR)


def write_bytes(path: Path) -> BinaryIO:
    """Open a file for bytes, and empty it."""
    return cast(BinaryIO, _emptied(path, "wb"))


def write_text(path: Path, *, newline: str | None = None) -> TextIO:
    """Open a file for UTF-8 text, and empty it."""
    return cast(TextIO, _emptied(path, "w", encoding="utf-8", newline=newline))


def _emptied(path: Path, mode: str, *, encoding: str | None = None, newline: str | None = None) -> IO[str] | IO[bytes]:
    ours = not path.exists() or path.is_file()  # not a pipe or a terminal, as /dev/stdout may be
    opened = _opened(path, os.O_CREAT | os.O_WRONLY | (getattr(os, "O_NOFOLLOW", 0) if ours else 0), alone=True)
    if stat.S_ISREG(os.fstat(opened).st_mode):
        os.ftruncate(opened, 0)  # only after the check: a foreign file keeps its content
    return os.fdopen(opened, mode, encoding=encoding, newline=newline)


def read_secret(path: Path) -> bytes:
    """The content of a file with a secret, such as a key. Raises NotPrivate if others can read it and that cannot be
    changed."""
    tighten(path)
    content = path.read_bytes()
    mode = path.stat().st_mode
    if _POSIX and mode & OTHERS:
        raise NotPrivate(
            f"{path} has mode {stat.S_IMODE(mode):04o}: others may read the secret in it; "
            f"let its owner run: chmod 600 {path}, and consider the secret known"
        )
    return content


def tighten(path: Path) -> None:
    """Remove the permissions of others on a file, if it exists."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if _POSIX and found.st_mode & OTHERS and stat.S_ISREG(found.st_mode):
        _tighten(path, FILE, found.st_mode)


def _tighten(path: Path, mode: int, before: int) -> None:
    what = "folder" if stat.S_ISDIR(before) else "file"
    was = f"{stat.S_IMODE(before):04o}"
    try:
        path.chmod(mode)
    except OSError as error:
        log.warning("the %s %s has mode %s and cannot be made private: %s", what, path, was, error.strerror)
    else:
        log.warning("the %s %s had mode %s, so that others could look into it; now it has %04o", what, path, was, mode)


def _opened(path: Path, flags: int, *, alone: bool = False) -> int:
    """Open a file. With `alone`, raise NotPrivate if others could read what will be written."""
    try:
        opened = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), FILE)
    except OSError as error:
        if alone and error.errno == errno.ELOOP:
            raise NotPrivate(f"{path} is a link to another place; remove it, or name the place itself") from None
        raise
    if not _POSIX:
        return opened
    try:
        _made_private(path, opened, alone)
    except BaseException:
        os.close(opened)
        raise
    return opened


def _made_private(path: Path, opened: int, alone: bool) -> None:
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        return
    if alone and found.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to another user, who could read what is written; remove it or name another")
    if stat.S_IMODE(found.st_mode) == FILE:
        return
    if found.st_mode & OTHERS:  # it existed before: files created here have none of these bits
        _tighten(path, FILE, found.st_mode)
        if alone and os.fstat(opened).st_mode & OTHERS:
            raise NotPrivate(f"{path} has mode {stat.S_IMODE(found.st_mode):04o} and cannot be made private")
    elif not stat.S_IMODE(found.st_mode) & stat.S_IRUSR and not found.st_size:
        os.fchmod(opened, FILE)  # the umask may have removed the owner's bits
