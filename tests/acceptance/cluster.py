"""A cluster: two servers and a worker on one PostgreSQL, maybe Redis beside, and agents who come and go."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import httpx2
import redis as redis_client
import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.claims import job, run
from interlock.engine import Engine, Instance, OpenReview
from interlock.engine.unit import load
from interlock.store.tables import instance as I
from interlock.store.tables import lease as L
from interlock.testing import broken_laws
from tests.acceptance.agents import BOARD, END, PATH, Crowd, Ledger, Line, Notices
from tests.support.processes import DEADLINE, ROOT, TOKEN, Running, ready
from tests.support.servers import Redis, free_port
from tests.support.waiting import eventually

DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
FEW = 4
APP = ("--app", "tests.acceptance.jumping:registry")


class Cluster:
    """Start it, let agents in, do them harm, and in the end see whether all is well."""

    def __init__(self, url: str, folder: Path, redis: Redis | None = None) -> None:
        self.url, self.folder, self.redis = url, folder, redis
        self.ledger, self.notices = Ledger(folder / "ledger"), Notices(folder / "notices")
        self.ports = [free_port(), free_port()]
        self.jobs: list[str] = []
        self._posted = 0.0
        self._environment = {"INTERLOCK_DATABASE": url} | ({"INTERLOCK_REDIS_URL": redis.url} if redis else {})
        self.engine = Engine(url, registry, register=False)
        self._deadlocks = self.engine.read(lambda conn: conn.exec_driver_sql(DEADLOCKS).scalar())
        self.processes: dict[str, Running] = {}
        self._agents: dict[str, subprocess.Popen[bytes]] = {}
        self.done: defaultdict[str, int] = defaultdict(int)

    # -- processes

    def _start(self, name: str) -> Running:
        kind, _, number = name.partition(" ")
        ahead = self.folder / f"ahead of {name}"
        if not ahead.exists():
            ahead.write_text("0")
        where = ["--port", str(self.ports[int(number)])] if number else []
        return Running([kind, *where, *APP], self.folder, {**self._environment, "CLOCK_AHEAD": str(ahead)})

    def __enter__(self) -> Cluster:
        try:
            for name in ("server 0", "server 1", "worker"):
                self.processes[name] = self._start(name)
            self.whole()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        for agent in self._agents.values():
            agent.kill()
            agent.wait()
        for process in self.processes.values():
            if process.process.poll() is None:
                process.process.kill()
                process.wait()
        self.engine.close()

    def kill(self, name: str) -> None:
        """SIGKILL, and a new one in its place."""
        self.processes[name].process.kill()
        self.processes[name].wait()
        self.processes[name] = self._start(name)
        self.done[name.split()[0]] += 1

    def whole(self) -> None:
        """Everything that was started anew is there."""
        for name, process in self.processes.items():
            if name == "worker":
                process.says("working on")
            else:
                ready(self.ports[int(name[-1])], process)

    def jump(self, name: str, seconds: float) -> None:
        """The clock of that process's machine jumps."""
        (self.folder / f"ahead of {name}").write_text(str(seconds))
        self.done[f"{name.split()[0]} clock"] += 1

    def empty_redis(self) -> None:
        assert self.redis is not None
        with redis_client.Redis.from_url(self.redis.url) as client:
            client.flushall()
        self.done["redis emptied"] += 1

    def shown(self, number: str) -> object:
        """Whom Redis shows as the holder of the job."""
        assert self.redis is not None
        with redis_client.Redis.from_url(self.redis.url) as client:
            return client.get(f"lock:apply:{BOARD}:{number}")

    def kill_redis(self) -> None:
        assert self.redis is not None
        self.redis.stop()
        self.redis.start()
        self.done["redis"] += 1

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """Somebody's request, to whichever server answers."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for port in self.ports:
            try:
                return httpx2.request(
                    method, f"http://127.0.0.1:{port}{path}", json=body, headers=headers, timeout=DEADLINE
                )
            except httpx2.HTTPError:
                continue
        raise AssertionError(f"no server answered {method} {path}")

    # -- jobs and agents

    def post(self, count: int) -> list[str]:
        """Add so many new jobs, and let agents know."""
        new = [str(len(self.jobs) + number) for number in range(count)]
        answer = self.call("POST", PATH, {"action": "add", "jobs": [{"board": BOARD, "job_id": n} for n in new]})
        body = answer.json()
        assert body["added"] + body["unchanged"] == count, body  # unchanged: a server died after it had added them
        self.jobs += new
        self._posted = time.monotonic()
        self.notices.put_up(new)
        return new

    def no_more(self) -> None:
        self.notices.put_up([END])

    def crowd(self, name: str, clients: int) -> Crowd:
        return Crowd(self.ports, TOKEN, self.ledger, self.notices, name, clients)

    def let_in(self, clients: int) -> str:
        """A process of agents."""
        name = f"p{len(self._agents)}"
        orders = {
            "ports": self.ports,
            "token": TOKEN,
            "ledger": str(self.ledger.file),
            "notices": str(self.notices.file),
            "name": name,
            "clients": clients,
            "failing": 0.1,
            "typing": 0.03,
            "halt": str(self.folder / f"halt {name}"),
        }
        command = [sys.executable, "-m", "tests.acceptance.agents", json.dumps(orders)]
        self._agents[name] = subprocess.Popen(command, cwd=ROOT)
        return name

    def kill_agents(self, name: str) -> None:
        """Maybe in the middle of an application."""
        self._agents[name].kill()
        assert self._agents[name].wait() in {0, -signal.SIGKILL}
        self.done["agents"] += 1

    def halt(self, name: str, deed: str) -> Line:
        """One of these agents stands still right after its next such deed; more jobs come until it has one."""
        asked = time.monotonic()
        draft = self.folder / "halt"
        # Each order is another one: whoever stands still on the last goes on, even if it never saw the file gone.
        draft.write_text(f"{deed} {asked}")
        draft.rename(self.folder / f"halt {name}")
        found = eventually(lambda: self._halted(name, asked), within=120)
        assert found is not None
        return found

    def _halted(self, name: str, asked: float) -> Line | None:
        self.see_to_it()
        for line in self.ledger.lines():
            if line.deed == "halted" and line.at > asked and line.run.startswith(f"{name}-"):
                return line
        if time.monotonic() - self._posted > 1:  # there may be nothing left to do
            self.post(FEW)
        return None

    def go_on(self, name: str) -> None:
        (self.folder / f"halt {name}").unlink()

    def outlast(self, halted: Line) -> None:
        """More than a lease passes for an agent that stands still before it has sent anything."""
        self._run_out([halted.run])
        self.done["late agents"] += 1

    @property
    def at_work(self) -> list[str]:
        return [name for name, agent in self._agents.items() if agent.poll() is None]

    def _gone(self, holder: str) -> bool:
        agent = self._agents.get(holder.split("-")[0])
        return agent is not None and agent.poll() is not None

    # -- time passes, and a person looks after what agents left

    def see_to_it(self) -> None:
        """The leases of agents who are gone run out; a person finds out what became of submissions."""
        deeds: defaultdict[str, set[str]] = defaultdict(set)
        for line in self.ledger.lines():
            deeds[line.run].add(line.deed)
        held = sa.select(L.c.holder).where(L.c.holder.is_not(None), L.c.until > 1)
        holders = self.engine.read(lambda conn: conn.execute(held).scalars().all())
        self._run_out([one for one in holders if self._gone(one) or "left" in deeds[one]])
        for review in self.engine.reviews.waiting(limit=1000):
            name = str(self.engine.get(review.instance_id).key)
            if self._gone(name) or "left" in deeds[name]:  # only then it is sure that nothing more is sent
                self._decide(review, went_out="applied" in deeds[name])

    def _run_out(self, holders: list[str]) -> None:
        past = sa.update(L).where(L.c.holder.in_(holders)).values(until=1)
        self.engine.store.write(lambda conn: conn.execute(past), name="test")

    def _decide(self, review: OpenReview, *, went_out: bool) -> None:
        decision = {"decision": "it_went_out" if went_out else "it_did_not"}
        answer = self.call("POST", f"/api/reviews/{review.id}/decide", decision)
        assert answer.status_code in {200, 409}, answer.text  # 409: a server died after it had decided
        self.done["verified"] += 1

    # -- all is well

    def instances(self, machine: str) -> list[Instance]:
        query = sa.select(I).where(I.c.machine == machine).order_by(I.c.id)
        return self.engine.read(lambda conn: load(conn, conn.execute(query).all()))

    def all_applied(self) -> bool:
        return {one.state for one in self.instances(job.name)} == {"applied"}

    def all_is_well(self) -> None:
        """Every job was applied for once, by the ledger and by the database, and nobody ever stood in another's way."""
        # An agent that was answered something else has ended with an error.
        assert {agent.poll() for agent in self._agents.values()} <= {0, -signal.SIGKILL}
        lines = self.ledger.lines()
        assert sorted(line.job for line in lines if line.deed == "applied") == sorted(self.jobs)
        assert overlapping(lines) == []
        runs = self.instances(run.name)
        sent = {line.run for line in lines if line.deed == "applied"}
        assert {one.key for one in runs if one.state == "success"} == sent
        assert {one.state for one in runs} <= {"success", "failed", "lost"}
        claimed = {line.run for line in lines if line.deed == "claimed"}
        assert claimed <= {one.key for one in runs}
        of_job: defaultdict[object, list[str]] = defaultdict(list)
        for one in runs:
            of_job[one.parent].append(str(one.id))
        for posting in self.instances(job.name):
            self._fair(posting, of_job[posting.id])
        locks = L.c.name.startswith("lock:")  # those of duties are kept while their processes run
        held = sa.select(sa.func.count()).select_from(L).where(L.c.holder.is_not(None), locks)
        assert self.engine.read(lambda conn: conn.execute(held).scalar()) == 0
        assert broken_laws(self.engine) == []
        assert self.engine.dead_letters.find() == []
        assert self.engine.read(lambda conn: conn.exec_driver_sql(DEADLOCKS).scalar()) == self._deadlocks
        assert [log.name for log in self.folder.glob("*.log") if "Traceback" in log.read_text()] == []

    def _fair(self, posting: Instance, runs: list[str]) -> None:
        """Claimed, let go, claimed, let go, and in the end applied for: each time by a run of its own."""
        moved = [row for row in self.engine.history(posting.id, limit=10_000) if row.kind == "moved"]
        events = [row.event for row in moved]
        assert posting.state == "applied", (posting.data, events)
        assert events == ["claim", "release"] * (len(events) // 2 - 1) + ["claim", "apply"]
        takers = [row.payload["run"] for row in moved if row.event == "claim"]
        assert sorted(takers) == sorted(runs)
        assert [row.payload["run"] for row in moved if row.event != "claim"] == takers


def overlapping(lines: list[Line]) -> list[tuple[str, str]]:
    """Runs that were both at the same job at the same moment, as far as the agents themselves can tell.

    A run whose first report was taken has held the job since its claim. One that reported nothing has done nothing.
    """
    holds: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    taken = {line.run for line in lines if line.deed in {"held", "failed"}}
    for line in lines:
        if line.run in taken and line.deed in {"claimed", "held", "applied", "letting go"}:
            holds[line.job].setdefault(line.run, []).append(line.at)
    found = []
    for of_job in holds.values():
        spans = sorted((min(times), max(times), name) for name, times in of_job.items())
        found += [(one[2], other[2]) for one, other in pairwise(spans) if other[0] <= one[1]]
    return found
