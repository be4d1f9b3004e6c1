"""Effects: what leaves the house is written down before it goes, and what is unknown is never repeated by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Claim, Effect, Fenced, InvalidData, effects
from interlock.machine import Actor, By, EffectKeyReused, EffectUnknown, Go, LimitReached, NotSent
from interlock.store import Store
from interlock.testing import Trial, broken_laws
from tests.support.effects_and_reviews import ANN, Carrier, at_work, parcel


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    """Parcels that nobody works on by itself: the tests play the handler."""
    with Trial([parcel.with_handlers({"packing": _never, "posting": _never})], store=store) as trial:
        yield trial
        assert broken_laws(trial.engine) == []


def _never(_: Any) -> Go:
    raise AssertionError("these tests play the handler themselves")


def claimed(trial: Trial, **data: Any) -> Claim:
    trial.create("parcel", {"user": "ann", **data})
    return trial.claim()[0]


def only(trial: Trial, instance_id: UUID) -> Effect:
    (effect,) = trial.engine.effects(instance_id)
    return effect


def rows(trial: Trial, instance_id: UUID) -> list[Any]:
    return [row.payload["status"] for row in trial.engine.history(instance_id) if row.kind == "effect"]


def test_an_intent_is_stored_with_its_key_and_its_request_before_anything_is_sent(trial: Trial) -> None:
    claim = claimed(trial)
    at_work(trial, claim).intend("label", {"to": "Rome"})
    effect = only(trial, claim.id)
    assert (effect.kind, effect.status, effect.sends, effect.sent_at) == ("label", "intended", 0, None)
    assert effect.key == f"{claim.id}:packing:label"
    assert effect.request_hash == effects.request_hash({"to": "Rome"}) != effects.request_hash({"to": "Oslo"})
    assert effect.intended_at == trial.clock.now()
    assert rows(trial, claim.id) == ["intended"]


def test_an_effect_is_sent_and_then_confirmed_with_its_answer(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    assert (only(trial, claim.id).status, only(trial, claim.id).sends) == ("sent", 1)
    task.confirm(effect, {"receipt": 7})
    settled = only(trial, claim.id)
    assert (settled.status, settled.answer, settled.settled_at) == ("confirmed", {"receipt": 7}, trial.clock.now())
    assert rows(trial, claim.id) == ["intended", "confirmed"]


def test_a_confirmed_effect_is_given_back_with_its_answer_when_it_is_intended_again(trial: Trial) -> None:
    task = at_work(trial, claimed(trial))
    effect = task.intend("label", {})
    task.sent(effect)
    task.confirm(effect, "printed")
    again = task.intend("label", {})
    assert (again.id, again.done, again.answer) == (effect.id, True, "printed")


def test_a_failed_effect_may_be_intended_again_and_may_ask_for_something_else(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {"to": "Rome"})
    task.sent(effect)
    task.failed(effect, "the printer is out of paper")
    assert (only(trial, claim.id).status, only(trial, claim.id).error) == ("failed", "the printer is out of paper")
    again = task.intend("label", {"to": "Oslo"})
    assert (again.id, again.status, again.error) == (effect.id, "intended", None)
    assert again.request_hash == effects.request_hash({"to": "Oslo"})
    task.sent(again)
    assert only(trial, claim.id).sends == 2


@pytest.mark.parametrize("end", ["sent", "unknown"])
def test_an_effect_without_an_answer_cannot_be_intended_again(trial: Trial, end: str) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    if end == "unknown":
        task.unknown(effect, "no word since")
    with pytest.raises(EffectUnknown, match="verify it before sending again"):
        task.intend("label", {})
    assert (only(trial, claim.id).status, only(trial, claim.id).sends) == (end, 1)


def test_an_unknown_effect_can_still_be_confirmed(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    task.unknown(effect, "no word since")
    task.confirm(effect, "it came after all")
    assert (only(trial, claim.id).status, only(trial, claim.id).answer) == ("confirmed", "it came after all")


def test_a_confirmed_effect_stays_as_it_is(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    task.confirm(effect, "first")
    task.failed(effect, "second")
    task.confirm(effect, "third")
    assert (only(trial, claim.id).status, only(trial, claim.id).answer) == ("confirmed", "first")
    assert rows(trial, claim.id) == ["intended", "confirmed"]


def test_an_answer_that_comes_after_somebody_took_the_effect_for_failed_is_kept(trial: Trial) -> None:
    carrier, claim = Carrier(), claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    trial.lose(trial.worker)
    trial.write(lambda unit: effects.settle(unit, effect.id, "failed", error="it did not arrive", actor=ANN))
    task.confirm(effect, carrier.send(effect))
    (again,) = trial.claim(worker=trial.new_worker())
    assert at_work(trial, again).once("label", {}, carrier.send) == {"receipt": 1}
    assert len(carrier.arrived) == 1


def test_bad_news_of_an_earlier_sending_says_nothing_about_the_present_one(trial: Trial) -> None:
    claim = claimed(trial)
    old = at_work(trial, claim)
    effect = old.intend("label", {})
    old.sent(effect)
    trial.lose(trial.worker)
    (again,) = trial.claim(worker=trial.new_worker())
    new = at_work(trial, again)
    new.failed(effect, "the carrier knows nothing of it")
    new.sent(new.intend("label", {}))
    old.failed(effect, "it certainly did not arrive")
    assert only(trial, claim.id).status == "sent"
    new.confirm(effect, "arrived")
    assert (only(trial, claim.id).status, only(trial, claim.id).answer) == ("confirmed", "arrived")


def test_an_effect_is_sent_only_once_for_each_intent(trial: Trial) -> None:
    task = at_work(trial, claimed(trial))
    effect = task.intend("label", {})
    task.sent(effect)
    with pytest.raises(EffectUnknown, match="not waiting to be sent"):
        task.sent(effect)


def test_an_effect_ends_only_as_confirmed_failed_or_unknown(trial: Trial) -> None:
    effect = at_work(trial, claimed(trial)).intend("label", {})
    with pytest.raises(InvalidData, match="confirmed, failed or unknown, not as 'perhaps'"):
        trial.write(lambda unit: effects.settle(unit, effect.id, "perhaps", actor=Actor(By.SYSTEM)))


def test_a_key_of_the_callers_choice_belongs_to_one_instance(trial: Trial) -> None:
    first, second = claimed(trial), claimed(trial)
    at_work(trial, first).intend("label", {}, key="order 17")
    with pytest.raises(EffectKeyReused, match=f"belongs to another instance, {first.id}"):
        at_work(trial, second).intend("label", {}, key="order 17")
    assert trial.engine.effects(second.id) == []


def test_a_worker_that_lost_the_instance_can_neither_intend_nor_send(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    trial.engine.pause(claim.id, actor=ANN)
    with pytest.raises(Fenced):
        task.sent(effect)
    with pytest.raises(Fenced):
        task.intend("another", {})
    assert only(trial, claim.id).status == "intended"


def test_limits_are_taken_with_the_intent_and_a_full_one_leaves_no_effect(trial: Trial) -> None:
    first, second, third = claimed(trial), claimed(trial), claimed(trial)
    at_work(trial, first).intend("label", {}, takes=("daily",))
    at_work(trial, second).intend("label", {}, takes=("daily",))
    with pytest.raises(LimitReached, match="2 of 2") as full:
        at_work(trial, third).intend("label", {}, takes=("daily",))
    assert full.value.until is not None
    assert (full.value.until - trial.clock.time).days == 1
    assert trial.engine.effects(third.id) == []
    assert rows(trial, third.id) == []
    at_work(trial, claimed(trial, user="bob")).intend("label", {}, takes=("daily",))


def test_an_intent_that_was_never_sent_does_not_take_its_limits_twice(trial: Trial) -> None:
    claim = claimed(trial)
    at_work(trial, claim).intend("label", {}, takes=("daily",))
    trial.lose(trial.worker)
    (again,) = trial.claim(worker=trial.new_worker())
    at_work(trial, again).intend("label", {}, takes=("daily",))
    at_work(trial, claimed(trial)).intend("label", {}, takes=("daily",))
    with pytest.raises(LimitReached):
        at_work(trial, claimed(trial)).intend("label", {}, takes=("daily",))


def test_each_sending_of_a_failed_effect_takes_its_limits_anew(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    for _ in range(2):
        effect = task.intend("label", {}, takes=("daily",))
        task.sent(effect)
        task.failed(effect, "refused")
    with pytest.raises(LimitReached):
        task.intend("label", {}, takes=("daily",))
    assert (only(trial, claim.id).status, only(trial, claim.id).sends) == ("failed", 2)


def test_a_crash_before_the_sending_lets_the_next_attempt_send(trial: Trial) -> None:
    carrier, claim = Carrier(), claimed(trial)
    at_work(trial, claim).intend("label", {})
    trial.lose(trial.worker)
    (again,) = trial.claim(worker=trial.new_worker())
    assert at_work(trial, again).once("label", {}, carrier.send) == {"receipt": 1}
    assert len(carrier.arrived) == only(trial, claim.id).sends == 1


def test_a_crash_between_the_sending_and_the_answer_makes_the_effect_unknown(trial: Trial) -> None:
    carrier, claim = Carrier(), claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    carrier.send(effect)
    trial.lose(trial.worker)
    assert (only(trial, claim.id).status, only(trial, claim.id).error) == (
        "unknown",
        "the handler was lost before the answer came",
    )
    (again,) = trial.claim(worker=trial.new_worker())
    with pytest.raises(EffectUnknown):
        at_work(trial, again).once("label", {}, carrier.send)
    assert len(carrier.arrived) == 1


def test_a_handler_that_runs_out_of_time_makes_what_it_sent_unknown(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    task.sent(task.intend("label", {}))
    trial.clock.set(claim.until)
    trial.engine.tick()
    assert only(trial, claim.id).status == "unknown"


def test_an_answer_that_comes_while_the_worker_holds_the_instance_opens_no_review(trial: Trial) -> None:
    claim = claimed(trial)
    at_work(trial, claim).once("label", {}, Carrier().send)
    assert trial.engine.reviews.waiting() == []


@pytest.mark.parametrize(("said", "status"), [("confirm", "confirmed"), ("failed", "failed")])
def test_an_answer_is_kept_when_the_fence_is_gone_and_a_review_opens(trial: Trial, said: str, status: str) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    trial.engine.fire(claim.id, "drop", actor=ANN)
    getattr(task, said)(effect, "what was learnt")
    assert only(trial, claim.id).status == status
    assert "what was learnt" in {only(trial, claim.id).answer, only(trial, claim.id).error}
    assert not trial.finish(claim, Go("posting"))
    (review,) = trial.engine.reviews.waiting(instance_id=claim.id)
    assert (review.name, review.state) == ("late_answer", None)
    assert review.evidence == {"effect": str(effect.id), "kind": "label", "status": status, "state": "dropped"}


def test_a_late_answer_is_given_to_the_next_attempt_instead_of_sending_again(trial: Trial) -> None:
    carrier, claim = Carrier(), claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    trial.engine.pause(claim.id, actor=ANN)
    task.confirm(effect, carrier.send(effect))
    trial.engine.resume(claim.id, actor=ANN)
    (again,) = trial.claim()
    assert at_work(trial, again).once("label", {}, carrier.send) == {"receipt": 1}
    assert len(carrier.arrived) == 1


def test_noting_a_late_answer_closes_its_review_and_moves_nothing(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    effect = task.intend("label", {})
    task.sent(effect)
    trial.engine.pause(claim.id, actor=ANN)
    task.confirm(effect, "done")
    (review,) = trial.engine.reviews.waiting()
    trial.engine.reviews.decide(review.id, "noted", actor=ANN)
    assert trial.engine.reviews.waiting() == []
    assert trial.state(claim.id) == "packing"
    assert trial.engine.history(claim.id)[-1].kind == "reviewed"


def test_a_worker_that_asked_the_other_side_itself_is_not_late(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    task.sent(task.intend("label", {}))
    trial.lose(trial.worker)
    (again,) = trial.claim(worker=trial.new_worker())
    answer = at_work(trial, again).once("label", {}, Carrier().send, verify=lambda effect: {"receipt": 1})
    assert answer == {"receipt": 1}
    assert trial.engine.reviews.waiting() == []


def test_not_sent_is_distinguished_from_unknown(trial: Trial) -> None:
    claim = claimed(trial)
    task = at_work(trial, claim)
    with pytest.raises(NotSent):
        task.once("label", {}, Carrier("refuses").send)
    assert only(trial, claim.id).status == "failed"
    with pytest.raises(EffectUnknown, match="the line went dead"):
        task.once("label", {}, Carrier("falls silent").send)
    assert only(trial, claim.id).status == "unknown"
