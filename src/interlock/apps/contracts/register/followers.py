"""Keeps the register: a contract's rows are written in the transaction that validates it."""

from __future__ import annotations

from interlock.apps.contracts.machine import REVIEW_REQUIRED, VALIDATED, VALIDATING, contract
from interlock.apps.contracts.register import records
from interlock.apps.contracts.steps import DEFAULTS, vertical_of
from interlock.engine import Instance
from interlock.engine.application import Unit
from interlock.machine import Actor, Edge


@contract.entering(REVIEW_REQUIRED, VALIDATED)
def register(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """Write the rows; what a reviewer decides is written by `apply_decisions`, which knows the corrected fields."""
    if edge.source == VALIDATING and instance.data.get("fields"):
        settings = unit.core.settings.get("contracts") or DEFAULTS
        records.write_all(unit, instance, vertical_of(instance.data["vertical"], settings))
