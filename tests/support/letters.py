"""Letters that are signed: a machine for commands, brought in through `--app`."""

from __future__ import annotations

from uuid import UUID

from interlock.engine import Engine, Result
from interlock.machine import FINAL, USER, WAITING, Actor, Go, Machine, Review, Rule, State, Transition
from interlock.machine.failures import Failures

PROGRAM = "tests.support.letters:letter"
letter = Machine(
    "letter",
    initial="writing",
    states=[
        State("writing"),
        State("signing", WAITING, waits_for="a signature", review=Review("Sign it?", {"sign": "sign", "tear": "tear"})),
        State("sent", FINAL),
        State("torn", FINAL),
    ],
    transitions=[
        Transition("writing", "signing", on="write"),
        Transition("signing", "sent", on="sign", by=USER, accepts=("by",)),
        Transition(("signing", "writing"), "torn", on="tear", by=USER),
    ],
    failures=Failures(otherwise=Rule((Exception,), retries=0)),
    cancel="torn",
)
letter.work("writing")(lambda task: Go("signing"))
ANN = "ann@example.org"


class LongAgo:
    """A clock of two years ago, for what is to be old."""

    def now(self) -> int:
        import time

        return time.time_ns() // 1000 - 730 * 86_400_000_000

    def steady(self) -> float:
        return 0.0


def add_letters(url: str) -> tuple[UUID, UUID]:
    """A letter that was torn two years ago, and one that waits."""
    with Engine(url, [letter], clock=LongAgo()) as engine:
        old = engine.create("letter", {"to": ANN}, key="old")
        engine.fire(old.id, "tear", actor=Actor(USER, "bob"))
        young = engine.create("letter", {"to": "bob"}, key="young")
        [claim] = engine.claim(UUID(int=1), ["letter"], 1)
        engine.finish([Result(claim, Go("signing"))])
    return old.id, young.id
