"""A process that is killed while it sends: the demo world receives the application at most once, and nobody guesses."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.jobs.world import World
from interlock.store import moment, open_store
from interlock.testing import broken_laws
from tests.apps.jobs.autoapply.steps import killed_sender
from tests.apps.jobs.autoapply.steps.killed_sender import Orders
from tests.apps.jobs.autoapply.steps.sending import WorldApplicant, open_world_applicant
from tests.apps.jobs.autoapply.steps.test_crashes import approved, settle
from tests.support.forking import PROCESSES
from tests.support.waiting import eventually

pytestmark = pytest.mark.soak("postgresql")
LONG = bool(os.environ.get("INTERLOCK_SOAK"))
SHARES = [n / 40 for n in range(41)] if LONG else [0.0, 0.02, 0.5, 1.0]
"""0.02 is within the head of the request."""
POINTS = range(1, 100) if LONG else (11, 12, 13, 14)


@pytest.fixture
def applicant(url: str, world: World) -> Iterator[WorldApplicant]:
    with open_store(url, durability="normal", wakeup="poll") as store, open_world_applicant(store, world) as made:
        yield made


def killed(applicant: WorldApplicant, url: str, **where: Any) -> bool:
    """Let another process send what is approved, until it is killed there. False if it ended by itself before."""
    worker: UUID = applicant.trial.new_worker()
    orders = Orders(url, applicant.world.host, moment(applicant.trial.clock.now()), worker, **where)
    process = PROCESSES.Process(target=killed_sender.run, args=(orders,), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), f"{where}: {process.exitcode}"
    died = process.exitcode != 0
    process.close()
    applicant.trial.lose(worker)
    return died


def test_killed_after_any_of_its_bytes_it_is_never_sent_again(applicant: WorldApplicant, url: str) -> None:
    for number, share in enumerate(SHARES):
        applicant.world.received.clear()
        it = approved(applicant, number)
        assert killed(applicant, url, share=share), f"{share}: it was not killed"
        if share == 1.0:
            eventually(lambda: len(applicant.arrived) == 1)
        settle(applicant, it)
        applicant.trial.advance(days=1)
        assert len(applicant.arrived) == (1 if share == 1.0 else 0), f"after {share} of its bytes"
        assert applicant.trial.state(it) == "requires_review", f"after {share} of its bytes"
        assert applicant.trial.data(it)["review_reason"] == "verify_submission", "a person looks whether it arrived"
    assert broken_laws(applicant.engine) == []


def test_killed_at_any_commit_it_is_sent_at_most_once(applicant: WorldApplicant, url: str) -> None:
    ends: set[tuple[int, str]] = set()
    for point in POINTS:
        applicant.world.received.clear()
        it = approved(applicant, point)
        died = killed(applicant, url, point=point)
        before = len(applicant.arrived)
        settle(applicant, it)
        state, reason = applicant.trial.state(it), applicant.trial.data(it)["review_reason"]
        assert len(applicant.arrived) <= 1, f"point {point}"
        assert (state, reason) == ("requires_review", "verify_submission") or (
            state == "submitted" and len(applicant.arrived) == 1
        ), f"point {point}: {state}"
        ends.add((before, state))
        applicant.trial.advance(days=1)  # the limits of a day
        if not died:
            break
    assert len(ends) > 1, "it was killed before the bytes left, and after"
    assert broken_laws(applicant.engine) == []
