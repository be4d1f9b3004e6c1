"""Agent sessions: lines stored a second and how soon a page has them, against lines in a file; many at once."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID

from bench.service import TOKEN, free_port
from interlock.apps.sessions import control, registry
from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.conversation import messages
from interlock.apps.sessions.loans import duties
from interlock.apps.sessions.sandbox.git import git
from interlock.apps.sessions.settings import SessionSettings
from interlock.config import Settings
from interlock.engine import Engine
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.http.service import Service
from interlock.machine import USER, Actor
from interlock.worker import Worker

Figures = dict[str, Any]
REPO = "bench/repository"
ANN = Actor(USER, "ann")
LINES, PACED, PACE = 20_000, 200, 0.02
AT_ONCE = 200
AGENT = """
    import json, sys, time
    lines, pace = int(sys.argv[1]), float(sys.argv[2])
    words = "The agent has looked at another file and says what it has found in there. " * 7
    for number in range(lines):
        text = {"type": "text", "text": words}
        message = {"id": f"msg_{number}", "role": "assistant", "content": [text]}
        print(json.dumps({"type": "assistant", "message": message, "at": time.time()}), flush=pace > 0)
        if pace:
            time.sleep(pace)
    print(json.dumps({"type": "end"}), flush=True)
"""


class Place:
    """An installation with one repository and an agent that prints lines."""

    def __init__(self, folder: Path, pool_size: int = 1) -> None:
        folder.mkdir(parents=True)
        self.program = folder / "agent.py"
        self.program.write_text(textwrap.dedent(AGENT))
        source = folder / "source"
        source.mkdir(parents=True)
        (source / "README.md").write_text("# Bench\n")
        git("init", "--quiet", source)
        git("add", ".", cwd=source)
        git("commit", "--quiet", "--message=First", cwd=source)
        self.engine = Engine(f"sqlite:///{folder / 'bench.db'}", registry)
        agents = {
            name: {
                "command": [*self.command(lines, pace)],
                "own_tools": False,
                "lines": {"done": {"when": {"type": "end"}}},
            }
            for name, lines, pace in (("fast", LINES, 0.0), ("paced", PACED, PACE))
        }
        given = {"repos": {REPO: str(source)}, "folder": folder / "files", "agents": agents, "pool_size": pool_size}
        self.engine.core.settings["sessions"] = SessionSettings.model_validate(given)

    def command(self, lines: int, pace: float) -> list[str]:
        return [sys.executable, "-I", str(self.program), str(lines), str(pace)]

    def start(self, agent: str, prompt: str = "Write it down") -> tuple[UUID, UUID]:
        wanted = NewSession(REPO, agent=agent)
        made, prompt_id = self.engine.write(
            lambda unit: control.start_with_prompt(unit, "default", ANN, "ann", wanted, NewPrompt(prompt))
        )
        return made.id, prompt_id

    @contextmanager
    def working(self, concurrency: int = 4) -> Iterator[None]:
        over = threading.Event()

        def look_after() -> None:
            while not over.wait(0.5):
                duties.fill_pool(self.engine)
                duties.return_sandboxes(self.engine)

        thread = threading.Thread(target=look_after, daemon=True)
        with Worker(self.engine, concurrency=concurrency):
            thread.start()
            yield
            over.set()
            thread.join()

    def stored(self, prompt_id: UUID) -> int:
        return self.engine.read(lambda conn: messages.last_seq(conn, prompt_id))

    def until_stored(self, prompt_id: UUID, count: int) -> float:
        """When so many lines were stored."""
        while self.stored(prompt_id) < count:
            time.sleep(0.005)
        return time.perf_counter()


def measure(folder: Path, runs: int, sessions: int) -> Figures:
    return {
        "lines": _lines(folder / "lines", runs),
        "to_page": _to_page(folder / "page"),
        "at_once": _at_once(folder / "many", sessions),
    }


def _lines(folder: Path, runs: int) -> Figures:
    """Lines a second of an agent that prints as fast as it can: into a file, and as stored messages, in turns."""
    place = Place(folder)
    in_file, stored = [], []
    with place.working():
        for run in range(runs):
            begun = time.perf_counter()
            with (folder / f"plain-{run}").open("wb") as file:
                subprocess.run(place.command(LINES, 0.0), stdout=file, check=True)
                os.fsync(file.fileno())
            in_file.append(LINES / (time.perf_counter() - begun))
            _, prompt_id = place.start("fast")
            begun = place.until_stored(prompt_id, 1)
            stored.append(LINES / (place.until_stored(prompt_id, LINES) - begun))
    place.engine.close()
    size = (folder / "plain-0").stat().st_size // LINES
    return {"file": statistics.median(in_file), "stored": statistics.median(stored), "bytes": size}


def _to_page(folder: Path) -> Figures:
    """Milliseconds from the print of a line to its arrival at a client of the live events."""
    place, port, waits = Place(folder), free_port(), []
    service = Service(place.engine, Settings(http={"port": port}))
    service.people.setup(token=TOKEN)
    with InThread(create_app(service, routers=registry.routers), service, port=port), place.working():
        session_id, _ = place.start("paced")
        url = f"http://127.0.0.1:{port}/sessions/{session_id}/events?after=0.0"
        with urlopen(Request(url, headers={"Authorization": f"Bearer {TOKEN}"}), timeout=60) as stream:
            for raw in stream:
                if raw.startswith(b"data: ") and b'"seq"' in raw:
                    data = json.loads(raw[6:]).get("data") or {}
                    if "at" in data:
                        waits.append((time.time() - data["at"]) * 1000)
                    if data.get("type") == "end":
                        break
    place.engine.close()
    waits.sort()
    return {"median_ms": statistics.median(waits), "p95_ms": waits[int(len(waits) * 0.95)], "lines": len(waits)}


def _at_once(folder: Path, count: int) -> Figures:
    """Many sessions with the scripted agent, all at work until the last has come so far as to ask a person."""
    place = Place(folder, pool_size=count)
    made = [place.start("demo", "Remove what nobody reads") for _ in range(count)]
    before, worker, agents, most, answered = _memory(os.getpid()), 0, 0, 0, False
    begun = time.perf_counter()
    with place.working(count):
        left = {session_id for session_id, _ in made}
        while left:
            time.sleep(1.0)
            worker = max(worker, _memory(os.getpid()))
            below = _below(os.getpid())
            agents, most = max(agents, sum(map(_memory, below))), max(most, len(below) // 2)
            asked = place.engine.reviews.waiting(limit=count)
            for one in asked if len(asked) == count or answered else ():
                answered = True
                place.engine.reviews.decide(one.id, "deny", actor=ANN)
            left = {one for one in left if place.engine.get(one).data["result"] is None}
        took = time.perf_counter() - begun
    results = [place.engine.get(one).data["result"] for one, _ in made]
    lines = sum(place.stored(prompt_id) for _, prompt_id in made)
    place.engine.close()
    return {
        "sessions": count,
        "done": results.count("done"),
        "seconds": took,
        "messages": lines,
        "at_once": most,
        "worker_mb": worker / 1024,
        "worker_before_mb": before / 1024,
        "agents_mb": agents / 1024,
    }


def _memory(pid: int) -> int:
    """A process's share of memory (PSS), in kB; nothing for one that has ended."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(path.read_bytes().rpartition(b")")[2].split()[1]), []).append(int(path.parent.name))
        except OSError:
            continue
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def report(figures: Figures) -> None:
    lines, page, many = figures["lines"], figures["to_page"], figures["at_once"]
    print(f"\nAgent sessions, lines of {lines['bytes']} bytes on SQLite\n")
    print(f"  printed into a file, and fsync        {lines['file']:>10,.0f} lines/s")
    print(f"  read, parsed and stored as messages   {lines['stored']:>10,.0f} lines/s")
    print(f"  from the print to the page            {page['median_ms']:>10.1f} ms, p95 {page['p95_ms']:.1f} ms")
    print(
        f"\n  {many['sessions']} sessions at once with the scripted agent: {many['done']} done "
        f"in {many['seconds']:.0f} s, {many['messages']:,} messages; up to {many['at_once']} at one moment;\n"
        f"  the worker used {many['worker_mb']:.0f} MB ({many['worker_before_mb']:.0f} before), "
        f"agents and supervisors together {many['agents_mb']:.0f} MB"
    )


def markdown(figures: Figures) -> str:
    lines, page, many = figures["lines"], figures["to_page"], figures["at_once"]
    rows = {
        f"lines of {lines['bytes']} bytes, printed into a file with one fsync": f"{lines['file']:,.0f} /s",
        "the same lines, each read, parsed and stored as a message": f"{lines['stored']:,.0f} /s",
        "from the print of a line to the page: median, p95": f"{page['median_ms']:.0f} ms, {page['p95_ms']:.0f} ms",
        f"{many['sessions']} sessions started together: most agents at one moment": f"{many['at_once']}",
        "all of them ended after": f"{many['seconds']:.0f} s",
        "memory of their worker; of all agents": f"{many['worker_mb']:.0f} MB; {many['agents_mb']:.0f} MB",
    }
    spelled = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| agent sessions, on SQLite | |", "| --- | ---: |", *spelled])
