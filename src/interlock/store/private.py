"""Private files and folders: 0600 and 0700 whatever the umask, for all that this product writes to a disk.

Everything on disk is made here: databases, locks, keys, backups, archives, exports. What was made before with wider
modes is tightened when it is opened, and the log says so. What is not ours (a folder with other people's files in it,
a pipe, a device) keeps its mode.
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
    """Others may read a file that must be secret, and it cannot be mended from here."""


def folder(path: Path, *, ours: Callable[[str], bool] | None = None) -> Path:
    """Make the folder, and those above it that are missing, for this user alone.

    One that is there already is tightened if `ours` is true for the name of everything in it; without `ours` its mode
    is left as it is.
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
        except FileExistsError:  # another process was faster
            continue
        if _POSIX:
            one.chmod(FOLDER)  # a umask can take bits away, too
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
    """Make an empty file if there is none; tighten one that is there."""
    try:
        os.close(create(path))
    except FileExistsError:  # not opened: it may be one that can only be read
        tighten(path)
    return path


def create(path: Path) -> int:
    """A handle of a new file; FileExistsError if there is one."""
    return _opened(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)


def handle(path: Path) -> int:
    """A handle of a file that is made if there is none."""
    return _opened(path, os.O_CREAT | os.O_RDWR)


def write_bytes(path: Path) -> BinaryIO:
    """An emptied file to write bytes to."""
    return cast(BinaryIO, _emptied(path, "wb"))


def write_text(path: Path, *, newline: str | None = None) -> TextIO:
    """An emptied file to write UTF-8 to."""
    return cast(TextIO, _emptied(path, "w", encoding="utf-8", newline=newline))


def _emptied(path: Path, mode: str, *, encoding: str | None = None, newline: str | None = None) -> IO[str] | IO[bytes]:
    ours = not path.exists() or path.is_file()  # not a pipe or a terminal, such as /dev/stdout leads to
    opened = _opened(path, os.O_CREAT | os.O_WRONLY | (getattr(os, "O_NOFOLLOW", 0) if ours else 0), alone=True)
    if stat.S_ISREG(os.fstat(opened).st_mode):
        os.ftruncate(opened, 0)  # only now: what is not ours keeps its content
    return os.fdopen(opened, mode, encoding=encoding, newline=newline)


def read_secret(path: Path) -> bytes:
    """The content of a file with a secret in it, such as a key; NotPrivate if others may read it and that cannot be
    mended."""
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
    """Take away what others may do with a file of ours, if there is one."""
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
    """A handle; with `alone` NotPrivate where others could read what is written, before anything is."""
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
    if found.st_mode & OTHERS:  # it was there before: what we make has none of these, whatever the umask
        _tighten(path, FILE, found.st_mode)
        if alone and os.fstat(opened).st_mode & OTHERS:
            raise NotPrivate(f"{path} has mode {stat.S_IMODE(found.st_mode):04o} and cannot be made private")
    elif not stat.S_IMODE(found.st_mode) & stat.S_IRUSR and not found.st_size:
        os.fchmod(opened, FILE)  # a umask that takes the owner's own bits away
