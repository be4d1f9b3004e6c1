"""The watcher: cancels handlers that lost their claim or ran out of time, and finds lost claims."""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from interlock.engine import Engine, finishing, workers
from interlock.machine import Fail, HandlerTimeout
from interlock.store import span
from interlock.worker.claimer import Claimer
from interlock.worker.loop import Identity, Loop

log = logging.getLogger("interlock.worker")
LOOP_PATIENCE = 5.0
FRESH = span(timedelta(seconds=0.3))
"""Batches of claims in place that are younger than this are not looked at."""


class Watcher(Loop):
    """Compares, twice a second, the handlers of this worker with its claims in the database."""

    name = "watcher"
    pause = 0.4

    def __init__(self, engine: Engine, me: Identity, claimer: Claimer, *, loop_patience: float = LOOP_PATIENCE) -> None:
        super().__init__()
        self._engine, self._me, self._claimer = engine, me, claimer
        self._loop_patience = loop_patience
        self._unknown: dict[UUID, int] = {}

    def once(self) -> bool:
        self._check_event_loop()
        # Read before the claims: a handler started later cannot be missing there. Batches that were claimed since the
        # last round are left for the next one: most of their handlers will have ended by then.
        every = list(self._claimer.running)
        now = self._engine.clock.now()
        # A claim from later than now: the clock was set back, so it does not say which are young.
        upto = None if any(one.claim.at > now for one in every) else now - FRESH
        running = [one for one in every if one.claim.batch is None or upto is None or one.claim.at <= upto]
        claimed = self._engine.read(lambda conn: workers.claimed_by(conn, self._me.id, upto))
        for one in running:
            if claimed.get(one.claim.id) != one.claim.fence and not one.port.cancelled():
                one.cancel()
        self._orphans(claimed)
        steady = self._engine.clock.steady()
        for one in running:
            if one.port.ends <= steady and one.report_once():
                # Its thread may never return, so the outcome does not wait for it.
                self._claimer.runner.give_up(one)
                limit = one.claim.work.timeout
                self._claimer.runner.done(one, Fail(HandlerTimeout(f"the handler did not end within {limit}")))
        return False

    def _orphans(self, claimed: dict[UUID, int]) -> None:
        """Claimed twice in a row and not running: the claim was committed, but its answer was lost."""
        mine = {one.claim.id for one in list(self._claimer.running)}  # a copy, because the claimer changes it meanwhile
        strange = {i: f for i, f in claimed.items() if i not in mine}
        lost = {i: f for i, f in strange.items() if self._unknown.get(i) == f}
        self._unknown = strange
        if lost:
            self._engine.write(lambda unit: finishing.give_back_orphans(unit, self._me.id, lost), name="give_back")
            log.warning("gave back %d claims whose answer was lost", len(lost))

    def _check_event_loop(self) -> None:
        events = self._claimer.runner.events
        if events.blocked_for() > self._loop_patience:
            names = sorted({one.claim.step for one in list(self._claimer.running) if one.future is not None})
            log.error(
                "the event loop is blocked by one of %s: use await or a plain function; others continue on a new loop",
                ", ".join(names) or "its handlers",
            )
            events.replace()
