"""`interlock up`, `server` and `worker` as processes: what the command line and the configuration say, together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.processes import ready, run
from tests.support.servers import free_port
from tests.support.waiting import eventually

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
    done = command("worker", "list", "--json", cwd=home)
    assert done.code == 0, done.err
    found: list[dict[str, object]] = json.loads(done.out)
    return found


def test_machines_of_the_command_line_come_beside_those_of_the_configuration(home: Path) -> None:
    port = free_port()
    (home / "interlock.toml").write_text(f'apps = ["mine:sale"]\n[http]\nport = {port}\n[worker]\nconcurrency = 2\n')
    with run("up", "--no-demo", "--app", "mine:gift", folder=home) as up:
        client = ready(port, up)
        for machine in ("sale", "gift"):
            made = client.post("/api/instances", json={"machine": machine}).json()["id"]
            eventually(lambda it=made: client.get(f"/api/instances/{it}").json()["state"] == "done", f"the {machine}")
        [row] = listed(home)
        assert row["status"] == "alive"
        assert {"sale", "gift"} <= set(row["queues"])  # type: ignore[call-overload]
        text = command("worker", "list", cwd=home).out
        assert str(row["id"]) in text
        assert "alive" in text
        assert up.stop() == 0
    assert [row["status"] for row in listed(home)] == ["stopped"]


def test_the_command_lines_port_wins_over_the_configurations(home: Path) -> None:
    port = free_port()
    (home / "interlock.toml").write_text("[http]\nport = 1\nmax_body = 2048\n")
    with run("server", "--port", str(port), folder=home) as server:
        client = ready(port, server)
        assert f"serving on http://127.0.0.1:{port}" in server.says("serving on")
        assert client.post("/api/instances", content=b" " * 3000).status_code == 413
        assert server.stop() == 0


def test_what_cannot_start_says_why_in_its_last_line(home: Path) -> None:
    for arguments, message in (
        (("worker", "--queue", "nothing", "--app", "mine:sale"), "no machine has the queue nothing"),
        (("server", "--host", "192.0.2.1", "--port", "0"), "cannot listen on 192.0.2.1:0"),
    ):
        with run(*arguments, folder=home) as ended:
            assert ended.wait() == 1
        assert "Traceback" not in ended.said
        last = ended.said.strip().splitlines()[-1]
        assert last.startswith("error: ")
        assert message in last


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("up", "--no-demo"), {"INTERLOCK_HTTP__PORT": "many"}, "http.port (INTERLOCK_HTTP__PORT)"),
        (("server",), {"INTERLOCK_DATABASE": "nonsense"}, "database (INTERLOCK_DATABASE)"),
        (("worker", "--database", "nonsense"), {}, "not 'nonsense'"),
    ],
)
def test_wrong_settings_are_reported_before_anything_is_created(
    home: Path, arguments: tuple[str, ...], variables: dict[str, str], message: str
) -> None:
    before = set(home.iterdir())
    done = command(*arguments, cwd=home, **variables)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert message in done.err
    assert set(home.iterdir()) == before


def test_options_out_of_range_are_exit_code_2(home: Path) -> None:
    for arguments in (("up", "--port", "65536"), ("worker", "--concurrency", "0"), ("nothing",)):
        done = command(*arguments, cwd=home)
        assert (done.code, done.out) == (2, ""), arguments


def test_without_any_arguments_it_says_what_there_is(home: Path) -> None:
    done = command(cwd=home)
    said = done.out + done.err
    for name in ("up", "server", "worker", "instance", "review", "dead-letter", "token", "user", "export", "config"):
        assert f" {name} " in said
