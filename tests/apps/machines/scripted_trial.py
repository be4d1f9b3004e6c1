"""A trial for machines whose handlers do what the test says next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import Claim, DeadLetter, Filter, HistoryRow, Instance, OpenReview
from interlock.machine import AGENT, OWNER, SYSTEM, USER, WORKER, Actor, Machine, Outcome
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import Trial
from interlock.worker import Task

ANN = Actor(USER, "ann")
BOSS = Actor(OWNER, "boss")
ROBOT = Actor(AGENT, "robot")
HAND = Actor(WORKER, "hand")
CLOCK = Actor(SYSTEM)

Answer = Outcome | BaseException | Callable[[Task[Any]], Outcome]
"""What a handler does: return this, raise this, or run this."""


class ScriptedTrial(Trial):
    """Every state that can be worked on has a stand-in handler, and each instance a queue of its own.

    So a claim takes the instance that the test means, whatever else is ready.
    """

    def __init__(self, machines: Sequence[Machine], store: Store) -> None:
        self._answer: Answer | None = None
        self._number = count()
        self._held: dict[UUID, Claim] = {}
        super().__init__([m.with_handlers(dict.fromkeys(m.states, self._handle)) for m in machines], store=store)

    def _handle(self, task: Task[Any]) -> Outcome:
        answer = self._answer
        assert answer is not None, "the test did not say what the handler does"
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Outcome) else answer(task)

    # -- doing

    def begin(self, machine: str, data: dict[str, Any] | None = None, **options: Any) -> UUID:
        return self.create(machine, data, queue=f"{machine}-{next(self._number)}", **options)

    def claims(self, it: UUID, *, worker: UUID | None = None) -> list[Claim]:
        """What a worker gets when it asks for this instance's work: one claim, or none."""
        return self.engine.claim(worker or self.worker, [self.get(it).queue], 1)

    def take(self, it: UUID, *, worker: UUID | None = None) -> Claim:
        """Claim it; the next `work` finishes this claim."""
        claims = self.claims(it, worker=worker)
        assert claims, f"nothing to claim: {self.engine.explain(it).sentence}"
        self._held[it] = claims[0]
        return claims[0]

    def held(self, it: UUID) -> Claim | None:
        """The claim that was taken, while it still counts."""
        claim, now = self._held.get(it), self.get(it)
        return claim if claim and (now.holder, now.fence) == (claim.worker, claim.fence) else None

    def work(self, it: UUID, answer: Answer) -> bool:
        """Claim it unless it is held already, run its handler, and write the outcome down; False if that was late."""
        claim = self.held(it) or self.take(it)
        self._answer = answer
        return self.finish(claim, self.run(claim))

    def lose_worker(self, it: UUID) -> None:
        """A worker takes it and is gone; or the one is that holds it already."""
        holder = self.get(it).holder
        if holder is None:
            holder = self.new_worker()
            self.take(it, worker=holder)
        self.lose(holder)
        if holder == self.worker:
            self.worker = self.new_worker()

    def fire(self, it: UUID, event: str | tuple[str, ...], actor: Actor, **options: Any) -> Instance:
        return self.engine.fire(it, event, actor=actor, **options)

    def wait(self, length: timedelta | None = None, /, **parts: float) -> None:
        """Let time pass, and the engine do what is due by itself; no work is claimed."""
        self.clock.advance(length or timedelta(**parts))
        while self.engine.tick():
            pass

    # -- looking

    def rows(self, it: UUID, *, after: int = 0) -> list[HistoryRow]:
        return self.engine.history(it, after=after)

    def moves(self, it: UUID, *, after: int = 0) -> list[tuple[str | None, str | None, str]]:
        """From, to, and the kind of who did it."""
        return [
            (row.from_state, row.to_state, row.actor.partition(":")[0])
            for row in self.rows(it, after=after)
            if row.kind == "moved"
        ]

    def letters(self, it: UUID, *, status: str = "open") -> list[DeadLetter]:
        where = Filter(machine=self.get(it).machine)
        return [x for x in self.engine.dead_letters.find(where, status=status, limit=1000) if x.instance_id == it]

    def reviews(self, it: UUID) -> dict[str, OpenReview]:
        """The open ones, by name."""
        return {review.name: review for review in self.engine.reviews.waiting(instance_id=it)}

    def messages(self, it: UUID) -> list[str]:
        """The subjects of what lies in the outbox for it."""
        query = sa.select(t.outbox.c.subject).where(t.outbox.c.instance_id == it).order_by(t.outbox.c.id)
        return self.engine.read(lambda conn: list(conn.execute(query).scalars()))

    def due_in(self, it: UUID) -> timedelta:
        """How long until something happens to it by itself."""
        due = self.get(it).due_at
        assert due is not None
        return timedelta(microseconds=due - self.clock.now())
