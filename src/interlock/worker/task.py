"""A task: what a handler gets. It knows the instance, and can write for it while the claim is valid."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from interlock.engine import Claim, Effect, Instance
from interlock.engine.effect_answers import storable
from interlock.engine.error_details import message_of
from interlock.engine.errors import Fenced
from interlock.engine.questions import Answer, Question, QuestionClosed
from interlock.engine.values import parsed
from interlock.machine import EffectUnknown, Message, NotSent, Patch, Review, Spawn
from interlock.store.ready import POSITIONS
from interlock.worker import answer_polling
from interlock.worker.port import Cancelled, Port

D = TypeVar("D")
T = TypeVar("T")
About = tuple[UUID, str, str | None, str, str, str]
"""Which instance it is: its id, machine, key, workspace, trace and state."""
_about = itemgetter(*(POSITIONS[name] for name in ("id", "machine", "key", "workspace", "trace_id", "state")))
DATA, USUAL = POSITIONS["data"], POSITIONS["usual"]


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
        """Still alive: the time limit starts again."""
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

    def now(self) -> datetime:
        """The time by the engine's clock, which a test may set."""
        found: datetime = self._port.call("now")
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
        The time limit starts again with the answer.
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
        for pause in answer_polling.pauses():
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
    text = claim.row[DATA]
    model = claim.machine.data
    data: Any = parsed(text) if text is not None else dict(claim.instance.data)
    if model is not None:
        data = model.model_validate(data)
    attempt = 1
    if not claim.row[USUAL]:
        counted = f"{claim.step}|"
        attempt += sum(
            n for name, n in claim.instance.failures.items() if name.startswith(counted) and "|crash" not in name
        )
    return Task(about(claim), data, fence=claim.fence, attempt=attempt, port=port)
