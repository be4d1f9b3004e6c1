"""Processes that are forked from one that has imported the product: a start takes milliseconds, not two seconds of CPU.

What is imported first is in `preloaded.py`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.support.preloaded"])


class ForkedCommand:
    """A process of the command line, with what is used here of a `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> None:
        self._process = PROCESSES.Process(target=_run, args=(arguments, str(folder), dict(environment), str(log)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code


def _run(arguments: Sequence[str], folder: str, environment: Mapping[str, str], log: str) -> None:
    """As `python -m interlock` in that folder, with its output in the log."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = ["interlock", *arguments]
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)

    from interlock.__main__ import main

    main()
