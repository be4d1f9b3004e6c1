"""Workers, supervisors and agents that are killed at every point of a run: no prompt runs twice, no line is lost or
doubled, no session stays where it is, and nothing is left running."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.sessions import control, registry
from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.conversation import messages, prompts
from interlock.apps.sessions.loans import duties
from interlock.apps.sessions.settings import SessionSettings
from interlock.apps.sessions.steps import handlers, recovery
from interlock.apps.sessions.tables import session_message as M
from interlock.engine import Engine
from interlock.machine import USER, Actor
from interlock.testing import broken_laws
from interlock.worker import Worker
from tests.apps.sessions.steps.test_life import agents_of
from tests.support.forking import PROCESSES
from tests.support.killing import die_at
from tests.support.sessions import REPO, Sessions, git, make_repository
from tests.support.waiting import eventually

ANN = Actor(USER, "ann")
NOT_BEGUN = [  # the agent was certainly not started: the prompt is run
    ("spawn:after", 1),
    ("move:before", 1),
    ("move:after", 1),
    ("begin_agent:before", 1),
    ("begin_agent:after", 1),
]
BEGUN = [  # it was: what is known decides, and it is not run again
    ("store:before", 1),
    ("store:after", 1),
    ("store:before", 3),
    ("store:after", 3),
    ("end:before", 1),
    ("end:after", 1),
    ("finish:before", 4),
    ("finish:after", 4),
]
DAILY = {("store:after", 3), ("end:after", 1)}


@dataclass
class World:
    url: str
    folder: Path

    def opened(self) -> Engine:
        engine = Engine(self.url, registry)
        source = {"url": str(self.folder / "source")}
        given = {"repos": {REPO: source}, "folder": self.folder / "files", "pool_size": 1}
        engine.core.settings["sessions"] = SessionSettings.model_validate(given)
        return engine


def victim(world: World, point: str, times: int) -> None:
    logging.disable()
    die_at(point, times)
    with worker(world.opened()):
        threading.Event().wait()


@contextmanager
def worker(engine: Engine) -> Iterator[None]:
    """A worker with the duties of a process."""
    over = threading.Event()

    def look_after() -> None:
        while not over.wait(0.1):
            duties.fill_pool(engine)
            duties.return_sandboxes(engine)

    thread = threading.Thread(target=look_after, daemon=True)
    with Worker(engine, concurrency=4, lease=timedelta(seconds=2), sweep_every=0.05):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def points() -> list[Any]:
    return [
        pytest.param(
            point, times, begun, marks=() if (point, times) in DAILY else pytest.mark.soak, id=f"{point}-{times}"
        )
        for begun, every in ((False, NOT_BEGUN), (True, BEGUN))
        for point, times in every
    ]


@pytest.mark.slow
@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(("point", "times", "begun"), points())
def test_a_killed_worker_loses_nothing_and_runs_nothing_twice(
    url: str, tmp_path: Path, point: str, times: int, begun: bool
) -> None:
    make_repository(tmp_path / "source")
    world = World(url, tmp_path)
    with world.opened() as engine:
        slow = "\n\ndemo: slow 1" if point.startswith("store") else ""  # so that lines are stored one by one
        wanted, prompt = NewSession(REPO), NewPrompt(f"Write it down{slow}")
        made, prompt_id = engine.write(
            lambda unit: control.start_with_prompt(unit, "default", ANN, "ann", wanted, prompt)
        )
        process = PROCESSES.Process(target=victim, args=(world, point, times), daemon=True)
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL, "it never came to the point"
        process.close()
        with worker(engine):
            eventually(lambda: engine.get(made.id).state == "needs_review_ip_returned")
        check(engine, made.id, prompt_id, tmp_path, begun)


def check(engine: Engine, session_id: UUID, prompt_id: UUID, folder: Path, begun: bool) -> None:
    (prompt,) = engine.read(lambda conn: prompts.of_session(conn, session_id))
    assert prompt.inbox_status in ({"done", "unknown"} if begun else {"done"}), prompt
    lines = engine.read(lambda conn: messages.of_prompt(conn, prompt_id, limit=1000))
    assert [one.seq for one in lines] == list(range(1, len(lines) + 1))
    kinds = Counter(one.kind for one in lines)
    assert kinds["system/init"] == 1, "the agent was started once"
    assert kinds["result/success"] == (1 if prompt.inbox_status == "done" else 0)
    (mirror,) = (folder / "files" / "repositories").glob("*.git")
    log = git("log", "--format=%s", str(engine.get(session_id).data["branch"]), cwd=mirror).splitlines()
    assert log in (["Write it down", "First version"], ["First version"])
    if prompt.inbox_status == "done":
        assert len(log) == 2
    assert [one.state for one in engine.children(session_id)] == ["returned"]
    counts = engine.read(lambda conn: pool.counts(conn, "local"))
    assert (counts.total, counts.free) == (1, 1)
    assert not [one for one in Path("/proc").glob("[0-9]*/cmdline") if str(folder).encode() in _read(one)]
    assert broken_laws(engine) == []
    assert engine.verify().problems == ()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# -- in one process


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])


@pytest.mark.parametrize("whom", ["agent", "supervisor"])
def test_a_killed_agent_or_supervisor_ends_the_prompt(sessions: Sessions, whom: str) -> None:
    made = sessions.start("Look around. demo: slow 60")
    with sessions.working():
        eventually(lambda: len(sessions.messages(made["prompt_id"])) >= 1)
        (agent,) = [one for one in agents_of(sessions) if _parent(_parent(one)) == os.getpid()]
        os.kill(agent if whom == "agent" else _parent(agent), signal.SIGKILL)
        eventually(lambda: sessions.look(made["id"])["result"])
    (prompt,) = sessions.prompts(made["id"])
    assert prompt["inbox_status"] == ("failed" if whom == "agent" else "unknown")
    assert agents_of(sessions) == []


@pytest.mark.soak("postgresql")
def test_two_workers_never_run_one_prompt(both: Sessions) -> None:
    """Traps A11 and A13."""
    made = both.start("Write it down")
    both.trial.look_after()
    claims = [claim for _ in range(4) for claim in both.trial.claim(4, worker=both.trial.new_worker())]
    assert len([one for one in claims if one.id == UUID(made["id"])]) == 1
    for one in claims:
        both.engine.give_back([one])
    both.go_on()
    kinds = Counter(one["kind"] for one in both.messages(made["prompt_id"]))
    assert kinds["system/init"] == 1


def test_a_worker_that_was_taken_for_dead_ends_its_agent_and_writes_nothing(sessions: Sessions) -> None:
    """It still lives when another one takes over: the prompt is not run a second time, and no line is doubled."""
    made = sessions.start("Look around. demo: slow 1")
    with sessions.working():
        eventually(lambda: len(sessions.messages(made["prompt_id"])) >= 2)
        assert sessions.trial.lose(sessions.trial.worker) >= 1
        eventually(lambda: sessions.look(made["id"])["result"])
    (prompt,) = sessions.prompts(made["id"])
    assert prompt["inbox_status"] == "unknown"
    lines = sessions.messages(prompt["id"])
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
    assert Counter(one["kind"] for one in lines)["system/init"] == 1
    assert sessions.path(made["id"])[:4] == ["pending", "in_progress", "pending", "in_progress"]
    assert agents_of(sessions) == []


def _is_lost_at_the_end(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work until an outcome is to be stored, as a worker that is lost there."""
    reached = []

    def dies(*_: object) -> None:
        reached.append(1)
        raise RuntimeError("the worker is dead")

    worker = sessions.trial.new_worker()
    with monkeypatch.context() as patch:
        patch.setattr(handlers, "_done", dies)
        while not reached:
            sessions.trial.look_after()
            for claim in sessions.trial.claim(4, worker=worker):
                outcome = sessions.trial.run(claim)
                if not reached:
                    sessions.trial.finish(claim, outcome)
            sessions.api.clock.advance(timedelta(seconds=5))
    sessions.trial.lose(worker)


@pytest.mark.parametrize("stored", ["all lines", "some lines"])
def test_on_another_host_the_stored_lines_decide(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, stored: str
) -> None:
    made = sessions.start("Write it down")
    _is_lost_at_the_end(sessions, monkeypatch)
    if stored == "some lines":
        sessions.trial.write(lambda unit: unit.conn.execute(M.delete().where(M.c.kind.like("result%"))))
    monkeypatch.setattr(recovery, "socket", SimpleNamespace(gethostname=lambda: "elsewhere"))
    sessions.go_on()
    (prompt,) = sessions.prompts(made["id"])
    assert prompt["inbox_status"] == ("done" if stored == "all lines" else "unknown")
    assert Counter(one["kind"] for one in sessions.messages(prompt["id"]))["system/init"] == 1
