"""A machine with one step that asks a model, and a trial of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import BaseModel, Field

from interlock import ai
from interlock.ai import calls
from interlock.config import AiSettings
from interlock.engine import Claim, Effect
from interlock.machine import FINAL, Fail, Go, Machine, State, Transition
from interlock.store import Store
from interlock.store.ai import ai_answer, ai_call
from interlock.testing import Trial
from interlock.worker import AsyncTask, Task

PROVIDERS = ("anthropic", "openai")


class Verdict(BaseModel):
    """How well it fits."""

    score: int = Field(ge=0, le=100)


def by_rules(given: dict[str, Any]) -> Verdict:
    return Verdict(score=len(given["text"]))


JUDGE = ai.ModelTask("judge", "Judge how well the text fits.", Verdict, rules=by_rules)
STRONG = ai.ModelTask("judge", "Judge how well the text fits.", Verdict, tier="strong")
GIVEN = {"text": "hello"}
machine = Machine(
    "question",
    initial="asking",
    states=[State("asking"), State("done", FINAL)],
    transitions=[Transition("asking", "done", on="answered")],
)


def plainly(task: Task[Any]) -> Go:
    """For processes of their own: they find it by its name."""
    return Go("done", {"score": ai.ask(task, JUDGE, GIVEN, user="ann").output.score})


async def samples_awaited(task: AsyncTask[Any]) -> Go:
    found = await ai.samples(task, JUDGE, GIVEN, 3)
    return Go("done", {"scores": [one.output.score for one in found]})


class ModelTrial(Trial):
    """A trial whose instances ask a model."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__([machine.with_handlers({"asking": plainly})], store=store)
        self.answers: list[Any] = []

    def use(self, settings: AiSettings) -> None:
        ai.configure(self.engine, settings)

    def ask(
        self, task: ai.ModelTask[Any, Any] = JUDGE, given: Any = GIVEN, *, workspace: str = "default", **how: Any
    ) -> Any:
        """The answer in an instance of its own, or its error, raised."""
        return self.do(lambda at: ai.ask(at, task, given, **how), workspace=workspace)

    def do(self, what: Callable[[Task[Any]], Any], *, workspace: str = "default") -> Any:
        claim = self.claim_asking(what, workspace=workspace)
        outcome = self.run(claim)
        self.finish(claim, outcome)
        if isinstance(outcome, Fail) and isinstance(outcome.error, BaseException):
            raise outcome.error
        return self.answers[-1]

    def claim_asking(self, what: Callable[[Task[Any]], Any], *, workspace: str = "default") -> Claim:
        """A new instance, claimed, whose handler does this and keeps what it gave."""

        def handler(task: Task[Any]) -> Go:
            self.answers.append(what(task))
            return Go("done")

        made = self.create("question", workspace=workspace)
        return self.claim_with(made, handler)

    def claim_with(self, instance: UUID, handler: Callable[..., Any]) -> Claim:
        self.engine.registry["question"].handlers.clear()
        self.engine.registry["question"].work("asking")(handler)
        [claim] = [c for c in self.claim(100) if c.id == instance]
        return claim

    def calls(self, instance: UUID | None = None) -> list[calls.Call]:
        """All calls, in order."""
        query: Any = sa.select(ai_call).order_by(ai_call.c.id)
        found = self.engine.read(lambda conn: [calls.Call(*row) for row in conn.execute(query)])
        return [call for call in found if instance is None or call.instance_id == instance]

    def kept(self) -> int:
        count = sa.select(sa.func.count()).select_from(ai_answer)
        return self.engine.read(lambda conn: int(conn.execute(count).scalar_one()))

    def effects(self) -> list[Effect]:
        found = sorted({call.instance_id for call in self.calls() if call.instance_id}, key=str)
        return [effect for one in found for effect in self.engine.effects(one)]
