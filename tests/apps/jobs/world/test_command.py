"""`interlock demo-world`, as its users run it."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import httpx2
import pytest

from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.command import _tell
from tests.support.commands import command
from tests.support.processes import Running

from .crawling import client


def test_it_prints_its_address_and_where_to_begin(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    _tell(world)
    said = capsys.readouterr().out
    assert f"the demo world is on {world.url};" in said
    assert f'private_hosts = ["{world.host}"]' in said
    assert [one["website"] in said for one in world.described()["companies"]] == [True] * 6


@pytest.mark.soak
def test_it_serves_and_ends_when_asked(tmp_path: Path) -> None:
    running = Running(["demo-world", "--port", "0"], tmp_path, {})
    url = re.search(r"the demo world is on (http://127\.0\.0\.1:\d+);", running.says("private_hosts"))
    assert url is not None
    with client() as http:
        assert len(http.get(f"{url[1]}/_world").json()["companies"]) == 6
    assert running.stop(signal.SIGINT) == 0
    assert "Traceback" not in running.said


def test_a_port_that_is_taken_is_one_clear_line(world: World, tmp_path: Path) -> None:
    done = command("demo-world", "--port", world.host.rpartition(":")[2], cwd=tmp_path)
    assert done.code == 1
    assert "cannot listen on 127.0.0.1" in done.err


def test_another_name_for_its_address_is_refused(http: httpx2.Client, world: World) -> None:
    got = http.get(f"{world.url}/_received", headers={"Host": "evil.example"})
    assert got.status_code == 421
    assert http.get(f"{world.url}/_received", headers={"Host": f"localhost:{world.host.rpartition(':')[2]}"}).is_success
    assert http.post(f"{world.url}/_faults", content='{"fault": "404"}').status_code == 415
