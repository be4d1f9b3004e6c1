"""Many agents, one application per job: real servers, real agents, who are killed while clocks jump."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.apps.jobs.claims import run
from tests.acceptance.agents import BOARD, Connection
from tests.acceptance.cluster import Cluster
from tests.support.databases import shared_database
from tests.support.processes import TOKEN
from tests.support.servers import Redis
from tests.support.waiting import eventually

SOAK = bool(os.environ.get("INTERLOCK_SOAK"))
CLIENTS = 64 if SOAK else 6
JOBS = 1000 if SOAK else 36
RUNS, PATCHES = (100, 100) if SOAK else (12, 50)
EACH = 8 if SOAK else 1
"""How often each kind of harm is done."""
CROWDS = 8 if SOAK else 3
KINDS = ["postgresql and redis", *(["postgresql"] if SOAK else [])]
"""With Redis everything is tried that is tried without; without it, in the long run only."""
BOTH = pytest.mark.parametrize("shared", KINDS, indirect=True)


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Different each time; INTERLOCK_SEED repeats one that was shown."""
    seed = int(os.environ.get("INTERLOCK_SEED", time.time_ns() % 1_000_000))
    print(f"INTERLOCK_SEED={seed} repeats {request.node.name}")
    return random.Random(seed)


@contextmanager
def opened(kind: str, url: str, folder: Path) -> Iterator[Cluster]:
    if kind == "postgresql":
        with Cluster(url, folder) as made:
            yield made
    else:
        with Redis(folder / "redis") as own, Cluster(url, folder, own) as made:
            yield made


@pytest.fixture
def cluster(request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with opened(request.param, postgres_url, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """For one test after the other: each adds jobs of its own. To start the processes takes longer than a race."""
    folder = tmp_path_factory.mktemp("cluster")
    with opened(request.param, shared_database(request, folder), folder) as made:
        yield made


def report(what: str, begun: float, **figures: object) -> None:
    print(f"{what}: {time.perf_counter() - begun:.1f} s", *(f"{name}={value}" for name, value in figures.items()))


@pytest.mark.soak("postgresql")
@BOTH
def test_of_all_who_race_for_a_job_one_has_it_and_everybody_else_is_refused(shared: Cluster) -> None:
    cluster = shared
    cluster.post(JOBS)
    crowd = cluster.crowd("racer", CLIENTS)
    begun = time.perf_counter()
    asyncio.run(crowd.race())
    counts = Counter(status for answers in crowd.answers.values() for status in answers)
    report("race", begun, answers=dict(counts), answers_a_second=round(counts.total() / (time.perf_counter() - begun)))
    for number in cluster.jobs:
        answers = Counter(crowd.answers[number])
        assert (answers[201], answers[409] + answers[400]) == (1, CLIENTS - 1), (number, answers)
    assert counts[409] > 0
    assert cluster.ledger.count("claimed") == JOBS
    cluster.all_is_well()


@BOTH
def test_agents_and_servers_are_killed_and_clocks_jump_and_each_job_is_applied_for_once(
    shared: Cluster, dice: random.Random
) -> None:
    """Agents die in the middle, servers under their requests; clocks jump by more than a lease; Redis forgets."""
    cluster = shared
    planned = [*HARM, *(["redis emptied", "redis"] if cluster.redis else [])] * EACH
    dice.shuffle(planned)
    wave = JOBS // (len(planned) + 2)
    begun = time.perf_counter()
    cluster.post(wave)
    for _ in range(CROWDS):
        cluster.let_in(CLIENTS // CROWDS)
    for harm in planned:
        if harm == "server":
            cluster.whole()  # one at a time, or there is nobody to ask
        cluster.post(wave)
        reached(cluster, len(cluster.jobs) - wave // 2)
        do(harm, cluster, dice)
    cluster.post(1)
    cluster.no_more()
    if cluster.redis is not None:
        cluster.empty_redis()  # a key whose server and agent both died would stay for its 300 seconds
    eventually(lambda: over(cluster), within=900 if SOAK else 120, what=lambda: left(cluster))
    deeds = Counter(line.deed for line in cluster.ledger.lines())
    states = Counter(one.state for one in cluster.instances(run.name))
    report("kills", begun, jobs=len(cluster.jobs), deeds=dict(deeds), done=dict(cluster.done), runs=dict(states))
    cluster.all_is_well()


HARM = ["agents", "agents claimed", "agents held", "agents applied", "late", "server", "worker", "clock"]


def do(harm: str, cluster: Cluster, dice: random.Random) -> None:
    agents = dice.choice(cluster.at_work)
    match harm.split():
        case ["agents", *deed]:
            if deed:
                cluster.halt(agents, *deed)
            cluster.kill_agents(agents)
            cluster.let_in(CLIENTS // CROWDS)
        case ["late"]:
            come_late(cluster, agents)
        case ["server"]:
            cluster.kill(dice.choice(["server 0", "server 1"]))
        case ["worker"]:
            cluster.kill("worker")
        case ["clock"]:
            cluster.jump(dice.choice(["server 0", "server 1", "worker"]), dice.choice([-3600, 301, 3600]))
        case ["redis", "emptied"]:
            forget(cluster, agents)
        case _:
            cluster.kill_redis()


def forget(cluster: Cluster, agents: str) -> None:
    """Redis is emptied while an agent holds a job; it shows the holder again when the next one has been refused."""
    holder = cluster.halt(agents, "claimed")
    cluster.empty_redis()
    wish = {"action": "run", "run_id": f"curious-{holder.job}", "board": BOARD, "job_id": holder.job}
    eventually(lambda: cluster.call("POST", "/api/crawler/jobs", wish).status_code == 409, within=120)
    eventually(lambda: cluster.shown(holder.job), within=120)
    cluster.go_on(agents)


def come_late(cluster: Cluster, agents: str) -> None:
    """An agent sleeps longer than its lease lasts, somebody else applies, and it wakes up."""
    sleeper = cluster.halt(agents, "claimed")
    cluster.outlast(sleeper)

    def taken_over() -> bool:
        cluster.see_to_it()
        return any(line.job == sleeper.job and line.deed == "applied" for line in cluster.ledger.lines())

    eventually(taken_over, within=120, what=lambda: left(cluster))
    cluster.go_on(agents)


def reached(cluster: Cluster, applied: int) -> None:
    """Wait until so many applications are out, with somebody who looks after what is left behind."""

    def look() -> bool:
        cluster.see_to_it()
        return cluster.ledger.count("applied") >= applied

    eventually(look, within=600 if SOAK else 120, what=lambda: left(cluster))


def over(cluster: Cluster) -> bool:
    cluster.see_to_it()
    return not cluster.at_work and cluster.all_applied()


def left(cluster: Cluster) -> str:
    states = Counter((one.machine, one.state) for kind in ("job", "run") for one in cluster.instances(kind))
    return f"{dict(states)} {cluster.at_work} {dict(cluster.done)}"


@pytest.mark.soak
@pytest.mark.parametrize("cluster", ["postgresql"], indirect=True)
def test_of_patches_at_once_none_is_lost_although_a_server_is_killed(cluster: Cluster, dice: random.Random) -> None:
    jobs = cluster.post(RUNS)
    wishes = [{"action": "run", "run_id": f"run-{n}", "board": BOARD, "job_id": n} for n in jobs]
    # Several runs at a time, so that many clients are at the same one at once.
    patches = [(number, key) for number in range(RUNS) for key in range(PATCHES)]
    patches.sort(key=lambda patch: (patch[0] // 3, dice.random()))
    half = len(patches) // 2

    async def client(number: int, barrier: asyncio.Barrier) -> None:
        wire = Connection(cluster.ports, TOKEN, number)
        while wishes:
            assert (await wire.ask("POST", wishes.pop()))[0] == 201
        await barrier.wait()
        while patches:
            if len(patches) == half:
                cluster.kill("server 0")
            place, key = patches.pop()
            artifacts = {f"field {key}": key, "answers": {f"question {key}": {"by": number}}}
            status, answer = await wire.ask("PATCH", {"run_id": f"run-{place}", "artifacts": artifacts})
            assert (status, answer["artifacts"][f"field {key}"]) == (200, key)
        wire.close()

    async def everybody() -> None:
        barrier = asyncio.Barrier(CLIENTS)
        await asyncio.gather(*(client(number, barrier) for number in range(CLIENTS)))

    begun = time.perf_counter()
    asyncio.run(everybody())
    report("patches", begun, patches=RUNS * PATCHES, a_second=round(RUNS * PATCHES / (time.perf_counter() - begun)))
    runs = cluster.instances(run.name)
    assert len(runs) == RUNS
    for one in runs:
        artifacts = one.data["artifacts"]
        assert {name: value for name, value in artifacts.items() if name != "answers"} == {
            f"field {key}": key for key in range(PATCHES)
        }
        assert set(artifacts["answers"]) == {f"question {key}" for key in range(PATCHES)}
        reports = [row for row in cluster.engine.history(one.id, limit=10_000) if row.kind == "reported"]
        assert len(reports) == PATCHES
    assert cluster.done["server"] == 1
    assert cluster.engine.verify().problems == ()


@pytest.mark.soak
@pytest.mark.parametrize("cluster", ["postgresql"], indirect=True)
@pytest.mark.parametrize("again", [True, *([False] if SOAK else [])], ids=lambda again: "anew" if again else "as is")
def test_a_server_whose_machines_clock_jumps_ahead_takes_no_job_from_who_holds_it(
    cluster: Cluster, again: bool
) -> None:
    """The database's clock is the one of record: its time has not come."""
    cluster.post(1)

    async def claim(port: int, name: str) -> int:
        wire = Connection([port], TOKEN)
        status, _ = await wire.ask("POST", {"action": "run", "run_id": name, "board": BOARD, "job_id": "0"})
        wire.close()
        return status

    assert asyncio.run(claim(cluster.ports[0], "first")) == 201
    cluster.jump("server 1", 3600)
    if again:
        cluster.kill("server 1")
        cluster.whole()
    assert asyncio.run(claim(cluster.ports[1], "second")) == 409
    assert [one.state for one in cluster.instances(run.name)] == ["pending"]
    assert cluster.call("PATCH", "/api/crawler/jobs", {"run_id": "first", "status": "success"}).status_code == 200
