"""Running a handler: whatever it does, it yields one outcome, or it is abandoned."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any

from interlock.engine import Claim, Engine
from interlock.machine import Fail, InvalidOutcome, Outcome
from interlock.watch import logs, tracing
from interlock.watch.prometheus import observe_handler
from interlock.worker import awaiting
from interlock.worker.event_loop import EventLoop, Started
from interlock.worker.handler_threads import Threads, ThreadSlot
from interlock.worker.isolated import run_isolated
from interlock.worker.port import Cancelled, EnginePort
from interlock.worker.task import make_task

Done = Callable[["Running", Outcome], None]


_is_async = lru_cache(1000)(inspect.iscoroutinefunction)


def awaited(handler: Callable[..., Any]) -> bool:
    """Whether it is an `async def`. Cached, because checking takes longer than many handlers."""
    try:
        return _is_async(handler)
    except TypeError:  # a callable that is not hashable
        return inspect.iscoroutinefunction(handler)


def checked(result: Any, claim: Claim) -> Outcome:
    """Check that the handler returned an outcome."""
    if isinstance(result, Outcome):
        return result
    got = "nothing" if result is None else f"{type(result).__name__} {str(result)[:80]!r}"
    return Fail(
        InvalidOutcome(
            f"the handler of {claim.state!r} returned {got}; it must return Go, Stay, Again or Fail, or raise"
        )
    )


def invoke(claim: Claim, port: EnginePort) -> Outcome:
    """Run the handler in this thread. An error becomes an outcome."""
    try:
        if claim.work.memory_mb is not None:
            return checked(run_isolated(claim, port), claim)
        task = make_task(claim, port)
        if awaited(claim.work.handler):
            return checked(asyncio.run(awaiting.run(claim.work.handler, task)), claim)
        return checked(claim.work.handler(task), claim)
    except BaseException as error:
        return Fail(error)


class Watch:
    """Adds context to log lines, measures the run, and makes it a span if tracing is started."""

    __slots__ = ("_begun", "_claim", "_inside", "_span", "_token")

    def __init__(self, claim: Claim) -> None:
        self._claim, self._begun = claim, time.perf_counter()
        self._inside: AbstractContextManager[Any] | None = None
        self._span: Any = None

    def _about(self) -> dict[str, Any]:
        claim = self._claim
        return {
            "trace_id": claim.trace_id,
            "instance": str(claim.id),
            "machine": claim.machine.name,
            "step": claim.step,
            "worker": str(claim.worker),
        }

    def __enter__(self) -> Watch:
        self._token = logs.running.set(self._about)
        if tracing.wanted():
            claim, attributes = self._claim, {k: v for k, v in self._about().items() if k != "worker"}
            self._inside = tracing.span(f"{claim.machine.name} {claim.step}", claim.trace_id, attributes)
            self._span = self._inside.__enter__()
        return self

    def observed(self, outcome: Outcome) -> Outcome:
        took = time.perf_counter() - self._begun
        observe_handler(self._claim.machine.name, self._claim.step, type(outcome).__name__.lower(), took)
        if self._span is not None and isinstance(outcome, Fail):
            tracing.failed(self._span, outcome.error)
        return outcome

    def __exit__(self, *error: Any) -> None:
        if self._inside is not None:
            self._inside.__exit__(*error)
        logs.running.reset(self._token)


class Running:
    """A running handler."""

    __slots__ = ("_reported", "_run", "claim", "future", "port", "slot")

    def __init__(self, claim: Claim, port: EnginePort, run: Callable[[Running], None]) -> None:
        self.claim, self.port, self._run = claim, port, run
        self.slot: ThreadSlot | None = None
        self.future: Started | None = None
        self._reported = threading.Lock()

    def __call__(self) -> None:
        self._run(self)

    @property
    def waits(self) -> bool:
        """Whether it is waiting for a person's answer."""
        return bool(self.port.waits_for)

    @property
    def takes_a_slot(self) -> bool:
        """Whether it occupies a slot. An `async def` that waits for an answer has no thread and does not."""
        return not self.waits or self.future is None

    @property
    def only_waits(self) -> bool:
        """Whether it only waits: an `async def` may do other work beside its question."""
        return self.waits and all(self.port.waits_for.copy().values())

    def report_once(self) -> bool:
        """True for the first caller: either the handler or its time limit reports the outcome."""
        return self._reported.acquire(blocking=False)

    def cancel(self) -> None:
        self.port.cancel()
        if self.future is not None:
            self.future.cancel()


def _before(running: Running) -> Cancelled:
    return Cancelled(f"{running.claim.id} was cancelled before it began")


class Runner:
    """Runs plain handlers in threads, `async def` handlers on an event loop, and memory-limited ones in processes."""

    def __init__(self, engine: Engine, threads: int, done: Done) -> None:
        self._engine = engine
        self.done = done
        self.threads = Threads(threads)
        self.events = EventLoop()

    def start(self, claims: Iterable[Claim]) -> list[Running]:
        """Start the claimed handlers together, because each thread call costs more than a quick handler."""
        every, plain = [], []
        begun, work, runs_async = self._engine.clock.steady(), None, False
        for claim in claims:
            running = Running(claim, EnginePort(self._engine, claim, begun), self._called)
            every.append(running)
            if claim.work is not work:  # most claims of a batch run the same handler
                work = claim.work
                runs_async = work.memory_mb is None and awaited(work.handler)
            if runs_async:
                running.future = self.events.submit(self._awaited(running), partial(self._ended, running))
            else:
                plain.append(running)
        self.threads.submit(plain)
        return every

    def _called(self, running: Running) -> None:
        outcome: Outcome
        try:
            if running.port.cancelled():  # while it waited for a thread
                outcome = Fail(_before(running))
            else:
                with Watch(running.claim) as watch:
                    outcome = watch.observed(invoke(running.claim, running.port))
        except BaseException as error:  # errors of the measurement; the handler's own are outcomes
            outcome = Fail(error)
        self._finish(running, outcome)

    async def _awaited(self, running: Running) -> None:
        with Watch(running.claim) as watch:
            try:
                task = make_task(running.claim, running.port)
                outcome = checked(await awaiting.run(running.claim.work.handler, task), running.claim)
            except BaseException as error:
                outcome = Fail(error)
            watch.observed(outcome)
        self._finish(running, outcome)

    def _ended(self, running: Running, error: BaseException | None) -> None:
        """Free the slot, whatever became of the coroutine: one cancelled before its start reports nothing."""
        self._finish(running, Fail(error or _before(running)))

    def _finish(self, running: Running, outcome: Outcome) -> None:
        if running.report_once():
            self.done(running, outcome)

    def give_up(self, running: Running) -> None:
        """Cancel a handler that does not end in time, and do not wait for its thread."""
        running.cancel()
        if running.slot is not None:
            self.threads.give_up(running.slot)

    def close(self) -> None:
        self.threads.close()
        self.events.close()
