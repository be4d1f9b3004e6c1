"""Handlers in a separate process with a memory limit. They reach the engine through a pipe."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from interlock.engine import Claim
from interlock.engine.error_details import message_of
from interlock.machine import (
    Fail,
    HandlerDied,
    HandlerOutOfMemory,
    InvalidOutcome,
    Outcome,
    WorkError,
)
from interlock.worker import awaiting
from interlock.worker.port import EnginePort
from interlock.worker.task import About, Task, about, make_task

POLL_EVERY = 0.2
_CONTEXT = multiprocessing.get_context("spawn")


class PipePort:
    """The child's side of the pipe: each call is a request to the parent."""

    def __init__(self, pipe: Connection, flag: Any) -> None:
        self._pipe, self._flag = pipe, flag
        self._lock = threading.Lock()
        """One request at a time: an `async def` handler may call from several threads."""

    def cancelled(self) -> bool:
        return bool(self._flag.is_set())

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._pipe.send(("call", name, args, kwargs))
            good, value = self._pipe.recv()
        if good:
            return value
        raise value


def run_isolated(claim: Claim, port: EnginePort) -> Outcome:
    """Run the handler in a child process, answer its calls, and end it when it is cancelled. Always returns an
    outcome.
    """
    work = claim.work
    try:
        pickle.dumps(work.handler)
    except Exception as error:
        return Fail(InvalidOutcome(f"a handler with a memory limit must be a module-level function: {error}"))
    task = make_task(claim, port)
    ours, theirs = _CONTEXT.Pipe()
    cancel = _CONTEXT.Event()
    child = _CONTEXT.Process(
        target=_child,
        args=(theirs, cancel, work.handler, work.memory_mb, about(claim), task.data, claim.fence, task.attempt),
        daemon=True,
    )
    child.start()
    theirs.close()
    try:
        return _serve(ours, child, cancel, port)
    finally:
        ours.close()
        if child.is_alive():
            child.kill()
        child.join()
        child.close()


def _serve(pipe: Connection, child: Any, cancel: Any, port: EnginePort) -> Outcome:
    while True:
        if port.cancelled():
            cancel.set()
            child.join(1.0)
            return Fail(HandlerDied("the handler was cancelled"))
        try:
            if not pipe.poll(POLL_EVERY):
                continue
            what, *rest = pipe.recv()
        except (EOFError, OSError):
            child.join()
            return Fail(_death(child.exitcode))
        if what == "outcome":
            outcome: Outcome = rest[0]
            return outcome
        name, args, kwargs = rest
        try:
            answer = (True, port.call(name, *args, **kwargs))
        except Exception as error:
            answer = (False, _travelling(error))
        try:
            pipe.send(answer)
        except OSError:  # the child is gone; the next poll finds out why
            continue


def _death(code: int | None) -> WorkError:
    if code == -9:
        return HandlerOutOfMemory("the handler's process was killed, most likely because memory ran out")
    return HandlerDied(f"the handler's process ended with code {code} and no result")


def _child(
    pipe: Connection,
    cancel: Any,
    handler: Callable[..., Any],
    memory_mb: int | None,
    which: About,
    data: Any,
    fence: int,
    attempt: int,
) -> None:
    threading.Thread(target=_end_with_parent, name="interlock-parent", daemon=True).start()
    if memory_mb is not None:
        _bound_memory(memory_mb)
    task: Task[Any] = Task(which, data, fence=fence, attempt=attempt, port=PipePort(pipe, cancel))
    try:
        result = asyncio.run(awaiting.run(handler, task)) if inspect.iscoroutinefunction(handler) else handler(task)
    except MemoryError:
        result = Fail(HandlerOutOfMemory(f"the handler exceeded its memory limit of {memory_mb} MB"))
    except BaseException as error:
        result = Fail(error)
    if isinstance(result, Fail) and isinstance(result.error, BaseException):
        result = Fail(_travelling(result.error))
    try:
        pickle.loads(pickle.dumps(result))  # noqa: S301 - our own bytes: does it arrive?
        pipe.send(("outcome", result))
    except Exception as error:
        pipe.send(("outcome", Fail(InvalidOutcome(f"the handler's result cannot be pickled: {error}"))))


def _end_with_parent() -> None:
    """End with the parent: without the worker the result is lost, and another worker may already run this step."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Carried:
    """Carries an error that cannot be pickled: its class, arguments and attributes."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _put_together, (type(self._error), self._error.args, self._error.__dict__)


def _put_together(kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    made = kind.__new__(kind)
    made.args = args
    made.__dict__.update(attributes)
    return made


def _travelling(error: BaseException) -> Any:
    """A form of the error that arrives with the same class, because failure rules match by class."""
    for form in (error, _Carried(error)):
        try:
            arrived = pickle.loads(pickle.dumps(form))  # noqa: S301 - our own bytes
        except Exception:  # noqa: S112 - the next form
            continue
        if type(arrived) is type(error) and message_of(arrived) == message_of(error):
            return form
    return InvalidOutcome(f"{type(error).__name__}, which cannot be pickled: {message_of(error)}")


def _bound_memory(megabytes: int) -> None:
    """Limit the memory to this much on top of what the interpreter already uses."""
    try:
        import resource
    except ImportError:  # no such limit on Windows
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    bound = pages * resource.getpagesize() + megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
