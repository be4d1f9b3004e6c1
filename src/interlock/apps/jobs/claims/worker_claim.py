"""The same claim for our own workers: a handler that submits an application holds the job first.

    with hold_job(task, "ramp", "12345") as claim:
        claim.submitted({"resume_url": …})        # from here on it may have been sent
        answer = task.once("submit_application", …)
        claim.succeeded({"confirmation_url": answer["url"]})

An exception ends the run as failed, and the job is free again. After `submitted` only NotSent does, which says that
nothing arrived. After any other error a person has to verify, and nobody else can apply meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.machine import FAILED, PENDING, QUEUED, SUBMITTED, SUCCESS, job, run
from interlock.engine import Claim
from interlock.engine.application import SYSTEM_ACTOR, Unit, create, find_by_key, fire, require_claim
from interlock.machine import WORKER, Actor, NotSent, WorkError
from interlock.worker import Task

RENEW_EVERY = steps.LEASE / 3


class JobTaken(WorkError):
    """Somebody else is applying for this job, or has applied. A retry finds out which."""


class HeldJob:
    """A job that this handler holds."""

    def __init__(self, task: Task[Any], run_id: str, agent: str) -> None:
        self._task, self.run_id, self._agent = task, run_id, agent
        self.status = PENDING
        self._over = threading.Event()

    def report(self, status: str | None, artifacts: Mapping[str, Any] | None = None, error: str | None = None) -> None:
        self._task.write(_report, self.run_id, self._agent, status, dict(artifacts or {}), error)
        self.status = status or self.status

    def submitted(self, artifacts: Mapping[str, Any] | None = None) -> None:
        """Call it right before sending: if the handler is lost after it, nobody sends a second time."""
        self.report(SUBMITTED, artifacts)

    def succeeded(self, artifacts: Mapping[str, Any] | None = None) -> None:
        self.report(SUCCESS, artifacts)

    def failed(self, error: str) -> None:
        self.report(FAILED, error=error)

    def keep(self) -> None:
        """Renew the lease until the block ends. The next report finds out about failures."""
        while not self._over.wait(RENEW_EVERY.total_seconds()):
            try:
                self.report(None)
            except Exception:
                return

    def end(self) -> None:
        self._over.set()


@contextmanager
def hold_job(
    task: Task[Any],
    board: str,
    job_id: str,
    *,
    posting: Mapping[str, Any] | None = None,
    variant_id: str | None = None,
) -> Iterator[HeldJob]:
    """Hold the job while the block runs. Raises JobTaken when somebody else has it. `posting` adds a new job."""
    agent = f"{task.machine}:{task.id}"
    request = steps.ClaimRequest(f"{task.machine}-{task.id}-{task.fence}", board, job_id, variant_id)
    try:
        task.write(_take, request, agent, dict(posting or {}))
    except steps.NotClaimable as error:
        raise JobTaken(str(error)) from None
    except steps.Conflict as error:
        raise JobTaken(str(error), retry_after=steps.LEASE + timedelta(seconds=5)) from None
    claim = HeldJob(task, request.run_id, agent)
    threading.Thread(target=claim.keep, name="interlock-claim", daemon=True).start()
    try:
        yield claim
    except BaseException as error:
        if claim.status == PENDING or (claim.status == SUBMITTED and isinstance(error, NotSent)):
            claim.failed(f"{type(error).__name__}: {error}")
        raise
    else:
        if claim.status == PENDING:
            claim.failed("the handler ended without a report")
    finally:
        claim.end()


def _take(unit: Unit, claim: Claim, request: steps.ClaimRequest, agent: str, posting: dict[str, Any]) -> None:
    workspace = require_claim(unit, claim).workspace
    actor = Actor(WORKER, agent)
    key = steps.job_key(request.board, request.job_id)
    found = find_by_key(unit, workspace, job.name, key)
    if found is None:
        data = {**posting, "board": request.board, "job_id": request.job_id}
        labels = {"board": request.board}
        create(unit, job, data, actor, key=key, workspace=workspace, labels=labels, by_application=True)
    elif found.state == QUEUED:
        _end_mine(unit, workspace, found.data["run_id"], agent)
    steps.claim(unit, workspace, request, actor)


def _end_mine(unit: Unit, workspace: str, run_id: str, agent: str) -> None:
    """End the run of an earlier, fenced-off attempt of this step, unless it had submitted."""
    found = find_by_key(unit, workspace, run.name, run_id)
    if found is not None and found.state == PENDING and found.data["agent"] == agent:
        fire(unit, found.id, "lose", SYSTEM_ACTOR, reason="its worker was lost, and the step begins again")


def _report(
    unit: Unit, claim: Claim, run_id: str, agent: str, status: str | None, artifacts: dict[str, Any], error: str | None
) -> None:
    workspace = unit.lock(claim.id).workspace
    steps.report(unit, workspace, run_id, Actor(WORKER, agent), status=status, artifacts=artifacts, error=error)
