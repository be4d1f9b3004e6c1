"""Many agents, one application per job: real servers, real agents, who are killed while clocks jump."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.apps.jobs.claims import run
from tests.acceptance.agents import BOARD, Connection
from tests.acceptance.town import Town
from tests.support.processes import TOKEN
from tests.support.servers import Redis
from tests.support.waiting import eventually

SOAK = bool(os.environ.get("INTERLOCK_SOAK"))
CLIENTS = 64 if SOAK else 12
JOBS = 1000 if SOAK else 60
RUNS, PATCHES = (100, 100) if SOAK else (12, 50)
EACH = 8 if SOAK else 1
"""How often each kind of harm is done."""
CROWDS = 8 if SOAK else 3
KINDS = ["postgresql and redis", *(["postgresql"] if SOAK else [])]
"""With Redis everything is tried that is tried without; without it, in the long run only."""
BOTH = pytest.mark.parametrize("town", KINDS, indirect=True)


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Different each time; INTERLOCK_SEED repeats one that was shown."""
    seed = int(os.environ.get("INTERLOCK_SEED", time.time_ns() % 1_000_000))
    print(f"INTERLOCK_SEED={seed} repeats {request.node.name}")
    return random.Random(seed)


@pytest.fixture
def town(request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path) -> Iterator[Town]:
    if request.param == "postgresql":
        with Town(postgres_url, tmp_path) as made:
            yield made
    else:
        with Redis(tmp_path / "redis") as own, Town(postgres_url, tmp_path, own) as made:
            yield made


def told(what: str, begun: float, **figures: object) -> None:
    print(f"{what}: {time.perf_counter() - begun:.1f} s", *(f"{name}={value}" for name, value in figures.items()))


@BOTH
def test_of_all_who_race_for_a_job_one_has_it_and_everybody_else_is_refused(town: Town) -> None:
    town.post(JOBS)
    crowd = town.crowd("racer", CLIENTS)
    begun = time.perf_counter()
    asyncio.run(crowd.race())
    counts = Counter(status for answers in crowd.answers.values() for status in answers)
    told("race", begun, answers=dict(counts), answers_a_second=round(counts.total() / (time.perf_counter() - begun)))
    for number in town.jobs:
        answers = Counter(crowd.answers[number])
        assert (answers[201], answers[409] + answers[400]) == (1, CLIENTS - 1), (number, answers)
    assert counts[409] > 0
    assert town.ledger.count("claimed") == JOBS
    town.all_is_well()


@BOTH
def test_agents_and_servers_are_killed_and_clocks_jump_and_each_job_is_applied_for_once(
    town: Town, dice: random.Random
) -> None:
    """Agents die in the middle, servers under their requests; clocks jump by more than a lease; Redis forgets."""
    planned = [*HARM, *(["redis emptied", "redis"] if town.redis else [])] * EACH
    dice.shuffle(planned)
    wave = JOBS // (len(planned) + 2)
    begun = time.perf_counter()
    town.post(wave)
    for _ in range(CROWDS):
        town.let_in(CLIENTS // CROWDS)
    for harm in planned:
        if harm == "server":
            town.whole()  # one at a time, or there is nobody to ask
        town.post(wave)
        reached(town, len(town.jobs) - wave // 2)
        do(harm, town, dice)
    town.post(max(JOBS - len(town.jobs), 1))
    town.no_more()
    if town.redis is not None:
        town.empty_redis()  # a key whose server and agent both died would stay for its 300 seconds
    eventually(lambda: over(town), within=900 if SOAK else 120, what=lambda: left(town))
    deeds = Counter(line.deed for line in town.ledger.lines())
    states = Counter(one.state for one in town.instances(run.name))
    told("kills", begun, jobs=len(town.jobs), deeds=dict(deeds), done=dict(town.done), runs=dict(states))
    town.all_is_well()


HARM = ["agents", "agents claimed", "agents held", "agents applied", "late", "server", "worker", "clock"]


def do(harm: str, town: Town, dice: random.Random) -> None:
    agents = dice.choice(town.at_work)
    match harm.split():
        case ["agents", *deed]:
            if deed:
                town.halt(agents, *deed)
            town.kill_agents(agents)
            town.let_in(CLIENTS // CROWDS)
        case ["late"]:
            come_late(town, agents)
        case ["server"]:
            town.kill(dice.choice(["server 0", "server 1"]))
        case ["worker"]:
            town.kill("worker")
        case ["clock"]:
            town.jump(dice.choice(["server 0", "server 1", "worker"]), dice.choice([-3600, 301, 3600]))
        case ["redis", "emptied"]:
            forget(town, agents)
        case _:
            town.kill_redis()


def forget(town: Town, agents: str) -> None:
    """Redis is emptied while an agent holds a job; it shows the holder again when the next one has been refused."""
    holder = town.halt(agents, "claimed")
    town.empty_redis()
    wish = {"action": "run", "run_id": f"curious-{holder.job}", "board": BOARD, "job_id": holder.job}
    eventually(lambda: town.call("POST", "/api/crawler/jobs", wish).status_code == 409, within=120)
    eventually(lambda: town.shown(holder.job), within=120)
    town.go_on(agents)


def come_late(town: Town, agents: str) -> None:
    """An agent sleeps longer than its lease lasts, somebody else applies, and it wakes up."""
    sleeper = town.halt(agents, "claimed")
    town.outlast(sleeper)

    def taken_over() -> bool:
        town.see_to_it()
        return any(line.job == sleeper.job and line.deed == "applied" for line in town.ledger.lines())

    eventually(taken_over, within=120, what=lambda: left(town))
    town.go_on(agents)


def reached(town: Town, applied: int) -> None:
    """Wait until so many applications are out, with somebody who looks after what is left behind."""

    def look() -> bool:
        town.see_to_it()
        return town.ledger.count("applied") >= applied

    eventually(look, within=600 if SOAK else 120, what=lambda: left(town))


def over(town: Town) -> bool:
    town.see_to_it()
    return not town.at_work and town.all_applied()


def left(town: Town) -> str:
    states = Counter((one.machine, one.state) for kind in ("job", "run") for one in town.instances(kind))
    return f"{dict(states)} {town.at_work} {dict(town.done)}"


@pytest.mark.soak
@pytest.mark.parametrize("town", ["postgresql"], indirect=True)
def test_of_patches_at_once_none_is_lost_although_a_server_is_killed(town: Town, dice: random.Random) -> None:
    jobs = town.post(RUNS)
    wishes = [{"action": "run", "run_id": f"run-{n}", "board": BOARD, "job_id": n} for n in jobs]
    # Several runs at a time, so that many clients are at the same one at once.
    patches = [(number, key) for number in range(RUNS) for key in range(PATCHES)]
    patches.sort(key=lambda patch: (patch[0] // 3, dice.random()))
    half = len(patches) // 2

    async def client(number: int, barrier: asyncio.Barrier) -> None:
        wire = Connection(town.ports, TOKEN, number)
        while wishes:
            assert (await wire.ask("POST", wishes.pop()))[0] == 201
        await barrier.wait()
        while patches:
            if len(patches) == half:
                town.kill("server 0")
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
    told("patches", begun, patches=RUNS * PATCHES, a_second=round(RUNS * PATCHES / (time.perf_counter() - begun)))
    runs = town.instances(run.name)
    assert len(runs) == RUNS
    for one in runs:
        artifacts = one.data["artifacts"]
        assert {name: value for name, value in artifacts.items() if name != "answers"} == {
            f"field {key}": key for key in range(PATCHES)
        }
        assert set(artifacts["answers"]) == {f"question {key}" for key in range(PATCHES)}
        reports = [row for row in town.engine.history(one.id, limit=10_000) if row.kind == "reported"]
        assert len(reports) == PATCHES
    assert town.done["server"] == 1
    assert town.engine.verify().problems == ()


@pytest.mark.soak
@pytest.mark.parametrize("town", ["postgresql"], indirect=True)
@pytest.mark.parametrize("again", [True, *([False] if SOAK else [])], ids=lambda again: "anew" if again else "as is")
def test_a_server_whose_machines_clock_jumps_ahead_takes_no_job_from_who_holds_it(town: Town, again: bool) -> None:
    """The database's clock is the one of record: its time has not come."""
    town.post(1)

    async def claim(port: int, name: str) -> int:
        wire = Connection([port], TOKEN)
        status, _ = await wire.ask("POST", {"action": "run", "run_id": name, "board": BOARD, "job_id": "0"})
        wire.close()
        return status

    assert asyncio.run(claim(town.ports[0], "first")) == 201
    town.jump("server 1", 3600)
    if again:
        town.kill("server 1")
        town.whole()
    assert asyncio.run(claim(town.ports[1], "second")) == 409
    assert [one.state for one in town.instances(run.name)] == ["pending"]
    assert town.call("PATCH", "/api/crawler/jobs", {"run_id": "first", "status": "success"}).status_code == 200
