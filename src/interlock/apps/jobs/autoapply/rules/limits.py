"""Limits of auto-apply over given counts.

The engine enforces the limits in its transactions; these functions say the same in advance, with words. All windows
slide: a use counts until exactly a day, a week or an hour has passed since it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from interlock.apps.jobs.autoapply.rules.criteria import ApplyRule
from interlock.apps.jobs.autoapply.rules.decision import Check

SEEKER_A_DAY = 10
ALL_AN_HOUR = 1000
"""The breaker. It counts attempts, not successes."""
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
COOL_DOWN = WEEK


@dataclass(frozen=True, slots=True)
class Use:
    """An application that counts: submitted, or open, so that no more are prepared than can be sent."""

    at: datetime
    rule_id: str | None = None
    company: str | None = None
    """The company's key, not its raw name."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What is used up when one posting is judged."""

    seeker_day: int = 0
    rule_day: int = 0
    rule_week: int = 0
    company_at: datetime | None = None
    """The last application to this company, whichever opening it was for."""
    all_hour: int = 0


def daily_limit(per_week: int) -> int:
    """Applications a day of a rule: a seventh of the week's, rounded up."""
    return ceil(per_week / 7)


def usage_of(
    uses: Iterable[Use], *, rule_id: str | None, company: str | None, now: datetime, all_hour: int = 0
) -> Usage:
    """The counts for one rule and one company out of a seeker's uses, in any order."""
    seeker_day = rule_day = rule_week = 0
    company_at: datetime | None = None
    for use in uses:
        age = now - use.at
        seeker_day += age < DAY
        if use.rule_id == rule_id:
            rule_day += age < DAY
            rule_week += age < WEEK
        if company is not None and use.company == company and (company_at is None or use.at > company_at):
            company_at = use.at
    return Usage(seeker_day, rule_day, rule_week, company_at, all_hour)


def limit_checks(
    rule: ApplyRule, usage: Usage, now: datetime, *, seeker_a_day: int = SEEKER_A_DAY
) -> tuple[Check, ...]:
    """A check for each limit."""
    per_week = rule.max_applications_per_week
    return (
        _count("seeker_day", usage.seeker_day, seeker_a_day, "applications in 24 hours"),
        _count("rule_day", usage.rule_day, daily_limit(per_week), "applications of this rule in 24 hours"),
        _count("rule_week", usage.rule_week, per_week, "applications of this rule in 7 days"),
        _cool_down(usage.company_at, now),
        _count("all_hour", usage.all_hour, ALL_AN_HOUR, "attempts of everybody in an hour"),
    )


def _count(name: str, used: int, most: int, what: str) -> Check:
    if used >= most:
        return Check(name, "block", f"limit reached: {used} of {most} {what}")
    return Check(name, "info", f"{used} of {most} {what}")


def _cool_down(last: datetime | None, now: datetime) -> Check:
    if last is None or now - last >= COOL_DOWN:
        return Check("company_cooldown", "info", "no application to this company in 7 days")
    until = last + COOL_DOWN
    return Check(
        "company_cooldown", "block", f"applied to this company on {last:%Y-%m-%d}; again from {until:%Y-%m-%d}"
    )
