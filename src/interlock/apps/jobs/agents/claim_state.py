"""The state of a claim on the agent's side, shared by the clients for threads and for asyncio.

The service decides who holds a job. The agent relies on its last answered renewal, for as long as the lease lasts,
counted from the moment of the request.

A run that has reported a submission, or tried to, is never reported as failed automatically: a second agent would
apply. A person verifies such a run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock.apps.jobs.agents.answers import FAILED, LOST, PENDING, SUBMITTED, SUCCESS, Lease, Run
from interlock.apps.jobs.agents.errors import AgentError, BadRequest, LeaseLost, RunOver, Unavailable
from interlock.apps.jobs.agents.service_api import ClaimRequest, Exchange, ServiceApi, Wait

log = logging.getLogger("interlock.apps.jobs.agents")
SILENT = "the agent ended without a report"
ORDER = {PENDING: 0, SUBMITTED: 1, SUCCESS: 2, FAILED: 2, LOST: 2}
ENDED = {SUCCESS, FAILED, LOST}


@dataclass(frozen=True, slots=True)
class Report:
    """A report of an agent about its run."""

    status: str
    artifacts: Mapping[str, Any] | None = None
    error: str | None = None


class ClaimState:
    """A claim from the request to the end of its block."""

    def __init__(self, api: ServiceApi, request: ClaimRequest, now: Callable[[], float], idle: float | None) -> None:
        if idle is not None and idle <= 0:
            raise BadRequest(f"idle: it must be more than 0 seconds, not {idle!r}", fields=("idle",))
        self.api, self.request = api, request
        self._now, self._idle = now, idle
        self._run: Run | None = None
        self._lease: Lease | None = None
        self._until = self._touched = 0.0
        self._loss: str | None = None
        self._unconfirmed: Report | None = None
        """A report that the service has not confirmed yet."""

    @property
    def run(self) -> Run:
        if self._run is None:
            raise RunOver(f"nothing is claimed yet for job {self.request.job_id!r}; use it in a `with`")
        return self._run

    @property
    def lease(self) -> Lease:
        assert self._lease is not None
        return self._lease

    @property
    def over(self) -> bool:
        """Whether the service has confirmed how it ended."""
        return self._run is not None and self._run.status in ENDED

    @property
    def lost(self) -> bool:
        if self.over:
            return False
        if self._loss is None and self._lease is not None and self._now() >= self._until:
            self._lose(f"run {self.request.run_id!r} could not renew its lease within {self.lease.seconds:g} s")
        return self._loss is not None

    def _lose(self, why: str) -> None:
        if self._loss is None:
            self._loss = why
            log.warning("%s", why)

    def _renewed(self, asked_at: float) -> None:
        self._until = max(self._until, asked_at + self.lease.seconds)

    # -- reports

    def begin(self) -> Exchange[None]:
        if self._run is not None:
            raise RunOver(f"run {self.request.run_id!r} has already begun")
        asked_at = self._touched = self._now()
        made = yield from self.api.claim(self.request)
        self._run, self._lease = made, made.lease
        self._until = asked_at + made.lease.seconds
        if self.request.again:  # the lease may have begun long ago; the response does not say when
            yield from self._renew()

    def check(self) -> Exchange[None]:
        self._ready()
        yield from self._renew()

    def report(
        self, status: str | None = None, artifacts: Mapping[str, Any] | None = None, error: str | None = None
    ) -> Exchange[Run]:
        before = self._unconfirmed
        if status is None or before is None or before.status != status:
            self._ready()  # a repeated report is for the service to judge
        said = Report(status, artifacts, error) if status is not None else None
        if said is not None:
            self._unconfirmed = said
        try:
            found = yield from self._send_report(status, artifacts, error)
        except (LeaseLost, Unavailable) as failure:
            if isinstance(failure, LeaseLost):
                self._unconfirmed = None
            raise
        except AgentError:
            # The report was refused as written; leaving the block reports at least the status.
            if said is not None:
                self._unconfirmed = replace(said, status=FAILED if status == FAILED else SUBMITTED, artifacts=None)
            raise
        if said is not None:
            self._unconfirmed = None
        return found

    def _send_report(self, status: str | None, artifacts: Mapping[str, Any] | None, error: str | None) -> Exchange[Run]:
        asked_at = self._touched = self._now()
        try:
            found = yield from self.api.report(self.run.run_id, status, artifacts, error)
        except LeaseLost as failure:
            self._lose(failure.detail)
            raise
        self._renewed(asked_at)
        if ORDER.get(found.status, 2) >= ORDER.get(self.run.status, 2):
            self._run = found
        return found

    def _ready(self) -> None:
        if self.over:
            raise RunOver(f"run {self.run.run_id!r} is {self.run.status}")
        if self.lost:
            raise LeaseLost(str(self._loss))

    # -- renewal

    def keep_renewed(self) -> Exchange[None]:
        """Renew after each third of the lease, more often after a failure, until the run is over or lost."""
        seconds = self.lease.seconds
        pause = seconds / 3
        while True:
            yield Wait(pause)
            if self.over or self.lost:
                return
            if self._idle is not None and self._now() - self._touched >= self._idle:
                pause = seconds / 30  # the agent may become active again before the lease ends
                continue
            try:
                yield from self._renew(attempts=1, by_itself=True)
                pause = seconds / 3
            except LeaseLost:
                return
            except AgentError as failure:
                log.warning("run %r was not renewed: %s", self.run.run_id, failure)
                pause = seconds / 30

    def _renew(self, attempts: int | None = None, *, by_itself: bool = False) -> Exchange[None]:
        asked_at = self._now()
        if not by_itself:
            self._touched = asked_at
        more = {} if attempts is None else {"attempts": attempts}
        try:
            yield from self.api.heartbeat(self.run.run_id, **more)
        except LeaseLost as failure:
            # A heartbeat may arrive after the final report; the answer to that report decides.
            if not (by_itself and (self.over or self._unconfirmed is not None)):
                self._lose(failure.detail)
            raise
        self._renewed(asked_at)

    # -- the end of the block

    def leave(self, error: BaseException | None) -> Exchange[None]:
        """Report how the run ended, if the agent has not. Raises LeaseLost when the lease was lost unnoticed."""
        if self.over:
            return
        if self._unconfirmed is not None:
            yield from self.report(self._unconfirmed.status, self._unconfirmed.artifacts, self._unconfirmed.error)
            return
        if self.lost:
            if error is None:
                raise LeaseLost(str(self._loss))
            return
        message = _text(error)
        if self.run.status == PENDING:
            yield from self.report(FAILED, error=message or SILENT)
        elif message:
            yield from self.report(artifacts={"agent_error": self.api.plain(message)})

    def note(self, error: BaseException, failure: AgentError | None) -> None:
        """Add a note about a failed report to the agent's own error, which stays the one that is raised."""
        if failure is not None:
            message = f"and the run's end could not be reported: {failure}"
        elif self.lost and not isinstance(error, LeaseLost):
            message = f"and its lease was lost: {self._loss}"
        else:
            return
        log.warning("run %r: %s", self.request.run_id, message)
        error.add_note(message)


class ClaimInfo:
    """The part of a claim that agents read."""

    def __init__(self, state: ClaimState) -> None:
        self._state = state

    def __repr__(self) -> str:
        wanted = self._state.request
        return f"<{type(self).__name__} of {wanted.board}:{wanted.job_id} by run {wanted.run_id}>"

    @property
    def run_id(self) -> str:
        return self._state.request.run_id

    @property
    def run(self) -> Run:
        """The run as last reported by the service."""
        return self._state.run

    @property
    def lease(self) -> Lease:
        return self._state.lease

    @property
    def lost(self) -> bool:
        """Whether somebody else may have the job by now."""
        return self._state.lost

    @property
    def over(self) -> bool:
        """Whether the service has confirmed how it ended."""
        return self._state.over


def _text(error: BaseException | None) -> str:
    if error is None:
        return ""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
