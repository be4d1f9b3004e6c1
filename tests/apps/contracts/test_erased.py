"""A contract whose data was erased: it says so, and nothing more can be done with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from interlock.engine.retention.erasing import Erasing
from interlock.machine import OWNER, Actor
from tests.support.contracts import CLEAR, DOUBTFUL, Contracts
from tests.support.files import pdf

NOTE = "by owner:chief: asked for in a letter"


@pytest.fixture
def erased(contracts: Contracts) -> UUID:
    it = contracts.in_review()
    assert contracts.review(it, "reject").status_code == 200
    Erasing(contracts.engine, Actor(OWNER, "chief"), "asked for in a letter").one(it)
    return it


def test_what_is_left_is_reported(contracts: Contracts, erased: UUID) -> None:
    body = contracts.look(erased)
    assert NOTE in body.pop("erased")
    assert set(body) == {"workflowId", "state", "seq", "createdAt", "updatedAt"}


@pytest.mark.parametrize(
    ("step", "body"),
    [("extract", None), ("compare", None), ("compare", {"with": "template"}), ("reprocess", None), ("retry", None)],
)
def test_no_step_is_done_any_more(contracts: Contracts, erased: UUID, step: str, body: Any) -> None:
    answer = contracts.call(erased, step, body)
    assert answer.status_code == 409, answer.text
    assert contracts.engine.verify().problems == ()


def test_the_same_file_is_not_taken_in_again_without_a_word(contracts: Contracts, erased: UUID) -> None:
    answer = contracts.send(pdf(DOUBTFUL))
    assert answer.status_code == 409
    assert NOTE in answer.json()["error"]["message"]


def test_another_cannot_be_compared_with_it(contracts: Contracts, erased: UUID) -> None:
    answer = contracts.send(pdf(CLEAR), compareWith=str(erased))
    assert answer.status_code == 422
    assert "was erased" in answer.json()["error"]["message"]
