"""The service as processes: it comes up, takes a user's machines, drains when it is asked to stop."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from interlock.engine import Engine
from tests.acceptance.sale_machine import registry
from tests.support.commands import command
from tests.support.processes import TOKEN, Running, ready, run
from tests.support.servers import free_port
from tests.support.waiting import eventually

APP = ("--app", "tests.acceptance.sale_machine:registry")


def link_of(folder: Path, port: int, data: str) -> str:
    """A login link, as the owner gets one where the service has no terminal."""
    options = ("--json", "--url", f"http://127.0.0.1:{port}", "--database", f"sqlite:///{folder / data}/interlock.db")
    made = command("login-link", *options, cwd=folder)
    assert made.code == 0, made.err
    link: str = json.loads(made.out)["link"]
    return link


def front_page(folder: Path, port: int, data: str = "data") -> str:
    """What its owner sees first."""
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        answer = browser.get(link_of(folder, port, data))
    assert answer.status_code == 200
    return answer.text


def ledger(folder: Path) -> Counter[str]:
    file = folder / "ledger"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


@pytest.fixture
def ledger_of_sales(tmp_path: Path) -> dict[str, str]:
    return {"SALE_LEDGER": str(tmp_path / "ledger")}


def test_up_runs_the_whole_product_with_a_users_own_machine(tmp_path: Path, ledger_of_sales: dict[str, str]) -> None:
    port = free_port()
    started = ("up", "--no-demo", "--port", str(port), "--data", "store", *APP)
    with run(*started, folder=tmp_path, fresh=True, **ledger_of_sales) as up:
        client = ready(port, up)
        said = up.says("Ctrl-C stops it.")
        assert "sale" in said
        made = client.post("/api/instances", json={"machine": "sale", "data": {"number": 1}})
        assert made.status_code == 201
        place = f"/api/instances/{made.json()['id']}"
        eventually(lambda: client.get(place).json()["state"] == "done", "the end of the sale")
        assert (tmp_path / "store" / "interlock.db").exists()
        with httpx2.Client(follow_redirects=True) as browser:
            assert browser.get(link_of(tmp_path, port, "store")).status_code == 200
            assert browser.get(f"http://127.0.0.1:{port}/api/me").json()["name"] == "owner"
        assert up.stop() == 0
    assert "Traceback" not in up.said


def test_the_token_of_the_first_start_stays_and_a_later_one_changes_nothing(tmp_path: Path) -> None:
    port = free_port()
    arguments = ("up", "--no-demo", "--port", str(port))
    with run(*arguments, folder=tmp_path) as up:
        ready(port, up)
        assert up.stop() == 0
    with run(*arguments, folder=tmp_path, INTERLOCK_TOKEN="il_another_token_that_is_too_late") as up:
        client = ready(port, up)
        assert client.get("/api/me").json()["name"] == "owner"
        headers = {"Authorization": "Bearer il_another_token_that_is_too_late"}
        assert client.get("/api/me", headers=headers).status_code == 401


def test_a_taken_port_is_one_line_of_error_and_nothing_is_created(tmp_path: Path) -> None:
    with run("up", "--no-demo", "--port", str(port := free_port()), folder=tmp_path) as first:
        ready(port, first)
        other = tmp_path / "other"
        other.mkdir()
        with run("up", "--no-demo", "--port", str(port), folder=other) as second:
            assert second.wait() == 1
        assert second.said.count("\n") == 1
        assert f"cannot listen on 127.0.0.1:{port}" in second.said
        assert not (other / "data").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_when_stopped_it_lets_a_running_handler_end(
    tmp_path: Path, ledger_of_sales: dict[str, str], number: signal.Signals
) -> None:
    port = free_port()
    with run("up", "--no-demo", "--port", str(port), *APP, folder=tmp_path, **ledger_of_sales) as up:
        client = ready(port, up)
        made = client.post("/api/instances", json={"machine": "sale", "data": {"seconds": 1.0}}).json()["id"]
        eventually(lambda: ledger(tmp_path)[f"began {made}"], "the begin of the packing")
        assert up.stop(number) == 0
    assert ledger(tmp_path)[f"packed {made}"] == 1
    with Engine(f"sqlite:///{tmp_path}/data/interlock.db", registry) as engine:
        assert engine.get(UUID(made)).state == "done"


def test_what_does_not_end_in_time_goes_back_without_a_lost_attempt(
    tmp_path: Path, ledger_of_sales: dict[str, str]
) -> None:
    port = free_port()
    limit = {"INTERLOCK_WORKER__DRAIN": "0.2"}
    with run("up", "--no-demo", "--port", str(port), *APP, folder=tmp_path, **ledger_of_sales, **limit) as up:
        client = ready(port, up)
        made = client.post("/api/instances", json={"machine": "sale", "data": {"seconds": 600}}).json()["id"]
        eventually(lambda: ledger(tmp_path)[f"began {made}"], "the begin of the packing")
        assert up.stop() == 0
    with Engine(f"sqlite:///{tmp_path}/data/interlock.db", registry) as engine:
        it = engine.get(UUID(made))
        assert (it.state, it.wake, it.failures) == ("packing", "work", {})
        assert engine.history(it.id)[-1].kind == "given_back"


def test_the_demo_fills_an_empty_database_and_leaves_one_that_is_somebodys_alone(tmp_path: Path) -> None:
    port = free_port()
    with run("up", "--port", str(port), folder=tmp_path) as up:
        client = ready(port, up)
        assert "demo" in up.says("Ctrl-C stops it.")
        eventually(lambda: client.get("/api/reviews").json()["reviews"], "a review")
        assert "This is demo data" in front_page(tmp_path, port)
        assert up.stop() == 0
    with run("up", "--no-demo", "--port", str(port), folder=tmp_path) as up:
        client = ready(port, up)
        said = up.says("Ctrl-C stops it.")
        assert "parcel" in said
        assert "without code" not in said
        assert "changes continuously" not in said
        assert "This is demo data" in front_page(tmp_path, port)
        assert up.stop() == 0
    mine = tmp_path / "mine"
    mine.mkdir()
    ledger_of_sales = {"SALE_LEDGER": str(mine / "ledger")}
    (mine / "data").mkdir()
    with Engine(f"sqlite:///{mine}/data/interlock.db", registry) as engine:
        engine.create("sale")
    with run("up", "--port", str(port), *APP, folder=mine, **ledger_of_sales) as up:
        client = ready(port, up)
        assert "demo" not in up.says("Ctrl-C stops it.").replace("--no-demo", "")
        assert {i["machine"] for i in client.get("/api/instances").json()["instances"]} == {"sale"}
        assert "This is demo data" not in front_page(mine, port)


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text("[http]\nprot = 1\n")
    with run("up", folder=tmp_path) as up:
        assert up.wait() == 1
    assert up.said.startswith("error: http.prot")
    assert up.said.count("\n") == 1


@pytest.mark.soak
def test_two_servers_and_three_workers_are_restarted_one_by_one_under_load(
    tmp_path: Path, postgres_url: str, ledger_of_sales: dict[str, str]
) -> None:
    """Nothing is lost and nothing is done twice, although every process is replaced while requests come in."""
    environment = {**ledger_of_sales, "INTERLOCK_DATABASE": postgres_url}
    ports = [free_port(), free_port()]
    servers = [Running(["server", "--port", str(p), *APP], tmp_path, environment) for p in ports]
    workers = [Running(["worker", "--concurrency", "4", *APP], tmp_path, environment) for _ in range(3)]
    made: list[str] = []

    def sell(number: int) -> None:
        """Ask one server after the other until one answers; the key makes sure that it is one sale."""
        body = {"machine": "sale", "data": {"number": number, "seconds": 0.02}}
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": f"sale-{number}"}

        def asked() -> bool:
            for port in (ports[number % 2], ports[1 - number % 2]):
                try:
                    answer = httpx2.post(f"http://127.0.0.1:{port}/api/instances", json=body, headers=headers)
                except httpx2.HTTPError:
                    continue
                if answer.status_code == 201:
                    made.append(answer.json()["id"])
                    return True
                assert answer.status_code == 503, answer.text
            return False

        eventually(asked, f"an answer for sale {number}")

    try:
        for port, server in zip(ports, servers, strict=True):
            ready(port, server)
        for worker in workers:
            worker.says("working on")
        number = 0
        for which in (0, 1, 2, 3, 4):
            for _ in range(12):
                sell(number := number + 1)
            group, place = (servers, which) if which < 2 else (workers, which - 2)
            group[place].process.send_signal(signal.SIGTERM)
            for _ in range(6):
                sell(number := number + 1)
            assert group[place].wait() == 0, group[place].said
            again = ["server", "--port", str(ports[place])] if which < 2 else ["worker", "--concurrency", "4"]
            group[place] = Running([*again, *APP], tmp_path, environment)
        with Engine(postgres_url, registry, register=False) as engine:
            eventually(
                lambda: engine.count().n == sum(i.state == "done" for i in engine.page(limit=500).instances), "the end"
            )
            assert {str(i.id) for i in engine.page(limit=500).instances} == set(made)
            assert engine.verify().problems == ()
            assert engine.dead_letters.find() == []
    finally:
        for process in (*servers, *workers):
            if process.process.poll() is None:
                process.process.kill()
                process.wait()
    assert len(made) == len(set(made)) == number
    done = ledger(tmp_path)
    assert {line: n for line, n in done.items() if n != 1 and line.startswith("paid")} == {}
    assert {line: n for line, n in done.items() if n != 1 and line.startswith("packed")} == {}
    assert sum(line.startswith("packed") for line in done) == number
