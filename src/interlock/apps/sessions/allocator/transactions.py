"""Transactions for the allocator's functions: of an engine, or of the task of a handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from interlock.engine import Claim, Engine
from interlock.engine.application import Unit
from interlock.store import Micros, micros
from interlock.worker import Task

T = TypeVar("T")


class Transactions(Protocol):
    """Runs functions of a module: `function(unit, *args)` in a transaction, `function(conn, *args)` to read."""

    def write(self, function: Callable[..., T], *args: Any) -> T: ...

    def read(self, function: Callable[..., T], *args: Any) -> T: ...

    def now(self) -> Micros: ...


@dataclass(frozen=True)
class EngineTransactions:
    """Through an engine. A transaction has the function's name, for failpoints."""

    engine: Engine

    def write(self, function: Callable[..., T], *args: Any) -> T:
        return self.engine.write(lambda unit: function(unit, *args), name=function.__name__)

    def read(self, function: Callable[..., T], *args: Any) -> T:
        return self.engine.read(lambda conn: function(conn, *args))

    def now(self) -> Micros:
        return self.engine.clock.now()


@dataclass(frozen=True)
class TaskTransactions:
    """Through the task of a handler. The allocator's own rows need no fence: keys and tokens say whose they are."""

    task: Task[Any]

    def write(self, function: Callable[..., T], *args: Any) -> T:
        made: T = self.task.write(_Unclaimed(function), *args)
        return made

    def read(self, function: Callable[..., T], *args: Any) -> T:
        return self.task.read(function, *args)

    def now(self) -> Micros:
        return micros(self.task.now())


@dataclass(frozen=True)
class _Unclaimed:
    """A function of the allocator as `task.write` calls it."""

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, unit: Unit, claim: Claim, *args: Any) -> Any:
        return self.function(unit, *args)
