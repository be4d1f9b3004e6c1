"""The task of an `async def`: the same as a plain one's, but what waits is awaited.

Its calls wait for the database in threads of their own (`aside`); what it sends runs on the event loop and takes no
thread. A cancelled handler ends at once, and what it was sending goes on without it: the answer is kept when it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from interlock.engine import Effect
from interlock.engine.error_details import message_of
from interlock.engine.questions import Answer
from interlock.machine import EffectUnknown, NotSent, Review
from interlock.worker import answer_polling
from interlock.worker.blocking_calls import aside, surely
from interlock.worker.task import Task

D = TypeVar("D")
P = ParamSpec("P")
T = TypeVar("T")
_sending: set[asyncio.Future[Any]] = set()
"""What is on its way: an event loop alone does not keep a task that nobody waits for any more."""


def _ended(sending: asyncio.Future[Any]) -> None:
    _sending.discard(sending)
    if not sending.cancelled():
        sending.exception()  # whoever waited for it has heard it; if nobody does any more, it is written down


def _awaited(method: Callable[Concatenate[Task[Any], P], T]) -> Callable[Concatenate[AsyncTask[Any], P], Awaitable[T]]:
    async def call(self: AsyncTask[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._at_work():
            return await aside(method, self.task, *args, **kwargs)

    call.__doc__ = method.__doc__
    return call


def _kept(method: Callable[Concatenate[Task[Any], P], T]) -> Callable[Concatenate[AsyncTask[Any], P], Awaitable[T]]:
    """What was learnt is written down to its end, though the handler was cancelled."""

    async def call(self: AsyncTask[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._at_work():
            return await surely(method, self.task, *args, **kwargs)

    call.__doc__ = method.__doc__
    return call


class AsyncTask(Generic[D]):
    """The same task for an `async def`: what writes is awaited, so the event loop never waits for the database."""

    def __init__(self, task: Task[D]) -> None:
        self.task = task
        self.id, self.machine, self.key, self.workspace = task.id, task.machine, task.key, task.workspace
        self.trace_id, self.fence, self.attempt = task.trace_id, task.fence, task.attempt
        self._main = asyncio.current_task()
        """The handler itself, in contrast to tasks that it starts."""
        self._calls = 0
        """Calls of this task that are under way."""

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    @property
    def _is_idle(self) -> bool:
        """Whether the handler does nothing but ask: it awaits the answer itself, with no call beside it."""
        return asyncio.current_task() is self._main and self._calls == 0

    async def idempotency_key(self) -> str:
        """Equal for every attempt at this visit of the step, and new once it was done and comes again."""
        return await aside(lambda: self.task.idempotency_key)

    @property
    def state(self) -> str:
        return self.task.state

    @property
    def data(self) -> D:
        return self.task.data

    @property
    def cancelled(self) -> bool:
        return self.task.cancelled

    def check(self) -> None:
        self.task.check()

    move = _awaited(Task.move)
    save = _awaited(Task.save)
    heartbeat = _awaited(Task.heartbeat)
    progress = _awaited(Task.progress)
    send = _awaited(Task.send)
    spawn = _awaited(Task.spawn)
    keep = _awaited(Task.keep)
    artifact = _awaited(Task.artifact)
    secret = _awaited(Task.secret)
    setting = _awaited(Task.setting)
    now = _awaited(Task.now)
    open_question = _awaited(Task.open_question)
    answer_to = _awaited(Task.answer_to)
    write = _awaited(Task.write)
    read = _awaited(Task.read)
    intend = _awaited(Task.intend)
    sent = _awaited(Task.sent)
    confirm = _kept(Task.confirm)
    failed = _kept(Task.failed)
    unknown = _kept(Task.unknown)

    async def ask(
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
        """Ask a person and await the answer, which takes neither a thread nor a slot; else as `Task.ask`.

        A worker that stops does not wait for it: the handler is cancelled, and asks again where it runs next. Work
        beside the question, as in `asyncio.gather(task.ask(…), other())`, is waited for.
        """
        options = {
            "deadline": deadline,
            "default": default,
            "default_form": default_form,
            "evidence": evidence,
            "title": title,
        }
        found = await self.open_question(name, review, options)
        if found.answer is not None:
            return found.answer
        for pause in answer_polling.pauses():
            answer = await self.answer_to(name, found.id, idle=self._is_idle)
            if answer is not None:
                return answer
            await asyncio.sleep(pause)
        raise AssertionError("it is looked at without end")

    async def once(
        self,
        kind: str,
        request: Any,
        send: Callable[[Effect], Awaitable[T]],
        *,
        key: str | None = None,
        takes: tuple[str, ...] = (),
        verify: Callable[[Effect], Awaitable[Mapping[str, Any] | None]] | None = None,
    ) -> T:
        """Send something at most once, and give its answer; `send` and `verify` are awaited here."""
        with self._at_work():
            return await self._once(kind, request, send, key, takes, verify)

    async def _once(
        self,
        kind: str,
        request: Any,
        send: Callable[[Effect], Awaitable[T]],
        key: str | None,
        takes: tuple[str, ...],
        verify: Callable[[Effect], Awaitable[Mapping[str, Any] | None]] | None,
    ) -> T:
        try:
            effect = await self.intend(kind, request, key=key, takes=takes)
        except EffectUnknown:
            if verify is None:
                raise
            effect = await aside(self.task.unanswered, kind, key)
            await self._settled(effect, await verify(effect))
            effect = await self.intend(kind, request, key=key, takes=takes)
        if effect.done:
            answer: T = effect.answer
            return answer
        await self._leaves(effect)
        sending = asyncio.ensure_future(self._went(effect, send))
        _sending.add(sending)
        sending.add_done_callback(_ended)
        return await asyncio.shield(sending)

    async def _leaves(self, effect: Effect) -> None:
        """Write down that it goes; a handler that is cancelled meanwhile sends nothing, so that it may go later."""
        noted = asyncio.ensure_future(aside(self.task.sent, effect))
        try:
            await asyncio.shield(noted)
        except asyncio.CancelledError:
            await asyncio.wait({noted})
            if noted.exception() is None:
                await self.failed(effect, "the handler was cancelled before it was sent")
            raise

    async def _went(self, effect: Effect, send: Callable[[Effect], Awaitable[T]]) -> T:
        try:
            answer = await send(effect)
        except NotSent as error:
            await self.failed(effect, message_of(error))
            raise
        except Exception as error:
            said = message_of(error)
            await self.unknown(effect, f"{type(error).__name__}: {said}")
            raise EffectUnknown(f"{effect.kind} was sent and its answer is unknown: {said}") from error
        except BaseException as error:
            await self.unknown(effect, f"{type(error).__name__}: it was broken off while it was sent")
            raise
        await self.confirm(effect, answer)
        return answer

    async def _settled(self, effect: Effect, arrived: Mapping[str, Any] | None) -> None:
        if arrived is None:
            await self.failed(effect, "verified: it never arrived")
        else:
            await self.confirm(effect, arrived)


async def run(handler: Callable[[AsyncTask[Any]], Awaitable[Any]], task: Task[Any]) -> Any:
    """Await an `async def` handler."""
    return await handler(AsyncTask(task))
