"""Explain: nothing waits in silence. Each situation as data, and as a sentence that a person understands."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Allowed, Engine, Explanation, NotFound, Upcoming
from interlock.machine import Again, Ask, Fail, Go, Machine, Outcome, Review
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import START, Trial, VirtualClock
from tests.support.effects_and_reviews import ANN, Broken, Carrier, QuotaUsedUp, parcel, visit


def _never(_: Any) -> Outcome:
    raise AssertionError("these tests say themselves what a handler would return")


MACHINE = visit.with_handlers(dict.fromkeys(["working", "held"], _never))


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with Trial([MACHINE], store=store) as trial:
        yield trial


def visiting(trial: Trial, outcome: Outcome | None = None, **options: Any) -> UUID:
    """A visit whose first step came to this."""
    it = trial.create("visit", {"desk": "1"}, **options)
    if outcome is not None:
        (claim,) = trial.claim()
        trial.finish(claim, outcome)
    return it


def explained(trial: Trial, instance_id: UUID) -> Explanation:
    """What explain says, and that it leaves no unfinished instance in silence."""
    explanation = trial.engine.explain(instance_id)
    assert explanation.sentence.startswith(f"{explanation.machine} is in {explanation.state!r}. ")
    assert explanation.sentence.endswith(".")
    assert explanation.waits_for in {"worker", "time", "person", "event", "limit", "code", "nothing"}
    if explanation.waits_for == "time":
        assert explanation.upcoming, "a due time is named"
    return explanation


def later(**parts: float) -> Any:
    return START + timedelta(**parts)


def test_it_says_where_the_instance_is_since_when_and_who_can_do_what_next(trial: Trial) -> None:
    it = visiting(trial, Go("asking"))
    trial.clock.advance(timedelta(minutes=30))
    explanation = explained(trial, it)
    assert (explanation.instance_id, explanation.machine, explanation.state, explanation.kind) == (
        it,
        "visit",
        "asking",
        "waiting",
    )
    assert explanation.since == START
    assert explanation.next == (Allowed("answered", "done", ("user",)), Allowed("give_up", "done", ("system",)))
    assert explanation.error is None


def test_ready_work_that_nobody_serves_says_so(trial: Trial) -> None:
    it = visiting(trial, queue="elsewhere")
    explanation = explained(trial, it)
    assert explanation.waits_for == "worker"
    assert "It is ready, but no worker alive serves the queue 'elsewhere'; start one." in explanation.sentence


def test_ready_work_waits_for_a_free_worker_of_its_queue(trial: Trial) -> None:
    it = visiting(trial)
    trial.clock.advance(timedelta(minutes=5))
    explanation = explained(trial, it)
    assert explanation.waits_for == "worker"
    expected = "It is ready and waits for a free worker of queue 'visit' since 2026-01-05 09:00:00 UTC (5 minutes ago)."
    assert expected in explanation.sentence


def test_work_that_starts_later_names_its_moment(trial: Trial) -> None:
    it = visiting(trial, at=later(hours=3))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("time", (Upcoming("its step runs", later(hours=3)),))
    assert "Its step runs at 2026-01-05 12:00:00 UTC (in 3 hours)." in explanation.sentence


def test_a_step_that_asked_to_run_again_names_its_moment(trial: Trial) -> None:
    it = visiting(trial, Again(timedelta(minutes=90)))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("time", (Upcoming("its step runs", later(minutes=90)),))
    assert "Its step runs at 2026-01-05 10:30:00 UTC (in 90 minutes)." in explanation.sentence


def test_a_step_that_asked_to_run_again_for_a_reason_says_it(trial: Trial) -> None:
    it = visiting(trial, Again(timedelta(minutes=5), reason="waits for a free table."))
    said = "Its step runs again at 2026-01-05 09:05:00 UTC (in 5 minutes): waits for a free table."
    assert said in explained(trial, it).sentence


def test_a_step_that_failed_and_is_retried_in_its_state_names_its_moment_and_the_error(store: Store) -> None:
    with Trial([parcel.with_handlers(dict.fromkeys(["packing", "posting"], _never))], store=store) as trial:
        it = trial.create("parcel")
        trial.finish(trial.claim()[0], Fail(ValueError("no tape")))
        explanation = explained(trial, it)
        assert (explanation.waits_for, explanation.upcoming) == (
            "time",
            (Upcoming("its step runs", later(minutes=1)),),
        )
        assert "Its step runs again at 2026-01-05 09:01:00 UTC (in 60 seconds) after ValueError: no tape." in (
            explanation.sentence
        )
        assert explanation.error is not None
        assert explanation.error["type"] == "ValueError"


def test_work_under_way_names_the_worker_and_its_time_limit(trial: Trial) -> None:
    it = visiting(trial)
    trial.claim()
    trial.clock.advance(timedelta(seconds=10))
    explanation = explained(trial, it)
    assert explanation.waits_for == "worker"
    assert explanation.upcoming == (Upcoming("the handler runs out of time, and the step fails", later(minutes=15)),)
    assert (
        "A worker on trial (process 0) is at it since 2026-01-05 09:00:00 UTC (10 seconds ago)" in explanation.sentence
    )
    assert "has until 2026-01-05 09:15:00 UTC (in 14 minutes)." in explanation.sentence


def test_work_held_by_a_worker_without_a_row_says_that_the_worker_is_gone(trial: Trial) -> None:
    it = visiting(trial)
    trial.claim(worker=uuid4())
    assert "A worker that is gone is at it" in explained(trial, it).sentence


def test_a_failed_step_names_when_it_is_retried_and_where(trial: Trial) -> None:
    it = visiting(trial, Fail(ValueError("no answer")))
    explanation = explained(trial, it)
    assert (explanation.state, explanation.kind, explanation.waits_for) == ("broken", "failed", "time")
    assert explanation.upcoming == (Upcoming("the system fires 'retry', to 'working'", later(minutes=10)),)
    assert (
        "It moves on to 'working' automatically at 2026-01-05 09:10:00 UTC (in 10 minutes) after ValueError: no answer."
        in (explanation.sentence)
    )


def test_a_pause_that_a_rule_made_names_when_it_ends(trial: Trial) -> None:
    it = visiting(trial, Fail(QuotaUsedUp("come back later")))
    explanation = explained(trial, it)
    assert (explanation.state, explanation.waits_for) == ("resting", "time")
    assert explanation.upcoming == (Upcoming("the system fires 'resume', to 'working'", later(hours=1)),)
    assert "after QuotaUsedUp: come back later." in explanation.sentence


def test_a_pause_until_a_moment_names_who_made_it_and_when_it_ends(trial: Trial) -> None:
    it = visiting(trial)
    trial.engine.pause(it, actor=ANN, resume_at=later(days=3))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("time", (Upcoming("it is resumed", later(days=3)),))
    expected = "It was paused by user:ann and resumes automatically at 2026-01-08 09:00:00 UTC (in 3 days)."
    assert expected in explanation.sentence


def test_a_pause_without_an_end_waits_for_a_person(trial: Trial) -> None:
    it = visiting(trial, Go("asking"))
    trial.engine.pause(it, actor=ANN, reason="the scale is broken")
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("person", ()), "no timer runs while it is paused"
    expected = "It was paused by user:ann (the scale is broken) and waits for a person to resume it."
    assert expected in explanation.sentence


def test_work_without_a_free_slot_names_the_limit_and_who_holds_it(trial: Trial) -> None:
    first, second = visiting(trial), visiting(trial)
    trial.claim(2)
    explanation = explained(trial, second)
    assert explanation.waits_for == "limit"
    assert f"It waits for a free slot of 'desk/1', held by {first}." in explanation.sentence


def test_a_slot_that_another_workspace_holds_is_named_without_its_holder(trial: Trial) -> None:
    first, second = visiting(trial, workspace="north"), visiting(trial)
    trial.claim(2)
    explanation = explained(trial, second)
    assert "It waits for a free slot of 'desk/1', held by an instance of another workspace." in explanation.sentence
    assert str(first) not in explanation.sentence


def test_a_dead_letter_waits_for_a_person_and_names_the_error(trial: Trial) -> None:
    it = visiting(trial, Fail(Broken("the key does not fit")))
    explanation = explained(trial, it)
    assert (explanation.state, explanation.waits_for, explanation.upcoming) == ("broken", "person", ())
    assert (
        "Step 'working' failed for good (Broken: the key does not fit); "
        "it waits for a person to retry, resolve or discard the dead letter."
    ) in explanation.sentence


def test_an_unknown_effect_waits_for_the_person_who_says_how_it_ended(store: Store) -> None:
    carrier = Carrier("falls silent")

    def pack(task: Any) -> Outcome:
        task.once("label", {}, carrier.send)
        return Go("posting")

    with Trial([parcel.with_handlers({"packing": pack, "posting": _never})], store=store) as trial:
        it = trial.create("parcel")
        trial.run_until_idle()
        explanation = explained(trial, it)
        assert explanation.waits_for == "person"
        assert "failed for good (EffectUnknown: label was sent and its answer is unknown" in explanation.sentence
        assert "it waits for a person to answer 'Did it arrive? Something was sent" in explanation.sentence


@pytest.mark.parametrize(("close", "closed"), [("resolve", "resolved"), ("discard", "discarded")])
def test_a_step_whose_dead_letter_was_closed_waits_for_a_person(store: Store, close: str, closed: str) -> None:
    with Trial([parcel.with_handlers(dict.fromkeys(["packing", "posting"], _never))], store=store) as trial:
        it = trial.create("parcel")
        for _ in range(4):
            trial.finish(trial.claim()[0], Fail(ValueError("no tape")))
            trial.clock.advance(timedelta(minutes=1))
        (letter,) = trial.engine.dead_letters.find()
        getattr(trial.engine.dead_letters, close)(letter.id, actor=ANN)
        explanation = explained(trial, it)
        assert explanation.waits_for == "person"
        expected = f"its dead letter was {closed} by user:ann; it waits for a person to move it on."
        assert expected in explanation.sentence


def test_a_failed_instance_without_a_dead_letter_waits_for_a_person(trial: Trial) -> None:
    it = visiting(trial, Fail(Broken("the key does not fit")))
    trial.engine.dead_letters.resolve(trial.engine.dead_letters.find()[0].id, actor=ANN)
    explanation = explained(trial, it)
    assert explanation.waits_for == "person"
    expected = "It failed (Broken: the key does not fit) and waits for a person since 2026-01-05 09:00:00 UTC"
    assert expected in explanation.sentence
    assert Allowed("retry", "working", ("system", "user")) in explanation.next


def test_work_that_is_not_started_names_the_event_that_starts_it(trial: Trial) -> None:
    it = visiting(trial, Go("held", unstarted=True))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("event", ())
    assert "Its work is not started: somebody starts it with 'start'." in explanation.sentence
    assert Allowed("start", None, ("user",)) in explanation.next


def test_waiting_for_a_person_names_the_reminder_and_the_timer_to_come(trial: Trial) -> None:
    it = visiting(trial, Go("asking"))
    explanation = explained(trial, it)
    assert explanation.waits_for == "person"
    assert explanation.upcoming == (
        Upcoming('a reminder: "the customer is silent"', later(hours=1)),
        Upcoming("the system fires 'give_up', to 'done'", later(hours=24)),
    )
    assert "It waits for the customer's answer since 2026-01-05 09:00:00 UTC (0 seconds ago)." in explanation.sentence
    assert 'If nothing happens, a reminder: "the customer is silent" at 2026-01-05 10:00 UTC.' in explanation.sentence
    trial.advance(hours=1)
    assert explained(trial, it).upcoming == (Upcoming("the system fires 'give_up', to 'done'", later(hours=24)),)


def test_waiting_for_a_review_names_its_due_time_and_who_is_at_it(trial: Trial) -> None:
    it = visiting(trial, Go("judging"))
    explanation = explained(trial, it)
    assert explanation.waits_for == "person"
    assert "It waits for a judge since" in explanation.sentence
    assert "due at 2026-01-05 12:00:00 UTC (in 3 hours)." in explanation.sentence
    (review,) = trial.engine.reviews.waiting(instance_id=it)
    trial.engine.reviews.claim(review.id, actor=ANN, length=timedelta(minutes=10))
    assert "; user:ann is at it; due at" in explained(trial, it).sentence
    trial.clock.advance(timedelta(minutes=10))
    assert "user:ann" not in explained(trial, it).sentence


def test_waiting_for_an_outside_event_names_it(trial: Trial) -> None:
    it = visiting(trial, Go("listening"))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.upcoming) == ("event", ())
    assert "It waits for the carrier's notice since 2026-01-05 09:00:00 UTC" in explanation.sentence
    assert explanation.next == (Allowed("noticed", "done", ("agent", "system")),)


def test_a_question_beside_the_state_does_not_change_what_the_state_waits_for(trial: Trial) -> None:
    beside = Ask("rate", Review("How was it?", decisions={"fine": ""}, due=timedelta(minutes=1)))
    explanation = explained(trial, visiting(trial, Go("listening", asks=(beside,))))
    assert explanation.waits_for == "event"
    assert "due at" not in explanation.sentence


def test_a_dead_letter_of_an_earlier_step_does_not_hide_what_it_waits_for_now(trial: Trial) -> None:
    it = visiting(trial, Fail(Broken("the key does not fit")))
    trial.engine.fire(it, "retry", actor=ANN)
    trial.finish(trial.claim()[0], Go("listening"))
    explanation = explained(trial, it)
    assert explanation.waits_for == "event"
    assert "It waits for the carrier's notice" in explanation.sentence


def test_a_final_state_waits_for_nothing_and_says_who_may_reopen_it(trial: Trial) -> None:
    it = visiting(trial, Go("done"))
    explanation = explained(trial, it)
    assert (explanation.waits_for, explanation.kind, explanation.upcoming) == ("nothing", "final", ())
    assert "It ended in 'done' at 2026-01-05 09:00:00 UTC (0 seconds ago); nothing more happens." in (
        explanation.sentence
    )
    assert explanation.next == (Allowed("reopen", "working", ("user",)),)


@pytest.mark.parametrize("elsewhere", [parcel, None], ids=["another machine", "no machine"])
def test_an_instance_without_code_here_says_so(store: Store, elsewhere: Machine | None) -> None:
    clock = VirtualClock()
    it = Engine(store, [MACHINE], clock=clock).create("visit", {"desk": "1"}).id
    other = Engine(store, [elsewhere] if elsewhere else [], clock=clock)
    explanation = other.explain(it)
    assert (explanation.waits_for, explanation.kind, explanation.next) == ("code", "unknown", ())
    assert (
        "No process here has code for version 1 of visit, so nothing can move it; start one that has"
        in explanation.sentence
    )


def test_an_instance_that_does_not_exist_is_not_found(trial: Trial) -> None:
    with pytest.raises(NotFound, match="there is no instance"):
        trial.engine.explain(uuid4())


def test_explaining_reads_and_writes_nothing(trial: Trial) -> None:
    it = visiting(trial, Go("judging"))
    before = trial.get(it)
    explained(trial, it)
    assert trial.get(it) == before
    count = sa.select(sa.func.count()).select_from(t.history)
    assert trial.engine.read(lambda conn: conn.execute(count).scalar_one()) == before.seq
