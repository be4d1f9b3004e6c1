"""A real service with the claims application, on a clock that the tests set, and agents of both kinds on it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Literal

import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.agents import Added, AsyncClient, AsyncPace, Claim, Client, Job, Pace, Run
from interlock.apps.jobs.claims import followers
from interlock.http.app import create_app
from interlock.http.server import InThread
from interlock.store import Store
from interlock.store.tables import lease
from tests.support.api import BY, Api, open_api

DEADLINE = 20.0
Kind = Literal["threads", "asyncio"]


class ClaimsService:
    """The service, what it knows, and the time there."""

    def __init__(self, api: Api, server: InThread) -> None:
        self.api, self.server, self.url = api, server, server.url
        self.token = self.new_token("kit", ["claims"])

    def new_token(self, name: str, scopes: list[str]) -> str:
        return self.api.people.create_token("default", name, kind="agent", scopes=scopes, by=BY)[1]

    def advance(self, seconds: float) -> None:
        self.api.clock.advance(timedelta(seconds=seconds))

    def expire_leases(self) -> None:
        """The time goes on so far that whoever did not renew meanwhile is lost, and whoever looks after that does."""
        self.advance(300)
        followers.sweep(self.api.engine)

    def stop(self) -> None:
        self.server.__exit__()

    def steal(self) -> None:
        """Let the leases run out on the service's side only, as if its clock had jumped."""
        self.api.engine.store.write(lambda conn: conn.execute(sa.update(lease).values(until=self.api.clock.now())))
        followers.sweep(self.api.engine)

    def left(self, number: str = "1") -> float:
        """Seconds that the lease of a job has left; 0 when there is none."""
        held = self.api.engine.leases.find(f"lock:apply:ramp:{number}")
        return 0.0 if held is None else (held.until - self.api.clock.now()) / 1_000_000

    def status(self, number: str = "1") -> str:
        found = self.api.engine.find("job", f"ramp:{number}")
        assert found is not None
        return found.state

    def run(self) -> tuple[str, dict[str, Any], str | None]:
        """Status, artifacts and error of the newest run."""
        found = self.api.get("/api/crawler/jobs?runs_for=1").json()["runs"][-1]
        return found["status"], found["artifacts"], found["error"]


@contextmanager
def served(store: Store) -> Iterator[ClaimsService]:
    with open_api(store, applications=[registry]) as api:
        app = create_app(api.service, routers=api.engine.registry.routers)
        with InThread(app, api.service) as server:
            yield ClaimsService(api, server)


async def eventually(true: Callable[[], Any]) -> None:
    """Look again and again, with a bound."""
    deadline = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < deadline, "it never became true"
        await asyncio.sleep(0.005)


# -- time as the service's clock has it


class VirtualPace(Pace):
    """A lease is renewed when the service's clock says so; pauses between attempts are not waited for."""

    def __init__(self, service: ClaimsService) -> None:
        self._clock = service.api.clock
        self.pauses: list[float] = []

    def now(self) -> float:
        return self._clock.steady()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        self.pauses.append(seconds)
        if not threading.current_thread().name.startswith("lease of"):
            return False
        until = self.now() + seconds
        while not stop.wait(0.002):
            if self.now() >= until:
                return False
        return True


class AsyncVirtualPace(AsyncPace):
    def __init__(self, service: ClaimsService) -> None:
        self._clock = service.api.clock
        self.pauses: list[float] = []

    def now(self) -> float:
        return self._clock.steady()

    async def wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        task = asyncio.current_task()
        assert task is not None
        until = self.now() + seconds
        while task.get_name().startswith("lease of") and self.now() < until:
            await asyncio.sleep(0.002)


# -- one face for both kinds, so that each test tries both


class Threaded:
    """A client with threads, as a test with asyncio can use it."""

    def __init__(self, client: Client, pace: VirtualPace) -> None:
        self.client, self.pauses = client, pace.pauses

    async def find(self, *given: Any, **more: Any) -> AsyncIterator[Job]:
        for one in await asyncio.to_thread(lambda: list(self.client.find(*given, **more))):
            yield one

    async def add(self, jobs: Any) -> Added:
        return await asyncio.to_thread(self.client.add, jobs)

    async def expire(self, *given: str) -> Job:
        return await asyncio.to_thread(self.client.expire, *given)

    async def reject(self, *given: str) -> Job:
        return await asyncio.to_thread(self.client.reject, *given)

    async def runs_for(self, *given: Any) -> tuple[Run, ...]:
        return await asyncio.to_thread(self.client.runs_for, *given)

    def claim(self, *given: Any, **more: Any) -> ThreadedClaim:
        return ThreadedClaim(self.client.claim(*given, **more))

    async def close(self) -> None:
        self.client.close()


class ThreadedClaim:
    def __init__(self, claim: Claim) -> None:
        self._claim = claim

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._claim, name)
        if not callable(found):
            return found

        def call(*given: Any, **more: Any) -> Awaitable[Any]:
            return asyncio.to_thread(found, *given, **more)

        return call

    async def __aenter__(self) -> ThreadedClaim:
        await asyncio.to_thread(self._claim.__enter__)
        return self

    async def __aexit__(self, *how: Any) -> None:
        await asyncio.to_thread(self._claim.__exit__, *how)


def agent(kind: Kind, service: ClaimsService, token: str | None = None, **more: Any) -> Any:
    """A client of this kind, on the service's time."""
    if kind == "threads":
        pace = VirtualPace(service)
        return Threaded(Client(service.url, token or service.token, pace=pace, **more), pace)
    slow = AsyncVirtualPace(service)
    made = AsyncClient(service.url, token or service.token, pace=slow, **more)
    made.pauses = slow.pauses  # type: ignore[attr-defined]
    return made


def job(number: str = "1", **more: Any) -> Mapping[str, Any]:
    return {"board": "ramp", "job_id": number, "title": f"Job {number}", **more}
