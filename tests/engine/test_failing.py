"""Failure rules: an error becomes, by its type, a retry, a pause, a move or a dead letter. Never nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.machine import (
    Backoff,
    EffectUnknown,
    Fail,
    Failures,
    Go,
    InvalidOutcome,
    Rule,
    WorkError,
    exponential,
    fixed,
)
from interlock.store import Store, span
from interlock.testing import Trial
from tests.support.machines import BOSS, Refusal, Unreachable, do, job, kinds, last_row, pass_time, trial_of

MINUTE = timedelta(minutes=1)


def waits(trial: Trial, error: BaseException, times: int) -> list[timedelta]:
    """How long it waited before each of so many retries."""
    found = []
    for _ in range(times):
        claim = do(trial, Fail(error))
        due = trial.get(claim.id).due_at
        assert due is not None
        found.append(timedelta(microseconds=due - trial.clock.now()))
        pass_time(trial, microseconds=due - trial.clock.now())
    return found


def only(rule: Rule, *, state: str | None = None) -> Failures:
    return Failures(state=state, rules=(rule,))


# -- retries


def test_a_retry_in_place_waits_and_leaves_a_row_with_the_whole_error(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,), retries=2, backoff=fixed(MINUTE))))) as trial:
        it = trial.create("job")
        do(trial, Fail(Unreachable("no answer from 10.0.0.1")))
        after = trial.get(it)
        assert (after.state, after.wake, after.due_at) == ("first", "work", trial.clock.now() + span(MINUTE))
        assert (after.failures, after.failed_step) == ({"first|Unreachable": 1}, "first")
        payload = last_row(trial, it).payload
        assert (payload["why"], payload["step"], payload["rule"]) == ("error", "first", "Unreachable")
        assert (payload["failure"], payload["retry_at"]) == (1, after.due_at)
        assert payload["error"]["type"] == "Unreachable"
        assert payload["error"]["message"] == "no answer from 10.0.0.1"
        assert after.error is not None
        assert after.error["message"] == "no answer from 10.0.0.1"


def test_with_a_state_for_failures_it_waits_there_and_the_system_brings_it_back(store: Store) -> None:
    failures = only(Rule((Unreachable,), retries=2, backoff=fixed(MINUTE)), state="failed")
    with trial_of(store, job(failures)) as trial:
        it = trial.create("job")
        do(trial, Go("second"))
        do(trial, Fail(Unreachable()))
        after = trial.get(it)
        assert (after.state, after.wake, after.due_event) == ("failed", "resume", "retry")
        assert after.due_at == trial.clock.now() + span(MINUTE)
        assert after.finished_at is None
        pass_time(trial, minutes=1)
        assert trial.path(it) == ["first", "second", "failed", "second"]
        row = last_row(trial, it)
        assert (row.actor, row.event, row.payload["why"]) == ("system", "retry", "due")


def test_exponential_waits_double_up_to_the_cap(store: Store) -> None:
    backoff = exponential(15 * MINUTE, cap=100 * MINUTE)
    with trial_of(store, job(only(Rule((Unreachable,), retries=5, backoff=backoff)))) as trial:
        trial.create("job")
        minutes = [wait // MINUTE for wait in waits(trial, Unreachable(), 5)]
        assert minutes == [15, 30, 60, 100, 100]


def test_fixed_waits_are_all_the_same(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,), retries=3, backoff=fixed(7 * MINUTE))))) as trial:
        trial.create("job")
        assert waits(trial, Unreachable(), 3) == [7 * MINUTE] * 3


def test_jitter_spreads_the_waits_within_its_share(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,), retries=9, backoff=fixed(MINUTE, jitter=0.5))))) as trial:
        trial.create("job")
        found = waits(trial, Unreachable(), 9)
        assert all(MINUTE / 2 <= wait <= MINUTE * 3 / 2 for wait in found)
        assert len(set(found)) > 5


def test_a_retry_after_of_the_other_side_is_honoured(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,), retries=3, backoff=fixed(MINUTE))))) as trial:
        trial.create("job")
        assert waits(trial, Unreachable(retry_after=30 * MINUTE), 1) == [30 * MINUTE]
        assert waits(trial, Unreachable(retry_after=timedelta(seconds=1)), 1) == [MINUTE]


def test_a_retry_after_is_not_honoured_where_the_rule_says_so(store: Store) -> None:
    stubborn = Backoff(MINUTE, honour_retry_after=False)
    with trial_of(store, job(only(Rule((Unreachable,), retries=3, backoff=stubborn)))) as trial:
        trial.create("job")
        assert waits(trial, Unreachable(retry_after=30 * MINUTE), 1) == [MINUTE]


def test_a_retry_after_is_no_way_to_stop_it_for_ever(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,), retries=3, backoff=fixed(MINUTE))))) as trial:
        trial.create("job")
        assert waits(trial, Unreachable(retry_after=timedelta(days=4000)), 1) == [timedelta(days=7)]


# -- when no retry is left


def test_exhausted_it_moves_on_in_the_same_transaction_with_its_reason(store: Store) -> None:
    rule = Rule((Unreachable,), retries=1, backoff=fixed(MINUTE), then="given_up", sets={"why": "no answer"})
    with trial_of(store, job(only(rule, state="failed"))) as trial:
        it = trial.create("job", {"n": 1})
        waits(trial, Unreachable(), 1)
        before = trial.get(it).seq
        do(trial, Fail(Unreachable("gone")))
        assert trial.path(it) == ["first", "failed", "first", "failed", "given_up"]
        rows = trial.engine.history(it, after=before)
        assert [row.at for row in rows] == [trial.clock.now()] * 2
        assert rows[0].payload["exhausted"] is True
        assert rows[1].payload["set"] == {"why": "no answer"}
        assert (rows[1].actor, trial.data(it)) == ("system", {"n": 1, "why": "no answer"})
        assert trial.get(it).finished_at == trial.clock.now()


def test_exhausted_without_a_way_on_it_rests_in_the_state_for_failures(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,)), state="failed"))) as trial:
        it = trial.create("job")
        do(trial, Fail(Unreachable()))
        after = trial.get(it)
        assert (after.state, after.wake, after.due_at) == ("failed", None, None)
        assert after.finished_at == trial.clock.now()
        assert len(trial.engine.dead_letters.find()) == 1


def test_exhausted_without_a_state_for_failures_it_stays_where_it_is_with_a_dead_letter(store: Store) -> None:
    with trial_of(store, job(only(Rule((Unreachable,))))) as trial:
        it = trial.create("job")
        do(trial, Fail(Unreachable()))
        assert (trial.state(it), trial.get(it).wake, kinds(trial, it)) == ("first", None, ["created", "failed"])
        assert len(trial.engine.dead_letters.find()) == 1
        pass_time(trial, days=30)
        assert trial.claim() == []


def test_an_error_that_no_retry_helps_moves_at_once(store: Store) -> None:
    with trial_of(store, job(only(Rule((Refusal,), retries=0, then="given_up")))) as trial:
        it = trial.create("job")
        do(trial, Fail(Refusal()))
        assert trial.path(it) == ["first", "given_up"]


def test_a_rule_can_do_without_a_dead_letter(store: Store) -> None:
    with trial_of(store, job(only(Rule((Refusal,), then="given_up", dead_letter=False)))) as trial:
        it = trial.create("job")
        do(trial, Fail(Refusal()))
        assert (trial.state(it), trial.engine.dead_letters.find()) == ("given_up", [])


# -- which rule


def test_the_first_rule_that_matches_counts(store: Store) -> None:
    rules = (
        Rule((Refusal,), then="given_up"),
        Rule((Unreachable,), retries=3, backoff=fixed(MINUTE)),
        Rule((WorkError,), retries=3, backoff=fixed(2 * MINUTE)),
    )
    with trial_of(store, job(Failures(rules=rules))) as trial:
        trial.create("job")
        assert waits(trial, Unreachable(), 1) == [MINUTE]
        assert waits(trial, WorkError(), 1) == [2 * MINUTE]
        assert trial.state(do(trial, Fail(Refusal())).id) == "given_up"


def test_a_rule_can_name_an_error_that_it_cannot_import(store: Store) -> None:
    with trial_of(store, job(only(Rule(("Unreachable",), then="given_up")))) as trial:
        it = trial.create("job")
        do(trial, Fail(Refusal()))
        assert trial.state(it) == "given_up"


def test_a_rule_can_be_for_one_state_alone(store: Store) -> None:
    rules = (Rule((Unreachable,), at=("second",), then="given_up"),)
    with trial_of(store, job(Failures(rules=rules))) as trial:
        it = trial.create("job")
        do(trial, Fail(Unreachable()))
        assert trial.state(it) == "first"
        pass_time(trial, minutes=5)
        do(trial, Go("second"))
        do(trial, Fail(Unreachable()))
        assert trial.state(it) == "given_up"


def test_whatever_no_rule_names_falls_to_the_last_one(store: Store) -> None:
    otherwise = Rule((Exception,), retries=1, backoff=fixed(MINUTE), then="given_up")
    with trial_of(store, job(Failures(otherwise=otherwise))) as trial:
        it = trial.create("job")
        assert waits(trial, KeyError("what"), 1) == [MINUTE]
        do(trial, Fail(InvalidOutcome("eh?")))
        assert trial.state(it) == "given_up"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_not_even_what_is_no_exception_is_lost(store: Store, error: BaseException) -> None:
    with trial_of(store, job()) as trial:
        it = trial.create("job")
        do(trial, Fail(error))
        after = trial.get(it)
        assert after.error is not None
        assert (after.error["type"], after.wake) == (type(error).__name__, "work")


# -- counters


def test_failures_are_counted_per_rule(store: Store) -> None:
    rules = (
        Rule((Refusal,), retries=2, backoff=fixed(MINUTE), then="given_up"),
        Rule((Unreachable,), retries=2, backoff=fixed(MINUTE), then="given_up"),
    )
    with trial_of(store, job(Failures(rules=rules))) as trial:
        it = trial.create("job")
        for error in (Refusal(), Unreachable(), Refusal(), Unreachable()):
            waits(trial, error, 1)
        assert trial.get(it).failures == {"first|Refusal": 2, "first|Unreachable": 2}
        do(trial, Fail(Unreachable()))
        assert trial.state(it) == "given_up"


def test_failures_are_counted_per_step_and_passing_another_step_does_not_reset_them(store: Store) -> None:
    otherwise = Rule((Exception,), retries=2, backoff=fixed(MINUTE), then="given_up")
    with trial_of(store, job(Failures(state="failed", otherwise=otherwise))) as trial:
        it = trial.create("job")
        do(trial, Go("second"))
        waits(trial, Unreachable(), 1)
        do(trial, Go("first"))
        do(trial, Go("second"))
        assert trial.get(it).failures == {}, "the second step itself was passed"
        waits(trial, Unreachable(), 1)
        trial.engine.force(it, "first", actor=BOSS, reason="once more from the start")
        waits(trial, Unreachable(), 1)
        do(trial, Go("second"))
        assert trial.get(it).failures == {"second|Exception": 1}, "only the first step was passed"
        waits(trial, Unreachable(), 1)
        do(trial, Fail(Unreachable()))
        assert trial.state(it) == "given_up"


def test_a_step_that_was_passed_starts_anew_when_it_comes_again(store: Store) -> None:
    otherwise = Rule((Exception,), retries=1, backoff=fixed(MINUTE), then="given_up")
    with trial_of(store, job(Failures(otherwise=otherwise))) as trial:
        it = trial.create("job")
        for _ in range(3):
            waits(trial, Unreachable(), 1)
            do(trial, Go("second"))
            do(trial, Go("first"))
        assert (trial.state(it), trial.get(it).failures) == ("first", {})


# -- what is unknown is not failed


def test_an_unknown_effect_is_never_repeated_by_a_rule_that_does_not_name_it(store: Store) -> None:
    rules = (Rule((Exception,), retries=5, backoff=fixed(MINUTE)), Rule(("WorkError",), retries=5))
    with trial_of(store, job(Failures(state="failed", rules=rules))) as trial:
        it = trial.create("job")
        do(trial, Fail(EffectUnknown("sent, no answer")))
        after = trial.get(it)
        assert (after.state, after.wake, after.failures) == ("first", None, {"first|EffectUnknown": 1})
        pass_time(trial, days=30)
        assert trial.claim() == []
        [letter] = trial.engine.dead_letters.find()
        assert (letter.step, letter.error_type) == ("first", "EffectUnknown")
        [review] = trial.engine.reviews.waiting(instance_id=it)
        assert (review.name, review.evidence["dead_letter"]) == ("verify_effect", str(letter.id))


def test_a_rule_that_names_it_is_applied(store: Store) -> None:
    with trial_of(store, job(only(Rule((EffectUnknown,), then="given_up", dead_letter=False)))) as trial:
        it = trial.create("job")
        do(trial, Fail(EffectUnknown("sent, no answer")))
        assert (trial.state(it), trial.engine.reviews.waiting()) == ("given_up", [])
