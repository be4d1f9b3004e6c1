"""Actions: what people and tokens did that no instance's history records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.engine.text import canonical, fitting, shortened
from interlock.engine.unit import Unit
from interlock.machine import Actor
from interlock.store.service_tables import action


def record(
    unit: Unit,
    actor: Actor,
    what: str,
    target: str,
    *,
    workspace: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record what was done, in the same transaction. Do not put secrets into the details."""
    kept = {name: value for name, value in (details or {}).items() if value not in (None, "", {}, [])}
    unit.insert(
        action,
        workspace=workspace,
        actor=str(actor),
        what=what,
        target=shortened(target, 200),
        details=fitting(canonical(kept), "the details") if kept else None,
        at=unit.now,
    )
