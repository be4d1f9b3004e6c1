"""Handlers with a memory limit run in processes of their own, and ask from there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock.machine import Go
from interlock.testing.model import FakeModel
from interlock.worker import AsyncTask
from tests.ai.lab import Lab, plainly, samples_awaited


@pytest.mark.parametrize("handler", [plainly, samples_awaited])
def test_a_handler_in_a_process_of_its_own_asks_too(lab: Lab, handler: Any) -> None:
    it = lab.trial.create("question")
    with FakeModel({"score": 9}) as model:
        lab.use(model.settings())
        found = lab.trial.engine.registry["question"]
        found.handlers.clear()
        found.work("asking", memory_mb=3000)(handler)
        lab.trial.run_until_idle()
    assert lab.trial.data(it) in ({"score": 9}, {"scores": [9, 9, 9]})
    assert {c.error_type for c in lab.calls(it)} == {None}


def echo(conn: Any, n: int) -> int:
    return n


async def many_at_once(task: AsyncTask[Any]) -> Go:
    found = await asyncio.gather(*(task.read(echo, n) for n in range(200)))
    return Go("done", {"own": found == list(range(200))})


def test_each_of_many_questions_through_the_pipe_gets_its_own_answer(lab: Lab) -> None:
    it = lab.trial.create("question")
    found = lab.trial.engine.registry["question"]
    found.handlers.clear()
    found.work("asking", memory_mb=3000)(many_at_once)
    lab.trial.run_until_idle()
    assert lab.trial.data(it) == {"own": True}
