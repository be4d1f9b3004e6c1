"""A handler's run in a trial: it continues until it ends, or waits for an answer that the test must give."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

from interlock.engine import Claim, Engine
from interlock.engine.questions import Question, look
from interlock.machine import Outcome
from interlock.worker.port import EnginePort
from interlock.worker.runner import invoke


class HandlerRun:
    """One claim's handler in a separate thread, which runs only while the test lets it."""

    def __init__(self, engine: Engine, claim: Claim, asked: Callable[[UUID], None]) -> None:
        self.claim = claim
        self.outcome: Outcome | None = None
        self._engine, self._asked = engine, asked
        self._port = _Port(engine, claim, self._park)
        self._changed = threading.Condition()
        self._parked: dict[UUID, bool] = {}
        """The questions that it waits for, and whether it may check again."""
        # A separate thread: the test may run in an event loop, and the handler may need one.
        self._thread = threading.Thread(target=self._run, name="interlock-trial", daemon=True)

    def go(self) -> Outcome | None:
        """Let it run until it ends; None if it waits for an answer."""
        with self._changed:
            if not self._thread.is_alive():
                self._thread.start()
            for question in self._parked:
                self._parked[question] = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.outcome is not None or any(not go for go in self._parked.values()))
        return self.outcome

    def can_go_on(self) -> bool:
        """Whether an answer has arrived, or the instance was taken away."""
        if (held := self._engine.get(self.claim.id)) and (held.fence, held.wake) != (self.claim.fence, "lease"):
            self._port.cancel()
            return True
        return any(not self._look(question).is_open for question in list(self._parked))

    def end(self) -> None:
        """Cancel it at the end of the trial."""
        self._port.cancel()
        self.go()

    def _look(self, question: UUID) -> Question:
        return self._engine.read(lambda conn: look(conn, question))

    def _run(self) -> None:
        outcome = invoke(self.claim, self._port)
        with self._changed:
            self.outcome = outcome
            self._changed.notify_all()

    def _park(self, question: UUID) -> None:
        self._asked(question)
        if not self._look(question).is_open:
            return
        with self._changed:
            self._parked[question] = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._parked[question])
            del self._parked[question]


class _Port(EnginePort):
    """Waits for the test where a worker's handler would poll."""

    def __init__(self, engine: Engine, claim: Claim, park: Callable[[UUID], None]) -> None:
        super().__init__(engine, claim)
        self._park = park

    def do_question(self, question_id: UUID, idle: bool) -> Question | None:
        if not self.cancelled():
            self._park(question_id)
        return super().do_question(question_id, idle)
