"""A trial: an engine on a virtual clock that runs handlers synchronously, under the test's control."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID, uuid4

from interlock.engine import Claim, Engine, Instance, OpenReview, Result, due, workers
from interlock.engine.unit import Unit
from interlock.machine import USER, Actor, Machine, Outcome, Patch, Registry
from interlock.store import Store
from interlock.testing.clock import START, VirtualClock
from interlock.testing.handler_run import HandlerRun

SOMEBODY = Actor(USER, "somebody")


class NeverIdle(AssertionError):
    """The machine did not become idle within the number of steps."""


class Trial:
    """Machines in a world where only the test makes time pass.

    with Trial([order]) as trial:
        it = trial.create("order", {"item": "tea"})
        trial.run_until_idle()
        trial.advance(hours=24)
        assert trial.state(it) == "shipped"
    """

    def __init__(
        self,
        machines: Registry | Sequence[Machine] | Engine,
        *,
        store: Store | str | None = None,
        start: datetime = START,
        seed: int = 1,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """`settings` are those of applications, by name; what is not given has its defaults.

        An engine in place of machines is used as it is and stays open: for a program that opens its own.
        """
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closes_engine = not isinstance(machines, Engine)
        if isinstance(machines, Engine):
            self.engine = machines
        else:
            if store is None:
                self._folder = tempfile.TemporaryDirectory(prefix="interlock-trial-")
                store = f"sqlite:///{self._folder.name}/trial.db"
            self.engine = Engine(store, machines, clock=VirtualClock(start), seed=seed)
        self.engine.core.settings |= settings or {}
        self.queues = sorted({machine.queue for machine in self.engine.registry})
        self._turn = 0
        self._waiting: list[HandlerRun] = []
        self._answers: dict[str, tuple[str, Mapping[str, Any] | None, Actor]] = {}
        self.worker = self.new_worker()

    @property
    def clock(self) -> VirtualClock:
        """The clock that only the test moves."""
        clock = self.engine.clock
        if not isinstance(clock, VirtualClock):
            raise TypeError("this engine's time passes by itself: open it with clock=VirtualClock()")
        return clock

    def look_after(self) -> None:
        """Run the applications' duties once."""
        for duty in self.engine.registry.duties:
            while duty.run(self.engine):
                pass

    def new_worker(self) -> UUID:
        """Register another worker, which can claim with its own id."""
        worker = uuid4()
        self.engine.store.write(
            lambda conn: workers.start(
                conn,
                self.engine.clock.now(),
                worker,
                host="trial",
                pid=0,
                queues=self.queues,
                lock_file=None,
                lease=timedelta(days=3650),
            )
        )
        return worker

    # -- doing

    def create(self, machine: str, data: Patch = None, **options: Any) -> UUID:
        """Create an instance, as the machine's own application does."""
        return self.engine.create(machine, data, **{"by_application": True, **options}).id

    def claim(self, count: int = 1, *, worker: UUID | None = None) -> list[Claim]:
        """Claim like a worker, without running anything."""
        self._turn += 1
        return self.engine.claim(worker or self.worker, self.queues, count, self._turn)

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        return self.engine.finish([Result(claim, outcome)])[0]

    def run(self, claim: Claim) -> Outcome:
        """Run the claim's handler without writing its outcome."""
        run = HandlerRun(self.engine, claim, self._asked)
        outcome = run.go()
        if outcome is None:
            run.end()
            raise AssertionError("the handler waits for an answer: use step(), or will_answer() before")
        return outcome

    def step(self) -> int:
        """Claim and run what is ready, write the results, then fire what is due. Returns how much was done."""
        runs = [run for run in self._waiting if run.can_go_on()]
        self._waiting = [run for run in self._waiting if run not in runs]
        runs += [HandlerRun(self.engine, claim, self._asked) for claim in self.claim(16)]
        for run in runs:
            outcome = run.go()
            if outcome is None:
                self._waiting.append(run)
            else:
                self.finish(run.claim, outcome)
        return len(runs) + self.engine.tick()

    def will_answer(
        self, name: str, decision: str, form: Mapping[str, Any] | None = None, *, actor: Actor = SOMEBODY
    ) -> None:
        """From now on, answer the question with this name at once whenever a handler asks it."""
        self._answers[name] = decision, form, actor

    def answer(
        self,
        instance_id: UUID,
        name: str,
        decision: str,
        form: Mapping[str, Any] | None = None,
        *,
        actor: Actor = SOMEBODY,
    ) -> OpenReview:
        """Answer the open question, or decide the open review, with this name. `step` lets its handler continue."""
        found = [one for one in self.engine.reviews.waiting(instance_id=instance_id) if one.name == name]
        if not found:
            names = ", ".join(one.name for one in self.engine.reviews.waiting(instance_id=instance_id)) or "none"
            raise AssertionError(f"there is no open question {name!r}; there are: {names}")
        return self.engine.reviews.decide(found[0].id, decision, actor=actor, answer=form)

    def _asked(self, question: UUID) -> None:
        review = self.engine.reviews.get(question)
        if review.status == "open" and review.name in self._answers:
            decision, form, actor = self._answers[review.name]
            self.engine.reviews.decide(question, decision, actor=actor, answer=form)

    def run_until_idle(self, *, limit: int = 10_000) -> int:
        """Run until nothing is ready. Time does not pass."""
        total = 0
        while True:
            done = self.step()
            if not done:
                return total
            total += done
            if total > limit:
                raise NeverIdle(
                    f"{total} things were done and there is still more; does a handler return Again at once?"
                )

    def advance(self, length: timedelta | None = None, *, limit: int = 10_000, **parts: float) -> None:
        """Let time pass. Everything that becomes due on the way happens at its own time."""
        end = self.clock.now() + _micros(length or timedelta(**parts))
        self.run_until_idle(limit=limit)
        while True:
            coming = self.engine.read(due.next_due)
            if coming is None or coming > end:
                break
            self.clock.set(coming)
            self.run_until_idle(limit=limit)
            if (self.engine.read(due.next_due) or end + 1) <= coming:
                break  # something is due that nothing here does: a step without a handler, or a claimed one
        self.clock.set(end)
        self.run_until_idle(limit=limit)

    def lose(self, worker: UUID) -> int:
        """Declare the worker lost, as its missing heartbeat would, and take its work back."""
        return self.engine.take_back([worker])

    # -- reading

    def get(self, instance_id: UUID) -> Instance:
        return self.engine.get(instance_id)

    def state(self, instance_id: UUID) -> str:
        return self.engine.get(instance_id).state

    def data(self, instance_id: UUID) -> Mapping[str, Any]:
        return self.engine.get(instance_id).data

    def path(self, instance_id: UUID) -> list[str]:
        """The states it went through, including the first."""
        return [row.to_state for row in self.engine.history(instance_id) if row.to_state is not None]

    def write(self, job: Any) -> Any:
        def run(unit: Unit) -> Any:
            return job(unit)

        return self.engine.write(run)

    def close(self) -> None:
        for run in self._waiting:
            run.end()
        if self._closes_engine:
            self.engine.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
