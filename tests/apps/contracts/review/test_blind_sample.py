"""A sample of what nobody looked at is read by a person who does not see what the machine read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.review import blind_sample
from interlock.apps.contracts.tables import contract_label as L
from interlock.engine import OpenReview
from interlock.store import Store
from tests.support.contracts import CLEAR, Contracts, open_contracts
from tests.support.site import Site

ANSWERS = {
    "parties": "Nordwind Tools Inc; Harbor Retail, LLC",
    "agreement_date": "5 March 2024",
    "governing_law": "Texas",
}


@pytest.fixture
def sampled(store: Store, reader: None) -> Iterator[Contracts]:
    """The application on each database; it takes every contract into the sample."""
    with open_contracts(store, blind_share=1.0) as made:
        yield made


def sample(contracts: Contracts, it: UUID) -> OpenReview:
    (found,) = contracts.engine.reviews.waiting(instance_id=it)
    return found


def answered(contracts: Contracts, it: UUID, decision: str = "done", **answer: str) -> Any:
    body = {"decision": decision, "answer": answer}
    return contracts.api.post(f"/api/reviews/{sample(contracts, it).id}/decide", body, "reviewer")


def labels(contracts: Contracts, it: UUID) -> dict[str, int]:
    query = sa.select(L.c.field, L.c.was_right).where(L.c.instance_id == it)
    rows = contracts.engine.read(lambda conn: conn.execute(query).all())
    assert len({row.field for row in rows}) == len(rows), "each field once"
    return {row.field: row.was_right for row in rows}


def test_the_contract_does_not_wait_for_its_sample(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    assert sampled.state(it) == "completed"
    body = sampled.look(it)
    assert body["needsReview"] is False
    assert "reviewTaskId" not in body
    assert sample(sampled, it).name == "blind_sample"
    assert sampled.engine.verify().problems == ()


def test_what_goes_to_a_person_anyway_is_in_no_sample(sampled: Contracts) -> None:
    it = sampled.in_review()
    assert [one.name for one in sampled.engine.reviews.waiting(instance_id=it)] == ["review_required"]


def test_neither_the_question_nor_its_pages_have_anything_that_was_read(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR, filename="clear.pdf")
    review = sample(sampled, it)
    assert review.form is not None
    assert set(review.form["properties"]) == {"parties", "agreement_date", "governing_law"}
    site = Site(sampled.api)
    inbox = site.get(f"/ui/reviews?review={review.id}", "reviewer").text
    blind = site.get(f"/ui/contracts/{it}/blind", "reviewer").text
    assert f'href="/ui/contracts/{it}/blind"' in inbox
    assert "Governing law" in blind
    assert f"/workflows/{it}/pages/1" in blind
    for value in ("Nordwind", "March 5", "New York"):
        assert value not in repr(review) + inbox + blind, value
    answered(sampled, it, **ANSWERS)
    assert "New York" in site.get(f"/ui/reviews?review={review.id}", "reviewer").text, "afterwards"


def test_what_people_read_is_learnt_field_by_field(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    assert answered(sampled, it, **ANSWERS).status_code == 200
    assert sampled.state(it) == "completed"
    assert blind_sample.learn(sampled.engine) == 1
    assert labels(sampled, it) == {"parties": 1, "agreement_date": 1, "governing_law": 0}
    assert blind_sample.learn(sampled.engine) == 0, "once"
    assert sampled.look(it)["fields"]["governing_law"]["value"] == "New York", "a sample corrects nothing"


def test_an_empty_answer_says_that_the_contract_does_not_say_it(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    answered(sampled, it, **{**ANSWERS, "agreement_date": ""})
    blind_sample.learn(sampled.engine)
    assert labels(sampled, it)["agreement_date"] == 0


def test_what_cannot_be_understood_is_not_counted(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    answered(sampled, it, **{**ANSWERS, "agreement_date": "some day in spring"})
    blind_sample.learn(sampled.engine)
    assert labels(sampled, it) == {"parties": 1, "governing_law": 0}


def test_a_sample_that_nobody_can_read_teaches_nothing(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    assert answered(sampled, it, "unreadable").status_code == 200
    assert blind_sample.learn(sampled.engine) == 0
    assert labels(sampled, it) == {}


def test_two_processes_that_learn_at_once_learn_it_once(sampled: Contracts) -> None:
    it = sampled.taken(CLEAR)
    answered(sampled, it, **ANSWERS)
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(lambda _: blind_sample.learn(sampled.engine), range(2))) == 1
    assert len(labels(sampled, it)) == 3


def test_the_share_is_what_the_configuration_says_and_the_same_id_is_chosen_alike() -> None:
    ids = [uuid4() for _ in range(4000)]
    for share, least, most in ((0.0, 0, 0), (0.05, 120, 290), (1.0, 4000, 4000)):
        found = [one for one in ids if blind_sample.chosen(one, share)]
        assert least <= len(found) <= most
        assert [one for one in ids if blind_sample.chosen(one, share)] == found


def test_without_a_share_nobody_is_asked(contracts: Contracts) -> None:
    it = contracts.taken(CLEAR)
    assert contracts.state(it) == "completed"
    assert contracts.engine.reviews.waiting(instance_id=it) == []
