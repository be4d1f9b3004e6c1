"""A claim whose agent and whose renewal speak at the same time, step by step."""

from __future__ import annotations

import pytest

from interlock.apps.jobs.agents import BadRequest, LeaseLost
from interlock.apps.jobs.agents.claim_state import ClaimState
from interlock.apps.jobs.agents.service_api import Request, ServiceApi, Wait, claim_request
from tests.apps.jobs.agents.test_asking import CLAIMED, RUN, TOKEN, says

LATE = says(409, type="refused", detail="run 'r' is success; nothing was changed")


class Clock:
    now = 0.0


def held(idle: float | None = None) -> tuple[ClaimState, Clock]:
    clock = Clock()
    made = ClaimState(
        ServiceApi("http://service", TOKEN, None), claim_request("ramp", "1", None, None, None), lambda: clock.now, idle
    )
    beginning = made.begin()
    next(beginning)
    with pytest.raises(StopIteration):
        beginning.send(says(201, **CLAIMED))
    return made, clock


def test_a_renewal_that_comes_after_the_end_is_no_loss() -> None:
    holding, _ = held()
    keeping, ending = holding.keep_renewed(), holding.report("success")
    assert isinstance(next(keeping), Wait)
    assert isinstance(keeping.send(None), Request)
    assert isinstance(next(ending), Request)
    with pytest.raises(StopIteration):
        keeping.send(LATE)
    assert not holding.lost
    with pytest.raises(StopIteration):
        ending.send(says(200, **{**RUN, "status": "success"}))
    assert holding.over
    assert not holding.lost


def test_a_renewal_that_is_refused_before_the_end_is_a_loss() -> None:
    holding, _ = held()
    keeping = holding.keep_renewed()
    next(keeping)
    keeping.send(None)
    with pytest.raises(StopIteration):
        keeping.send(LATE)
    assert holding.lost
    with pytest.raises(LeaseLost):
        next(holding.report("submitted"))


def test_an_answer_that_comes_late_does_not_undo_a_newer_one() -> None:
    holding, _ = held()
    noting, submitting = holding.report(artifacts={"notes": "x"}), holding.report("submitted")
    next(noting)
    next(submitting)
    with pytest.raises(StopIteration):
        submitting.send(says(200, **{**RUN, "status": "submitted"}))
    with pytest.raises(StopIteration):
        noting.send(says(200, **RUN))
    assert holding.run.status == "submitted"


def test_the_lease_counts_from_when_it_was_asked_for() -> None:
    holding, clock = held()
    clock.now = 100
    beating = holding.check()
    next(beating)
    clock.now = 150
    with pytest.raises(StopIteration):
        beating.send(says(200, **RUN))
    clock.now = 399
    assert not holding.lost
    clock.now = 400
    assert holding.lost


def test_an_idle_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequest, match="idle"):
        held(idle=0)
