"""Notes of running services: where a service runs, so that commands in the same folder find it without options.

A note is a private file in the user's state folder. It names the address, the database, the configuration file and the
applications of one service, and the folder it was started in. It is removed when the service stops; a note whose
service does not answer is ignored. A command's own options, and variables that are set, always win.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

LARGEST = 100_000
"""Bytes of a note; a larger file is none of ours."""
ASK_SECONDS = 0.5
CHOOSES = ("--database", "--config", "--data", "--url")
"""Options that say where to look."""
VARIABLES = ("INTERLOCK_DATABASE", "INTERLOCK_CONFIG", "INTERLOCK_DATA")
STARTS = ("up", "server", "worker", "new", "restore", "sample")
"""Commands that start something of their own. (`worker list` looks at what runs.)"""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that runs on this machine."""

    pid: int
    url: str
    database: str | None
    """None if its address has a password, which is not written down."""
    config: str | None
    apps: list[str]
    folder: str
    """Where it was started."""
    data: str | None = None
    """Its data folder, where applications keep their files."""
    shown: str | None = None
    """The address of its database without a password."""

    @property
    def described(self) -> str:
        return f"{self.url} ({self.database or self.shown or 'a database with a password'})"

    def answers(self) -> bool:
        """Whether something listens at its address."""
        at = urlsplit(self.url)
        try:
            with socket.create_connection((at.hostname or "", at.port or 80), ASK_SECONDS):
                return True
        except (OSError, ValueError):
            return False


@contextmanager
def noted(service: RunningService) -> Iterator[None]:
    """Keep a note of a service while it runs. Without a state folder there is none, and the service runs as well."""
    from interlock.store import private

    path = _folder() / f"{service.pid}.json"
    try:
        private.folder(path.parent)
        with private.write_text(path) as file:
            json.dump(asdict(service), file)
    except (OSError, private.NotPrivate):
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def services() -> list[RunningService]:
    """The services of this user that answer. The notes of killed ones are removed."""
    found = []
    for path in sorted(_folder().glob("*.json")):
        service = _read(path)
        if service is not None and service.answers():
            found.append(service)
        elif service is not None and not _lives(service.pid):
            with suppress(OSError):
                path.unlink()
    return found


def _lives(pid: int) -> bool:
    """Whether a process has this number, as far as can be seen."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def follow(arguments: Sequence[str]) -> None:
    """Let a command use the settings of the service that runs in this folder, and say so where that matters.

    The settings become variables, which options override. Nothing is done if the caller names a database or a
    configuration, or if several services run here.
    """
    if not arguments or _decides(arguments):
        return
    here = os.getcwd()
    found = [one for one in services() if one.folder == here]
    if len(found) > 1:
        names = " and ".join(one.described for one in found)
        print(f"interlock: several services run in this folder: {names}; choose with --database", file=sys.stderr)
    if len(found) != 1:
        return
    [service] = found
    if service.config is not None:
        os.environ["INTERLOCK_CONFIG"] = service.config
    if service.database is not None:
        os.environ["INTERLOCK_DATABASE"] = service.database
    if service.data is not None:
        os.environ["INTERLOCK_DATA"] = service.data
    if service.apps:
        os.environ["INTERLOCK_APPS"] = json.dumps(service.apps)
    os.environ["INTERLOCK_HTTP__URL"] = service.url
    if service.database is None and service.shown != (other := _configured()):
        print(
            f"interlock: the service {service.described} has a database with a password, which is not written down; "
            f"this command uses {other}. Name the service's with --database or INTERLOCK_DATABASE",
            file=sys.stderr,
        )
    elif sys.stderr.isatty():
        print(f"interlock: uses the service {service.described}", file=sys.stderr)


def _configured() -> str:
    """The database that a command uses by the configuration, without a password."""
    import sqlalchemy as sa

    from interlock.config import load
    from interlock.machine import InterlockError

    try:
        return sa.make_url(load().database_url).render_as_string(hide_password=True)
    except (InterlockError, sa.exc.ArgumentError):
        return "another one"


def _decides(arguments: Sequence[str]) -> bool:
    """Whether the caller says where to look, or the command looks nowhere."""
    named = any(one.partition("=")[0] in CHOOSES for one in arguments) or any(map(os.environ.get, VARIABLES))
    starts = arguments[0] in STARTS and not (arguments[0] == "worker" and len(arguments) > 1 and arguments[1][0] != "-")
    return named or starts or "--help" in arguments


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return Path(state or Path.home() / ".local/state") / "interlock/services"
    except RuntimeError:  # no home
        return Path(os.devnull)


def _read(path: Path) -> RunningService | None:
    """A note; None for a file that is none, or that another user may have written."""
    try:
        found = path.stat()
        if found.st_size > LARGEST or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            return None
        made = RunningService(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    texts = (made.url, made.folder, *made.apps) if isinstance(made.apps, list) else (None,)
    optional = all(one is None or isinstance(one, str) for one in (made.database, made.config, made.data, made.shown))
    return made if optional and isinstance(made.pid, int) and all(isinstance(one, str) for one in texts) else None
