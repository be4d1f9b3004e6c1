"""`once`, as handlers use it: sent at most once, verified where that is possible, and decided by a person where not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from interlock.engine import Effect
from interlock.machine import USER, Ask, EffectUnknown, Failures, Go, Machine, NotSent, Outcome, Review, Rule, fixed
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from interlock.worker import AsyncTask, Task
from tests.support.effects_and_reviews import ANN, Carrier, parcel

Verify = Callable[[Effect], Mapping[str, Any] | None]


def packed(_: Task[Any]) -> Outcome:
    return Go("posting")


def plain(carrier: Carrier, verify: Verify | None = None, **options: Any) -> Machine:
    def post(task: Task[Any]) -> Outcome:
        receipt = task.once("post", task.data, carrier.send, verify=verify, **options)
        return Go("delivered", data={"receipt": receipt})

    return parcel.with_handlers({"packing": packed, "posting": post})


def awaited(carrier: Carrier, verify: Verify | None = None, **options: Any) -> Machine:
    async def ask(effect: Effect) -> Mapping[str, Any] | None:
        assert verify is not None
        return verify(effect)

    async def post(task: AsyncTask[Any]) -> Outcome:
        receipt = await task.once(
            "post", task.data, carrier.send_later, verify=ask if verify is not None else None, **options
        )
        return Go("delivered", data={"receipt": receipt})

    return parcel.with_handlers({"packing": packed, "posting": post})


@pytest.fixture(params=[plain, awaited], ids=["plain", "awaited"])
def machine(request: pytest.FixtureRequest) -> Callable[..., Machine]:
    made: Callable[..., Machine] = request.param
    return made


def test_once_sends_and_gives_the_answer(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier()
    with Trial([machine(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        assert trial.state(it) == "delivered"
        assert trial.data(it)["receipt"] == {"receipt": 1}
        assert [(e.status, e.sends) for e in trial.engine.effects(it)] == [("confirmed", 1)]


def test_what_certainly_did_not_arrive_is_sent_again_by_the_failure_rules(
    store: Store, machine: Callable[..., Machine]
) -> None:
    carrier = Carrier("refuses", "refuses")
    with Trial([machine(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.advance(minutes=5)
        assert trial.state(it) == "delivered"
        assert (len(carrier.arrived), trial.engine.effects(it)[0].sends) == (1, 3)


def test_what_is_unknown_is_never_repeated_by_itself(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier("falls silent")
    with Trial([machine(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.advance(days=30)
        assert trial.state(it) == "posting"
        assert len(carrier.arrived) == 1
        assert trial.engine.effects(it)[0].status == "unknown"
        assert [letter.error_type for letter in trial.engine.dead_letters.find()] == ["EffectUnknown"]
        assert [review.name for review in trial.engine.reviews.waiting()] == ["verify_effect"]
        assert broken_laws(trial.engine) == []


def test_retrying_the_dead_letter_of_an_unknown_effect_does_not_repeat_it_either(store: Store) -> None:
    carrier = Carrier("falls silent")
    with Trial([plain(carrier)], store=store) as trial:
        trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        trial.engine.dead_letters.retry(trial.engine.dead_letters.find()[0].id, actor=ANN)
        trial.advance(days=1)
        assert len(carrier.arrived) == 1
        assert [letter.error_type for letter in trial.engine.dead_letters.find()] == ["EffectUnknown"]


def _lost_in_flight(trial: Trial, carrier: Carrier) -> Any:
    """A parcel whose first worker died after the sending and before the answer."""
    it = trial.create("parcel", {"user": "ann"})
    trial.step()
    (claim,) = trial.claim()
    carrier.moods = ["falls silent"]
    trial.run(claim)  # what it returns is lost with its worker
    trial.lose(trial.worker)
    trial.worker = trial.new_worker()
    return it


def test_verify_finds_that_it_arrived_and_nothing_is_sent_again(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier()
    with Trial([machine(carrier, lambda effect: {"found": effect.kind})], store=store) as trial:
        it = _lost_in_flight(trial, carrier)
        trial.run_until_idle()
        assert trial.state(it) == "delivered"
        assert trial.data(it)["receipt"] == {"found": "post"}
        assert len(carrier.arrived) == 1
        assert trial.engine.reviews.waiting() == []


def test_verify_finds_that_it_never_arrived_and_it_is_sent_again(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier()
    with Trial([machine(carrier, lambda effect: None)], store=store) as trial:
        it = _lost_in_flight(trial, carrier)
        trial.run_until_idle()
        assert trial.state(it) == "delivered"
        assert [(e.status, e.sends) for e in trial.engine.effects(it)] == [("confirmed", 2)]


def test_verify_that_fails_leaves_the_effect_unknown_and_asks_again_later(
    store: Store, machine: Callable[..., Machine]
) -> None:
    asked: list[str] = []

    def verify(effect: Effect) -> Mapping[str, Any]:
        asked.append(effect.status)
        if len(asked) < 3:
            raise ConnectionError("nobody answers the telephone")
        return {"found": True}

    carrier = Carrier()
    with Trial([machine(carrier, verify)], store=store) as trial:
        it = _lost_in_flight(trial, carrier)
        trial.advance(minutes=10)
        assert asked == ["unknown"] * 3
        assert (trial.state(it), len(carrier.arrived)) == ("delivered", 1)


def test_verify_asks_about_the_effect_of_this_step_and_not_of_an_earlier_one(store: Store) -> None:
    asked: list[str] = []

    def verify(effect: Effect) -> Mapping[str, Any]:
        asked.append(effect.key)
        return {"found": True}

    def pack(task: Task[Any]) -> Outcome:
        task.once("post", "an empty box", carrier.send)
        return Go("posting")

    def post(task: Task[Any]) -> Outcome:
        task.once("post", "the parcel", carrier.send, verify=verify)
        return Go("delivered")

    carrier = Carrier()
    with Trial([parcel.with_handlers({"packing": pack, "posting": post})], store=store) as trial:
        it = _lost_in_flight(trial, carrier)
        trial.run_until_idle()
        assert asked == [f"{it}:posting:post"]
        assert trial.state(it) == "delivered"


def test_a_later_attempt_of_the_same_step_gets_the_kept_answer(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier()
    with Trial([machine(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.step()
        (claim,) = trial.claim()
        trial.run(claim)  # confirmed, but its outcome is lost with its worker
        trial.lose(trial.worker)
        trial.worker = trial.new_worker()
        trial.run_until_idle()
        assert trial.state(it) == "delivered"
        assert trial.data(it)["receipt"] == {"receipt": 1}
        assert len(carrier.arrived) == 1


def test_once_takes_the_limits_with_the_intent(store: Store, machine: Callable[..., Machine]) -> None:
    carrier = Carrier()
    with Trial([machine(carrier, takes=("daily",))], store=store) as trial:
        for _ in range(3):
            trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        assert len(carrier.arrived) == 2


VERIFIED = pytest.mark.parametrize(
    ("decision", "status", "arrivals"), [("arrived", "confirmed", 1), ("did_not_arrive", "failed", 2)]
)


@VERIFIED
def test_a_person_says_how_an_unknown_effect_ended_and_the_step_goes_on(
    store: Store, decision: str, status: str, arrivals: int
) -> None:
    carrier = Carrier("falls silent")
    with Trial([plain(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        (review,) = trial.engine.reviews.waiting()
        (letter,) = trial.engine.dead_letters.find()
        assert set(review.decisions) == {"arrived", "did_not_arrive"}
        assert review.evidence["dead_letter"] == str(letter.id)
        trial.engine.reviews.decide(review.id, decision, actor=ANN)
        assert trial.engine.effects(it)[0].status == status
        trial.run_until_idle()
        assert (trial.state(it), len(carrier.arrived)) == ("delivered", arrivals)
        assert trial.engine.dead_letters.get(letter.id).status == "retried"
        assert trial.engine.reviews.waiting() == []
        assert broken_laws(trial.engine) == []


@VERIFIED
@pytest.mark.parametrize("closing", ["discard", "resolve", "retry"])
def test_the_persons_word_is_kept_though_the_dead_letter_was_closed_meanwhile(
    store: Store, closing: str, decision: str, status: str, arrivals: int
) -> None:
    carrier = Carrier("falls silent")
    with Trial([plain(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        (review,) = trial.engine.reviews.waiting()
        (letter,) = trial.engine.dead_letters.find()
        getattr(trial.engine.dead_letters, closing)(letter.id, actor=ANN)
        trial.run_until_idle()
        trial.engine.reviews.decide(review.id, decision, actor=ANN)
        assert trial.engine.effects(it)[0].status == status
        trial.run_until_idle()
        assert len(carrier.arrived) == 1


@VERIFIED
def test_the_persons_word_does_not_bring_back_what_was_dropped_meanwhile(
    store: Store, decision: str, status: str, arrivals: int
) -> None:
    carrier = Carrier("falls silent")
    with Trial([plain(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.run_until_idle()
        (review,) = trial.engine.reviews.waiting()
        trial.engine.fire(it, "drop", actor=ANN)
        trial.engine.reviews.decide(review.id, decision, actor=ANN)
        trial.run_until_idle()
        assert trial.engine.effects(it)[0].status == status
        assert (trial.state(it), len(carrier.arrived)) == ("dropped", 1)
        assert trial.engine.children(it) == []


def test_a_rule_for_every_error_does_not_repeat_what_is_unknown(store: Store) -> None:
    carrier = Carrier("falls silent")
    with Trial([plain(carrier)], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.advance(hours=1)
        failures = [row for row in trial.engine.history(it) if row.kind == "failed"]
        assert [row.payload["rule"] for row in failures] == ["EffectUnknown"]


def test_a_machine_may_say_itself_where_the_unknown_goes_and_what_is_asked(store: Store) -> None:
    arrived = Review(
        "Ask the carrier: did it arrive?",
        decisions={"yes": "arrived", "no": "drop"},
        settles={"yes": "confirmed", "no": "failed"},
    )
    rules = (Rule((EffectUnknown,), then="checking", dead_letter=False, asks=(Ask("ask_carrier", arrived),)),)
    otherwise = Rule((NotSent,), retries=1, backoff=fixed(timedelta(minutes=1)))
    carrier = Carrier("falls silent")
    own = plain(carrier)
    own.failures = Failures(rules=rules, otherwise=otherwise)
    assert own.edge("checking", "delivered").by == {USER}  # type: ignore[union-attr]
    with Trial([own], store=store) as trial:
        it = trial.create("parcel", {"user": "ann"})
        trial.advance(days=1)
        assert trial.state(it) == "checking"
        assert trial.engine.dead_letters.find() == []
        (review,) = trial.engine.reviews.waiting()
        assert review.name == "ask_carrier"
        trial.engine.reviews.decide(review.id, "yes", actor=ANN)
        assert trial.state(it) == "delivered"
        assert trial.engine.effects(it)[0].status == "confirmed"
        assert len(carrier.arrived) == 1
