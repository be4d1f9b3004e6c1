"""`interlock up`, `server` and `worker` as processes: what the command line and the configuration say, together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.processes import Running, ready, wait
from tests.acceptance.processes import run as start
from tests.cli.test_config import run
from tests.servers import free_port

MINE = "from interlock import FINAL, Go, Machine, Registry, State, Transition\n" + "\n".join(
    f"{name} = Machine('{name}', initial='open', states=[State('open'), State('done', FINAL)],\n"
    f"    transitions=[Transition('open', 'done', on='close')])\n"
    f"{name}.work('open')(lambda task: Go('done'))"
    for name in ("sale", "gift")
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def listed(home: Path) -> list[dict[str, object]]:
    done = run("worker", "list", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_machines_of_the_command_line_come_beside_those_of_the_configuration(home: Path) -> None:
    port = free_port()
    (home / "interlock.toml").write_text(f'apps = ["mine:sale"]\n[http]\nport = {port}\n[worker]\nhands = 2\n')
    with start("up", "--no-demo", "--app", "mine:gift", folder=home, PYTHONPATH=str(home)) as up:
        client = ready(port, up)
        for machine in ("sale", "gift"):
            made = client.post("/api/instances", json={"machine": machine}).json()["id"]
            wait(lambda it=made: client.get(f"/api/instances/{it}").json()["state"] == "done", f"the {machine}")
        [row] = listed(home)
        assert row["status"] == "alive"
        assert {"sale", "gift"} <= set(row["queues"])  # type: ignore[call-overload]
        text = run("worker", "list", cwd=home).stdout
        assert str(row["id"]) in text
        assert "alive" in text
        assert up.stop() == 0
    assert [row["status"] for row in listed(home)] == ["stopped"]


def test_the_command_lines_port_wins_over_the_configurations(home: Path) -> None:
    port = free_port()
    (home / "interlock.toml").write_text("[http]\nport = 1\nmax_body = 2048\n")
    with start("server", "--port", str(port), folder=home) as server:
        client = ready(port, server)
        assert f"serving on http://127.0.0.1:{port}" in server.says("serving on")
        assert client.post("/api/instances", content=b" " * 3000).status_code == 413
        assert server.stop() == 0


def refused(home: Path, *arguments: str, **environment: str) -> str:
    """What a process says that does not come up."""
    with start(*arguments, folder=home, PYTHONPATH=str(home), **environment) as process:
        assert process.wait() == 1
    return _last(process)


def _last(process: Running) -> str:
    assert "Traceback" not in process.said
    return process.said.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "variables", "told"),
    [
        (("worker", "--queue", "nothing", "--app", "mine:sale"), {}, "no machine here has the queue nothing"),
        (("up", "--no-demo"), {"INTERLOCK_HTTP__PORT": "many"}, "http.port (INTERLOCK_HTTP__PORT)"),
        (("up", "--no-demo"), {"INTERLOCK_DATABASE": "nonsense"}, "database (INTERLOCK_DATABASE)"),
        (("up", "--no-demo", "--port", "0", "--database", "nonsense"), {}, "not 'nonsense'"),
        (("up", "--no-demo", "--port", "0", "--app", "gone:x"), {}, "'gone:x' cannot be loaded"),
        (("server", "--host", "192.0.2.1", "--port", "0"), {}, "cannot listen on 192.0.2.1:0"),
    ],
)
def test_what_cannot_start_says_why_in_its_last_line(
    home: Path, arguments: tuple[str, ...], variables: dict[str, str], told: str
) -> None:
    said = refused(home, *arguments, **variables)
    assert said.startswith("error: ")
    assert told in said


def test_options_out_of_range_are_exit_code_2(home: Path) -> None:
    for arguments in (("up", "--port", "65536"), ("worker", "--hands", "0"), ("nothing",)):
        done = run(*arguments, cwd=home)
        assert (done.returncode, done.stdout) == (2, ""), arguments


def test_without_any_arguments_it_says_what_there_is(home: Path) -> None:
    done = run(cwd=home)
    said = done.stdout + done.stderr
    for command in ("up", "server", "worker", "instance", "review", "dead-letter", "token", "user", "export", "config"):
        assert f" {command} " in said
