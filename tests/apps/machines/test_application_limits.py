"""The limits of auto-apply: taken with the intent to submit, exact, and a pause until exactly the reset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, firing, limits
from interlock.engine.unit import Unit
from interlock.machine import Fail, LimitReached, Outcome
from interlock.store import Store
from interlock.store import tables as t
from interlock.testing import START, Trial, broken_laws
from tests.apps.machines.applying import Site, applying, match
from tests.apps.machines.scripted_trial import ANN

DAY, WEEK, HOUR = timedelta(days=1), timedelta(days=7), timedelta(hours=1)


class Office(Trial):
    """Auto-apply for many matches."""

    def __init__(self, store: Store) -> None:
        self.site = Site()
        self.machine = applying(self.site)
        super().__init__([self.machine], store=store)

    def apply(self, number: int, **data: Any) -> UUID:
        it = self.create("application", match(number, **data))
        self.run_until_idle()
        return it

    def use(self, name: str, count: int) -> None:
        """So many were sent at this moment: by as many applications, or by one where each attempt counts."""
        once = self.machine.window(name).once
        others = self.engine.create_many("application", [match(-1)] * (count if once else 1))

        def use(unit: Unit) -> None:
            for it in others * (1 if once else count):
                limits.use(unit, unit.lock(it), self.machine, name)
            for it in others:
                firing.fire(unit, it, "withdraw", ANN)

        self.write(use)

    def uses(self) -> Counter[str]:
        query = sa.select(t.limit_use.c.key)
        return self.engine.read(lambda conn: Counter(key.partition("/")[0] for key in conn.execute(query).scalars()))

    def paused_until(self, it: UUID) -> datetime:
        assert self.path(it)[-3:] == ["ready_to_submit", "failed", "paused"]
        (coming,) = self.engine.explain(it).upcoming
        return coming.at


@pytest.fixture
def office(store: Store) -> Iterator[Office]:
    with Office(store) as office:
        yield office
        assert broken_laws(office.engine) == []


def test_ten_a_day_for_each_user_and_the_eleventh_goes_a_day_after_the_first(office: Office) -> None:
    for number in range(10):
        assert office.state(office.apply(number)) == "submitted"
        office.advance(minutes=6)
    late = office.apply(10)
    assert office.paused_until(late) == START + DAY
    assert office.state(office.apply(11, user_id="bob")) == "submitted"

    office.advance(START + DAY - office.clock.time - timedelta(microseconds=1))
    assert (office.state(late), len(office.site.arrived)) == ("paused", 11)
    office.advance(microseconds=1)
    assert (office.state(late), len(office.site.arrived)) == ("submitted", 12)


@pytest.mark.soak("postgresql")
def test_the_window_of_a_day_slides(office: Office) -> None:
    office.use("user_day", 9)
    office.advance(hours=12)
    assert office.state(office.apply(0)) == "submitted"
    office.advance(hours=12)
    for number in range(1, 10):
        assert office.state(office.apply(number)) == "submitted"
    assert office.paused_until(office.apply(10)) == START + DAY + 12 * HOUR


@pytest.mark.soak("postgresql")
def test_seventy_a_week_for_each_rule_of_a_user(office: Office) -> None:
    office.use("rule_week", 69)
    office.advance(days=3)
    assert office.state(office.apply(0)) == "submitted"
    late = office.apply(1)
    assert office.paused_until(late) == START + WEEK
    office.advance(days=4)
    assert office.state(late) == "submitted"


def test_two_rules_of_a_user_have_a_week_each_and_share_the_day(office: Office) -> None:
    assert office.state(office.apply(0, rule_id="a", weekly_limit=1)) == "submitted"
    assert office.paused_until(office.apply(1, rule_id="a", weekly_limit=1)) == START + WEEK
    assert office.state(office.apply(2, rule_id="b", weekly_limit=1, daily_limit=2)) == "submitted"
    assert office.paused_until(office.apply(3, rule_id="c", daily_limit=2)) == START + DAY


def test_a_user_may_set_lower_limits(office: Office) -> None:
    assert office.state(office.apply(0, daily_limit=2, weekly_limit=2)) == "submitted"
    office.advance(hours=1)
    assert office.state(office.apply(1, daily_limit=2, weekly_limit=2)) == "submitted"
    assert office.paused_until(office.apply(2, daily_limit=2, weekly_limit=5)) == START + DAY
    assert office.paused_until(office.apply(3, daily_limit=5, weekly_limit=2)) == START + WEEK


def test_seven_days_between_two_applications_of_a_user_to_one_company(office: Office) -> None:
    assert office.state(office.apply(0, company="acme")) == "submitted"
    office.advance(hours=5)
    second = office.apply(1, company="acme")
    assert office.paused_until(second) == START + WEEK
    assert office.state(office.apply(2, company="acme", user_id="bob")) == "submitted"
    assert office.state(office.apply(3, company="bolt")) == "submitted"
    office.advance(START + WEEK - office.clock.time)
    assert office.state(second) == "submitted"


@pytest.mark.soak("postgresql")
def test_a_thousand_an_hour_for_all_together(office: Office) -> None:
    office.use("global_hour", 999)
    office.advance(minutes=10)
    assert office.state(office.apply(0)) == "submitted"
    late = office.apply(1, user_id="bob")
    assert office.paused_until(late) == START + HOUR
    office.advance(minutes=50)
    assert office.state(late) == "submitted"


def test_an_application_that_must_try_again_counts_once_but_the_breaker_counts_its_attempts(office: Office) -> None:
    office.site.moods = ["refuses", "refuses"]
    it = office.apply(0)
    office.advance(minutes=15)
    office.advance(minutes=30)
    assert office.state(it) == "submitted", "its own cool-down does not keep it from trying again"
    assert office.uses() == {"user_day": 1, "rule_week": 1, "company_cooldown": 1, "global_hour": 3}


@pytest.mark.soak("postgresql")
def test_attempts_alone_trip_the_breaker(office: Office) -> None:
    office.use("global_hour", 999)
    office.site.moods = ["refuses"]
    office.apply(0)
    assert office.paused_until(office.apply(1)) == START + HOUR


def test_what_reaches_one_limit_uses_none_of_the_others(office: Office) -> None:
    office.apply(0, company="acme")
    before = office.uses()
    office.apply(1, company="acme")
    assert office.uses() == before


def test_the_last_free_place_is_taken_by_exactly_one_of_many(office: Office) -> None:
    office.use("user_day", 9)
    for number in range(32):
        office.create("application", match(number))
    for claim in office.claim(32):
        office.finish(claim, office.run(claim))
    claims, barrier = office.claim(32), Barrier(32)

    def submit(claim: Claim) -> Outcome:
        barrier.wait(60)
        return office.run(claim)

    with ThreadPoolExecutor(32) as threads:
        outcomes = list(threads.map(submit, claims))
    refused = [o.error for o in outcomes if isinstance(o, Fail)]
    assert (len(office.site.arrived), len(refused)) == (1, 31)
    assert all(isinstance(error, LimitReached) and error.until == START + DAY for error in refused)
    for claim, outcome in zip(claims, outcomes, strict=True):
        office.finish(claim, outcome)
    assert sorted(office.state(c.id) for c in claims) == [*["paused"] * 31, "submitted"]


def test_its_user_may_try_earlier_or_give_it_up(office: Office) -> None:
    office.apply(0, company="acme")
    impatient, tired = office.apply(1, company="acme"), office.apply(2, company="acme")
    office.engine.fire(impatient, "resume", actor=ANN)
    office.run_until_idle()
    assert office.paused_until(impatient) == START + WEEK
    office.engine.fire(tired, "withdraw", actor=ANN)
    office.advance(days=8)
    assert (office.state(impatient), office.state(tired)) == ("submitted", "withdrawn")
    assert len(office.site.arrived) == 2
