"""Answers to effects: what was delivered is confirmed, whatever the other side answered."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from interlock.engine.effect_answers import storable
from interlock.machine import Go, Outcome
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import AsyncTask, Task
from tests.support.effects_and_reviews import parcel


class Response:
    """What a client of another library gives."""

    status = 200

    def __repr__(self) -> str:
        return "<Response [200] \ud800 \x00 token>"


class Mute:
    """It cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


STRANGE = {
    "object": Response(),
    "mute": Mute(),
    "bytes": b"\x00\xff",
    "nan": {"rate": math.nan},
    "nul": "a\x00b",
    "surrogate": {"name": "\ud800"},
    "deep": nested(300),
    "very deep": nested(50_000),
    "large": "x" * 300_000,
    "set": {1, 2},
}


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ["plain", "awaited"])
def test_an_answer_that_cannot_be_kept_as_json_is_kept_as_a_text_that_says_so(
    store: Store, name: str, kind: str
) -> None:
    sent: list[str] = []

    def send(effect: Any) -> Any:
        sent.append(effect.key)
        return STRANGE[name]

    async def later(effect: Any) -> Any:
        return send(effect)

    def plain(task: Task[Any]) -> Outcome:
        task.once("label", {}, send)
        return Go("posting")

    async def awaited(task: AsyncTask[Any]) -> Outcome:
        await task.once("label", {}, later)
        return Go("posting")

    def never(_: Any) -> Outcome:
        return Go("delivered")

    machine = parcel.with_handlers({"packing": plain if kind == "plain" else awaited, "posting": never})
    with Trial([machine], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.advance(hours=1)
        (effect,) = trial.engine.effects(it)
        assert (trial.state(it), effect.status, len(sent)) == ("delivered", "confirmed", 1)
        assert effect.answer["type"].endswith(type(STRANGE[name]).__name__)
        assert effect.answer["not_kept_as_json"]
        assert len(effect.answer["text"]) < 2200
        json.dumps(effect.answer).encode()  # fit for any page
        assert trial.engine.reviews.waiting() == []


@pytest.mark.parametrize(
    "answer", [None, True, 7, 2**70, "Zoë 😀", [1, None], {"a": {"b": [1.5]}}, {"1": 2}, nested(50)]
)
def test_an_answer_that_is_json_is_kept_as_it_is(answer: Any) -> None:
    assert storable(answer) == answer
