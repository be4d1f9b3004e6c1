"""A worker that dies anywhere while it sends: the demo world receives each application at most once."""

from __future__ import annotations

from uuid import UUID

import pytest

from interlock.store import failpoints
from interlock.testing import broken_laws
from interlock.worker import port

from .sending import Desk

SETTLED = ("submitted", "requires_review")


class Died(Exception):
    """The worker is dead."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead worker does not wait for a database."""
    monkeypatch.setattr(port, "PATIENCE", 0.0)


def approved(desk: Desk, number: int) -> UUID:
    """An application that is approved and about to be sent, each for another opening at another company."""
    posting = desk.finder.settled(
        f"{desk.world.url}/tidewater/jobs/booking-backend?n={number}",
        company=f"Co {number}",
        title=f"Backend {number}",
    )
    desk.finder.set(posting, outcome="matched")
    it = desk.choose(posting)
    desk.trial.run_until_idle()
    review = desk.reviews(it)["requires_review"]
    answer = {"approved_packet": desk.trial.data(it)["packet_hash"]}
    desk.engine.reviews.decide(review.id, "approve", actor=desk.ann, answer=answer)
    return it


def dying(desk: Desk, at: int) -> bool:
    """Send with a worker that dies at the so manieth point of a commit. False if it ended before."""
    worker = desk.trial.new_worker()
    [claim] = desk.trial.claim(worker=worker)
    points = 0

    def hook(name: str) -> None:
        nonlocal points
        points += 1
        if points >= at:
            raise Died(name)

    failpoints.hook = hook
    try:
        outcome = desk.trial.run(claim)
        died = points >= at
    finally:
        failpoints.hook = None
    if died:
        desk.trial.lose(worker)
    else:
        desk.trial.finish(claim, outcome)
    return died


def settle(desk: Desk, it: UUID) -> None:
    """Let hours pass, with everything that workers and duties do."""
    for _ in range(14):
        desk.trial.run_until_idle()
        desk.trial.look_after()
        if desk.trial.state(it) in SETTLED:
            break
        desk.trial.advance(minutes=10)


@pytest.mark.soak("postgresql")
def test_a_crash_at_any_commit_of_a_submission_sends_it_at_most_once(desk: Desk) -> None:
    at, ends = 1, []
    while True:
        desk.world.received.clear()
        it = approved(desk, at)
        died = dying(desk, at)
        arrived = len(desk.arrived)
        settle(desk, it)
        data, state = desk.trial.data(it), desk.trial.state(it)
        assert len(desk.arrived) <= 1, f"point {at}"
        assert state in SETTLED, f"point {at}: {state}"
        uncertain = state == "requires_review"
        assert data["review_reason"] == "verify_submission" if uncertain else len(desk.arrived) == 1, f"point {at}"
        assert not (arrived and not uncertain and len(desk.arrived) != 1)
        ends.append((arrived, state))
        desk.trial.advance(days=1)  # the limits of a day
        if not died:
            break
        at += 1
    assert at > 8, "there were many points"
    assert {arrived for arrived, _ in ends} == {0, 1}, "some died before the bytes left, some after"
    assert any(state == "requires_review" for _, state in ends)
    assert broken_laws(desk.engine) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_that_dies_around_the_bytes_leaves_it_to_a_person(
    desk: Desk, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlock.apps.jobs.autoapply.submission.sending import Sender

    send = Sender.send

    async def dies(self: Sender, *arguments: object) -> object:
        if moment == "after":
            await send(self, *arguments)  # type: ignore[arg-type]
        raise Died(moment)

    it = approved(desk, 1)
    worker = desk.trial.new_worker()
    [claim] = desk.trial.claim(worker=worker)
    reached: list[str] = []

    def hook(name: str) -> None:
        reached.append(name)
        if "settle" in name:
            raise Died(name)

    with monkeypatch.context() as patched:
        patched.setattr(Sender, "send", dies)
        failpoints.hook = hook
        try:
            desk.trial.run(claim)
        finally:
            failpoints.hook = None
    desk.trial.lose(worker)
    settle(desk, it)
    assert len(desk.arrived) == (1 if moment == "after" else 0)
    assert desk.trial.state(it) == "requires_review"
    assert desk.trial.data(it)["review_reason"] == "verify_submission"
    desk.trial.advance(days=3)
    desk.trial.look_after()
    desk.trial.run_until_idle()
    assert desk.trial.state(it) == "requires_review"
    assert len(desk.arrived) == (1 if moment == "after" else 0)
