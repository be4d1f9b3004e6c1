"""What is known here of a claim, and what has to be said about it: the same for threads and for asyncio.

The service decides who holds a job. Here is only what an agent may rely on meanwhile: after the last renewal that was
answered, for as long as the lease lasts, counted from the moment in which it was asked for.

An agent that has said, or tried to say, that something was submitted is never reported as failed by itself: then a
second agent would apply. Such a run is left to the person who verifies it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock.apps.jobs.agents.answers import FAILED, LOST, PENDING, SUBMITTED, SUCCESS, Lease, Run
from interlock.apps.jobs.agents.asking import Asking, Steps, Wait, Wish
from interlock.apps.jobs.agents.errors import AgentError, BadRequest, LeaseLost, RunOver, Unavailable

log = logging.getLogger("interlock.apps.jobs.agents")
SILENT = "the agent ended without a report"
ORDER = {PENDING: 0, SUBMITTED: 1, SUCCESS: 2, FAILED: 2, LOST: 2}
ENDED = {SUCCESS, FAILED, LOST}


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent says about its run."""

    status: str
    artifacts: Mapping[str, Any] | None = None
    error: str | None = None


class Holding:
    """A claim from its first moment to its last."""

    def __init__(self, asking: Asking, wish: Wish, now: Callable[[], float], idle: float | None) -> None:
        if idle is not None and idle <= 0:
            raise BadRequest(f"idle: it must be more than 0 seconds, not {idle!r}", fields=("idle",))
        self.asking, self.wish = asking, wish
        self._now, self._idle = now, idle
        self._run: Run | None = None
        self._lease: Lease | None = None
        self._until = self._touched = 0.0
        self._loss: str | None = None
        self._saying: Report | None = None
        """What the agent has said and the service has not confirmed."""

    @property
    def run(self) -> Run:
        if self._run is None:
            raise RunOver(f"nothing is claimed yet for job {self.wish.job_id!r}; use it in a `with`")
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
            self._lose(f"run {self.wish.run_id!r} could not renew its lease within {self.lease.seconds:g} s")
        return self._loss is not None

    def _lose(self, why: str) -> None:
        if self._loss is None:
            self._loss = why
            log.warning("%s", why)

    def _renewed(self, asked_at: float) -> None:
        self._until = max(self._until, asked_at + self.lease.seconds)

    # -- what an agent says

    def begin(self) -> Steps[None]:
        if self._run is not None:
            raise RunOver(f"run {self.wish.run_id!r} was begun before")
        asked_at = self._touched = self._now()
        made = yield from self.asking.claim(self.wish)
        self._run, self._lease = made, made.lease
        self._until = asked_at + made.lease.seconds
        if self.wish.again:  # then the lease may have begun long ago, and the answer does not tell
            yield from self._beat()

    def check(self) -> Steps[None]:
        self._ready()
        yield from self._beat()

    def report(
        self, status: str | None = None, artifacts: Mapping[str, Any] | None = None, error: str | None = None
    ) -> Steps[Run]:
        before = self._saying
        if status is None or before is None or before.status != status:
            self._ready()  # what was said before is for the service to judge
        said = Report(status, artifacts, error) if status is not None else None
        if said is not None:
            self._saying = said
        try:
            found = yield from self._told(status, artifacts, error)
        except (LeaseLost, Unavailable) as failure:
            if isinstance(failure, LeaseLost):
                self._saying = None
            raise
        except AgentError:
            # Its words were refused, not what it has done: at the end at least that is said.
            if said is not None:
                self._saying = replace(said, status=FAILED if status == FAILED else SUBMITTED, artifacts=None)
            raise
        if said is not None:
            self._saying = None
        return found

    def _told(self, status: str | None, artifacts: Mapping[str, Any] | None, error: str | None) -> Steps[Run]:
        asked_at = self._touched = self._now()
        try:
            found = yield from self.asking.report(self.run.run_id, status, artifacts, error)
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

    # -- what happens by itself

    def keep(self) -> Steps[None]:
        """Renew every third of the lease; when that fails, more often, until there is nothing left to renew."""
        seconds = self.lease.seconds
        pause = seconds / 3
        while True:
            yield Wait(pause)
            if self.over or self.lost:
                return
            if self._idle is not None and self._now() - self._touched >= self._idle:
                pause = seconds / 30  # the agent may wake up again before the lease is over
                continue
            try:
                yield from self._beat(attempts=1, by_itself=True)
                pause = seconds / 3
            except LeaseLost:
                return
            except AgentError as failure:
                log.warning("run %r was not renewed: %s", self.run.run_id, failure)
                pause = seconds / 30

    def _beat(self, attempts: int | None = None, *, by_itself: bool = False) -> Steps[None]:
        asked_at = self._now()
        if not by_itself:
            self._touched = asked_at
        more = {} if attempts is None else {"attempts": attempts}
        try:
            yield from self.asking.heartbeat(self.run.run_id, **more)
        except LeaseLost as failure:
            # While its end is being told, a heartbeat may come after it; the report itself is answered the truth.
            if not (by_itself and (self.over or self._saying is not None)):
                self._lose(failure.detail)
            raise
        self._renewed(asked_at)

    # -- the end of the block

    def leave(self, error: BaseException | None) -> Steps[None]:
        """Say how it ended, if the agent has not; LeaseLost when it was lost and nobody has been told."""
        if self.over:
            return
        if self._saying is not None:
            yield from self.report(self._saying.status, self._saying.artifacts, self._saying.error)
            return
        if self.lost:
            if error is None:
                raise LeaseLost(str(self._loss))
            return
        told = _text(error)
        if self.run.status == PENDING:
            yield from self.report(FAILED, error=told or SILENT)
        elif told:
            yield from self.report(artifacts={"agent_error": self.asking.plain(told)})

    def note(self, error: BaseException, failure: AgentError | None) -> None:
        """What could not be said because the agent itself failed must not hide why it did."""
        if failure is not None:
            told = f"and the run's end could not be reported: {failure}"
        elif self.lost and not isinstance(error, LeaseLost):
            told = f"and its lease was lost: {self._loss}"
        else:
            return
        log.warning("run %r: %s", self.wish.run_id, told)
        error.add_note(told)


class Held:
    """What an agent sees of its claim."""

    def __init__(self, holding: Holding) -> None:
        self._holding = holding

    def __repr__(self) -> str:
        wanted = self._holding.wish
        return f"<{type(self).__name__} of {wanted.board}:{wanted.job_id} by run {wanted.run_id}>"

    @property
    def run_id(self) -> str:
        return self._holding.wish.run_id

    @property
    def run(self) -> Run:
        """The run as the service told it last."""
        return self._holding.run

    @property
    def lease(self) -> Lease:
        return self._holding.lease

    @property
    def lost(self) -> bool:
        """Whether somebody else may have the job by now."""
        return self._holding.lost

    @property
    def over(self) -> bool:
        """Whether it was said how it ended."""
        return self._holding.over


def _text(error: BaseException | None) -> str:
    if error is None:
        return ""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
