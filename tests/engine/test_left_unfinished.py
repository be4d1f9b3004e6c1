"""A step that failed for good is not done: what leads back to it is the same visit, and sends nothing twice."""

from __future__ import annotations

from typing import Any

from interlock.machine import FINAL, USER, WAITING, Actor, Failures, Go, Machine, Outcome, Rule, State, Transition
from interlock.store import Store
from interlock.testing import Trial
from interlock.worker import Task

ANN = Actor(USER, "ann")


def paying(sent: list[str], broken: list[bool]) -> Machine:
    machine = Machine(
        "bill",
        initial="pay",
        failures=Failures(otherwise=Rule((Exception,), retries=0)),
        states=[State("pay"), State("parked", WAITING, waits_for="somebody"), State("paid", FINAL)],
        transitions=[
            Transition("pay", "paid", on="end"),
            Transition("pay", "parked", on="park", by=USER),
            Transition("parked", "pay", on="again", by=USER),
        ],
    )

    @machine.work("pay")
    def pay(task: Task[Any]) -> Outcome:
        task.once("payment", {"amount": 1}, lambda effect: sent.append(effect.key) or {"ok": True})
        if broken[0]:
            raise ValueError("after the payment")
        return Go("paid")

    return machine


def test_a_person_who_moves_a_failed_instance_out_of_its_step_and_back_pays_once(store: Store) -> None:
    sent: list[str] = []
    broken = [True]
    with Trial([paying(sent, broken)], store=store) as trial:
        it = trial.create("bill")
        trial.run_until_idle()
        assert trial.engine.dead_letters.find()
        trial.engine.fire(it, "park", actor=ANN)
        broken[0] = False
        trial.engine.fire(it, "again", actor=ANN)
        trial.run_until_idle()
        assert (trial.state(it), len(sent)) == ("paid", 1)


def test_the_idempotency_key_is_of_the_step_that_the_handler_moved_on_to(store: Store) -> None:
    seen: list[tuple[str, str]] = []
    machine = Machine(
        "two",
        initial="a",
        failures=Failures(otherwise=Rule((Exception,), retries=0)),
        states=[State("a"), State("b"), State("done", FINAL)],
        transitions=[Transition("a", "b", on="on"), Transition("b", "done", on="end")],
    )

    @machine.work("a")
    def first(task: Task[Any]) -> Outcome:
        before = task.idempotency_key
        task.move("b")
        seen.append((before, task.idempotency_key))
        raise ValueError("lost after the move")

    @machine.work("b")
    def second(task: Task[Any]) -> Outcome:
        seen.append(("", task.idempotency_key))
        return Go("done")

    with Trial([machine], store=store) as trial:
        it = trial.create("two")
        trial.run_until_idle()
        [letter] = trial.engine.dead_letters.find()
        trial.engine.dead_letters.retry(letter.id, actor=ANN)
        trial.run_until_idle()
        assert trial.state(it) == "done"
    assert seen[0] == (f"{it}:a:1", f"{it}:b:1")
    assert seen[1][1] == seen[0][1], "an attempt after a crash sends under the same key"
