"""The client for programs with threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from interlock.apps.jobs.agents.answers import FAILED, SUBMITTED, SUCCESS, Added, CrawledJob, Job, Run
from interlock.apps.jobs.agents.claim_state import ClaimInfo, ClaimState
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
TIMEOUT = 10.0


class Pace:
    """The clock of a client; tests replace it."""

    def now(self) -> float:
        return time.monotonic()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait; True if `stop` was set meanwhile."""
        return stop.wait(seconds)


class Client:
    """Finds jobs, claims them and reports on them. Threads may share it."""

    def __init__(
        self,
        url: str,
        token: str,
        workspace: str | None = None,
        *,
        timeout: float = TIMEOUT,
        pace: Pace | None = None,
    ) -> None:
        self._api = ServiceApi(url, token, workspace)
        self._pace = pace or Pace()
        self._http = httpx2.Client(headers=self._api.headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"Client{self._api!r}"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The leases of open claims expire."""
        self._http.close()

    # -- jobs

    def find(
        self, board: str | None = None, status: str | None = "discovered", tag: str | None = None, *, page: int = 100
    ) -> Iterator[Job]:
        """Jobs, oldest first, fetched page by page; `status=None` finds any status."""
        cursor: str | None = None
        while True:
            found = self._go(self._api.find(board, status, tag, page, cursor))
            yield from found.jobs
            if (cursor := found.next) is None:
                return

    def add(self, jobs: Iterable[CrawledJob | Mapping[str, Any]]) -> Added:
        """Record jobs; repeating it changes nothing."""
        return self._go(self._api.add(jobs))

    def expire(self, board: str, job_id: str, reason: str = "") -> Job:
        """Mark a job as expired: it is no longer open."""
        return self._go(self._api.decide(board, job_id, "expired", reason))

    def reject(self, board: str, job_id: str, reason: str = "") -> Job:
        """Mark a job as rejected: nobody should apply for it. Needs a person's token."""
        return self._go(self._api.decide(board, job_id, "rejected", reason))

    def runs_for(self, job_id: str, board: str | None = None) -> tuple[Run, ...]:
        """Every run for this job, oldest first."""
        return self._go(self._api.runs(job_id, board))

    def claim(
        self,
        board: str,
        job_id: str,
        run_id: str | None = None,
        variant_id: str | None = None,
        artifacts: Mapping[str, Any] | None = None,
        *,
        idle: float | None = None,
    ) -> Claim:
        """A claim to use in a `with` block. With `idle`, renewal stops after so many silent seconds."""
        return Claim(self, claim_request(board, job_id, run_id, variant_id, artifacts), idle)

    # -- sending and waiting

    def _go(self, steps: Exchange[T], stop: threading.Event | None = None) -> T:
        """Send and wait until the exchange ends, or until `stop` is set."""
        stopping = stop or threading.Event()
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
                    given = self._send(wanted)
                elif self._pace.wait(stopping, wanted.seconds):
                    raise Stopped
        finally:
            steps.close()

    def _send(self, request: Request) -> Response | NoResponse:
        try:
            found = self._http.request(
                request.method,
                self._api.url + PATH,
                params=request.params or None,
                content=request.content,
                headers=request.headers,
            )
        except httpx2.HTTPError as error:
            return NoResponse(f"{type(error).__name__} {error}".strip())
        return Response(found.status_code, found.content, found.headers.get("retry-after", ""))


class Stopped(Exception):
    """The claim ended while its renewal was waiting."""


class Claim(ClaimInfo):
    """A job that this agent alone works on; its lease is renewed in the background."""

    def __init__(self, client: Client, wanted: ClaimRequest, idle: float | None) -> None:
        super().__init__(ClaimState(client._api, wanted, client._pace.now, idle))
        self._client = client
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name=f"lease of {wanted.run_id}", daemon=True)

    def check(self) -> None:
        """Renew now, right before an irreversible step. Raises LeaseLost when the job is no longer yours."""
        self._client._go(self._state.check())

    def patch(self, artifacts: Mapping[str, Any]) -> Run:
        """Add to the artifacts of this application."""
        return self._client._go(self._state.report(artifacts=artifacts))

    def submitted(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that the application is being sent. From now on nobody else applies until a person has checked."""
        return self._client._go(self._state.report(SUBMITTED, artifacts))

    def succeed(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that the application was sent; the job is applied for."""
        return self._client._go(self._state.report(SUCCESS, artifacts))

    def fail(self, error: str, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Report that nothing was sent; the job is free for others."""
        return self._client._go(self._state.report(FAILED, artifacts, error))

    def __enter__(self) -> Claim:
        self._client._go(self._state.begin())
        self._keeper.start()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        failure: AgentError | None = None
        try:
            self._client._go(self._state.leave(error))
        except AgentError as reported:
            if error is None:
                raise
            failure = reported
        finally:
            self._stop.set()
            self._keeper.join()
        if error is not None:
            self._state.note(error, failure)

    def _keep(self) -> None:
        try:
            self._client._go(self._state.keep_renewed(), self._stop)
        except Stopped:
            pass
        except RuntimeError:  # the client was closed before the claim
            if not self._client._http.is_closed:
                raise
