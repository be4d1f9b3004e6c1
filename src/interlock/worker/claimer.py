"""The claimer: writes results and claims new work, in one transaction per round.

A round takes all results that arrived during the last commit, so a busy worker needs one commit per batch and no extra
timer. It claims only as much as it has free slots.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from interlock.engine import Claim, Engine, Fenced, Result, claiming, finishing, isolation, picking
from interlock.engine.unit import Unit
from interlock.machine import Fail, InvalidOutcome, Outcome
from interlock.store import RowChanged
from interlock.worker.loop import Identity, Loop
from interlock.worker.runner import Runner, Running

log = logging.getLogger("interlock.worker")
LONGEST_BATCH = 1024
OVERLAPS_FROM = 64
"""From this number of handlers on, half of the results make a round: the other handlers run while it is written."""
WHOLE_SHARE = 4
"""If one of so many claims and results needs all columns of its instance, the next claim reads them."""
BREATH, LONGEST_GATHERING = 0.0003, 0.01
"""Seconds within which another result must arrive while a round gathers, and the longest gathering."""


class Claimer(Loop):
    """Holds the running handlers of this worker."""

    name = "claimer"
    pause = 0.05

    def __init__(
        self, engine: Engine, me: Identity, queues: Sequence[str], concurrency: int, trusted: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._engine, self._me, self._queues, self._concurrency = engine, me, list(queues), concurrency
        self._trusted = trusted
        self.runner = Runner(engine, concurrency, self._came)
        self._lock = threading.Lock()
        self._results: list[tuple[Running, Outcome]] = []
        self.running: set[Running] = set()
        self._in_batch: Counter[UUID] = Counter()
        """How many running handlers each batch of claims in place has."""
        self.reads_whole = False
        """Whether all columns are read with a claim, because the last results needed them."""
        self._turn = 0
        self._idle_rounds = 0
        self.draining = False
        self._in_round = False
        self.finished = 0
        self.stale = 0

    def _came(self, running: Running, outcome: Outcome) -> None:
        with self._lock:
            self._results.append((running, outcome))
        self.wake()

    def wait(self) -> float:
        """From 50 ms to 1 s while idle. Hints wake it sooner."""
        return min(self.pause * 2.0 ** min(self._idle_rounds, 5), 1.0)

    def once(self) -> bool:
        self._in_round = True
        try:
            return self._round()
        finally:
            self._in_round = False

    def _gather(self) -> None:
        """Gather the results of quick handlers, so that the first of a batch does not get its own commit."""
        count, until = 0, time.monotonic() + LONGEST_GATHERING
        running = len(self.running)
        enough = min(running // 2 if running >= OVERLAPS_FROM else running, LONGEST_BATCH)
        while count < len(self._results) < enough and time.monotonic() < until:
            count = len(self._results)
            time.sleep(BREATH)

    def _round(self) -> bool:
        self._gather()
        with self._lock:
            batch, self._results = self._results[:LONGEST_BATCH], self._results[LONGEST_BATCH:]
        if not self._trusted():
            # Other workers may own these instances by now. Our claims are void, and no result is written.
            self._drop()
            raise Fenced(f"worker {self._me.id} missed its heartbeat; it drops its claims")
        free = 0 if self.draining or self.stopping else self._concurrency - self._slots_taken(batch)
        done: Sequence[bool | None]
        try:
            done, claims = self._commit(batch, free)
        except BaseException as error:
            if isolation.must_raise(error):
                self._put_back(batch)
                raise
            how = isolation.error_summary(error)
            log.warning("%d results and %d claims could not be written together (%s)", len(batch), free, how)
            self._each(batch)
            batch, done = [], []
            claims = isolation.claim_one_by_one(self._engine, self._me.id, self._queues, free, self._turn)
        self._count(batch, done)
        self._in_batch.update([claim.batch for claim in claims if claim.batch is not None])
        self.running.update(self.runner.start(claims))
        busy = bool(claims or done)
        self._idle_rounds = 0 if busy else self._idle_rounds + 1
        return bool(claims) and len(claims) == free

    def _slots_taken(self, batch: list[tuple[Running, Outcome]]) -> int:
        """Slots used by handlers whose result is not in this batch."""
        ended = {running for running, _ in batch}
        return sum(running.takes_a_slot for running in self.running if running not in ended)

    def _finished_batches(self, batch: list[tuple[Running, Outcome]]) -> list[UUID]:
        """The batches of claims in place of which this batch of results has the last ones.

        A result that arrives after its claims were dropped is not the last: without the row nobody finds the others.
        """
        ended = Counter([running.claim.batch for running, _ in batch if running.claim.batch is not None])
        return [one for one, count in ended.items() if 0 < self._in_batch[one] <= count]

    def _commit(self, batch: list[tuple[Running, Outcome]], free: int) -> tuple[list[bool], list[Claim]]:
        results = [Result(running.claim, outcome, not running.port.wrote) for running, outcome in batch]
        over = self._finished_batches(batch)
        self._turn += 1
        if not results and free <= 0:
            return [], []
        if not results and not self._anything_ready():
            return [], []

        def job(unit: Unit, results: Sequence[Result]) -> tuple[list[bool], list[Claim]]:
            done = finishing.finish(unit, results) if results else []
            unit.finished_batches = over
            unit.flush()  # so that instances that just became ready can be claimed at once
            claims = claiming.claim(unit, self._me.id, self._queues, free, self._turn, whole=self.reads_whole)
            self.reads_whole = unit.needed_whole * WHOLE_SHARE > len(results) + len(claims)
            return done, claims

        try:
            return self._engine.write(partial(job, results=results), name="finish", optimistic=True)
        except RowChanged:
            return self._engine.write(
                partial(job, results=finishing.read_first(results)), name="finish", optimistic=True
            )

    def _anything_ready(self) -> bool:
        """Check before claiming: reading takes no write lock, so idle workers do not block each other."""
        core = self._engine.core
        return self._engine.read(lambda conn: picking.anything_ready(core, conn, core.clock.now(), self._queues))

    def _each(self, batch: list[tuple[Running, Outcome]]) -> None:
        """Write each result separately. Results that cannot be written now are kept for the next round."""
        left = list(batch)
        try:
            while left:
                self._count(left[:1], [self._alone(*left[0])])
                del left[0]
        finally:
            self._put_back(left)

    def _alone(self, running: Running, outcome: Outcome, *, again: bool = True) -> bool | None:
        """Write one result. If it cannot be written, its step fails instead, without affecting the others. None:
        retry later.
        """
        try:
            return self._engine.finish([Result(running.claim, outcome)])[0]
        except BaseException as error:
            if isolation.must_raise(error):
                self._put_back([(running, outcome)])
                return None
            log.error("the result of %s cannot be written: %s", running.claim.id, isolation.error_summary(error))
            if not again:
                claim = running.claim
                isolation.set_aside(self._engine, claim.id, error, "error", fence=claim.fence)
                return False
            failure = Fail(InvalidOutcome(f"the outcome cannot be written: {isolation.error_summary(error)}"))
        return self._alone(running, failure, again=False)

    def _count(self, batch: list[tuple[Running, Outcome]], done: Sequence[bool | None]) -> None:
        for (running, _), good in zip(batch, done, strict=True):
            if good is None:
                continue
            self.running.discard(running)
            batch_id = running.claim.batch
            if batch_id is not None and batch_id in self._in_batch:  # not if its claims were dropped
                self._in_batch[batch_id] -= 1
                if not self._in_batch[batch_id]:
                    del self._in_batch[batch_id]
            self.finished += good
            self.stale += not good

    def _put_back(self, batch: list[tuple[Running, Outcome]]) -> None:
        with self._lock:
            self._results[:0] = batch

    def _drop(self) -> None:
        with self._lock:
            self._results = []
        for running in list(self.running):
            running.report_once()
            self.runner.give_up(running)
        self.stale += len(self.running)
        self.running.clear()
        self._in_batch.clear()

    @property
    def busy(self) -> bool:
        with self._lock:
            # A round that began before the drain may still bring claims, which must be finished. A handler that only
            # waits for a person's answer is not waited for: it asks again where it runs next.
            at_work = any(not running.only_waits for running in list(self.running))
            return bool(self._in_round or at_work or self._results)

    def write_rest(self) -> None:
        """Write the results that arrived after the last round, at the end of a drain."""
        with self._lock:
            batch, self._results = self._results, []
        if batch and self._trusted():
            self._each(batch)

    def unfinished(self) -> list[Claim]:
        """Handlers still running at the end of a drain. They are cancelled, and their work is given back."""
        claims, late = [], 0
        for running in list(self.running):
            if running.report_once():
                late += not running.only_waits
                self.runner.give_up(running)
                claims.append(running.claim)
        if late:
            log.warning("%d handlers did not end in time; their work is given back", late)
        return claims
