"""The demo's reviewers decide about the demo's papers, and leave a visitor's contract to people."""

from __future__ import annotations

import random

from interlock.apps.contracts.demo import part
from tests.support.contracts import Contracts


class Strict(random.Random):
    """Luck that rejects whatever is decided."""

    def random(self) -> float:
        return 0.0


def test_a_visitors_contract_waits_for_people(contracts: Contracts) -> None:
    it = contracts.in_review(filename="supply-agreement-123456.pdf")
    for luck in (Strict(), random.Random(1)):
        part.react(contracts.engine, contracts.engine.get(it), luck)
    assert contracts.state(it) == "review_required"
