"""Handlers with a memory limit run in processes of their own, and ask from there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock.machine import Go
from interlock.testing.model import FakeModel
from interlock.worker import AsyncTask
from tests.ai.model_trial import ModelTrial, plainly, samples_awaited


@pytest.mark.parametrize("handler", [plainly, samples_awaited])
def test_a_handler_in_a_process_of_its_own_asks_too(trial: ModelTrial, handler: Any) -> None:
    it = trial.create("question")
    with FakeModel({"score": 9}) as model:
        trial.use(model.settings())
        found = trial.engine.registry["question"]
        found.handlers.clear()
        found.work("asking", memory_mb=3000)(handler)
        trial.run_until_idle()
    assert trial.data(it) in ({"score": 9}, {"scores": [9, 9, 9]})
    assert {c.error_type for c in trial.calls(it)} == {None}


def echo(conn: Any, n: int) -> int:
    return n


async def many_at_once(task: AsyncTask[Any]) -> Go:
    found = await asyncio.gather(*(task.read(echo, n) for n in range(200)))
    return Go("done", {"own": found == list(range(200))})


def test_each_of_many_questions_through_the_pipe_gets_its_own_answer(trial: ModelTrial) -> None:
    it = trial.create("question")
    found = trial.engine.registry["question"]
    found.handlers.clear()
    found.work("asking", memory_mb=3000)(many_at_once)
    trial.run_until_idle()
    assert trial.data(it) == {"own": True}
