"""The port: how a task calls the engine, under the fence of its claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from interlock.engine import Claim, Effect, Engine, Instance, finishing, visits
from interlock.engine import artifacts as artifact_functions
from interlock.engine import effects as effect_functions
from interlock.engine import questions as question_functions
from interlock.engine.errors import Fenced
from interlock.engine.questions import Question
from interlock.engine.unit import Unit
from interlock.machine import WORKER, Actor, Message, Patch, Review, Spawn, WorkError
from interlock.store import StoreError, moment
from interlock.worker import answer_polling

T = TypeVar("T")
PATIENCE = 300.0
READS = {"idempotency_key", "effect", "read", "setting", "secret", "artifact", "question", "now"}
"""Calls that write nothing."""


class Cancelled(Fenced):
    """The claim has ended: the instance was paused, moved or taken over. The handler's result will not count."""


class MissingSecret(WorkError):
    """A handler asked for a secret that this process was not given."""


class Port(Protocol):
    """How a task calls the engine: directly, or through a pipe from a process of its own."""

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any: ...

    def cancelled(self) -> bool: ...


class EnginePort:
    """Calls the engine directly, under the fence of the claim."""

    def __init__(self, engine: Engine, claim: Claim, begun: float | None = None) -> None:
        self.engine, self.claim = engine, claim
        self._cancelled = False
        self.waits_for: dict[UUID, bool] = {}
        """The open questions that the handler waits for, and whether it does nothing else meanwhile."""
        self.wrote = False
        """Whether the handler may have written something for its instance."""
        self.ends = (engine.clock.steady() if begun is None else begun) + claim.work.timeout.total_seconds()
        """The monotonic time of its time limit, so that setting a clock neither ends nor prolongs a handler."""

    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the task: the handler sees it at its next check."""
        self._cancelled = True

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        self.wrote = self.wrote or name not in READS
        return getattr(self, f"do_{name}")(*args, **kwargs)

    def do_intend(self, kind: str, request: Any, key: str | None, takes: tuple[str, ...]) -> Effect:
        return self.engine.write(
            lambda unit: effect_functions.intend(unit, self.claim, kind, request, key=key, takes=takes), name="intend"
        )

    def do_sent(self, effect_id: UUID) -> None:
        self.engine.write(lambda unit: effect_functions.sent(unit, self.claim, effect_id), name="sent")

    def do_idempotency_key(self) -> str:
        instance = self.engine.get(self.claim.id)
        step = effect_functions.step_of(self.claim, instance)
        return self.engine.read(lambda conn: visits.of(conn, instance.id, instance.parent, step)).key

    def do_settle(self, effect_id: UUID, status: str, answer: Any, error: str | None) -> Effect:
        """Waits for a database that is away: what was learnt is never thrown away, and telling it twice is harmless."""
        actor = Actor(WORKER, str(self.claim.worker))
        return self._patiently(
            lambda unit: effect_functions.settle(
                unit, effect_id, status, answer=answer, error=error, actor=actor, claim=self.claim
            ),
            "settle",
        )

    def _patiently(self, job: Callable[[Unit], T], name: str) -> T:
        deadline = time.monotonic() + PATIENCE
        wait = 0.05
        while True:
            try:
                return self.engine.write(job, name=name)
            except StoreError as trouble:
                if not trouble.retryable or time.monotonic() > deadline:
                    raise
            time.sleep(wait)
            wait = min(wait * 2, 1.0)

    def do_effect(self, kind: str, key: str | None) -> Effect:
        instance = self.engine.get(self.claim.id)
        return self.engine.read(lambda conn: effect_functions.unanswered(conn, self.claim, instance, kind, key))

    def do_move(self, to: str, data: Patch, reason: str) -> Instance:
        return self.engine.write(
            lambda unit: finishing.move_and_keep(unit, self.claim, to, data=data, reason=reason), name="move"
        )

    def do_save(self, data: Patch, reason: str) -> Instance:
        return self.engine.write(lambda unit: finishing.save(unit, self.claim, data, reason=reason), name="save")

    def do_heartbeat(self) -> None:
        begun = self.engine.clock.steady()
        self.engine.write(lambda unit: finishing.extend(unit, self.claim), name="extend")
        self.ends = begun + self.claim.work.timeout.total_seconds()

    def do_progress(self, fraction: float, message: str) -> None:
        self.engine.write(lambda unit: finishing.progress(unit, self.claim, fraction, message), name="progress")

    def do_send(self, messages: tuple[Message, ...]) -> None:
        self.engine.write(lambda unit: finishing.send(unit, self.claim, messages), name="send")

    def do_spawn(self, wanted: Spawn) -> UUID | None:
        return self.engine.write(lambda unit: finishing.spawn(unit, self.claim, wanted), name="spawn")

    def do_keep(self, name: str, content: bytes, media_type: str) -> str:
        return self.engine.write(
            lambda unit: artifact_functions.keep_fenced(unit, self.claim, name, content, media_type=media_type),
            name="artifact",
        )

    def do_ask(self, name: str, review: Review, options: Mapping[str, Any]) -> Question:
        found = self.engine.write(
            lambda unit: question_functions.ask(unit, self.claim, name, review, **options), name="ask"
        )
        self._note(found)
        return found

    def do_question(self, question_id: UUID, idle: bool) -> Question | None:
        found = answer_polling.looked_at(self.engine, question_id)
        if found is not None:
            self._note(found, idle)
        return found

    def _note(self, found: Question, idle: bool = False) -> None:
        if found.is_open:
            self.waits_for[found.id] = idle
            self.ends = answer_polling.time_limit(self.engine, self.claim, found)
        else:
            self.waits_for.pop(found.id, None)

    def do_write(self, function: Callable[..., Any], args: tuple[Any, ...], patient: bool) -> Any:
        def job(unit: Unit) -> Any:
            return function(unit, self.claim, *args)

        return self._patiently(job, function.__name__) if patient else self.engine.write(job, name=function.__name__)

    def do_read(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return self.engine.read(lambda conn: function(conn, *args))

    def do_now(self) -> datetime:
        return moment(self.engine.clock.now())

    def do_setting(self, name: str) -> Any:
        return self.engine.core.settings.get(name)

    def do_secret(self, name: str) -> str:
        found = self.engine.core.secrets.get(name)
        if found is None:
            known = ", ".join(sorted(self.engine.core.secrets)) or "none"
            raise MissingSecret(f"there is no secret {name!r} here (there are: {known}); set it under [secrets]")
        return found

    def do_artifact(self, name: str) -> bytes | None:
        found = [a for a in self.engine.artifacts(self.claim.id) if a.name == name]
        return self.engine.artifact(self.claim.id, found[-1].hash) if found else None
