"""Commands find the service that runs in their folder, whatever its port, its data and its machines."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from interlock.console.running import RunningService, noted, services
from tests.support.commands import command
from tests.support.processes import Running, run

PROGRAM = """
from interlock import FINAL, WAITING, USER, Machine, State, Transition

ticket = Machine("ticket", initial="open", states=[State("open", WAITING, waits_for="somebody"), State("shut", FINAL)],
                 transitions=[Transition("open", "shut", on="shut", by=USER)])
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/interlock/services"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folder that somebody works in, with a program of their own."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here/tickets.py").write_text(PROGRAM)
    return tmp_path / "here"


@pytest.fixture
def service(state: Path, here: Path) -> Iterator[Running]:
    """A service with its data in another folder, on a port that nobody chose."""
    arguments = ("up", "--no-demo", "--port", "0", "--data", "../elsewhere", "--app", "tickets:ticket")
    with run(*arguments, folder=here) as running:
        running.says("Ctrl-C")
        yield running


def address(service: Running) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+", service.said)
    assert found is not None
    return found[0]


def test_commands_in_its_folder_use_its_data_its_port_and_its_machines(service: Running, here: Path) -> None:
    link = command("login-link", cwd=here)
    assert link.out.startswith(f"{address(service)}/login?link="), link
    machines = command("machine", "list", cwd=here)
    assert "ticket" in machines.out
    assert f'data = "{here}/../elsewhere"' in command("config", "show", cwd=here).out
    listed = command("instance", "list", "--json", cwd=here)
    assert (listed.code, json.loads(listed.out)["instances"]) == (0, [])


def test_a_folder_with_two_services_chooses_none(service: Running, here: Path) -> None:
    with run("up", "--no-demo", "--port", "0", "--data", "../other", folder=here) as second:
        second.says("Ctrl-C")
        done = command("instance", "list", cwd=here)
    assert done.code == 1
    assert "several services run in this folder" in done.err
    assert "choose with --database" in done.err


def test_a_named_database_is_used_instead(service: Running, here: Path) -> None:
    done = command("instance", "list", "--database", "sqlite:///mine.db", cwd=here)
    assert done.code == 1
    assert "there is no database mine.db" in done.err


def test_elsewhere_a_missing_database_names_the_services_that_run(service: Running, here: Path, tmp_path: Path) -> None:
    done = command("instance", "list", cwd=tmp_path)
    assert done.code == 1
    assert "start one with: interlock up" in done.err
    assert f"services that run now: {address(service)}" in done.err
    assert f"started in {here}" in done.err


def test_a_database_whose_password_is_not_noted_is_asked_for(here: Path, state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        shown = "postgresql://ann:***@db/work"
        with noted(note(url=f"http://127.0.0.1:{port}", database=None, folder=str(here), shown=shown)):
            done = command("instance", "list", cwd=here)
            assert done.code == 1
            assert f"{shown}) has a database with a password" in done.err
            assert "this command uses sqlite:///data/interlock.db" in done.err
            assert "written down" not in command("instance", "list", "--database", "sqlite:///mine.db", cwd=here).err


def test_a_service_that_stopped_is_forgotten(service: Running, state: Path, here: Path) -> None:
    assert len(list(state.iterdir())) == 1
    service.stop()
    assert list(state.iterdir()) == []
    assert "there is no database data/interlock.db" in command("instance", "list", cwd=here).err


def note(**changes: object) -> RunningService:
    made = RunningService(os.getpid(), "http://127.0.0.1:1", "sqlite:////tmp/x.db", None, [], "/somewhere")
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_note_is_private_and_ignored_once_nobody_listens(state: Path) -> None:
    with noted(note()):
        [file] = state.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert services() == []
    assert list(state.iterdir()) == []


def test_the_note_of_a_killed_service_is_removed(state: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    with noted(note(pid=int(ended.stdout))):
        assert services() == []
        assert list(state.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"pid": 1}', json.dumps({**asdict(note()), "apps": "os:x"}), "x" * 200_000]
)
def test_a_file_that_is_no_note_is_ignored(state: Path, text: str) -> None:
    state.mkdir(parents=True)
    (state / "1.json").write_text(text)
    assert services() == []


def test_a_service_runs_without_a_folder_for_its_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with noted(note()):
        assert services() == []


def test_the_program_says_its_version(tmp_path: Path) -> None:
    assert re.fullmatch(r"interlock \d+\.\d+\.\d+\n", command("--version", cwd=tmp_path).out)
