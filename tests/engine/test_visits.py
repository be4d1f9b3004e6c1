"""Visits of a step: all attempts of one have the same keys, and a step that comes again sends again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import effects, visits
from interlock.machine import (
    FAILED,
    FINAL,
    OWNER,
    SYSTEM,
    USER,
    WAITING,
    Actor,
    Again,
    EffectUnknown,
    Failures,
    Go,
    Machine,
    NotSent,
    Outcome,
    Pause,
    Rule,
    State,
    Timer,
    Transition,
    WorkError,
    fixed,
)
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import Trial, broken_laws
from interlock.worker import Task
from tests.support.effects_and_reviews import ANN, CHIEF

MINUTE = fixed(timedelta(minutes=1))


class Quota(WorkError):
    """No more for now."""


class Hopeless(WorkError):
    """For ever."""


class Rent:
    """A rent that is paid each month; `moods` says what goes wrong after the payment of each attempt."""

    def __init__(self, *moods: str, **options: Any) -> None:
        self.moods, self.paid, self.keys = list(moods), [], []
        self.options = options
        self.machine = Machine(
            "rent",
            initial="pay",
            cancel="over",
            states=[
                State("pay", timers=(Timer(timedelta(days=2), "late"),)),
                State("failed", FAILED),
                State("wait", WAITING, waits_for="next month", timers=(Timer(timedelta(days=30), "due"),)),
                State("resting", WAITING, waits_for="more quota"),
                State("held", WAITING, waits_for="a person"),
                State("over", FINAL),
            ],
            transitions=[
                Transition("pay", "wait", on="paid"),
                Transition("wait", "pay", on="due", by=SYSTEM),
                Transition("pay", "failed", on="fail", by=SYSTEM),
                Transition("failed", "pay", on="retry", by=(SYSTEM, USER)),
                Transition(("pay", "failed"), "resting", on="rest", by=SYSTEM),
                Transition("resting", "pay", on="resume", by=SYSTEM),
                Transition("pay", "held", on="hold", by=USER),
                Transition("pay", "held", on="late", by=SYSTEM),
                Transition("held", "pay", on="go_on", by=USER),
                Transition(("wait", "held", "failed"), "over", on="end", by=USER),
            ],
            failures=Failures(
                state="failed",
                rules=(
                    Rule((Quota,), retries=5, pause=Pause("resting", "resume", timedelta(hours=1))),
                    Rule((Hopeless,), retries=0),
                ),
                otherwise=Rule((Exception,), retries=5, backoff=MINUTE),
            ),
        )
        self.machine.work("pay", timeout=timedelta(hours=1))(self.pay)

    def pay(self, task: Task[Any]) -> Outcome:
        self.keys.append(task.idempotency_key)
        month = task.data.get("month", 0) + 1
        receipt = task.once("payment", self.options.get("request", {"month": month}), self.send, **self.extra(task))
        mood = self.moods.pop(0) if self.moods else "fine"
        if mood == "again":
            return Again(after=timedelta(minutes=5))
        if mood != "fine":
            raise {"fails": RuntimeError, "quota": Quota, "hopeless": Hopeless}[mood]("after the payment")
        return Go("wait", data={"month": month, "receipt": receipt})

    def extra(self, task: Task[Any]) -> dict[str, Any]:
        return {"key": self.options["key"]} if "key" in self.options else {}

    def send(self, effect: Any) -> int:
        self.paid.append(effect.key)
        return len(self.paid)


def month(trial: Trial) -> None:
    trial.advance(days=31)


def test_a_step_that_comes_again_sends_again_under_a_key_of_its_own(store: Store) -> None:
    rent = Rent(request="the same each month")
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        for _ in range(3):
            month(trial)
        assert trial.data(it) == {"month": 4, "receipt": 4}
        assert rent.paid == [f"{it}:pay:payment", *(f"{it}#{n}:pay:payment" for n in (2, 3, 4))]
        assert rent.keys == [f"{it}:pay:{n}" for n in (1, 2, 3, 4)]
        assert broken_laws(trial.engine) == []


@pytest.mark.parametrize("mood", ["fails", "quota", "again"])
@pytest.mark.parametrize("visit", [1, 2])
def test_every_attempt_of_a_visit_has_the_same_keys_whatever_led_back_to_it(
    store: Store, mood: str, visit: int
) -> None:
    rent = Rent(*["fine"] * (visit - 1), mood, mood)
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        trial.advance(days=31 * (visit - 1), hours=3)
        assert trial.data(it) == {"month": visit, "receipt": visit}
        assert len(rent.paid) == visit
        assert rent.keys[-3:] == [f"{it}:pay:{visit}"] * 3


def held_by_a_worker(trial: Trial, rent: Rent, visit: int) -> Any:
    """A claim whose handler has paid and not ended, in the first visit or in a later one."""
    trial.create("rent")
    for _ in range(visit - 1):
        trial.run_until_idle()
        trial.clock.advance(timedelta(days=31))
        trial.engine.tick()
    (claim,) = trial.claim()
    trial.run(claim)
    return claim


def crash(trial: Trial, it: UUID) -> None:
    trial.lose(trial.worker)
    trial.worker = trial.new_worker()


def pause(trial: Trial, it: UUID) -> None:
    trial.engine.pause(it, actor=ANN)
    trial.engine.resume(it, actor=ANN)


def hold(trial: Trial, it: UUID) -> None:
    trial.engine.fire(it, "hold", actor=ANN)
    trial.engine.fire(it, "go_on", actor=ANN)


def run_out_of_time(trial: Trial, it: UUID) -> None:
    trial.clock.advance(timedelta(hours=2))
    trial.engine.tick()
    trial.advance(minutes=5)


def timer(trial: Trial, it: UUID) -> None:
    trial.engine.pause(it, actor=ANN)
    trial.engine.resume(it, actor=ANN)
    trial.clock.advance(timedelta(days=3))  # while it is ready, and nobody works
    trial.engine.tick()
    trial.engine.fire(it, "go_on", actor=ANN)


@pytest.mark.parametrize("visit", [1, 2])
@pytest.mark.parametrize("way", [crash, pause, hold, run_out_of_time, timer])
def test_work_that_was_interrupted_goes_on_in_the_same_visit(
    store: Store, way: Callable[[Trial, UUID], None], visit: int
) -> None:
    rent = Rent()
    with Trial([rent.machine], store=store) as trial:
        claim = held_by_a_worker(trial, rent, visit)
        way(trial, claim.id)
        trial.run_until_idle()
        assert (trial.state(claim.id), len(rent.paid)) == ("wait", visit)
        assert len(set(rent.keys)) == visit


def test_what_is_given_back_goes_on_in_the_same_visit(store: Store) -> None:
    rent = Rent()
    with Trial([rent.machine], store=store) as trial:
        claim = held_by_a_worker(trial, rent, 2)
        trial.engine.give_back([claim])
        trial.run_until_idle()
        assert (trial.state(claim.id), len(rent.paid)) == ("wait", 2)


def test_a_dead_letters_retry_is_the_same_visit_and_a_persons_move_out_of_it_ends_it(store: Store) -> None:
    rent = Rent("hopeless", request="the same each month")
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        trial.run_until_idle()
        trial.engine.dead_letters.retry(trial.engine.dead_letters.find()[0].id, actor=ANN)
        trial.run_until_idle()
        assert (trial.state(it), len(rent.paid)) == ("wait", 1)
        trial.engine.force(it, "pay", actor=CHIEF, reason="pay once more")
        trial.run_until_idle()
        assert len(rent.paid) == 2


def test_what_an_earlier_visit_left_unknown_is_settled_before_another_goes(store: Store) -> None:
    rent = Rent()
    with Trial([rent.machine.with_handlers({"pay": _never})], store=store) as trial:
        it = trial.create("rent")
        (claim,) = trial.claim()
        old = trial.write(lambda unit: effects.intend(unit, claim, "payment", {"month": 1}))
        trial.write(lambda unit: effects.sent(unit, claim, old.id))
        assert trial.finish(claim, Go("wait"))
        trial.clock.advance(timedelta(days=31))
        trial.engine.tick()
        (again,) = trial.claim()
        with pytest.raises(EffectUnknown, match=f"{it}:pay:payment"):
            trial.write(lambda unit: effects.intend(unit, again, "payment", {"month": 2}))
        trial.write(lambda unit: effects.settle(unit, old.id, "confirmed", actor=ANN))
        new = trial.write(lambda unit: effects.intend(unit, again, "payment", {"month": 2}))
        assert new.key == f"{it}#2:pay:payment"


def _never(_: Any) -> Outcome:
    raise AssertionError("these tests play the handler themselves")


def test_an_effect_from_before_visits_were_counted_is_honoured_in_the_visit_that_made_it(store: Store) -> None:
    rent = Rent("fine", "fails", request="the same each month")
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        trial.run_until_idle()
        trial.clock.advance(timedelta(days=31))
        trial.run_until_idle()
        assert len(rent.paid) == 2

        def as_it_was_once(conn: sa.Connection) -> None:
            conn.execute(sa.delete(t.effect).where(t.effect.c.key == f"{it}:pay:payment"))
            conn.execute(sa.update(t.effect).values(key=f"{it}:pay:payment"))

        trial.engine.store.write(as_it_was_once)
        trial.advance(minutes=5)
        assert (trial.state(it), len(rent.paid)) == ("wait", 2)  # the second visit found what it had sent
        month(trial)
        assert len(rent.paid) == 3  # and the third did not


def test_the_same_key_with_another_request_is_refused_by_name_and_never_retried(store: Store) -> None:
    rent = Rent(key="flat 7")
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        month(trial)
        (letter,) = trial.engine.dead_letters.find()
        assert (letter.error_type, letter.attempts, trial.state(it)) == ("EffectKeyReused", 1, "failed")
        first, second = (effects.request_hash({"month": n})[:12] for n in (1, 2))
        assert "'flat 7'" in letter.error["message"]
        assert f"{first}" in letter.error["message"]
        assert f"{second}" in letter.error["message"]
        assert "give each thing a key of its own" in letter.error["message"]
        assert (rent.paid, trial.data(it)["receipt"]) == (["flat 7"], 1)


def test_a_request_that_changes_between_attempts_is_refused_once_it_was_delivered(store: Store) -> None:
    rent = Rent("fails")
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        trial.run_until_idle()
        rent.options["request"] = {"month": 1, "amount": 130}
        trial.advance(minutes=5)
        (letter,) = trial.engine.dead_letters.find()
        assert letter.error_type == "EffectKeyReused"
        assert "move the instance out of the step and in again" in letter.error["message"]
        trial.engine.fire(it, "end", actor=ANN)
        assert len(rent.paid) == 1


def test_what_failed_may_ask_for_something_else_in_the_same_visit(store: Store) -> None:
    rent = Rent()
    refused: list[str] = []

    def refuse(effect: Any) -> int:
        if not refused:
            refused.append(effect.key)
            raise NotSent("closed")
        return len(refused)

    rent.send = refuse  # type: ignore[method-assign]
    with Trial([rent.machine], store=store) as trial:
        it = trial.create("rent")
        trial.run_until_idle()
        rent.options["request"] = "something else"
        trial.advance(minutes=5)
        assert trial.state(it) == "wait"


def test_a_step_that_is_renamed_keeps_the_keys_of_its_visit(store: Store) -> None:
    with Trial([Rent().machine], store=store) as trial:
        it = trial.create("rent")
        trial.run_until_idle()
        trial.clock.advance(timedelta(days=31))
        trial.engine.tick()

        def visit(step: str) -> visits.Visit:
            return trial.engine.read(lambda conn: visits.of(conn, it, None, step))

        assert visit("pay") == visits.Visit(it, "pay", 2)

        def rename(unit: Any) -> None:
            unit.record(unit.lock(it), "migrated", Actor(OWNER, "chief"), payload={"renamed": {"pay": "transfer"}})

        trial.write(rename)
        assert visit("transfer") == visits.Visit(it, "pay", 2)
