"""What was approved is compared with what people read in it, and an alert opens when less is right than was said."""

from __future__ import annotations

from uuid import UUID

import pytest

from interlock.apps.contracts.review import blind_sample, promise_check
from interlock.apps.contracts.review.promise_check import PromiseCheck
from interlock.store import Store
from tests.support.contracts import CLEAR, Contracts, open_contracts

TRUE = {
    "parties": "Nordwind Tools Inc; Harbor Retail, LLC",
    "agreement_date": "5 March 2024",
    "governing_law": "New York",
}


def sampled(contracts: Contracts, **answer: str) -> UUID:
    """One more approved contract, read by a person who says this."""
    number = len(contracts.engine.reviews.waiting(limit=1000))
    text = ((*CLEAR[0], f"Order number {answer} {number}."), CLEAR[1])
    it = contracts.taken(text)
    (review,) = contracts.engine.reviews.waiting(instance_id=it)
    body = {"decision": "done", "answer": {**TRUE, **answer}}
    assert contracts.api.post(f"/api/reviews/{review.id}/decide", body, "reviewer").status_code == 200
    return it


def test_samples_say_what_was_stated_and_what_was_seen(store: Store, reader: None) -> None:
    with open_contracts(store, blind_share=1.0) as contracts:
        assert contracts.engine.read(promise_check.last_samples) == PromiseCheck(0, 0.0, 0)
        sampled(contracts)
        sampled(contracts, governing_law="Texas")
        sampled(contracts, agreement_date="some day in spring")  # nobody can say whether that was right
        blind_sample.learn(contracts.engine)
        found = contracts.engine.read(promise_check.last_samples)
        assert (found.samples, found.right) == (2, 1)
        assert 0.8 < found.stated < 1
        measured = contracts.engine.read(lambda conn: promise_check.metrics(conn, 0))
        assert measured["promise_seen"] == 0.5
        assert measured["promise_gap"] == 0, "two say nothing"


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (PromiseCheck(100, 0.9, 76), True),
        (PromiseCheck(100, 0.9, 86), False),
        (PromiseCheck(19, 0.9, 2), False),
        (PromiseCheck(30, 0.9, 15), True),
    ],
)
def test_a_promise_is_broken_when_chance_does_not_explain_it(found: PromiseCheck, broken: bool) -> None:
    assert (found.gap > 0) is broken
    if broken:
        assert str(found).startswith("stated 90 %, seen ")


def test_it_is_said_as_people_say_it() -> None:
    assert str(PromiseCheck(100, 0.9, 76)) == "stated 90 %, seen 76 % in the last 100"


def test_the_alert_rule_is_there() -> None:
    (rule,) = promise_check.rules
    assert (rule.metric, rule.threshold) == ("contracts.promise_gap", 0)
