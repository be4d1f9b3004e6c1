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
from tests.apps.machines.play import ANN, BOSS, CLOCK, HAND, ROBOT, Play
from tests.apps.machines.recipes import CONTRACT, Outage

STEPS = {"parsing_pdf": "extracting", "extracting": "validating", "validating": "validated", "comparing": "completed"}
"""Each step that works, and where it leads when it succeeds."""
PLANNED = [timedelta(seconds=s) for s in (10, 20, 40)]
each_step = pytest.mark.parametrize("step", STEPS)


def waits_of(play: Play, it: UUID, step: str) -> list[timedelta]:
    """Fail in the step until it is given up; the waits between, each of which ends in the same step."""
    waits: list[timedelta] = []
    while True:
        assert len(waits) < 10, "it was never given up"
        play.work(it, Outage("503"))
        if play.get(it).finished_at is not None:
            return waits
        assert (play.state(it), play.get(it).failed_step) == ("failed", step)
        waits.append(play.due_in(it))
        play.wait(waits[-1])
        assert play.state(it) == step


@each_step
def test_a_step_is_tried_four_times_and_the_contract_is_then_rejected(play: Play, step: str) -> None:
    """Trap B6: three retries are four attempts, counted for each step."""
    it = CONTRACT.at(play, step)
    waits = waits_of(play, it, step)
    assert len(waits) == 3
    assert all(0.8 * plan <= wait <= 1.2 * plan for wait, plan in zip(waits, PLANNED, strict=True))
    assert play.path(it)[-9:] == [step, *["failed", step] * 3, "failed", "rejected"]
    assert play.data(it)["reject_reason"] == "retries_exhausted"
    (letter,) = play.letters(it)
    assert (letter.step, letter.attempts) == (step, 4)


def test_each_step_has_retries_of_its_own(play: Play) -> None:
    it = CONTRACT.at(play, "parsing_pdf")
    for step, to in STEPS.items():
        for _ in range(3):
            play.work(it, Outage(step))
            play.wait(seconds=48)
            assert play.state(it) in {step, "validated"}
        play.work(it, Go(to))
    assert (play.state(it), play.letters(it)) == ("completed", [])


@each_step
def test_what_no_retry_can_help_is_rejected_at_once_through_failed(play: Play, step: str) -> None:
    """Trap B5: a PDF that is too large is not retried like a 503."""
    it = CONTRACT.at(play, step)
    seq = play.get(it).seq
    play.work(it, NotRetryable("PDF_TOO_LARGE"))
    rows = [row for row in play.rows(it, after=seq) if row.kind == "moved"]
    assert [(r.from_state, r.to_state, r.event) for r in rows][-2:] == [
        (step, "failed", "fail"),
        ("failed", "rejected", "give_up"),
    ]
    assert rows[-1].at == rows[-2].at, "one transaction"
    assert play.data(it)["reject_reason"] == "not_retryable"
    (letter,) = play.letters(it)
    assert (letter.step, letter.attempts, letter.error["message"]) == (step, 1, "PDF_TOO_LARGE")


@each_step
def test_any_exception_goes_to_failed_and_names_the_step(play: Play, step: str) -> None:
    """Trap B3: an error after the model was paid must not leave the contract where it is for ever."""
    it = CONTRACT.at(play, step)
    play.work(it, KeyError("config"))
    failed = play.get(it)
    assert (failed.state, failed.failed_step) == ("failed", step)
    assert failed.error is not None
    assert (failed.error["type"], failed.error["step"]) == ("KeyError", step)


def test_a_step_is_claimed_before_it_is_done_so_that_nobody_pays_twice(play: Play) -> None:
    """Trap B3: two calls at once, one extraction."""
    it = CONTRACT.at(play, "extracting")
    claim = play.take(it)
    assert play.claims(it, worker=play.new_worker()) == []
    assert play.finish(claim, Go("validating"))
    assert play.finish(claim, Go("validating")) is False


@each_step
@pytest.mark.parametrize("actor", [CLOCK, ANN], ids=str)
def test_a_retry_runs_the_step_that_failed_and_no_other(play: Play, step: str, actor: object) -> None:
    """Trap B5: a retry does not only change the state."""
    it = CONTRACT.at(play, step)
    play.work(it, Outage())
    if actor == ANN:
        play.fire(it, "retry", ANN)
    else:
        play.wait(seconds=12)
    claim = play.take(it)
    assert (claim.step, claim.instance.state) == (step, step)
    play.work(it, Go(STEPS[step]))
    assert play.state(it) == STEPS[step]


def test_a_person_gives_it_up_while_it_waits_for_its_retry(play: Play) -> None:
    it = CONTRACT.at(play, "failed")
    play.fire(it, "give_up", BOSS)
    assert (play.state(it), play.data(it)["reject_reason"]) == ("rejected", "given_up")
    play.wait(hours=1)
    assert play.state(it) == "rejected", "the retry that was due is off"


def test_nobody_else_retries_or_gives_up(play: Play) -> None:
    it = CONTRACT.at(play, "failed")
    for actor in (ROBOT, HAND):
        for event in ("retry", "give_up"):
            with pytest.raises(Refused, match="is for system, user"):
                play.fire(it, event, actor)
    assert play.state(it) == "failed"


def test_a_rejected_contract_is_retried_as_a_new_one_at_its_failed_step(store: Store) -> None:
    with Play([contract], store) as play:
        it = play.begin("contract", {"filename": "a.pdf"}, key="sha-1")
        play.take(it)
        play.work(it, Go("extracting", data={"text": "t1"}))
        waits_of(play, it, "extracting")
        (letter,) = play.letters(it)
        again = play.engine.dead_letters.retry(letter.id, actor=ANN)
        assert (again.state, again.data["text"], again.data["reject_reason"]) == ("extracting", "t1", None)
        assert (play.state(it), again.parent) == ("rejected", it)
        found = play.engine.find("contract", "sha-1")
        assert found is not None
        assert found.id == again.id
        assert len(waits_of(play, again.id, "extracting")) == 3
        assert broken_laws(play.engine) == []


def test_a_call_to_a_model_whose_outcome_is_unknown_is_not_paid_again_before_somebody_looked(play: Play) -> None:
    it = CONTRACT.at(play, "extracting")
    play.work(it, EffectUnknown("no answer from the model"))
    play.wait(days=30)
    assert (play.state(it), play.claims(it)) == ("extracting", [])
    assert [letter.error_type for letter in play.letters(it)] == ["EffectUnknown"]
    play.engine.reviews.decide(play.reviews(it)["verify_effect"].id, "did_not_arrive", actor=ANN)
    assert (play.take(it).step, play.letters(it)) == ("extracting", [])


# -- the table itself


def test_eleven_states_and_a_way_back_to_each_of_the_four_steps() -> None:
    """Trap B1: the drawing comes from the machine that runs."""
    assert len(contract.states) == 11
    assert {edge.to for edge in contract.edges_on("failed", "retry")} == set(STEPS)
    drawing = as_mermaid(contract)
    for edge in contract.edges:
        assert f"{edge.source} --> {edge.to}" in drawing


@pytest.mark.parametrize("state", ["validated", "review_required"])
def test_where_no_way_leads_to_failed_nothing_is_done_that_could_fail(play: Play, state: str) -> None:
    """Trap B12: what goes wrong there has no home, so the claim moves it on first, in its own transaction."""
    assert contract.edge(state, "failed") is None
    it = CONTRACT.at(play, state)
    if state == "review_required":
        assert play.claims(it) == []
        play.fire(it, "approve", ANN)
    assert play.take(it).instance.state == "comparing"
    play.work(it, Outage())
    assert (play.state(it), play.get(it).failed_step) == ("failed", "comparing")
