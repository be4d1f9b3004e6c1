"""Running a handler: whatever it does, one outcome comes out, or it is given up."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from interlock.engine import Claim, Engine
from interlock.machine import Fail, HandlerNonsense, Outcome
from interlock.watch import logs, tracing
from interlock.watch.prometheus import observe_handler
from interlock.worker.events import EventLoop
from interlock.worker.isolated import run_isolated
from interlock.worker.task import AsyncTask, Cancelled, EnginePort, make_task
from interlock.worker.threads import Place, Threads

Done = Callable[["Running", Outcome], None]


def checked(result: Any, claim: Claim) -> Outcome:
    """What the handler returned, if it is an outcome."""
    if isinstance(result, Outcome):
        return result
    got = "nothing" if result is None else f"{type(result).__name__} {str(result)[:80]!r}"
    return Fail(
        HandlerNonsense(
            f"the handler of {claim.instance.state!r} returned {got}; it must return Go, Stay, Again or Fail, or raise"
        )
    )


def invoke(claim: Claim, port: EnginePort) -> Outcome:
    """Run the handler here and now; an error becomes an outcome as well."""
    try:
        if claim.work.memory_mb is not None:
            return checked(run_isolated(claim, port), claim)
        task = make_task(claim, port)
        if inspect.iscoroutinefunction(claim.work.handler):
            return checked(asyncio.run(claim.work.handler(AsyncTask(task))), claim)
        return checked(claim.work.handler(task), claim)
    except BaseException as error:
        return Fail(error)


@contextmanager
def watched(claim: Claim) -> Iterator[Callable[[Outcome], Outcome]]:
    """Lines logged inside say what they are about; the run is measured, and is a span where those are wanted."""
    machine, begun = claim.machine.name, time.perf_counter()
    about = {"trace_id": claim.instance.trace_id, "instance": str(claim.id), "machine": machine, "step": claim.step}

    def seen(outcome: Outcome) -> Outcome:
        observe_handler(machine, claim.step, type(outcome).__name__.lower(), time.perf_counter() - begun)
        if span is not None and isinstance(outcome, Fail):
            tracing.failed(span, outcome.error)
        return outcome

    with (
        logs.about(worker=str(claim.worker), **about),
        tracing.span(f"{machine} {claim.step}", claim.instance.trace_id, about) as span,
    ):
        yield seen


class Running:
    """A handler under way."""

    def __init__(self, claim: Claim, port: EnginePort) -> None:
        self.claim, self.port = claim, port
        self.place: Place | None = None
        self.future: Future[None] | None = None
        self._told = threading.Lock()

    def tell(self) -> bool:
        """True once: whoever is first, the handler or its time limit, says what came of it."""
        return self._told.acquire(blocking=False)

    def cancel(self) -> None:
        self.port.cancel()
        if self.future is not None:
            self.future.cancel()


class Runner:
    """Runs plain handlers in threads, `async def` ones on an event loop, bounded ones in processes."""

    def __init__(self, engine: Engine, threads: int, done: Done) -> None:
        self._engine = engine
        self.done = done
        self.threads = Threads(threads)
        self.events = EventLoop()

    def start(self, claim: Claim) -> Running:
        running = Running(claim, EnginePort(self._engine, claim))
        if claim.work.memory_mb is None and inspect.iscoroutinefunction(claim.work.handler):
            running.future = self.events.submit(self._awaited(running))
        else:
            self.threads.submit(lambda: self._called(running), lambda place: setattr(running, "place", place))
        return running

    def _called(self, running: Running) -> None:
        if running.port.cancelled():  # while it waited for a thread
            self._finish(running, Fail(Cancelled(f"{running.claim.id} was taken away before it began")))
            return
        with watched(running.claim) as seen:
            outcome = seen(invoke(running.claim, running.port))
        self._finish(running, outcome)

    async def _awaited(self, running: Running) -> None:
        with watched(running.claim) as seen:
            try:
                task = AsyncTask(make_task(running.claim, running.port))
                outcome = checked(await running.claim.work.handler(task), running.claim)
            except BaseException as error:
                outcome = Fail(error)
            seen(outcome)
        self._finish(running, outcome)

    def _finish(self, running: Running, outcome: Outcome) -> None:
        if running.tell():
            self.done(running, outcome)

    def give_up(self, running: Running) -> None:
        """It will not end in time: cancel it, and do not wait for its thread."""
        running.cancel()
        if running.place is not None:
            self.threads.give_up(running.place)

    def close(self) -> None:
        self.threads.close()
        self.events.close()
