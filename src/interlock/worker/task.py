"""A task: what a handler is given. It knows the instance, and can write for it while its worker holds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar, cast
from uuid import UUID

from interlock.engine import Claim, Effect, Engine, Instance, finishing, visits
from interlock.engine import artifacts as artifact_functions
from interlock.engine import effects as effect_functions
from interlock.engine import questions as question_functions
from interlock.engine.effect_answers import storable
from interlock.engine.error_details import message_of
from interlock.engine.errors import Fenced
from interlock.engine.instance import column_getter
from interlock.engine.questions import Answer, Question, QuestionClosed
from interlock.engine.unit import Unit
from interlock.engine.values import parsed
from interlock.machine import WORKER, Actor, EffectUnknown, Message, NotSent, Patch, Review, Spawn, WorkError
from interlock.store import StoreError
from interlock.worker import asking

D = TypeVar("D")
T = TypeVar("T")
PATIENCE = 300.0
About = tuple[UUID, str, str | None, str, str, str]
"""Which instance it is: its id, machine, key, workspace, trace and state."""
_about = column_getter("id", "machine", "key", "workspace", "trace_id", "state")
_text = column_getter("data", "failures")
LOOKS = {"idempotency_key", "effect", "read", "setting", "secret", "artifact", "question"}
"""What a handler asks for and that writes nothing."""


class Cancelled(Fenced):
    """The instance was paused, moved or taken away; what this handler still does counts for nothing."""


class MissingSecret(WorkError):
    """A handler asked for a secret that this process was not given."""


class Port(Protocol):
    """How a task reaches the engine: straight, or through a pipe from a process of its own."""

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any: ...

    def cancelled(self) -> bool: ...


class EnginePort:
    """Straight to the engine, under the claim's fence."""

    def __init__(self, engine: Engine, claim: Claim) -> None:
        self.engine, self.claim = engine, claim
        self._cancelled = False
        self.waits_for: dict[UUID, bool] = {}
        """The open questions that the handler waits for, and whether it does nothing else meanwhile."""
        self.wrote = False
        """Whether the handler may have written something for its instance."""
        self.ends = engine.clock.steady() + claim.work.timeout.total_seconds()
        """The steady moment of its time limit: a clock that is set neither ends a handler nor lets it run on."""

    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the task: the handler sees it at its next check."""
        self._cancelled = True

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        self.wrote = self.wrote or name not in LOOKS
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
        found = asking.looked_at(self.engine, question_id)
        if found is not None:
            self._note(found, idle)
        return found

    def _note(self, found: Question, idle: bool = False) -> None:
        if found.is_open:
            self.waits_for[found.id] = idle
            self.ends = asking.time_limit(self.engine, self.claim, found)
        else:
            self.waits_for.pop(found.id, None)

    def do_write(self, function: Callable[..., Any], args: tuple[Any, ...], patient: bool) -> Any:
        def job(unit: Unit) -> Any:
            return function(unit, self.claim, *args)

        return self._patiently(job, function.__name__) if patient else self.engine.write(job, name=function.__name__)

    def do_read(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return self.engine.read(lambda conn: function(conn, *args))

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


class Task(Generic[D]):
    """One step of one instance, for a plain function. An `async def` gets an AsyncTask."""

    id: UUID
    machine: str
    key: str | None
    workspace: str
    trace_id: str
    state: str

    def __init__(self, about: About, data: D, *, fence: int, attempt: int, port: Port) -> None:
        self.id, self.machine, self.key, self.workspace, self.trace_id, self.state = about
        self.data = data
        self.fence = fence
        """Grows with every claim: outside systems can refuse an older one."""
        self.attempt = attempt
        """1 at the first try of this step; a crash or a graceful stop does not count."""
        self._port = port
        self._key: str | None = None

    @property
    def idempotency_key(self) -> str:
        """Equal for every attempt at this visit of the step, and new once it was done and comes again."""
        if self._key is None:
            self._key = str(self._port.call("idempotency_key"))
        return self._key

    @property
    def cancelled(self) -> bool:
        """Whether the instance was paused, moved or given to another: learnt within a second."""
        return self._port.cancelled()

    def check(self) -> None:
        """Raise Cancelled if there is no use in going on."""
        if self.cancelled:
            raise Cancelled(f"{self.machine} {self.id} was taken away from this worker")

    def move(self, to: str, data: Patch = None, *, reason: str = "") -> None:
        """Take a declared transition now and go on working under the same lease."""
        after = self._port.call("move", to, data, reason)
        self._follow(after)

    def save(self, data: Patch, *, reason: str = "") -> None:
        """Keep what was reached so far, with a history row."""
        self._follow(self._port.call("save", data, reason))

    def _follow(self, after: Instance) -> None:
        if after.state != self.state:
            self._key = None  # another step begins
        self.state = after.state
        kind: Any = type(self.data)
        data: Any = kind.model_validate(after.data) if hasattr(kind, "model_validate") else after.data
        self.data = data

    def heartbeat(self) -> None:
        """Still alive: the time limit starts anew."""
        self.check()
        self._port.call("heartbeat")

    def progress(self, fraction: float, message: str = "") -> None:
        """How far it is, from 0 to 1, for those who watch."""
        self._port.call("progress", fraction, message)

    def send(self, *messages: Message) -> None:
        """Put messages into the outbox now, whatever comes of the step."""
        self._port.call("send", messages)

    def spawn(self, wanted: Spawn) -> UUID | None:
        """Create a child now, for a step that has to wait for it; None when a check of the lineage refused it."""
        made: UUID | None = self._port.call("spawn", wanted)
        return made

    def keep(self, name: str, content: bytes, *, media_type: str = "application/octet-stream") -> str:
        """Keep a big value as an artifact; its hash."""
        digest: str = self._port.call("keep", name, content, media_type)
        return digest

    def artifact(self, name: str) -> bytes | None:
        """The newest artifact with this name."""
        found: bytes | None = self._port.call("artifact", name)
        return found

    def secret(self, name: str) -> str:
        """A secret by its name. Its value is hidden wherever it would be stored or shown."""
        found: str = self._port.call("secret", name)
        return found

    def setting(self, name: str) -> Any:
        """What a layer above the engine has set for handlers under this name; None if nothing."""
        return self._port.call("setting", name)

    def ask(
        self,
        name: str,
        review: Review,
        *,
        deadline: timedelta,
        default: str,
        default_form: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
        title: str = "",
    ) -> Answer:
        """Ask a person and wait for the answer. At the deadline the answer is the default.

        The review is one of the machine's `reviews`; `title` puts the question in other words. The name tells the
        question from others of the same visit of the step: asked again, also after a crash, it gives the same answer.
        The time limit starts anew with the answer.
        """
        options = {
            "deadline": deadline,
            "default": default,
            "default_form": default_form,
            "evidence": evidence,
            "title": title,
        }
        found = self.open_question(name, review, options)
        if found.answer is not None:
            return found.answer
        for pause in asking.pauses():
            answer = self.answer_to(name, found.id)
            if answer is not None:
                return answer
            time.sleep(pause)
        raise AssertionError("it is looked at without end")

    def open_question(self, name: str, review: Review, options: Mapping[str, Any]) -> Question:
        """The first half of `ask`: the question as it stands, without waiting."""
        self.check()
        found: Question = self._port.call("ask", name, review, options)
        return found

    def answer_to(self, name: str, question_id: UUID, *, idle: bool = True) -> Answer | None:
        """The second half of `ask`: the answer, if it is there by now.

        `idle`: the handler does nothing else meanwhile, so a worker that stops need not wait for it.
        """
        found: Question | None = self._port.call("question", question_id, idle)
        if found is None or found.is_open:
            self.check()
            return None
        try:
            self.heartbeat()
        except Cancelled:
            raise
        except Fenced as error:
            raise Cancelled(str(error)) from error
        if found.answer is None:
            raise QuestionClosed(f"the question {name!r} was closed without an answer: {found.closed}")
        return found.answer

    def write(self, function: Callable[..., T], /, *args: Any, patient: bool = False) -> T:
        """Run a function of a module in one transaction: `function(unit, claim, *args)`. It minds the fence itself.

        A patient one waits for a database that is away, so it must be harmless to do twice.
        """
        made: T = self._port.call("write", function, args, patient)
        return made

    def read(self, function: Callable[..., T], /, *args: Any) -> T:
        """Run a function of a module that looks at the database: `function(connection, *args)`."""
        found: T = self._port.call("read", function, args)
        return found

    # -- effects

    def intend(self, kind: str, request: Any, *, key: str | None = None, takes: tuple[str, ...] = ()) -> Effect:
        """Write down what is about to be sent. EffectUnknown when an earlier attempt sent it and heard nothing."""
        effect: Effect = self._port.call("intend", kind, request, key, takes)
        return effect

    def sent(self, effect: Effect) -> None:
        """It goes out now."""
        self._port.call("sent", effect.id)

    def confirm(self, effect: Effect, answer: Any = None) -> None:
        """It arrived. Kept even when the instance was taken away meanwhile; what is no JSON, as a marked text."""
        self._port.call("settle", effect.id, "confirmed", storable(answer), None)

    def failed(self, effect: Effect, error: str) -> None:
        """It certainly did not arrive."""
        self._port.call("settle", effect.id, "failed", None, error)

    def unknown(self, effect: Effect, error: str) -> None:
        """Nobody knows."""
        self._port.call("settle", effect.id, "unknown", None, error)

    def once(
        self,
        kind: str,
        request: Any,
        send: Callable[[Effect], T],
        *,
        key: str | None = None,
        takes: tuple[str, ...] = (),
        verify: Callable[[Effect], Mapping[str, Any] | None] | None = None,
    ) -> T:
        """Send something at most once, and give its answer, also to a later attempt.

        `send` raises NotSent when it certainly did not arrive; any other error makes the effect unknown. `verify`
        asks the other side about an unknown one: its answer, None if it never arrived, or it raises.
        """
        try:
            effect = self.intend(kind, request, key=key, takes=takes)
        except EffectUnknown:
            if verify is None:
                raise
            effect = self._verified(kind, request, key, takes, verify)
        if effect.done:
            answer: T = effect.answer
            return answer
        self.sent(effect)
        try:
            answer = send(effect)
        except NotSent as error:
            self.failed(effect, message_of(error))
            raise
        except Exception as error:
            said = message_of(error)
            self.unknown(effect, f"{type(error).__name__}: {said}")
            raise EffectUnknown(f"{kind} was sent and its answer is unknown: {said}") from error
        except BaseException as error:
            self.unknown(effect, f"{type(error).__name__}: it was broken off while it was sent")
            raise
        self.confirm(effect, answer)
        return answer

    def unanswered(self, kind: str, key: str | None = None) -> Effect:
        """The effect that was sent at an earlier attempt and has no answer yet."""
        effect: Effect = self._port.call("effect", kind, key)
        return effect

    def _verified(
        self,
        kind: str,
        request: Any,
        key: str | None,
        takes: tuple[str, ...],
        verify: Callable[[Effect], Mapping[str, Any] | None],
    ) -> Effect:
        effect = self.unanswered(kind, key)
        arrived = verify(effect)
        if arrived is None:
            self.failed(effect, "verified: it never arrived")
        else:
            self.confirm(effect, arrived)
        return self.intend(kind, request, key=key, takes=takes)


def about(claim: Claim) -> About:
    """Which instance a claim is about."""
    return cast(About, _about(claim.row))


def make_task(claim: Claim, port: Port) -> Task[Any]:
    """The task for a claim, with its data as the machine's model."""
    text, failures = _text(claim.row)
    model = claim.machine.data
    data: Any = parsed(text) if text is not None else dict(claim.instance.data)
    if model is not None:
        data = model.model_validate(data)
    attempt = 1
    if failures:
        counted = f"{claim.step}|"
        attempt += sum(
            n for name, n in claim.instance.failures.items() if name.startswith(counted) and "|crash" not in name
        )
    return Task(about(claim), data, fence=claim.fence, attempt=attempt, port=port)
