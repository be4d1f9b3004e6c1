"""Agents that race for jobs: many clients in one process, each with a connection of its own, and a ledger of deeds.

The ledger is written by the agents alone, so it says what happened outside, whatever the database says. A process of
its own is started with `python -m tests.acceptance.agents`; it needs nothing but the standard library.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATH = "/api/crawler/jobs"
BOARD = "ramp"
END = "end"
PATIENCE = 120.0


class Connection:
    """Keep-alive connections to every server, used in turns; when one dies, the same request goes to the next."""

    def __init__(self, ports: Sequence[int], token: str, first: int = 0) -> None:
        self._ports, self._token, self._turn = ports, token, first
        self._open: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def ask(self, method: str, body: dict[str, Any]) -> tuple[int, Any]:
        """The answer, from whichever server lives; a request may so be made twice."""
        data = json.dumps(body).encode()
        deadline = time.monotonic() + PATIENCE
        while True:
            self._turn += 1
            port = self._ports[self._turn % len(self._ports)]
            try:
                status, response = await self._once(port, method, data)
            except (OSError, EOFError):
                status = 503
            if status != 503:
                return status, json.loads(response)
            assert time.monotonic() < deadline, f"no server answered {body}"
            self._close(port)
            await asyncio.sleep(0.02)

    async def _once(self, port: int, method: str, data: bytes) -> tuple[int, bytes]:
        if port not in self._open:
            self._open[port] = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = self._open[port]
        head = f"{method} {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return int(answer[9:12]), await reader.readexactly(length)

    def _close(self, port: int) -> None:
        if port in self._open:
            self._open.pop(port)[1].close()

    def close(self) -> None:
        for port in list(self._open):
            self._close(port)


@dataclass(frozen=True, slots=True)
class Line:
    """One deed of an agent.

    `claimed`, `held` (its `submitted` was taken), `applied` (it is out there), `letting go`; at the end `failed`, or
    `left` when its `success` was refused; `halted` when it stands still.
    """

    at: float
    job: str
    run: str
    deed: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """A file to which every agent appends; a line is whole, whoever else writes at the same time."""

    file: Path

    def write(self, job: str, run: str, deed: str) -> None:
        handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{time.monotonic()}|{job}|{run}|{deed}\n".encode())
        os.close(handle)

    def lines(self) -> list[Line]:
        text = self.file.read_text() if self.file.exists() else ""
        rows = (line.split("|") for line in text.splitlines())
        return [Line(float(at), job, run, deed) for at, job, run, deed in rows]

    def count(self, deed: str) -> int:
        return self.file.read_bytes().count(f"|{deed}\n".encode()) if self.file.exists() else 0


@dataclass(frozen=True, slots=True)
class Notices:
    """A file where the numbers of jobs are put up, more and more of them; the last line says that no more will come."""

    file: Path

    def put_up(self, lines: Sequence[str]) -> None:
        with self.file.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def read(self) -> tuple[list[str], bool]:
        """The jobs, and whether these are all."""
        lines = [line[:-1] for line in self.file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in lines if line != END], END in lines


@dataclass(slots=True)
class Crowd:
    """So many clients who go for the same jobs in the same order."""

    ports: Sequence[int]
    token: str
    ledger: Ledger
    notices: Notices
    name: str
    clients: int
    failing: float = 0.0
    """The share of claims that come to nothing, before anything is sent."""
    typing: float = 0.0
    """Seconds at most that an agent takes between two steps."""
    halt: str = ""
    """A file with a deed and a number; the first client who does the deed stands still as long as it says just that."""
    halted: bool = False
    answers: dict[str, list[int]] = field(default_factory=dict)
    """What each job's claims were answered, in a race."""

    async def race(self) -> None:
        """Each client asks for every job once; they wait for each other again and again, so that it is a race."""
        barrier = asyncio.Barrier(self.clients)
        await asyncio.gather(*(self._once_each(Agent(self, number), barrier) for number in range(self.clients)))

    async def _once_each(self, agent: Agent, barrier: asyncio.Barrier) -> None:
        for place, job in enumerate(self.notices.read()[0]):
            if place % 10 == 0:
                await barrier.wait()
            self.answers.setdefault(job, []).append(await agent.go_for(job))
        agent.wire.close()

    async def stay(self) -> None:
        """They try every job again and again, until each is known to be over and no more will come."""
        await asyncio.gather(*(self._stay(Agent(self, number)) for number in range(self.clients)))

    async def _stay(self, agent: Agent) -> None:
        over = {line.job for line in self.ledger.lines() if line.deed == "applied"}  # before it came
        tried: set[str] = set()
        while True:
            jobs, all_are_there = self.notices.read()
            # The newest first: a client that is behind would only ever meet what others have taken.
            job = next((job for job in reversed(jobs) if job not in over and job not in tried), None)
            if job is not None:
                tried.add(job)
                if await agent.go_for(job) == 400:
                    over.add(job)
            elif all_are_there and over.issuperset(jobs):
                break
            else:
                tried.clear()
                await asyncio.sleep(0.1)
        agent.wire.close()


class Agent:
    """One client: claims, says that it is about to send, sends, says that it has."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        self.crowd, self.name = crowd, f"{crowd.name}-{number}"
        self.wire = Connection(crowd.ports, crowd.token, number)
        self._dice = random.Random(self.name)
        self._runs = 0

    async def go_for(self, job: str) -> int:
        self._runs += 1
        run = f"{self.name}-{self._runs}"
        wish = {"action": "run", "run_id": run, "board": BOARD, "job_id": job}
        status, response = await self.wire.ask("POST", wish)
        assert status in {201, 409, 400}, response
        if status == 201:
            await self._note(job, run, "claimed")
            await self._apply(job, run)
        return status

    async def _apply(self, job: str, run: str) -> None:
        await self._type()
        if self._dice.random() < self.crowd.failing:
            await self._note(job, run, "letting go")
            if await self._report(run, status="failed", error="the form did not load"):
                await self._note(job, run, "failed")
        elif await self._report(run, status="submitted", artifacts={"answers": {"by": run}}):
            await self._note(job, run, "held")
            await self._type()
            await self._note(job, run, "applied")
            await self._type()
            await self._note(job, run, "letting go")
            if not await self._report(run, status="success", artifacts={"confirmation_url": f"https://x/{run}"}):
                await self._note(job, run, "left")

    async def _report(self, run: str, **body: Any) -> bool:
        status, answer = await self.wire.ask("PATCH", {"run_id": run, **body})
        assert status in {200, 409}, answer
        return status == 200

    async def _type(self) -> None:
        if self.crowd.typing:
            await asyncio.sleep(self._dice.uniform(0, self.crowd.typing))

    async def _note(self, job: str, run: str, deed: str) -> None:
        crowd = self.crowd
        crowd.ledger.write(job, run, deed)
        order = _text(crowd.halt) if crowd.halt and not crowd.halted else ""
        if order.startswith(f"{deed} "):
            crowd.halted = True
            crowd.ledger.write(job, run, "halted")
            while _text(crowd.halt) == order:
                await asyncio.sleep(0.01)
            crowd.halted = False


def _text(file: str) -> str:
    try:
        return Path(file).read_text()
    except FileNotFoundError:
        return ""


def main(orders: dict[str, Any]) -> None:
    ledger, notices = Ledger(Path(orders.pop("ledger"))), Notices(Path(orders.pop("notices")))
    asyncio.run(Crowd(ledger=ledger, notices=notices, **orders).stay())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
