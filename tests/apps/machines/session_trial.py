"""Stand-ins for sessions: an allocator that lends sandboxes, and handlers that borrow, work and give back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from interlock.apps.sessions.machine import loan, session
from interlock.apps.sessions.models import Loan, Session
from interlock.engine import Effect, Instance
from interlock.machine import Again, Go, NotSent, Outcome, Spawn
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task

LOOK_AGAIN = timedelta(seconds=5)


class Allocator:
    """Lends each sandbox to one at a time, by token; it may fall silent after it did what it was asked."""

    def __init__(self, count: int = 3) -> None:
        self.free = [f"sandbox-{n}" for n in range(count)]
        self.borrowed: dict[str, str] = {}
        self.lent: list[str] = []
        self.moods: list[str] = []

    def _mood(self) -> str:
        return self.moods.pop(0) if self.moods else "fine"

    def borrow(self, effect: Effect) -> dict[str, str]:
        mood = self._mood()
        if mood == "down" or not self.free:
            raise NotSent("No items available in the freelist")
        item = self.free.pop(0)
        self.borrowed[effect.key] = item
        self.lent.append(item)
        if mood == "falls silent":
            raise ConnectionError("the line went dead")
        return {"item": item, "token": effect.key}

    def give_back(self, token: str) -> dict[str, str]:
        mood = self._mood()
        if mood == "down":
            raise NotSent("503")
        if token not in self.borrowed:
            raise NotSent("404: Item not found in borrowed items")
        self.free.append(self.borrowed.pop(token))
        if mood == "falls silent":
            raise ConnectionError("the line went dead")
        return {"status": "succeeded"}


class SessionTrial(Trial):
    """Sessions and their loans in one world. What the agent did is noted; it does what `agent` says."""

    def __init__(self, store: Store, *, verify: bool = False) -> None:
        self.allocator = Allocator()
        self.verify = verify
        self.ran: list[tuple[str | None, str]] = []
        self.agent: list[BaseException] = []
        machines = [
            session.with_handlers({"pending": self.run_prompt, "in_progress": self.run_prompt}),
            loan.with_handlers({"borrowing": self.borrow, "returning": self.give_back}),
        ]
        super().__init__(machines, store=store)

    # -- handlers

    def run_prompt(self, task: Task[Session]) -> Outcome:
        """Borrow unless a sandbox is held, go in progress with it, let the agent work."""
        current = self.open_loan(task.id)
        if current is None:
            task.spawn(Spawn("loan", {"session_id": str(task.id)}))
            return Again(LOOK_AGAIN)
        if current.state == "stuck":
            raise RuntimeError("no sandbox")
        if current.state != "held":
            return Again(LOOK_AGAIN)
        if task.state == "pending":
            task.move("in_progress", {"loan_id": str(current.id)})
        self.ran.append((task.data.prompt_id, str(current.id)))
        if self.agent:
            raise self.agent.pop(0)
        return Go("needs_review", data={"result": "done"})

    def borrow(self, task: Task[Loan]) -> Outcome:
        asked = self._ask if self.verify else None
        task.once(
            "borrow", {"session": task.data.session_id}, self.allocator.borrow, key=self.token(task.id), verify=asked
        )
        return Go("held", data={"lent": True})

    def _ask(self, effect: Effect) -> dict[str, Any] | None:
        """What the allocator knows about the token."""
        item = self.allocator.borrowed.get(effect.key)
        return {"item": item, "token": effect.key} if item else None

    def give_back(self, task: Task[Loan]) -> Outcome:
        token = self.token(task.id)
        task.once(
            "return",
            {"token": token},
            lambda _: self.allocator.give_back(token),
            key=f"return:{token}",
            verify=lambda _: None if token in self.allocator.borrowed else {"status": "succeeded"},
        )
        return Go("returned")

    # -- the test's own words

    @staticmethod
    def token(loan_id: UUID) -> str:
        return f"borrow:{loan_id}"

    def loans(self, session_id: UUID) -> list[Instance]:
        return self.engine.children(session_id)

    def open_loan(self, session_id: UUID) -> Instance | None:
        """The loan that was not given back: there is never a second one beside it."""
        return next((one for one in self.loans(session_id) if one.state not in {"returning", "returned"}), None)

    def begin(self, prompt: str = "p1") -> UUID:
        it = self.create("session", {"user_id": "ann", "prompt_id": prompt})
        self.advance(seconds=10)
        return it

    def lend(self) -> UUID:
        """A loan on its own."""
        it = self.create("loan")
        self.run_until_idle()
        return it
