"""The proof that the model test sees what it is there for: with the fence taken out, it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from interlock.engine import Claim, Instance, claiming
from interlock.engine.unit import Unit
from tests.engine.model.databases import on_sqlite, profile, run_stories

Check = Callable[[Unit, Claim], Instance | None]
A_LATE_WRITE = r"the model (\[.*False|Fenced)|review differ"
"""A result or a write counted that the model refuses, or nobody was asked about an answer that came late."""


def by_its_id_alone(unit: Unit, claim: Claim) -> Instance | None:
    return unit.lock_many([claim.id]).get(claim.id)


def by_its_worker_alone(unit: Unit, claim: Claim) -> Instance | None:
    instance = unit.lock_many([claim.id]).get(claim.id)
    return instance if instance is not None and instance.holder == claim.worker else None


@pytest.mark.parametrize("weaker", [by_its_id_alone, by_its_worker_alone])
def test_the_model_finds_that_a_late_result_counts_when_a_claim_is_known(
    weaker: Check, monkeypatch: pytest.MonkeyPatch, sqlite_template: Path, tmp_path: Path
) -> None:
    fenced = claiming.claimed
    patched = [m for name, m in sys.modules.items() if name.startswith("interlock.engine") and _has(m, fenced)]
    assert claiming in patched
    for module in patched:
        monkeypatch.setattr(module, "claimed", weaker)
    no_shrinking = settings(profile(200, soak=200), phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(AssertionError, match=A_LATE_WRITE):
        run_stories(on_sqlite(sqlite_template, tmp_path), no_shrinking)


def _has(module: object, function: object) -> bool:
    return getattr(module, "claimed", None) is function
