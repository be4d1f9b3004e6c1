"""The watcher: tells running handlers that they were cancelled or ran out of time, and finds what fell between."""

from __future__ import annotations

import logging
from uuid import UUID

from interlock.engine import Engine, finishing, workers
from interlock.machine import Fail, HandlerTimeout
from interlock.worker.claimer import Claimer
from interlock.worker.loop import Identity, Loop

log = logging.getLogger("interlock.worker")
LOOP_PATIENCE = 5.0


class Watcher(Loop):
    """Compares, twice a second, what this worker runs with what the database says it holds."""

    name = "watcher"
    pause = 0.4

    def __init__(self, engine: Engine, me: Identity, claimer: Claimer, *, loop_patience: float = LOOP_PATIENCE) -> None:
        super().__init__()
        self._engine, self._me, self._claimer = engine, me, claimer
        self._loop_patience = loop_patience
        self._unknown: dict[UUID, int] = {}

    def once(self) -> bool:
        self._look_at_event_loop()
        running = list(self._claimer.running)  # before the look: what is claimed after it cannot be missing there
        held = self._engine.read(lambda conn: workers.held_by(conn, self._me.id))
        for one in running:
            if held.get(one.claim.id) != one.claim.fence and not one.port.cancelled():
                one.cancel()
        self._orphans(held)
        steady = self._engine.clock.steady()
        for one in running:
            if one.port.ends <= steady and one.tell():
                # Its thread may never come back, so the outcome does not wait for it.
                self._claimer.runner.give_up(one)
                limit = one.claim.work.timeout
                self._claimer.runner.done(one, Fail(HandlerTimeout(f"it did not end within {limit}")))
        return False

    def _orphans(self, held: dict[UUID, int]) -> None:
        """Held twice in a row and not running: the claim was committed, its answer was lost."""
        mine = {one.claim.id for one in list(self._claimer.running)}  # a copy: the claimer goes on meanwhile
        strange = {i: f for i, f in held.items() if i not in mine}
        lost = {i: f for i, f in strange.items() if self._unknown.get(i) == f}
        self._unknown = strange
        if lost:
            self._engine.write(lambda unit: finishing.orphans(unit, self._me.id, lost), name="give_back")
            log.warning("%d claims whose answer was lost were given back", len(lost))

    def _look_at_event_loop(self) -> None:
        events = self._claimer.runner.events
        if events.blocked_for() > self._loop_patience:
            names = sorted({one.claim.step for one in list(self._claimer.running) if one.future is not None})
            log.error(
                "the event loop is blocked by one of %s: use await, or a plain function; others go on in a new loop",
                ", ".join(names) or "its handlers",
            )
            events.replace()
