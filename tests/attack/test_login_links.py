"""Who reads the logs does not get in: a login link goes to a terminal, and to nothing that is kept."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import sqlalchemy as sa

from interlock.store import open_store
from interlock.store.service_tables import login_link
from tests.support.processes import ROOT, ready, run
from tests.support.servers import free_port


def links_made(home: Path) -> int:
    with open_store(f"sqlite:///{home}/data/interlock.db") as store:
        return store.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(login_link)).scalar_one())


def test_a_log_gets_no_login_link_but_the_command_that_makes_one(tmp_path: Path) -> None:
    port = free_port()
    environment = {"INTERLOCK_LOG__LEVEL": "debug", "INTERLOCK_LOG__FORMAT": "json"}
    with run("up", "--no-demo", "--port", str(port), folder=tmp_path, **environment) as up:
        ready(port, up)
        assert "interlock login-link" in up.says("Ctrl-C")
        assert up.stop() == 0
    assert "link=" not in up.said
    assert links_made(tmp_path) == 0, "a link that nobody gets is not made"


def test_a_terminal_gets_one(tmp_path: Path) -> None:
    port = free_port()
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    up = subprocess.Popen(
        [sys.executable, "-m", "interlock", "up", "--no-demo", "--port", str(port)],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = b""
    try:
        while b"Ctrl-C" not in said:
            said += os.read(ours, 10_000)
    finally:
        up.terminate()
        up.wait(60)
        os.close(ours)
    assert f"http://127.0.0.1:{port}/login?link=".encode() in said
    assert links_made(tmp_path) == 1
