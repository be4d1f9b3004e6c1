"""The life cycle, on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from interlock import USER, Actor
from interlock.testing import Trial

from expenses import ledger
from expenses.application import registry
from expenses.settings import ExpenseSettings

ANN = Actor(USER, "ann")
LUNCH = {"employee": "Bo Lind", "account": "NO9386011117947", "shop": "Café Nord", "cents": 18_50, "category": "meals"}


@pytest.fixture
def trial() -> Iterator[Trial]:
    with Trial(registry, settings={"expenses": ExpenseSettings(refuse_above=5_000_00)}) as made:
        yield made


def submitted(trial: Trial, **changes: Any) -> Any:
    it = trial.create("receipt", LUNCH | changes)
    trial.run_until_idle()
    return it


def test_a_small_receipt_is_paid_at_once(trial: Trial) -> None:
    it = submitted(trial)
    assert trial.path(it) == ["checking", "paying", "paid"]
    assert trial.engine.read(ledger.audits) == {"none": 1}


def test_a_large_one_is_approved_by_a_person_and_audited_afterwards(trial: Trial) -> None:
    it = submitted(trial, cents=900_00)
    [review] = trial.engine.reviews.waiting()
    trial.engine.reviews.decide(review.id, "approve", actor=ANN)
    trial.run_until_idle()
    assert trial.path(it) == ["checking", "approval", "paying", "paid"]
    assert trial.engine.read(ledger.audits) == {"open": 1}

    [audit] = trial.engine.reviews.waiting()
    trial.engine.reviews.decide(audit.id, "differs", actor=ANN)
    assert trial.engine.read(ledger.audits) == {"differs": 1}


def test_one_above_the_limit_of_the_settings_is_rejected(trial: Trial) -> None:
    assert trial.state(submitted(trial, cents=5_000_01)) == "rejected"


def test_a_receipt_without_a_category_asks_for_it(trial: Trial) -> None:
    it = submitted(trial, category=None)
    [question] = trial.engine.reviews.waiting()
    trial.engine.reviews.decide(question.id, "answer", actor=ANN, answer={"category": "travel"})
    trial.run_until_idle()
    assert (trial.state(it), trial.data(it)["category"]) == ("paid", "travel")


def test_a_question_that_nobody_answers_has_its_default(trial: Trial) -> None:
    it = submitted(trial, category=None)
    trial.advance(hours=24)
    assert (trial.state(it), trial.data(it)["category"]) == ("paid", "other")


def test_an_audit_that_nobody_makes_is_overdue(trial: Trial) -> None:
    submitted(trial, cents=80_00)
    trial.look_after()
    assert trial.engine.read(ledger.audits) == {"open": 1}
    trial.advance(days=30)
    trial.look_after()
    assert trial.engine.read(ledger.audits) == {"overdue": 1}


def test_a_payment_is_not_repeated_after_a_crash(trial: Trial) -> None:
    it = trial.create("receipt", LUNCH)
    trial.step()
    [claim] = trial.claim()
    trial.run(claim)  # it was paid, and the worker dies before it can say so
    trial.lose(trial.worker)
    trial.worker = trial.new_worker()
    trial.run_until_idle()
    [effect] = trial.engine.effects(it)
    assert (trial.state(it), effect.status) == ("paid", "confirmed")
