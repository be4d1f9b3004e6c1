"""Asks a model: from a plain handler, from an `async def`, or outside of any handler."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar, overload
from uuid import UUID

from pydantic import BaseModel, ValidationError
from uuid_utils.compat import uuid7

from interlock.ai import calls, data, prices, providers
from interlock.ai.calls import RULES, Budget, Ended, Question
from interlock.ai.errors import ModelMalformed, ModelRefused, NoModel, PriceUnknown
from interlock.ai.task import ModelTask
from interlock.config import AiSettings
from interlock.engine import Engine, secrets
from interlock.engine.text import canonical
from interlock.machine import InterlockError
from interlock.watch import costs, tracing
from interlock.watch.costs import SETTING
from interlock.watch.prometheus import observe_model
from interlock.worker import AsyncTask, Cancelled, Task
from interlock.worker.blocking_calls import aside

I = TypeVar("I")  # noqa: E741
O = TypeVar("O", bound=BaseModel)  # noqa: E741
T = TypeVar("T")
LOOK_EVERY = 0.2
MOST_SAMPLES = 20
OFF = AiSettings()


@dataclass(frozen=True, slots=True)
class Answer(Generic[O]):
    """The answer to a question."""

    output: O
    model: str
    """The name of the model; `rules` if none was asked."""
    cached: bool
    """Whether it is a stored answer, and nothing was sent."""
    cost: Decimal | None
    """In dollars, both requests together; None if unknown."""
    input_tokens: int | None
    output_tokens: int | None
    call: UUID
    """The id of the call."""

    @property
    def by_rules(self) -> bool:
        return self.model == RULES


def configure(engine: Engine, settings: AiSettings) -> None:
    """Let handlers of this engine use a model, or rules if the provider is `none`."""
    if settings.provider != "none":
        providers.require()
    if settings.api_key is not None:
        secrets.learn([settings.api_key.get_secret_value()])
    unknown = sorted(set(settings.budgets) - {costs.INSTALLATION, *engine.registry.applications})
    if unknown:
        known = ", ".join([costs.INSTALLATION, *sorted(engine.registry.applications)])
        raise InterlockError(f"ai.budgets names {unknown[0]!r}, which is no application here; there are: {known}")
    engine.core.settings[SETTING] = settings


class Outside:
    """A caller outside of handlers, such as a command or an endpoint. No effect is recorded for it."""

    def __init__(self, engine: Engine, *, workspace: str = "default") -> None:
        self._engine, self.workspace = engine, workspace
        self.id: UUID | None = None
        self.trace_id: str | None = None
        self.machine = ""
        self.cancelled = False

    def setting(self, name: str) -> Any:
        return self._engine.core.settings.get(name)

    def write(self, function: Callable[..., T], /, *args: Any, patient: bool = False) -> T:
        return self._engine.write(lambda unit: function(unit, None, *args), name=function.__name__)


Asker = Task[Any] | Outside


def configured(asker: Task[Any] | Outside | Engine) -> bool:
    """Whether a model is configured."""
    found = asker.core.settings.get(SETTING) if isinstance(asker, Engine) else asker.setting(SETTING)
    return (found or OFF).provider != "none"


@overload
def ask(task: Asker, what: ModelTask[I, O], given: I, *, user: str | None = ..., fresh: bool = ...) -> Answer[O]: ...
@overload
def ask(
    task: AsyncTask[Any], what: ModelTask[I, O], given: I, *, user: str | None = ..., fresh: bool = ...
) -> Awaitable[Answer[O]]: ...
def ask(
    task: Asker | AsyncTask[Any], what: ModelTask[I, O], given: I, *, user: str | None = None, fresh: bool = False
) -> Answer[O] | Awaitable[Answer[O]]:
    """Do a task with the configured model, or by rules if there is none.

    `user` is the person whose budget is charged. The same question in the same workspace gets the stored answer. With
    `fresh` it does not, except that a later attempt of the same step gets the answer that an earlier one paid for.
    In an `async def`, await it.
    """
    if isinstance(task, AsyncTask):
        return _only(_asked(_Caller(task.task, threads=True), what, given, 1, user, fresh))
    return asyncio.run(_asked(_Caller(task), what, given, 1, user, fresh))[0]


@overload
def samples(
    task: Asker, what: ModelTask[I, O], given: I, count: int, *, user: str | None = ..., fresh: bool = ...
) -> tuple[Answer[O], ...]: ...
@overload
def samples(
    task: AsyncTask[Any], what: ModelTask[I, O], given: I, count: int, *, user: str | None = ..., fresh: bool = ...
) -> Awaitable[tuple[Answer[O], ...]]: ...
def samples(
    task: Asker | AsyncTask[Any],
    what: ModelTask[I, O],
    given: I,
    count: int,
    *,
    user: str | None = None,
    fresh: bool = False,
) -> tuple[Answer[O], ...] | Awaitable[tuple[Answer[O], ...]]:
    """Ask the same question several times at once, to see whether the answers agree. Each is a call of its own.

    By rules there is one answer instead of `count`: rules always agree with themselves.
    """
    if not 1 <= count <= MOST_SAMPLES:
        raise ValueError(f"count is {count}; from 1 to {MOST_SAMPLES} samples can be asked for")
    if isinstance(task, AsyncTask):
        return _asked(_Caller(task.task, threads=True), what, given, count, user, fresh)
    return asyncio.run(_asked(_Caller(task), what, given, count, user, fresh))


async def _only(many: Coroutine[Any, Any, tuple[Answer[O], ...]]) -> Answer[O]:
    return (await many)[0]


class _Caller:
    """The caller. Database access runs in threads if the caller is an event loop."""

    def __init__(self, asker: Asker, *, threads: bool = False) -> None:
        self.asker, self.threads = asker, threads

    async def do(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Run a function that waits for the database."""
        return await aside(function, *args, **options) if self.threads else function(*args, **options)

    async def write(self, function: Callable[..., T], *args: Any, patient: bool = False) -> T:
        return await self.do(self.asker.write, function, *args, patient=patient)

    async def key(self) -> str | None:
        asker = self.asker
        return await self.do(lambda: asker.idempotency_key) if isinstance(asker, Task) else None

    async def watched(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work, and cancel it if the claim ends meanwhile."""
        running = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({running}, timeout=LOOK_EVERY))[0]:
                if self.asker.cancelled:
                    raise Cancelled(f"{self.asker.id} was taken away while a model was asked")
            return running.result()
        finally:
            if not running.done():
                running.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await running


async def _asked(
    caller: _Caller, what: ModelTask[I, O], given: I, count: int, user: str | None, fresh: bool
) -> tuple[Answer[O], ...]:
    settings: AiSettings = (await caller.do(caller.asker.setting, SETTING)) or OFF
    if settings.provider == "none":
        return (await _by_rules(caller, what, given, user),)
    model, parts = settings.model(what.tier), data.parts(given)
    data.message(parts, settings.max_input, what.name)  # too big is refused before anything is recorded
    await asyncio.to_thread(providers.load, settings.provider)
    limited = "ai.budget_dollars" if settings.budget_dollars is not None else "ai.budgets" if settings.budgets else ""
    if limited and not prices.known(settings, model):
        raise PriceUnknown(f"no price is known for {model!r}, so {limited} cannot be kept; set ai.prices")
    content = [what.name, what.version, settings.provider, model, what.schema_text, parts]
    key = await caller.key()
    questions = []
    for sample in range(1, count + 1):
        # A fresh answer is stored for this step alone; without a step, not at all.
        own = (key or str(uuid7())) if fresh or not settings.cache else None
        digest = hashlib.sha256(canonical([*content, sample, own]).encode()).hexdigest()
        questions.append(
            Question(
                caller.asker.id,
                caller.asker.workspace,
                user,
                caller.asker.trace_id,
                what.name,
                what.version,
                what.tier,
                settings.provider,
                model,
                sample,
                digest,
                f"{key}:{what.name}:{digest[:16]}" if key else None,
                caller.asker.machine,
            )
        )
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(_quietly(_one(caller, settings, what, parts, asked))) for asked in questions]
    results = [one.result() for one in running]
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return tuple(result for result in results if isinstance(result, Answer))


async def _quietly(work: Coroutine[Any, Any, T]) -> T | Exception:
    """The error as a value, so that a failed sample does not cancel the others, which are paid for."""
    try:
        return await work
    except Exception as error:
        return error


async def _by_rules(caller: _Caller, what: ModelTask[I, O], given: I, user: str | None) -> Answer[O]:
    if what.rules is None:
        raise NoModel(f"no model is configured, and {what.name!r} has no rules; set ai.provider, ai.cheap, ai.strong")
    asked = Question(
        caller.asker.id,
        caller.asker.workspace,
        user,
        caller.asker.trace_id,
        what.name,
        what.version,
        what.tier,
        "none",
        RULES,
        1,
        "",
        None,
        caller.asker.machine,
    )
    begun = time.monotonic()

    def ended(error: Exception | None = None) -> Ended:
        return Ended(
            RULES,
            input_tokens=0,
            output_tokens=0,
            cost=0,
            took=_since(begun),
            error_type=type(error).__name__ if error else None,
            error=str(error) if error else None,
        )

    try:
        output = await asyncio.to_thread(what.rules, given) if caller.threads else what.rules(given)
    except Exception as error:
        await caller.write(calls.note, asked, ended(error))
        raise
    call = await caller.write(calls.note, asked, ended())
    return Answer(output, RULES, False, Decimal(0), 0, 0, call)


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1_000_000)


async def _one(
    caller: _Caller, settings: AiSettings, what: ModelTask[Any, O], parts: dict[str, Any], asked: Question
) -> Answer[O]:
    budget = Budget(
        prices.nanos(settings.budget_dollars) if settings.budget_dollars is not None else None,
        settings.budget_tokens,
        settings.budgets,
    )
    begun = await caller.write(calls.begin, asked, budget)
    if begun.output is not None:
        try:
            output = what.output.model_validate_json(begun.output)
        except ValidationError:  # the type has changed, but its schema has not
            begun = await caller.write(calls.begin, asked, budget, True)
        else:
            assert begun.call_id is not None
            observe_model(what.name, begun.model, "cached", 0, 0, 0)
            return Answer(output, begun.model, True, Decimal(0), 0, 0, begun.call_id)
    with tracing.span(f"ai {what.name}", asked.trace_id, {"model": asked.model, "sample": asked.sample}):
        return await _sent(caller, settings, what, parts, asked, begun.effect_id)


async def _sent(
    caller: _Caller,
    settings: AiSettings,
    what: ModelTask[Any, O],
    parts: dict[str, Any],
    asked: Question,
    effect: UUID | None,
) -> Answer[O]:
    """Send at most two requests. The second tells the model what was wrong with its first answer."""
    replies: list[providers.Reply] = []
    attempt, begun, call, heard = 1, time.monotonic(), uuid7(), 0

    async def write(output: str | None, error: BaseException | None, *, last: bool, replied: bool = True) -> None:
        reply = replies[-1] if replied and replies else None
        result = Ended(
            asked.model,
            attempt,
            reply.input_tokens if reply else None,
            reply.output_tokens if reply else None,
            reply.cost if reply else None,
            _since(begun),
            False,
            output,
            _kind(error),
            (str(error) or "it was cancelled") if error else None,
        )
        outcome = result.error_type or "answered"
        observe_model(what.name, asked.model, outcome, result.input_tokens, result.output_tokens, result.cost)
        await caller.write(calls.ended, asked, result, effect, last, call, patient=True)

    text, mark = data.message(parts, settings.max_input, what.name)
    try:
        async with providers.conversation(
            settings,
            asked.model,
            instructions=data.instructions(what.prompt, mark),
            message=text,
            schema=what.schema,
            most=what.max_tokens or settings.max_tokens,
        ) as talk:
            while True:
                heard = len(replies)
                replies.append(await caller.watched(talk.ask()))
                output, problem = _judged(what, replies[-1])
                if output is not None:
                    await write(canonical(output.model_dump(mode="json")), None, last=True)
                    return _answer(output, asked.model, replies, call)
                error = ModelMalformed(f"{asked.model} gave no {what.output.__name__}: {problem}")
                if attempt == 2:
                    raise error
                await write(None, error, last=False)
                talk.complain(problem)
                attempt, begun, call = 2, time.monotonic(), uuid7()
    except BaseException as error:
        # The answer is recorded whoever has the claim now; shielded, because this may be a cancellation.
        with suppress(asyncio.CancelledError):
            await asyncio.shield(write(None, error, last=True, replied=len(replies) > heard))
        raise


def _kind(error: BaseException | None) -> str | None:
    if isinstance(error, asyncio.CancelledError):
        return Cancelled.__name__
    return type(error).__name__ if error is not None else None


def _judged(what: ModelTask[Any, O], reply: providers.Reply) -> tuple[O | None, str]:
    """The answer in its type, or what is wrong with it. Raises ModelRefused if there is none."""
    if reply.refused is not None:
        raise ModelRefused(f"the model refuses {what.name!r}: {reply.refused[:500]}")
    try:
        return what.output.model_validate_json(reply.text), ""
    except ValidationError as error:
        # The place and the reason, never the value: it may be personal data, and errors are stored.
        found = error.errors(include_url=False, include_input=False, include_context=False)
        problems = [f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['msg']}" for one in found[:10]]
        cut = ["it was cut off, because it has more tokens than it may have (ai.max_tokens)"] if reply.cut else []
        return None, "; ".join(cut + problems)


def _answer(output: O, model: str, replies: list[providers.Reply], call: UUID) -> Answer[O]:
    def total(values: list[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    return Answer(
        output,
        model,
        False,
        prices.dollars(total([r.cost for r in replies])),
        total([r.input_tokens for r in replies]),
        total([r.output_tokens for r in replies]),
        call,
    )
