"""The alerter: evaluates the alert rules and updates the alerts. Every process runs one; one at a time works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from interlock.engine import Engine
from interlock.store import SECOND
from interlock.watch import alerts, costs, rules
from interlock.watch.rule_values import RuleResult
from interlock.worker.loop import Loop

if TYPE_CHECKING:
    from interlock.config import AlertSettings


class Alerter(Loop):
    """Evaluates every 15 seconds. Without open alerts it only reads."""

    name = "alerter"
    pause = 15.0

    def __init__(self, engine: Engine, settings: AlertSettings | None = None, *, pause: float = 15.0) -> None:
        super().__init__()
        self._engine = engine
        self._built_in = rules.built_in(settings, engine.registry)
        self._notify: Sequence[str] = tuple(settings.notify) if settings is not None else ()
        self.pause = pause

    def once(self) -> bool:
        results = self._engine.read(self._evaluate)
        if results is not None:
            self._engine.write(lambda unit: alerts.apply(unit, results, self._notify), name="alert")
        return False

    def _evaluate(self, conn: sa.Connection) -> list[RuleResult] | None:
        """The results, if alerts must change and no other process has just evaluated."""
        now = self._engine.clock.now()
        if 0 <= now - alerts.last_evaluated(conn) < self.pause / 2 * SECOND:
            return None
        found = rules.in_force(self._built_in, rules.own(conn))
        budgets = costs.limits_of(self._engine.core.settings)
        results = alerts.evaluate_rules(conn, self._engine.registry, found, now, budgets)
        return results if alerts.has_changes(conn, results) else None
