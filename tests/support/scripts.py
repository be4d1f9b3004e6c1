"""Scripts that each run in a process of their own, without each importing the product again.

One process has imported it and forks for each script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
MODULES = ("interlock", "interlock.engine", "interlock.worker", "interlock.testing", "interlock.http", "interlock.ai")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a script ended, and what it wrote."""

    code: int
    out: str
    err: str


class Scripts:
    """Runs scripts in forks of a process that has imported the product."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, script: str, folder: Path) -> Ended:
        """Run a script in a folder, with its warnings as errors; 60 seconds at most."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as streams:
            order = {"script": script, "folder": str(folder), "out": f"{streams}/out", "err": f"{streams}/err"}
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return Ended(code, Path(order["out"]).read_text(), Path(order["err"]).read_text())


@contextmanager
def scripts() -> Iterator[Scripts]:
    command = [sys.executable, "-W", "error", "-m", "tests.support.scripts"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Scripts(process)


def _child(order: dict[str, str]) -> None:
    import signal

    for number, name in enumerate(("out", "err"), 1):
        os.dup2(os.open(order[name], os.O_CREAT | os.O_WRONLY, 0o600), number)
    os.chdir(order["folder"])
    sys.path[0] = ""
    sys.argv = ["-c"]
    signal.alarm(SECONDS)
    exec(compile(order["script"], "<script>", "exec"), {"__name__": "__main__"})


def _serve() -> None:
    import gc
    from importlib import import_module

    for module in MODULES:
        import_module(module)
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _child(json.loads(line))
            return  # so that the script's threads and exit functions end as in any program
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
