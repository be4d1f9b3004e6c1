"""The client for programs with threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from interlock.apps.jobs.agents.answers import FAILED, SUBMITTED, SUCCESS, Added, Job, Run, Seen
from interlock.apps.jobs.agents.asking import PATH, Answer, Ask, Asking, Broken, Steps, Wish, wish
from interlock.apps.jobs.agents.claim_state import Held, Holding
from interlock.apps.jobs.agents.errors import AgentError

T = TypeVar("T")
TIMEOUT = 10.0


class Pace:
    """The time that a client goes by; tests give it another."""

    def now(self) -> float:
        return time.monotonic()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait, and say whether it was told to stop meanwhile."""
        return stop.wait(seconds)


class Client:
    """Finds jobs, claims them and reports on them; it may be shared by threads."""

    def __init__(
        self,
        url: str,
        token: str,
        workspace: str | None = None,
        *,
        timeout: float = TIMEOUT,
        pace: Pace | None = None,
    ) -> None:
        self._asking = Asking(url, token, workspace)
        self._pace = pace or Pace()
        self._http = httpx2.Client(headers=self._asking.headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"Client{self._asking!r}"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections; claims that are still held run out by themselves."""
        self._http.close()

    # -- jobs

    def find(
        self, board: str | None = None, status: str | None = "discovered", tag: str | None = None, *, page: int = 100
    ) -> Iterator[Job]:
        """Jobs, the oldest first, fetched in pages as you go on; status None is any."""
        cursor: str | None = None
        while True:
            found = self._go(self._asking.find(board, status, tag, page, cursor))
            yield from found.jobs
            if (cursor := found.next) is None:
                return

    def add(self, jobs: Iterable[Seen | Mapping[str, Any]]) -> Added:
        """Record jobs that were seen; saying it again changes nothing."""
        return self._go(self._asking.add(jobs))

    def expire(self, board: str, job_id: str, reason: str = "") -> Job:
        """Put a job aside that is not open any more."""
        return self._go(self._asking.decide(board, job_id, "expired", reason))

    def reject(self, board: str, job_id: str, reason: str = "") -> Job:
        """Put a job aside that nobody should apply for; a person's token may."""
        return self._go(self._asking.decide(board, job_id, "rejected", reason))

    def runs_for(self, job_id: str, board: str | None = None) -> tuple[Run, ...]:
        """Every run for this job, the oldest first."""
        return self._go(self._asking.runs(job_id, board))

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
        """A claim to be used in a `with`; with `idle`, it is not renewed after so many seconds without a word."""
        return Claim(self, wish(board, job_id, run_id, variant_id, artifacts), idle)

    # -- sending and waiting

    def _go(self, steps: Steps[T], stop: threading.Event | None = None) -> T:
        """Do what the steps ask for, to their end, or until told to stop."""
        told = stop or threading.Event()
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
                    given = self._send(wanted)
                elif self._pace.wait(told, wanted.seconds):
                    raise Stopped
        finally:
            steps.close()

    def _send(self, ask: Ask) -> Answer | Broken:
        try:
            found = self._http.request(
                ask.method, self._asking.url + PATH, params=ask.params or None, content=ask.content, headers=ask.headers
            )
        except httpx2.HTTPError as error:
            return Broken(f"{type(error).__name__} {error}".strip())
        return Answer(found.status_code, found.content, found.headers.get("retry-after", ""))


class Stopped(Exception):
    """There is nothing to wait for any more."""


class Claim(Held):
    """A job that this agent alone is at, for as long as it says so; renewed in the background."""

    def __init__(self, client: Client, wanted: Wish, idle: float | None) -> None:
        super().__init__(Holding(client._asking, wanted, client._pace.now, idle))
        self._client = client
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name=f"lease of {wanted.run_id}", daemon=True)

    def check(self) -> None:
        """Renew now, right before a step that cannot be taken back; LeaseLost when the job is not yours any more."""
        self._client._go(self._holding.check())

    def patch(self, artifacts: Mapping[str, Any]) -> Run:
        """Add to what is kept of this application."""
        return self._client._go(self._holding.report(artifacts=artifacts))

    def submitted(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that the application goes out; from here on nobody else applies before a person has looked."""
        return self._client._go(self._holding.report(SUBMITTED, artifacts))

    def succeed(self, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that the application is out; the job is applied for."""
        return self._client._go(self._holding.report(SUCCESS, artifacts))

    def fail(self, error: str, artifacts: Mapping[str, Any] | None = None) -> Run:
        """Say that nothing went out; the job is free for others."""
        return self._client._go(self._holding.report(FAILED, artifacts, error))

    def __enter__(self) -> Claim:
        self._client._go(self._holding.begin())
        self._keeper.start()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        failure: AgentError | None = None
        try:
            self._client._go(self._holding.leave(error))
        except AgentError as told:
            if error is None:
                raise
            failure = told
        finally:
            self._stop.set()
            self._keeper.join()
        if error is not None:
            self._holding.note(error, failure)

    def _keep(self) -> None:
        try:
            self._client._go(self._holding.keep(), self._stop)
        except Stopped:
            pass
        except RuntimeError:  # the client was closed before the claim
            if not self._client._http.is_closed:
                raise
