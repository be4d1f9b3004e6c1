"""The product as its users run it: processes, started with the command line and stopped with a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.support.forking import ForkedCommand
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
TOKEN = "il_token_of_the_processes_0001"
DEADLINE = 60.0


class Running:
    """A process of the product: forked, unless it is to be a fresh one or to find other packages."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], *, fresh: bool = False) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        # The code of this very checkout, wherever the installed package points to.
        path = os.pathsep.join((environment.get("PYTHONPATH", ""), str(ROOT / "src"), str(ROOT))).lstrip(os.pathsep)
        self.log = folder / f"{time.monotonic_ns()}.log"
        self.clients: list[httpx2.Client] = []
        self.process: subprocess.Popen[bytes] | ForkedCommand
        variables = {**kept, "INTERLOCK_TOKEN": TOKEN, **environment, "PYTHONPATH": path}
        with self.log.open("wb") as log:
            if fresh or "PYTHONPATH" in environment:
                command = [sys.executable, "-m", "interlock", *arguments]
                self.process = subprocess.Popen(
                    command, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT
                )
            else:
                self.process = ForkedCommand(arguments, folder, variables, self.log)

    @property
    def said(self) -> str:
        return self.log.read_text()

    def says(self, words: str) -> str:
        """What it said, once these words are among it."""
        eventually(lambda: words in self.said or self.process.poll() is not None, f"{words!r} in {self.said!r}")
        assert words in self.said, self.said
        return self.said

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(DEADLINE)
        for client in self.clients:
            client.close()
        return code


@contextmanager
def run(*arguments: str, folder: Path, fresh: bool = False, **environment: str) -> Iterator[Running]:
    made = Running(list(arguments), folder, environment, fresh=fresh)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.wait()


def ready(port: int, process: Running) -> httpx2.Client:
    """A client for the service, once it answers."""
    client = httpx2.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=DEADLINE
    )

    process.clients.append(client)

    def answers() -> bool:
        assert process.process.poll() is None, process.said
        try:
            return client.get("/readyz").status_code == 200
        except httpx2.HTTPError:
            return False

    eventually(answers, "an answer")
    return client
