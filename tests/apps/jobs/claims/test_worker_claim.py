"""A worker of the service takes the same claim before it submits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from interlock.apps.jobs import registry
from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.claims import job, run, steps
from interlock.apps.jobs.claims.worker_claim import HeldJob, hold_job
from interlock.machine import (
    AGENT,
    FINAL,
    OWNER,
    USER,
    Actor,
    EffectUnknown,
    Go,
    Machine,
    NotSent,
    Outcome,
    State,
    Transition,
)
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task

ANN, ROBOT = Actor(USER, "ann"), Actor(AGENT, "robot")


class Errand(BaseModel):
    """Which job it applies for."""

    number: str = "1"


class ApplyTrial(Trial):
    """A machine whose only step applies for a job, in a way that the test says."""

    def __init__(self, store: Store) -> None:
        self.act: Callable[[Task[Any], HeldJob], None] = lambda task, claim: claim.succeeded()
        errand = Machine(
            "errand",
            initial="todo",
            data=Errand,
            states=[State("todo"), State("done", FINAL)],
            transitions=[Transition("todo", "done", on="did")],
        )

        @errand.work("todo")
        def todo(task: Task[Errand]) -> Outcome:
            with hold_job(task, "ramp", task.data.number, posting={"title": "Baker"}) as claim:
                self.act(task, claim)
            return Go("done")

        super().__init__([errand, job, run], store=store)

    def job(self, number: str = "1") -> Any:
        found = self.engine.find("job", f"ramp:{number}")
        assert found is not None
        return found

    def runs(self, number: str = "1") -> list[Any]:
        return self.engine.children(self.job(number).id)


@pytest.fixture
def trial(store: Store) -> Iterator[ApplyTrial]:
    with ApplyTrial(store) as made:
        yield made


def test_a_handler_that_succeeds_leaves_an_applied_job(trial: ApplyTrial) -> None:
    it = trial.create("errand")
    trial.run_until_idle()
    (one,) = trial.runs()
    assert (trial.state(it), trial.job().state, one.state) == ("done", "applied", "success")
    assert (trial.job().data["title"], one.data["agent"]) == ("Baker", f"errand:{it}")


def test_while_it_holds_the_job_no_agent_gets_it(trial: ApplyTrial) -> None:
    seen: list[str] = []

    def look(task: Task[Any], claim: HeldJob) -> None:
        with pytest.raises(steps.Conflict) as refused:
            trial.engine.write(lambda unit: steps.claim(unit, "default", steps.ClaimRequest("r", "ramp", "1"), ROBOT))
        seen.append(str(refused.value))
        claim.succeeded()

    trial.act = look
    trial.create("errand")
    trial.run_until_idle()
    assert "already has an active application" in seen[0]


def test_a_job_that_an_agent_holds_is_not_applied_for(trial: ApplyTrial) -> None:
    trial.create("job", {"board": "ramp", "job_id": "1"}, key="ramp:1")
    trial.engine.write(lambda unit: steps.claim(unit, "default", steps.ClaimRequest("r", "ramp", "1"), ROBOT))
    did: list[object] = []
    trial.act = lambda task, claim: did.append(claim)
    it = trial.create("errand")
    trial.run_until_idle()
    assert (did, trial.get(it).error["type"]) == ([], "JobTaken")  # type: ignore[index]


@pytest.mark.parametrize(
    ("submitted", "error", "end", "then"),
    [
        (False, ValueError("a captcha"), "failed", "discovered"),
        (True, NotSent("the form was not there"), "failed", "discovered"),
        (True, EffectUnknown("no answer"), "submitted", "queued"),
    ],
)
def test_an_error_frees_the_job_unless_something_may_be_out_there(
    trial: ApplyTrial, submitted: bool, error: Exception, end: str, then: str
) -> None:
    def act(task: Task[Any], claim: HeldJob) -> None:
        if submitted:
            claim.submitted({"resume_url": "s3://v2"})
        raise error

    trial.act = act
    trial.create("errand")
    trial.run_until_idle()
    assert (trial.runs()[0].state, trial.job().state) == (end, then)


def test_a_person_who_verifies_the_application_settles_its_run(store: Store) -> None:
    with Trial(registry, store=store) as trial:
        trial.create("job", {"board": "ramp", "job_id": "1"}, key="ramp:1")
        trial.engine.write(lambda unit: steps.claim(unit, "default", steps.ClaimRequest("r", "ramp", "1"), ROBOT))
        trial.engine.write(lambda unit: steps.report(unit, "default", "r", ROBOT, status="submitted"))
        data = {"user_id": "ann", "run_id": "r", "review_reason": "verify_submission"}
        it = trial.engine.create(application.name, data, unstarted=False, by_application=True).id
        owner = Actor(OWNER, "ann")
        trial.engine.force(it, "requires_review", actor=owner, reason="as if a submission had been cut off")
        trial.engine.fire(it, "submit", actor=ANN)
        found = trial.engine.find("run", "r")
        assert found is not None
        assert found.state == "success"
        posting = trial.engine.find("job", "ramp:1")
        assert posting is not None
        assert posting.state == "applied"
