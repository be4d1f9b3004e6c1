"""Two ways to give a command: as a process of its own, or here, which spares the second that a process takes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from interlock.cli import main

PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160"}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def _environment(given: dict[str, str]) -> dict[str, str]:
    """Nothing of whoever runs the tests counts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    return {**kept, **PLAIN, **given}


def process(*arguments: str, cwd: Path, code: str = "", **environment: str) -> Done:
    start = ["-c", code] if code else ["-m", "interlock"]
    ended = subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=cwd,
        env=_environment(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)


def command(*arguments: str, cwd: Path, **environment: str) -> Done:
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = set(sys.modules)
    with (
        patch.dict(os.environ, _environment(environment), clear=True),
        patch.object(sys, "argv", ["interlock", *arguments]),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    if cwd.resolve() != Path.cwd():  # a program of that folder is not the next folder's
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(cwd.resolve())):
                del sys.modules[name]
    return Done(code, out.getvalue(), err.getvalue())
