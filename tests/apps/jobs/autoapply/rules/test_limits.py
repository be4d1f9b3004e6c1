"""Limits of auto-apply, at their edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from interlock.apps.jobs.autoapply.rules import Usage, Use, check_rule, daily_limit, limit_checks, usage_of

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
RULE = check_rule({"name": "boats"})
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(("week", "day"), [(1, 1), (7, 1), (8, 2), (70, 10), (71, 11)])
def test_a_day_is_a_seventh_of_the_week_rounded_up(week: int, day: int) -> None:
    assert daily_limit(week) == day


BLOCKS = [
    (Usage(seeker_day=9), ()),
    (Usage(seeker_day=10), ("seeker_day",)),
    (Usage(rule_day=10), ("rule_day",)),
    (Usage(rule_week=69), ()),
    (Usage(rule_week=70), ("rule_week",)),
    (Usage(company_at=NOW - timedelta(days=7) + SECOND), ("company_cooldown",)),
    (Usage(company_at=NOW - timedelta(days=7)), ()),
    (Usage(all_hour=999), ()),
    (Usage(all_hour=1000), ("all_hour",)),
]


@pytest.mark.parametrize(("usage", "names"), BLOCKS, ids=str)
def test_each_limit_blocks_at_its_number(usage: Usage, names: tuple[str, ...]) -> None:
    checks = limit_checks(RULE, usage, NOW)
    assert tuple(one.name for one in checks if one.level == "block") == names
    assert len(checks) == 5


def test_uses_are_counted_in_sliding_windows_and_in_any_order() -> None:
    uses = [
        Use(NOW - timedelta(days=1) + SECOND, "a", "acme"),
        Use(NOW - timedelta(days=1), "a", "acme"),
        Use(NOW - timedelta(days=7) + SECOND, "a", "other"),
        Use(NOW - timedelta(days=7), "a", None),
        Use(NOW - SECOND, "b", None),
    ]
    expected = Usage(2, 1, 3, uses[0].at, 5)
    assert usage_of(uses, rule_id="a", company="acme", now=NOW, all_hour=5) == expected
    assert usage_of(reversed(uses), rule_id="a", company="acme", now=NOW, all_hour=5) == expected
    assert usage_of(uses, rule_id="a", company=None, now=NOW).company_at is None
