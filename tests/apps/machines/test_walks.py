"""Chance drives each machine, with crashes, late results, pauses and jumps of time; no law breaks."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from interlock.machine import Machine
from interlock.store import open_store
from interlock.testing import random_walk
from tests.apps.machines.recipes import MACHINES

pytestmark = [pytest.mark.slow, pytest.mark.soak("postgresql")]
"""What a machine declares is the same on both databases; the engine's own rules run on both in `make test`."""

SEEDS = (1, 2)
STEPS = 200
STAGES = {
    "company": ["FETCH", "EXTRACT", "ANALYZE", "SAVE"],
    "source": ["DISCOVER", "VALIDATE", "CONFIGURE", "TEST"],
    "listing": ["SCRAPE", "FILTER", "ANALYZE", "SAVE"],
}


def starting_data(machine: Machine) -> dict[str, Any]:
    """What the machine's guards and limits look at."""
    return {"run": {"agent": "walker"}, "application": {"user_id": "ann", "company": "acme"}}.get(machine.name, {})


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_no_law_breaks_whatever_happens(url: str, machine: Machine) -> None:
    stages = STAGES.get(machine.name)

    def next_stage(chance: random.Random, to: str) -> dict[str, Any] | None:
        return {"stage": chance.choice(stages)} if stages and to == "PENDING" else None

    taken: Counter[tuple[str, str]] = Counter()
    # Most ways of a job end at once, so it takes more walks to see the others.
    for seed in (*SEEDS, 3, 4) if machine.name == "job" else SEEDS:
        with open_store(url, durability="normal", wakeup="poll") as store:
            walk = random_walk(
                machine, store=store, seed=seed, steps=STEPS, data=starting_data(machine), patch=next_stage
            )
        assert walk.problems == [], f"seed {seed}"
        taken += walk.taken
    every = {(edge.source, edge.to) for edge in machine.edges}
    assert taken.keys() <= every
    assert len(taken) > len(every) / 2, "a walk that goes nowhere proves nothing"
