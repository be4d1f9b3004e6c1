"""Auto-apply and claims: a person's verdict about a submission also ends its run."""

from __future__ import annotations

from interlock.apps.jobs.autoapply.machine import FAILED, REQUIRES_REVIEW, SUBMITTED
from interlock.apps.jobs.autoapply.versions import entering
from interlock.apps.jobs.claims.machine import SUBMITTED as REPORTED
from interlock.apps.jobs.claims.machine import run
from interlock.engine import Instance
from interlock.engine.application import Unit, find_by_key, fire
from interlock.machine import Actor, Edge
from interlock.machine.transitions import PEOPLE


@entering(SUBMITTED, FAILED)
def settle(unit: Unit, instance: Instance, edge: Edge, actor: Actor) -> None:
    """A person verified a submission with an unknown outcome: end its run and move its job accordingly."""
    if edge.source != REQUIRES_REVIEW or actor.kind not in PEOPLE or not instance.data.get("run_id"):
        return
    found = find_by_key(unit, instance.workspace, run.name, instance.data["run_id"])
    if found is None or found.state != REPORTED:
        return
    unit.lock(found.id)
    event = "succeed" if edge.to == SUBMITTED else "fail"
    fire(unit, found.id, event, actor, reason=f"its application was verified: {edge.to}")
