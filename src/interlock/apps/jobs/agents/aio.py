"""The client for programs with asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from interlock.apps.jobs.agents.answers import FAILED, SUBMITTED, SUCCESS, Added, CrawledJob, Job, Run
from interlock.apps.jobs.agents.claim_state import ClaimInfo, ClaimState
from interlock.apps.jobs.agents.client import TIMEOUT
from interlock.apps.jobs.agents.errors import AgentError
from interlock.apps.jobs.agents.service_api import (
    PATH,
    ClaimRequest,
    Exchange,
    NoResponse,
    Request,
    Response,
    ServiceApi,
    claim_request,
)

T = TypeVar("T")


class AsyncPace:
    """The clock of a client; tests replace it."""

    def now(self) -> float:
        return time.monotonic()

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class AsyncClient:
    """Finds jobs, claims them and reports on them. Tasks of one event loop may share it."""

    def __init__(
        self,
        url: str,
        token: str,
        workspace: str | None = None,
        *,
        timeout: float = TIMEOUT,
        pace: AsyncPace | None = None,
    ) -> None:
        self._api = ServiceApi(url, token, workspace)
        self._pace = pace or AsyncPace()
        self._http = httpx2.AsyncClient(headers=self._api.headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"AsyncClient{self._api!r}"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The leases of open claims expire."""
        await self._http.aclose()

    # -- jobs

    async def find(
        self, board: str | None = None, status: str | None = "discovered", tag: str | None = None, *, page: int = 100
    ) -> AsyncIterator[Job]:
        """Jobs, oldest first, fetched page by page; `status=None` finds any status."""
        cursor: str | None = None
        while True:
            found = await self._go(self._api.find(board, status, tag, page, cursor))
            for one in found.jobs:
                yield one
            if (cursor := found.next) is None:
                return

    async def add(self, jobs: Iterable[CrawledJob | Mapping[str, Any]]) -> Added:
        """Record jobs; repeating it changes nothing."""
        return await self._go(self._api.add(jobs))

    async def expire(self, board: str, job_id: str, reason: str = "") -> Job:
        """Mark a job as expired: it is no longer open."""
        return await self._go(self._api.decide(board, job_id, "expired", reason))

    async def reject(self, board: str, job_id: str, reason: str = "") -> Job:
        """Mark a job as rejected: nobody should apply for it. Needs a person's token."""
        return await self._go(self._api.decide(board, job_id, "rejected", reason))

    async def runs_for(self, job_id: str, board: str | None = None) -> tuple[Run, ...]:
        """Every run for this job, oldest first."""
        return await self._go(self._api.runs(job_id, board))

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
        """A claim to use in an `async with` block. With `idle`, renewal stops after so many silent seconds."""
        return AsyncClaim(self, claim_request(board, job_id, run_id, variant_id, artifacts), idle)

    # -- sending and waiting

    async def _go(self, steps: Exchange[T]) -> T:
        """Send and wait until the exchange ends."""
        given: Response | NoResponse | None = None
        try:
            while True:
                try:
                    wanted = steps.send(given)
                except StopIteration as end:
                    done: T = end.value
                    return done
                given = None
                if isinstance(wanted, Request):
                    given = await self._send(wanted)
                else:
                    await self._pace.wait(wanted.seconds)
        finally:
            steps.close()

    async def _send(self, request: Request) -> Response | NoResponse:
        try:
            found = await self._http.request(
                request.method,
                self._api.url + PATH,
                params=request.params or None,
                content=request.content,
                headers=request.headers,
            )
        except httpx2.HTTPError as error:
            return NoResponse(f"{type(error).__name__} {error}".strip())
        return Response(found.status_code, found.content, found.headers.get("retry-after", ""))


class AsyncClaim(ClaimInfo):
    """A job that this agent alone works on; its lease is renewed in the background."""

    def __init__(self, client: AsyncClient, wanted: ClaimRequest, idle: float | None) -> None:
        super().__init__(ClaimState(client._api, wanted, client._pace.now, idle))
        self._client = client
        self._keeper: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Renew now, right before an irreversible step. Raises LeaseLost when the job is no longer yours."""
        await self._client._go(self._state.check())

    async def patch(self, artifacts: Mapping[str, Any]) -> Run:
        """Add to the artifacts of this application."""
        return await self._client._go(self._state.report(artifacts=artifacts))

    async def submitted(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that the application is being sent. From now on nobody else applies until a person has checked."""
        return await self._client._go(self._state.report(SUBMITTED, artifacts))

    async def succeed(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that the application was sent; the job is applied for."""
        return await self._client._go(self._state.report(SUCCESS, artifacts))

    async def fail(self, error: str, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that nothing was sent; the job is free for others."""
        return await self._client._go(self._state.report(FAILED, artifacts, error))

    async def __aenter__(self) -> AsyncClaim:
        await self._client._go(self._state.begin())
        self._keeper = asyncio.create_task(self._client._go(self._state.keep_renewed()), name=f"lease of {self.run_id}")
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        # Shielded: the report is sent even if the task is cancelled a second time.
        failure = await asyncio.shield(asyncio.create_task(self._leave(error)))
        if error is not None:
            self._state.note(error, failure)
        elif failure is not None:
            raise failure

    async def _leave(self, error: BaseException | None) -> AgentError | None:
        try:
            await self._client._go(self._state.leave(error))
        except AgentError as failure:
            return failure
        finally:
            assert self._keeper is not None
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        return None
