"""The deliverer: takes messages from the outbox and passes them to their channels, outside any transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from uuid_utils.compat import uuid7

from interlock.engine import Engine, isolation, outbox
from interlock.engine.error_details import message_of
from interlock.engine.outbox import OutboxMessage
from interlock.engine.unit import Unit
from interlock.machine import InterlockError
from interlock.store import SECOND, Micros, StoreClosed, StoreError
from interlock.worker.handler_threads import Threads, ThreadSlot
from interlock.worker.hinted import HintedLoop

log = logging.getLogger("interlock.worker")
CONCURRENCY = 8
LIMIT = timedelta(seconds=60)
IDLE = 2.0
SPARE = timedelta(seconds=60)
"""How much longer than the time limit a message stays locked, to write its outcome."""


class DeliveryFailed(InterlockError):
    """The message was not delivered, and a later attempt may succeed. `retry_after` is the receiver's wish."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeliveryRefused(InterlockError):
    """The message was not delivered, and no later attempt will succeed."""


class Channel(Protocol):
    """A channel for messages. It is called from several threads at once."""

    def deliver(self, message: OutboxMessage) -> str:
        """Deliver the message and describe how, for the log. Raises DeliveryFailed or DeliveryRefused."""
        ...


@dataclass(slots=True, eq=False)
class _Attempt:
    id: UUID
    message: OutboxMessage
    begun: float
    deliver: Callable[[_Attempt], None]
    slot: ThreadSlot | None = None
    outcome: str | BaseException | None = None
    """The outcome; None while the attempt is running."""
    took: Micros = 0

    def __call__(self) -> None:
        self.deliver(self)


class Deliverer(HintedLoop):
    """Delivers up to `concurrency` messages at once, each with a time limit.

    Channels share the threads, and one recipient gets at most half of its channel's share, so a slow recipient delays
    nobody else. When stopped, it takes no new messages and finishes the running attempts.
    """

    name = "deliverer"
    pause = IDLE
    hint = outbox.HINT

    def __init__(
        self,
        engine: Engine,
        channels: Mapping[str, Channel],
        *,
        concurrency: int = CONCURRENCY,
        limit: timedelta = LIMIT,
    ) -> None:
        super().__init__(engine)
        self._channels = dict(channels)
        self._concurrency, self._limit = concurrency, limit
        self._share = max(1, concurrency // max(1, len(self._channels)))
        self._threads = Threads(concurrency)
        self._lock = threading.Lock()
        self._running: dict[UUID, _Attempt] = {}
        self._ended: list[_Attempt] = []
        self._next: Micros | None = None

    @property
    def busy(self) -> int:
        """How many messages are being delivered or not yet written."""
        with self._lock:
            return len(self._running) + len(self._ended)

    def once(self) -> bool:
        try:
            settled = self._settle()
        finally:  # sending must not wait for the outcome of another message
            taken = self._take()
        return taken > 0 or settled > 0

    def wait(self) -> float:
        with self._lock:
            if self._running:
                return self._time_left()
        if self._next is None:
            return self.pause
        return min(max((self._next - self._engine.clock.now()) / SECOND, 0.2), self.pause)

    # -- taking

    def _take(self) -> int:
        with self._lock:
            under_way = [one.message for one in self._running.values()]
        free = self._concurrency - len(under_way)
        clock, channels = self._engine.clock, self._channels
        self._next = self._engine.read(lambda conn: outbox.next_due(conn, channels)) if channels else None
        if free <= 0 or self._next is None or self._next > clock.now():
            return 0
        room = {name: self._share - sum(m.channel == name for m in under_way) for name in channels}
        busy: dict[tuple[str, str], int] = {}
        for message in under_way:
            busy[message.channel, message.recipient] = busy.get((message.channel, message.recipient), 0) + 1
        taken = self._engine.write(
            lambda unit: outbox.take(unit, room, free, self._limit + SPARE, busy=busy, each=max(1, self._share // 2)),
            name="take",
        )
        for message in taken:
            self._begin(message)
        return len(taken)

    def _begin(self, message: OutboxMessage) -> None:
        attempt = _Attempt(uuid7(), message, self._engine.clock.steady(), self._deliver)
        with self._lock:
            self._running[attempt.id] = attempt
        self._threads.submit([attempt])

    def _deliver(self, attempt: _Attempt) -> None:
        message = attempt.message
        with self._lock:
            if attempt.id not in self._running:
                return  # it waited for a thread until its time was up
        try:
            said = self._channels[message.channel].deliver(message)
            outcome: str | BaseException = said if isinstance(said, str) else ""
        except BaseException as error:  # also SystemExit: a channel may be anybody's code
            outcome = error
        self._end(attempt, outcome)

    def _end(self, attempt: _Attempt, outcome: str | BaseException) -> bool:
        """Record the first outcome: the channel's, or the timeout."""
        with self._lock:
            if self._running.pop(attempt.id, None) is None:
                return False
            attempt.outcome = outcome
            attempt.took = round((self._engine.clock.steady() - attempt.begun) * SECOND)
            self._ended.append(attempt)
        self.wake()
        return True

    # -- settling

    def _settle(self) -> int:
        """Write the outcomes of attempts. Those that cannot be written now are kept for the next round."""
        self._give_up_the_slow()
        with self._lock:
            ended = tuple(self._ended)
        if ended:
            try:
                self._engine.write(lambda unit: _write(unit, ended), name="settled")
            except BaseException as error:
                if isolation.must_raise(error) or len(ended) == 1:
                    raise
                self._settle_each(ended)
                raise
            with self._lock:
                self._ended = [one for one in self._ended if one not in ended]
        return len(ended)

    def _settle_each(self, ended: tuple[_Attempt, ...]) -> None:
        """Write each outcome separately, so that one that cannot be written does not affect the others."""
        for one in ended:
            try:
                self._engine.write(lambda unit, one=one: _write(unit, [one]), name="settled")  # type: ignore[misc]
            except BaseException as error:
                if isolation.must_raise(error):
                    raise
                log.error(
                    "the outcome of message %s cannot be written: %s", one.message.id, isolation.error_summary(error)
                )
                continue
            with self._lock:
                self._ended.remove(one)

    def _give_up_the_slow(self) -> None:
        with self._lock:
            late = [one for one in self._running.values() if self._left(one) <= 0]
        for one in late:
            if self._end(one, DeliveryFailed(f"no answer within {self._limit.total_seconds():g} seconds")):
                log.warning("message %s: its channel %s did not return in time", one.message.id, one.message.channel)
                if one.slot is not None:
                    self._threads.give_up(one.slot)

    def _left(self, attempt: _Attempt) -> float:
        return attempt.begun + self._limit.total_seconds() - self._engine.clock.steady()

    def _time_left(self) -> float:
        """Seconds until the first running attempt times out. The caller holds the lock."""
        return max(0.005, min([self.pause, *map(self._left, self._running.values())]))

    # -- stopping

    def _run(self) -> None:
        super()._run()
        self._drain()
        self._threads.close()

    def _drain(self) -> None:
        """See to the end what is under way. A message that is not written down comes back after its lease."""
        deadline = self._engine.clock.steady() + self._limit.total_seconds() + 5
        while self.busy and self._engine.clock.steady() < deadline:
            self._awake.clear()
            try:
                self._settle()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("what came of %d messages cannot be written down yet: %s", self.busy, error)
            with self._lock:
                left = self._time_left()
            if self.busy:
                self._awake.wait(min(left, 0.5))


def _write(unit: Unit, attempts: Iterable[_Attempt]) -> None:
    for attempt in attempts:
        outcome, message, took = attempt.outcome, attempt.message, max(0, attempt.took)
        if isinstance(outcome, str):
            outbox.delivered(unit, message, took=took, detail=outcome, attempt=attempt.id)
            continue
        assert outcome is not None, "what ended has its outcome"
        ours = isinstance(outcome, DeliveryFailed | DeliveryRefused)
        error = message_of(outcome) if ours else f"{type(outcome).__name__}: {message_of(outcome)}"
        outbox.failed(
            unit,
            message,
            error,
            took=took,
            attempt=attempt.id,
            final=isinstance(outcome, DeliveryRefused),
            retry_after=outcome.retry_after if isinstance(outcome, DeliveryFailed) else None,
        )
