"""How long a retry waits, and which rule an error falls under."""

from __future__ import annotations

from datetime import timedelta

import pytest

from interlock.machine import (
    Backoff,
    EffectUnknown,
    Failures,
    LimitReached,
    Rule,
    WorkError,
    exponential,
    fixed,
)

MINUTE = timedelta(minutes=1)


class SubmissionUnknown(EffectUnknown):
    """An effect of one kind with an unknown outcome."""


class Busy(WorkError):
    """The other side is busy."""


class VeryBusy(Busy):
    """The other side is very busy."""


def test_exponential_doubles() -> None:
    backoff = exponential(15 * MINUTE)
    assert [backoff.delay(n) for n in (1, 2, 3, 4)] == [15 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE]


def test_exponential_with_another_factor() -> None:
    assert [exponential(MINUTE, factor=3).delay(n) for n in (1, 2, 3)] == [MINUTE, 3 * MINUTE, 9 * MINUTE]


def test_exponential_stops_at_its_cap() -> None:
    backoff = exponential(MINUTE, cap=5 * MINUTE)
    assert [backoff.delay(n) for n in (1, 2, 3, 4, 5)] == [MINUTE, 2 * MINUTE, 4 * MINUTE, 5 * MINUTE, 5 * MINUTE]


@pytest.mark.parametrize("retry", [60, 61, 62, 1_000, 10**9])
def test_a_huge_number_of_retries_neither_overflows_nor_shortens_the_wait(retry: int) -> None:
    assert exponential(MINUTE, cap=5 * MINUTE).delay(retry) == 5 * MINUTE
    assert exponential(MINUTE).delay(retry) == timedelta(days=365)


def test_fixed_waits_the_same_each_time() -> None:
    assert [fixed(MINUTE).delay(n) for n in (1, 2, 1_000)] == [MINUTE, MINUTE, MINUTE]


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 48), (0.25, 54), (0.5, 60), (0.75, 66), (1.0, 72)])
def test_jitter_spreads_the_wait_evenly_around_it(chance: float, seconds: int) -> None:
    assert fixed(MINUTE, jitter=0.2).delay(1, chance=chance) == timedelta(seconds=seconds)
    assert exponential(MINUTE, jitter=0.2).delay(1, chance=chance) == timedelta(seconds=seconds)


def test_without_jitter_chance_changes_nothing() -> None:
    assert fixed(MINUTE).delay(1, chance=0.0) == fixed(MINUTE).delay(1, chance=1.0) == MINUTE


def test_the_longer_of_backoff_and_retry_after_counts() -> None:
    assert fixed(MINUTE).delay(1, retry_after=5 * MINUTE) == 5 * MINUTE
    assert fixed(10 * MINUTE).delay(1, retry_after=5 * MINUTE) == 10 * MINUTE


def test_retry_after_is_believed_up_to_a_week() -> None:
    assert fixed(MINUTE).delay(1, retry_after=timedelta(days=400)) == timedelta(days=7)


def test_retry_after_can_be_ignored() -> None:
    assert Backoff(MINUTE, honour_retry_after=False).delay(1, retry_after=5 * MINUTE) == MINUTE


def test_the_first_rule_that_matches_wins() -> None:
    narrow, wide = Rule((VeryBusy,)), Rule((Busy,))
    failures = Failures(rules=(narrow, wide))
    assert failures.rule_for(VeryBusy(), "new") is narrow
    assert failures.rule_for(Busy(), "new") is wide
    # In the other order the wide rule hides the narrow one.
    assert Failures(rules=(wide, narrow)).rule_for(VeryBusy(), "new") is wide


def test_otherwise_takes_what_no_rule_names() -> None:
    failures = Failures(rules=(Rule((Busy,)),))
    assert failures.rule_for(KeyError(), "new") is failures.otherwise
    assert failures.otherwise.retries == 3


def test_a_rule_for_several_errors_and_for_names() -> None:
    rule = Rule((LimitReached, "Busy"))
    assert rule.name == "LimitReached|Busy"
    assert rule.matches(LimitReached(), "new")
    assert rule.matches(Busy(), "new")
    assert rule.matches(VeryBusy(), "new")
    assert not rule.matches(WorkError(), "new")


def test_a_rule_for_one_state_is_not_for_others() -> None:
    here, anywhere = Rule((Busy,), at=("new", "old")), Rule((Busy,))
    failures = Failures(rules=(here, anywhere))
    assert [failures.rule_for(Busy(), state) for state in ("new", "old", "done")] == [here, here, anywhere]


def test_an_unknown_effect_falls_under_no_rule_that_does_not_name_it() -> None:
    failures = Failures(rules=(Rule((Exception,)), Rule((WorkError,)), Rule(("Exception", "WorkError"))))
    assert failures.rule_for(EffectUnknown(), "new") is None
    assert failures.rule_for(SubmissionUnknown(), "new") is None


NAMES = [EffectUnknown, "EffectUnknown", SubmissionUnknown, "SubmissionUnknown"]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_an_unknown_effect_falls_under_a_rule_that_names_it(name: type[BaseException] | str) -> None:
    rule = Rule((name,))
    assert Failures(rules=(Rule((Exception,)), rule)).rule_for(SubmissionUnknown(), "new") is rule


def test_a_rule_for_one_kind_of_unknown_effect_is_not_for_all() -> None:
    assert Failures(rules=(Rule((SubmissionUnknown,)),)).rule_for(EffectUnknown(), "new") is None


def test_what_a_rule_sets_cannot_be_changed_from_outside() -> None:
    given = {"reason": "closed"}
    rule = Rule((Busy,), sets=given)
    given["reason"] = "open"
    assert rule.sets == {"reason": "closed"}
    with pytest.raises(TypeError):
        rule.sets["reason"] = "open"  # type: ignore[index]
