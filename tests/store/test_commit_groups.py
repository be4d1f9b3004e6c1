"""Writes that are committed together: each caller gets his own result, whatever another does with his future."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from interlock.engine import Engine, creating
from interlock.store import Store
from tests.support.machines import job

WAIT = 20.0


@pytest.fixture
def engine(store: Store) -> Engine:
    return Engine(store, [job()])


class Busy:
    """All writers of the store, busy until they are let go: what is submitted meanwhile waits in its queue."""

    def __init__(self, engine: Engine) -> None:
        self._gate = threading.Event()
        writers = 1 if engine.store.dialect == "sqlite" else 16
        begun = threading.Semaphore(0)

        def hold(_: Any) -> None:
            begun.release()
            assert self._gate.wait(WAIT)

        self._held = [engine.submit(hold) for _ in range(writers)]
        for _ in self._held:
            assert begun.acquire(timeout=WAIT)

    def end(self) -> None:
        self._gate.set()
        for one in self._held:
            one.result(WAIT)


@pytest.fixture
def busy(engine: Engine) -> Iterator[Busy]:
    found = Busy(engine)
    yield found
    found.end()


def create(engine: Engine, key: str) -> Future[str | None]:
    from interlock.engine.unit import SYSTEM_ACTOR

    machine = engine.registry["job"]
    return engine.submit(lambda unit: creating.create(unit, machine, {}, SYSTEM_ACTOR, key=key).key)


def keys(engine: Engine) -> set[str | None]:
    return {row.key for row in engine.page().instances}


def test_a_call_cancelled_in_the_queue_does_not_start_and_the_others_get_their_results(
    engine: Engine, busy: Busy
) -> None:
    first, second, third = (create(engine, key) for key in "abc")
    assert first.cancel()
    busy.end()
    assert (second.result(WAIT), third.result(WAIT)) == ("b", "c")
    assert keys(engine) == {"b", "c"}
    with pytest.raises(CancelledError):
        first.result(WAIT)


def test_a_cancelled_request_does_not_touch_those_beside_it(engine: Engine, busy: Busy) -> None:
    async def requests() -> list[Any]:
        mine = [asyncio.ensure_future(asyncio.wrap_future(create(engine, key))) for key in "abc"]
        await asyncio.sleep(0)
        mine[0].cancel()
        await asyncio.sleep(0)
        busy.end()
        return list(await asyncio.gather(*mine, return_exceptions=True))

    first, *others = asyncio.run(requests())
    assert isinstance(first, asyncio.CancelledError)
    assert others == ["b", "c"]
    assert keys(engine) == {"b", "c"}


def test_a_call_that_has_started_cannot_be_cancelled_and_gets_its_result(engine: Engine) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(_: Any) -> str:
        begun.set()
        assert gate.wait(WAIT)
        return "done"

    future = engine.submit(slow)
    assert begun.wait(WAIT)
    assert not future.cancel()
    gate.set()
    assert future.result(WAIT) == "done"


def leaves(_: Future[Any]) -> None:
    raise SystemExit(1)


def cancels(_: Future[Any]) -> None:
    raise asyncio.CancelledError


def raises(_: Future[Any]) -> None:
    raise ValueError("a callback of the caller's")


@pytest.mark.parametrize("callback", [leaves, cancels, raises])
def test_a_callback_that_raises_changes_nobodys_result(
    engine: Engine, busy: Busy, callback: Callable[[Future[Any]], None]
) -> None:
    futures = [create(engine, str(n)) for n in range(40)]
    for one in futures[:20]:
        one.add_done_callback(callback)
    busy.end()
    assert [one.result(WAIT) for one in futures] == [str(n) for n in range(40)]
    assert create(engine, "next").result(WAIT) == "next"


@pytest.mark.parametrize(
    "set_it",
    [lambda f: f.set_result("mine"), lambda f: f.set_exception(ValueError("mine"))],
    ids=["result", "error"],
)
def test_a_future_that_its_holder_has_set_is_left_alone(
    engine: Engine, busy: Busy, set_it: Callable[[Future[Any]], None]
) -> None:
    first, second = create(engine, "a"), create(engine, "b")
    set_it(first)
    busy.end()
    assert second.result(WAIT) == "b"
    assert create(engine, "c").result(WAIT) == "c"


def test_one_that_fails_fails_alone(engine: Engine, busy: Busy) -> None:
    def nonsense(_: Any) -> None:
        raise ValueError("nonsense")

    first, bad, second = create(engine, "a"), engine.submit(nonsense), create(engine, "b")
    busy.end()
    assert (first.result(WAIT), second.result(WAIT)) == ("a", "b")
    with pytest.raises(ValueError, match="nonsense"):
        bad.result(WAIT)
