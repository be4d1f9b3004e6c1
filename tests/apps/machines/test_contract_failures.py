"""A contract's failures: three retries for each step, back to exactly that step, and what no retry can help."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.machine import contract
from interlock.engine import Refused
from interlock.machine import EffectUnknown, Go, as_mermaid
from interlock.store import Store
from interlock.testing import broken_laws
from tests.apps.machines.recipes import CONTRACT, Outage
from tests.apps.machines.scripted_trial import ANN, BOSS, CLOCK, HAND, ROBOT, ScriptedTrial

pytestmark = pytest.mark.soak("postgresql")

STEPS = {"parsing_pdf": "extracting", "extracting": "validating", "validating": "validated", "comparing": "completed"}
"""Each step that works, and where it leads when it succeeds."""
PLANNED = [timedelta(seconds=s) for s in (10, 20, 40)]
each_step = pytest.mark.parametrize("step", STEPS)


def waits_of(trial: ScriptedTrial, it: UUID, step: str) -> list[timedelta]:
    """Fail in the step until it is given up; the waits between, each of which ends in the same step."""
    waits: list[timedelta] = []
    while True:
        assert len(waits) < 10, "it was never given up"
        trial.work(it, Outage("503"))
        if trial.get(it).finished_at is not None:
            return waits
        assert (trial.state(it), trial.get(it).failed_step) == ("failed", step)
        waits.append(trial.due_in(it))
        trial.wait(waits[-1])
        assert trial.state(it) == step


@each_step
def test_a_step_is_tried_four_times_and_the_contract_is_then_rejected(trial: ScriptedTrial, step: str) -> None:
    """Trap B6: three retries are four attempts, counted for each step."""
    it = CONTRACT.at(trial, step)
    waits = waits_of(trial, it, step)
    assert len(waits) == 3
    assert all(0.8 * plan <= wait <= 1.2 * plan for wait, plan in zip(waits, PLANNED, strict=True))
    assert trial.path(it)[-9:] == [step, *["failed", step] * 3, "failed", "rejected"]
    assert trial.data(it)["reject_reason"] == "retries_exhausted"
    (letter,) = trial.letters(it)
    assert (letter.step, letter.attempts) == (step, 4)


def test_each_step_has_retries_of_its_own(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "parsing_pdf")
    for step, to in STEPS.items():
        for _ in range(3):
            trial.work(it, Outage(step))
            trial.wait(seconds=48)
            assert trial.state(it) in {step, "validated"}
        trial.work(it, Go(to))
    assert (trial.state(it), trial.letters(it)) == ("completed", [])


@each_step
def test_what_no_retry_can_help_is_rejected_at_once_through_failed(trial: ScriptedTrial, step: str) -> None:
    """Trap B5: a PDF that is too large is not retried like a 503."""
    it = CONTRACT.at(trial, step)
    seq = trial.get(it).seq
    trial.work(it, NotRetryable("PDF_TOO_LARGE"))
    rows = [row for row in trial.rows(it, after=seq) if row.kind == "moved"]
    assert [(r.from_state, r.to_state, r.event) for r in rows][-2:] == [
        (step, "failed", "fail"),
        ("failed", "rejected", "give_up"),
    ]
    assert rows[-1].at == rows[-2].at, "one transaction"
    assert trial.data(it)["reject_reason"] == "not_retryable"
    (letter,) = trial.letters(it)
    assert (letter.step, letter.attempts, letter.error["message"]) == (step, 1, "PDF_TOO_LARGE")


@each_step
def test_any_exception_goes_to_failed_and_names_the_step(trial: ScriptedTrial, step: str) -> None:
    """Trap B3: an error after the model was paid must not leave the contract where it is forever."""
    it = CONTRACT.at(trial, step)
    trial.work(it, KeyError("config"))
    failed = trial.get(it)
    assert (failed.state, failed.failed_step) == ("failed", step)
    assert failed.error is not None
    assert (failed.error["type"], failed.error["step"]) == ("KeyError", step)


def test_a_step_is_claimed_before_it_is_done_so_that_nobody_pays_twice(trial: ScriptedTrial) -> None:
    """Trap B3: two calls at once, one extraction."""
    it = CONTRACT.at(trial, "extracting")
    claim = trial.take(it)
    assert trial.claims(it, worker=trial.new_worker()) == []
    assert trial.finish(claim, Go("validating"))
    assert trial.finish(claim, Go("validating")) is False


@each_step
@pytest.mark.parametrize("actor", [CLOCK, ANN], ids=str)
def test_a_retry_runs_the_step_that_failed_and_no_other(trial: ScriptedTrial, step: str, actor: object) -> None:
    """Trap B5: a retry does not only change the state."""
    it = CONTRACT.at(trial, step)
    trial.work(it, Outage())
    if actor == ANN:
        trial.fire(it, "retry", ANN)
    else:
        trial.wait(seconds=12)
    claim = trial.take(it)
    assert (claim.step, claim.instance.state) == (step, step)
    trial.work(it, Go(STEPS[step]))
    assert trial.state(it) == STEPS[step]


def test_a_person_gives_it_up_while_it_waits_for_its_retry(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "failed")
    trial.fire(it, "give_up", BOSS)
    assert (trial.state(it), trial.data(it)["reject_reason"]) == ("rejected", "given_up")
    trial.wait(hours=1)
    assert trial.state(it) == "rejected", "the retry that was due is off"


def test_nobody_else_retries_or_gives_up(trial: ScriptedTrial) -> None:
    it = CONTRACT.at(trial, "failed")
    for actor in (ROBOT, HAND):
        for event in ("retry", "give_up"):
            with pytest.raises(Refused, match="is for system, user"):
                trial.fire(it, event, actor)
    assert trial.state(it) == "failed"


def test_a_rejected_contract_is_retried_as_a_new_one_at_its_failed_step(store: Store) -> None:
    with ScriptedTrial([contract], store) as trial:
        it = trial.begin("contract", {"filename": "a.pdf"}, key="sha-1")
        trial.take(it)
        trial.work(it, Go("extracting", data={"text": "t1"}))
        waits_of(trial, it, "extracting")
        (letter,) = trial.letters(it)
        again = trial.engine.dead_letters.retry(letter.id, actor=ANN)
        assert (again.state, again.data["text"], again.data["reject_reason"]) == ("extracting", "t1", None)
        assert (trial.state(it), again.parent) == ("rejected", it)
        found = trial.engine.find("contract", "sha-1")
        assert found is not None
        assert found.id == again.id
        assert len(waits_of(trial, again.id, "extracting")) == 3
        assert broken_laws(trial.engine) == []


def test_a_call_to_a_model_whose_outcome_is_unknown_is_not_paid_again_before_somebody_looked(
    trial: ScriptedTrial,
) -> None:
    it = CONTRACT.at(trial, "extracting")
    trial.work(it, EffectUnknown("no answer from the model"))
    trial.wait(days=30)
    assert (trial.state(it), trial.claims(it)) == ("extracting", [])
    assert [letter.error_type for letter in trial.letters(it)] == ["EffectUnknown"]
    trial.engine.reviews.decide(trial.reviews(it)["verify_effect"].id, "did_not_arrive", actor=ANN)
    assert (trial.take(it).step, trial.letters(it)) == ("extracting", [])


# -- the table itself


def test_eleven_states_and_a_way_back_to_each_of_the_four_steps() -> None:
    """Trap B1: the drawing comes from the machine that runs."""
    assert len(contract.states) == 11
    assert {edge.to for edge in contract.edges_on("failed", "retry")} == set(STEPS)
    drawing = as_mermaid(contract)
    for edge in contract.edges:
        assert f"{edge.source} --> {edge.to}" in drawing


@pytest.mark.parametrize("state", ["validated", "review_required"])
def test_where_no_way_leads_to_failed_nothing_is_done_that_could_fail(trial: ScriptedTrial, state: str) -> None:
    """Trap B12: what goes wrong there has no home, so the claim moves it on first, in its own transaction."""
    assert contract.edge(state, "failed") is None
    it = CONTRACT.at(trial, state)
    if state == "review_required":
        assert trial.claims(it) == []
        trial.fire(it, "approve", ANN)
    assert trial.take(it).instance.state == "comparing"
    trial.work(it, Outage())
    assert (trial.state(it), trial.get(it).failed_step) == ("failed", "comparing")
