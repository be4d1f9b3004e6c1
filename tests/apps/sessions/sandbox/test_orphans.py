"""Commands whose agent is killed with everything that would have ended them: nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.waiting import eventually

from .conftest import Place, needs_confinement
from .test_shell import command_lines

DIRECTLY = """
import sys
from pathlib import Path
from interlock.apps.sessions.sandbox.slot import Slot
from interlock.apps.sessions.sandbox.tools import Tools
Tools(Slot(Path(sys.argv[1]))).execute_bash(sys.argv[2], 600)
"""
BY_MCP = """
import sys
from interlock.apps.sessions.agents.demo_mcp import connect
connect(sys.argv[1], "sandbox")("execute_bash", {"command": sys.argv[2], "timeout": 600})
"""


@contextmanager
def agent(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", program, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def running(mark: str) -> list[str]:
    return [said for _, said in command_lines() if mark in said and not said.startswith(sys.executable)]


@needs_confinement
@pytest.mark.parametrize("way", ["directly", pytest.param("by its MCP server", marks=pytest.mark.soak)])
def test_a_command_ends_with_a_killed_agent(place: Place, way: str) -> None:
    mark = f"86397.{os.getpid()}"
    command = f"sleep {mark}; true"
    item = place.pool.item("one")
    given = (DIRECTLY, str(place.mine.folder)) if way == "directly" else (BY_MCP, str(item["mcp_json_string"]))
    with agent(*given, command) as process:
        eventually(lambda: [one for one in running(mark) if one.startswith("sleep")], within=30)
        process.send_signal(signal.SIGKILL)
        process.wait()
        eventually(lambda: not running(mark))
        folder = str(place.mine.folder)
        eventually(lambda: not [said for _, said in command_lines() if folder in said])
