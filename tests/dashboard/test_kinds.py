"""The kinds of states: a person's sign only where work waits for a person."""

from __future__ import annotations

import pytest

from interlock.dashboard.kinds import kind_of
from interlock.demo.parts import played
from interlock.machine import installed


@pytest.mark.parametrize(
    ("machine", "state", "kind"),
    [
        ("contract", "review_required", "person"),
        ("application", "requires_review", "person"),
        ("session", "needs_review", "person"),
        ("job", "discovered", "wait"),
        ("job", "queued", "wait"),
        ("loan", "held", "wait"),
        ("contract", "extracting", "work"),
        ("contract", "completed", "done"),
    ],
)
def test_the_kind_of_a_state(machine: str, state: str, kind: str) -> None:
    assert kind_of(played(installed([]))[machine], state) == kind
