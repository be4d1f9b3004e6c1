"""A worker that dies anywhere while it sends: the demo world receives each application at most once."""

from __future__ import annotations

from uuid import UUID

import pytest

from interlock.store import failpoints
from interlock.testing import broken_laws
from interlock.worker import port

from .sending import WorldApplicant

SETTLED = ("submitted", "requires_review")


class Died(Exception):
    """The worker is dead."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead worker does not wait for a database."""
    monkeypatch.setattr(port, "PATIENCE", 0.0)


def approved(applicant: WorldApplicant, number: int) -> UUID:
    """An application that is approved and about to be sent, each for another opening at another company."""
    posting = applicant.finder.settled(
        f"{applicant.world.url}/tidewater/jobs/booking-backend?n={number}",
        company=f"Co {number}",
        title=f"Backend {number}",
    )
    applicant.finder.set(posting, outcome="matched")
    it = applicant.choose(posting)
    applicant.trial.run_until_idle()
    review = applicant.reviews(it)["requires_review"]
    answer = {"approved_packet": applicant.trial.data(it)["packet_hash"]}
    applicant.engine.reviews.decide(review.id, "approve", actor=applicant.ann, answer=answer)
    return it


def dying(applicant: WorldApplicant, at: int) -> bool:
    """Send with a worker that dies at the so manieth point of a commit. False if it ended before."""
    worker = applicant.trial.new_worker()
    [claim] = applicant.trial.claim(worker=worker)
    points = 0

    def hook(name: str) -> None:
        nonlocal points
        points += 1
        if points >= at:
            raise Died(name)

    failpoints.hook = hook
    try:
        outcome = applicant.trial.run(claim)
        died = points >= at
    finally:
        failpoints.hook = None
    if died:
        applicant.trial.lose(worker)
    else:
        applicant.trial.finish(claim, outcome)
    return died


def settle(applicant: WorldApplicant, it: UUID) -> None:
    """Let hours pass, with everything that workers and duties do."""
    for _ in range(14):
        applicant.trial.run_until_idle()
        applicant.trial.look_after()
        if applicant.trial.state(it) in SETTLED:
            break
        applicant.trial.advance(minutes=10)


@pytest.mark.soak("postgresql")
def test_a_crash_at_any_commit_of_a_submission_sends_it_at_most_once(applicant: WorldApplicant) -> None:
    at, ends = 1, []
    while True:
        applicant.world.received.clear()
        it = approved(applicant, at)
        died = dying(applicant, at)
        arrived = len(applicant.arrived)
        settle(applicant, it)
        data, state = applicant.trial.data(it), applicant.trial.state(it)
        assert len(applicant.arrived) <= 1, f"point {at}"
        assert state in SETTLED, f"point {at}: {state}"
        uncertain = state == "requires_review"
        assert data["review_reason"] == "verify_submission" if uncertain else len(applicant.arrived) == 1, f"point {at}"
        assert not (arrived and not uncertain and len(applicant.arrived) != 1)
        ends.append((arrived, state))
        applicant.trial.advance(days=1)  # the limits of a day
        if not died:
            break
        at += 1
    assert at > 8, "there were many points"
    assert {arrived for arrived, _ in ends} == {0, 1}, "some died before the bytes left, some after"
    assert any(state == "requires_review" for _, state in ends)
    assert broken_laws(applicant.engine) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_that_dies_around_the_bytes_leaves_it_to_a_person(
    applicant: WorldApplicant, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlock.apps.jobs.autoapply.submission.sending import Sender

    send = Sender.send

    async def dies(self: Sender, *arguments: object) -> object:
        if moment == "after":
            await send(self, *arguments)  # type: ignore[arg-type]
        raise Died(moment)

    it = approved(applicant, 1)
    worker = applicant.trial.new_worker()
    [claim] = applicant.trial.claim(worker=worker)
    reached: list[str] = []

    def hook(name: str) -> None:
        reached.append(name)
        if "settle" in name:
            raise Died(name)

    with monkeypatch.context() as patched:
        patched.setattr(Sender, "send", dies)
        failpoints.hook = hook
        try:
            applicant.trial.run(claim)
        finally:
            failpoints.hook = None
    applicant.trial.lose(worker)
    settle(applicant, it)
    assert len(applicant.arrived) == (1 if moment == "after" else 0)
    assert applicant.trial.state(it) == "requires_review"
    assert applicant.trial.data(it)["review_reason"] == "verify_submission"
    applicant.trial.advance(days=3)
    applicant.trial.look_after()
    applicant.trial.run_until_idle()
    assert applicant.trial.state(it) == "requires_review"
    assert len(applicant.arrived) == (1 if moment == "after" else 0)
