"""The client for programs with asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from interlock.apps.jobs.agents.answers import FAILED, SUBMITTED, SUCCESS, Added, Job, Run, Seen
from interlock.apps.jobs.agents.asking import PATH, Answer, Ask, Asking, Broken, Steps, Wish, wish
from interlock.apps.jobs.agents.claim_state import Held, Holding
from interlock.apps.jobs.agents.client import TIMEOUT
from interlock.apps.jobs.agents.errors import AgentError

T = TypeVar("T")


class AsyncPace:
    """The time that a client goes by; tests give it another."""

    def now(self) -> float:
        return time.monotonic()

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class AsyncClient:
    """Finds jobs, claims them and reports on them; it may be shared by tasks of one event loop."""

    def __init__(
        self,
        url: str,
        token: str,
        workspace: str | None = None,
        *,
        timeout: float = TIMEOUT,
        pace: AsyncPace | None = None,
    ) -> None:
        self._asking = Asking(url, token, workspace)
        self._pace = pace or AsyncPace()
        self._http = httpx2.AsyncClient(headers=self._asking.headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"AsyncClient{self._asking!r}"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections; claims that are still held run out by themselves."""
        await self._http.aclose()

    # -- jobs

    async def find(
        self, board: str | None = None, status: str | None = "discovered", tag: str | None = None, *, page: int = 100
    ) -> AsyncIterator[Job]:
        """Jobs, the oldest first, fetched in pages as you go on; status None is any."""
        cursor: str | None = None
        while True:
            found = await self._go(self._asking.find(board, status, tag, page, cursor))
            for one in found.jobs:
                yield one
            if (cursor := found.next) is None:
                return

    async def add(self, jobs: Iterable[Seen | Mapping[str, Any]]) -> Added:
        """Record jobs that were seen; saying it again changes nothing."""
        return await self._go(self._asking.add(jobs))

    async def expire(self, board: str, job_id: str, reason: str = "") -> Job:
        """Put a job aside that is not open any more."""
        return await self._go(self._asking.decide(board, job_id, "expired", reason))

    async def reject(self, board: str, job_id: str, reason: str = "") -> Job:
        """Put a job aside that nobody should apply for; a person's token may."""
        return await self._go(self._asking.decide(board, job_id, "rejected", reason))

    async def runs_for(self, job_id: str, board: str | None = None) -> tuple[Run, ...]:
        """Every run for this job, the oldest first."""
        return await self._go(self._asking.runs(job_id, board))

    def claim(
        self,
        board: str,
        job_id: str,
        run_id: str | None = None,
        variant_id: str | None = None,
        artifacts: Mapping[str, Any] | None = None,
        *,
        idle: float | None = None,
    ) -> AsyncClaim:
        """A claim to be used in an `async with`; with `idle`, it is not renewed after so many seconds of silence."""
        return AsyncClaim(self, wish(board, job_id, run_id, variant_id, artifacts), idle)

    # -- sending and waiting

    async def _go(self, steps: Steps[T]) -> T:
        """Do what the steps ask for, to their end."""
        given: Answer | Broken | None = None
        try:
            while True:
                try:
                    wanted = steps.send(given)
                except StopIteration as end:
                    done: T = end.value
                    return done
                given = None
                if isinstance(wanted, Ask):
                    given = await self._send(wanted)
                else:
                    await self._pace.wait(wanted.seconds)
        finally:
            steps.close()

    async def _send(self, ask: Ask) -> Answer | Broken:
        try:
            found = await self._http.request(
                ask.method, self._asking.url + PATH, params=ask.params or None, content=ask.content, headers=ask.headers
            )
        except httpx2.HTTPError as error:
            return Broken(f"{type(error).__name__} {error}".strip())
        return Answer(found.status_code, found.content, found.headers.get("retry-after", ""))


class AsyncClaim(Held):
    """A job that this agent alone is at, for as long as it says so; renewed in the background."""

    def __init__(self, client: AsyncClient, wanted: Wish, idle: float | None) -> None:
        super().__init__(Holding(client._asking, wanted, client._pace.now, idle))
        self._client = client
        self._keeper: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Renew now, right before a step that cannot be taken back; LeaseLost when the job is not yours any more."""
        await self._client._go(self._holding.check())

    async def patch(self, artifacts: Mapping[str, Any]) -> Run:
        """Add to what is kept of this application."""
        return await self._client._go(self._holding.report(artifacts=artifacts))

    async def submitted(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that the application goes out; from here on nobody else applies before a person has looked."""
        return await self._client._go(self._holding.report(SUBMITTED, artifacts))

    async def succeed(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that the application is out; the job is applied for."""
        return await self._client._go(self._holding.report(SUCCESS, artifacts))

    async def fail(self, error: str, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that nothing went out; the job is free for others."""
        return await self._client._go(self._holding.report(FAILED, artifacts, error))

    async def __aenter__(self) -> AsyncClaim:
        await self._client._go(self._holding.begin())
        self._keeper = asyncio.create_task(self._client._go(self._holding.keep()), name=f"lease of {self.run_id}")
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        # Shielded: whoever cancels a second time does not wait for it, and it is said nevertheless.
        failure = await asyncio.shield(asyncio.create_task(self._leave(error)))
        if error is not None:
            self._holding.note(error, failure)
        elif failure is not None:
            raise failure

    async def _leave(self, error: BaseException | None) -> AgentError | None:
        try:
            await self._client._go(self._holding.leave(error))
        except AgentError as failure:
            return failure
        finally:
            assert self._keeper is not None
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        return None
