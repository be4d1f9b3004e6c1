"""A dead letter's retry out of a final state: the new instance continues the failed one, and pays nothing twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Refused, error_details, last_resort
from interlock.machine import (
    FINAL,
    SYSTEM,
    EffectUnknown,
    Failures,
    Go,
    LimitReached,
    Machine,
    NotSent,
    Outcome,
    Rule,
    State,
    Transition,
    Window,
)
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from interlock.worker import Task
from tests.support.effects_and_reviews import ANN, at_work
from tests.support.racing import together

DEFAULT, OWN = "default", "own"


class Bill:
    """A bill that is paid and then printed; the printer breaks until it is mended."""

    def __init__(self, key: str = DEFAULT, **options: Any) -> None:
        self.key, self.options = key, options
        self.ledger: list[str] = []
        self.keys: list[str] = []
        self.broken = True
        self.mood = "fine"
        self.machine = Machine(
            "bill",
            initial="paying",
            states=[State("paying"), State("paid", FINAL), State("rejected", FINAL)],
            transitions=[
                Transition("paying", "paid", on="pay"),
                Transition("paying", "rejected", on="give_up", by=SYSTEM),
            ],
            failures=Failures(otherwise=Rule((Exception,), retries=1, then="rejected")),
            limits=[
                Window("daily", key="all", size=1, per=timedelta(days=1)),
                Window("each", key="each", size=1, per=timedelta(days=1), once=True),
            ],
        )
        self.machine.work("paying")(self.pay)

    def pay(self, task: Task[Any]) -> Outcome:
        self.keys.append(task.idempotency_key)
        chosen = {"key": f"order-{task.data['order']}"} if self.key == OWN else {}
        answer = task.once("payment", {"amount": 120}, self.send, **chosen, **self.options)
        if self.broken:
            raise RuntimeError("printer on fire")
        return Go("paid", data={"receipt": answer})

    def send(self, effect: Any) -> int:
        if self.mood == "refuses":
            raise NotSent("closed")
        self.ledger.append(effect.key)
        if self.mood == "falls silent":
            raise ConnectionError("the line went dead")
        return len(self.ledger)


def failed(trial: Trial) -> UUID:
    it = trial.create("bill", {"order": 7})
    trial.advance(hours=1)
    assert trial.state(it) == "rejected"
    return it


def retried(trial: Trial) -> UUID:
    [letter] = trial.engine.dead_letters.find()
    again = trial.engine.dead_letters.retry(letter.id, actor=ANN)
    trial.advance(hours=1)
    return again.id


@pytest.mark.parametrize("key", [DEFAULT, OWN])
def test_what_was_paid_before_is_not_paid_again_through_any_number_of_retries(store: Store, key: str) -> None:
    bill = Bill(key)
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        line = [it, retried(trial), retried(trial)]
        bill.broken = False
        last = retried(trial)
        assert (trial.state(last), trial.data(last)["receipt"]) == ("paid", 1)
        assert len(bill.ledger) == 1
        assert set(bill.keys) == {f"{it}:paying:1"}
        (effect,) = trial.engine.effects(last)
        assert (effect.instance_id, effect.inherited_from, effect.status) == (it, it, "confirmed")
        assert trial.engine.effects(it)[0].inherited_from is None
        explanation = trial.engine.explain(last).sentence
        assert f"It continues {line[-1]} and inherits what was sent there: payment (confirmed)." in explanation
        inherited = [row for row in trial.engine.history(last) if row.kind == "effect"]
        assert [row.payload["status"] for row in inherited] == ["inherited"]
        assert broken_laws(trial.engine) == []


@pytest.mark.parametrize("key", [DEFAULT, OWN])
@pytest.mark.parametrize("mood", ["refuses", "intended"])
def test_what_did_not_go_out_before_is_sent_by_the_one_that_continues_it(store: Store, key: str, mood: str) -> None:
    bill = Bill(key)
    bill.mood = "refuses"
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        if mood == "intended":
            trial.engine.store.write(lambda conn: conn.exec_driver_sql("UPDATE effect SET status = 'intended'"))
        bill.mood, bill.broken = "fine", False
        again = retried(trial)
        assert (trial.state(again), len(bill.ledger)) == ("paid", 1)
        (effect,) = trial.engine.effects(again)
        assert (effect.instance_id, effect.sender, effect.status) == (it, again, "confirmed")


@pytest.mark.parametrize("arrived", [True, False])
def test_what_is_unknown_is_verified_by_the_one_that_continues_it(store: Store, arrived: bool) -> None:
    asked: list[Any] = []

    def verify(effect: Any) -> dict[str, Any] | None:
        asked.append(effect.status)
        return {"found": True} if arrived else None

    bill = Bill(DEFAULT)
    bill.machine.failures = Failures(
        otherwise=Rule((Exception,), retries=0, then="rejected"),
        rules=(Rule((EffectUnknown,), retries=0, then="rejected"),),
    )
    bill.mood = "falls silent"
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        assert trial.engine.effects(it)[0].status == "unknown"
        bill.options["verify"] = verify
        bill.mood, bill.broken = "fine", False
        again = retried(trial)
        assert asked == ["unknown"]
        assert (trial.state(again), len(bill.ledger)) == ("paid", 1 if arrived else 2)


def test_what_is_unknown_and_cannot_be_verified_is_asked_about_by_the_one_that_continues_it(store: Store) -> None:
    bill = Bill(DEFAULT)
    bill.machine.failures = Failures(otherwise=Rule((Exception,), retries=0, then="rejected"))
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        trial.engine.store.write(lambda conn: conn.exec_driver_sql("UPDATE effect SET status = 'unknown'"))
        bill.broken = False
        again = retried(trial)
        assert (trial.state(again), len(bill.ledger)) == ("paying", 1)
        (review,) = trial.engine.reviews.waiting(instance_id=again)
        trial.engine.reviews.decide(review.id, "arrived", actor=ANN)
        assert trial.engine.effects(it)[0].status == "confirmed"
        trial.run_until_idle()
        assert (trial.state(again), len(bill.ledger)) == ("paid", 1)


@pytest.mark.parametrize("window", ["daily", "each"])
def test_limits_that_were_used_before_are_not_used_again(store: Store, window: str) -> None:
    bill = Bill(DEFAULT, takes=(window,))
    with Trial([bill.machine], store=store) as trial:
        failed(trial)
        bill.broken = False
        assert trial.state(retried(trial)) == "paid"
        other = trial.create("bill", {"order": 8})
        (claim,) = trial.claim()
        assert claim.id == other
        with pytest.raises(LimitReached):
            at_work(trial, claim).intend("payment", {}, takes=(window,))


def test_a_limit_that_counts_an_instance_once_counts_those_that_continue_it_with_it(store: Store) -> None:
    bill = Bill(DEFAULT, takes=("each",))
    bill.mood = "refuses"
    with Trial([bill.machine], store=store) as trial:
        failed(trial)
        bill.mood, bill.broken = "fine", False
        assert trial.state(retried(trial)) == "paid"


def test_of_two_who_retry_the_same_dead_letter_one_is_refused(store: Store) -> None:
    bill = Bill(DEFAULT)
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        [letter] = trial.engine.dead_letters.find()

        def retry(_: int) -> Any:
            try:
                return trial.engine.dead_letters.retry(letter.id, actor=ANN).id
            except Refused:
                return None

        made = [one for one in together(4, retry) if one is not None]
        assert [child.id for child in trial.engine.children(it)] == made
        assert len(made) == 1


@pytest.mark.parametrize("key", [DEFAULT, OWN])
def test_of_two_that_continue_the_same_one_only_one_pays(store: Store, key: str) -> None:
    """Two dead letters of one step, each retried: they do one thing between them."""
    bill = Bill(key)
    bill.mood = "refuses"
    with Trial([bill.machine], store=store) as trial:
        it = failed(trial)
        [letter] = trial.engine.dead_letters.find()
        trial.engine.store.write(
            lambda conn: conn.exec_driver_sql(
                "INSERT INTO dead_letter SELECT " + _columns(conn, "dead_letter", id="'" + "f" * 32 + "'")
            )
        )
        bill.mood, bill.broken = "fine", False
        for one in trial.engine.dead_letters.find():
            trial.engine.dead_letters.retry(one.id, actor=ANN)
        trial.advance(hours=1)
        assert {trial.state(child.id) for child in trial.engine.children(it)} == {"paid"}
        assert len(bill.ledger) == 1
        assert letter.instance_id == it


def _columns(conn: sa.Connection, table: str, **instead: str) -> str:
    names = [column["name"] for column in sa.inspect(conn).get_columns(table)]
    return ", ".join(instead.get(name, name) for name in names) + f" FROM {table}"


def test_a_step_that_comes_again_in_the_one_that_continues_it_sends_again(store: Store) -> None:
    sent: list[str] = []
    loop = Machine(
        "loop",
        initial="paying",
        states=[State("paying"), State("printing"), State("rejected", FINAL), State("done", FINAL)],
        transitions=[
            Transition("paying", "printing", on="paid"),
            Transition("printing", "paying", on="more"),
            Transition("printing", "done", on="enough"),
            Transition(("paying", "printing"), "rejected", on="give_up", by=SYSTEM),
        ],
        failures=Failures(otherwise=Rule((Exception,), retries=0, then="rejected")),
    )
    broken = [True]

    @loop.work("paying")
    def pay(task: Task[Any]) -> Outcome:
        task.once("payment", "120", lambda effect: sent.append(effect.key))
        return Go("printing")

    @loop.work("printing")
    def print_it(task: Task[Any]) -> Outcome:
        if broken[0]:
            raise RuntimeError("printer on fire")
        return Go("paying" if len(sent) < 3 else "done")

    with Trial([loop], store=store) as trial:
        it = trial.create("loop")
        trial.run_until_idle()
        assert (trial.state(it), len(sent)) == ("rejected", 1)
        broken[0] = False
        again = trial.engine.dead_letters.retry(trial.engine.dead_letters.find()[0].id, actor=ANN)
        trial.run_until_idle()
        assert trial.state(again.id) == "done"
        assert sent == [f"{it}:paying:payment", f"{again.id}:paying:payment", f"{again.id}#2:paying:payment"]


def test_the_late_answer_of_the_one_before_is_given_to_the_one_that_continues_it(store: Store) -> None:
    bill = Bill(DEFAULT)
    with Trial([bill.machine], store=store) as trial:
        it = trial.create("bill", {"order": 7})
        (claim,) = trial.claim()
        task = at_work(trial, claim)
        effect = task.intend("payment", {"amount": 120})
        task.sent(effect)
        trial.engine.fire(it, "give_up")
        task.confirm(effect, 41)
        letter = trial.write(lambda unit: _bury(unit, unit.lock(it), "paying"))
        bill.broken = False
        again = trial.engine.dead_letters.retry(letter, actor=ANN)
        trial.run_until_idle()
        assert (trial.state(again.id), trial.data(again.id)["receipt"], bill.ledger) == ("paid", 41, [])


def _bury(unit: Any, instance: Any, step: str) -> UUID:
    details = error_details.describe(RuntimeError("it was given up while it was sent"))
    return last_resort.add_dead_letter(unit, instance, step, step, details, '{"order":7}')
