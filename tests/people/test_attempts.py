"""Failed logins are limited: five a name, twenty an address, in a quarter of an hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.engine import Engine
from interlock.people import NotAuthenticated, People, Person, Role, TooManyAttempts, attempts
from interlock.store import Store
from interlock.testing import VirtualClock
from tests.support.people import BY, PASSWORD, enter, whats
from tests.support.racing import together

WRONG = "another password"
MINUTE = 60


class Counting(PasswordHasher):
    """Counts how often a password was looked at."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.checks = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.checks += 1
        return super().verify(hash, password)


@pytest.fixture
def hasher() -> Counting:
    return Counting()


@pytest.fixture
def people(engine: Engine, hasher: Counting) -> People:
    return People(engine, hasher=hasher)


@pytest.fixture
def ann(people: People, owner: Person) -> Person:
    return people.add("Ann", password=PASSWORD, role=Role.MEMBER, by=BY)


def fail(people: People, name: str, *, address: str = "10.0.0.1") -> None:
    with pytest.raises(NotAuthenticated):
        enter(people, name, WRONG, address=address)


def wait(people: People, name: str, password: str = PASSWORD, *, address: str = "10.0.0.1") -> int:
    """How many seconds a refusal asks for."""
    with pytest.raises(TooManyAttempts) as refused:
        enter(people, name, password, address=address)
    assert f"wait {refused.value.retry_after} seconds" in str(refused.value)
    return refused.value.retry_after


def test_after_five_failures_of_a_name_even_the_right_password_is_not_looked_at(
    people: People, ann: Person, hasher: Counting, clock: VirtualClock
) -> None:
    for n in range(5):
        fail(people, "ann", address=f"10.0.0.{n}")
        clock.advance(timedelta(minutes=1))
    assert hasher.checks == 5
    assert wait(people, "ANN", address="10.9.9.9") == 10 * MINUTE
    assert hasher.checks == 5
    assert whats(people).count("login_failed") == 5


def test_the_wait_is_over_when_it_was_said_to_be(people: People, ann: Person, clock: VirtualClock) -> None:
    for _ in range(5):
        fail(people, "ann")
        clock.advance(timedelta(seconds=1.5))
    left = wait(people, "ann")
    assert left == 893  # 892.5, rounded up
    clock.advance(timedelta(seconds=left - 1))
    assert wait(people, "ann") == 1
    clock.advance(timedelta(seconds=1))
    assert enter(people, "ann").person.id == ann.id


def test_a_refused_attempt_does_not_make_the_wait_longer(people: People, ann: Person, clock: VirtualClock) -> None:
    for _ in range(5):
        fail(people, "ann")
    for _ in range(14):
        clock.advance(timedelta(minutes=1))
        wait(people, "ann")
    clock.advance(timedelta(minutes=1))
    assert enter(people, "ann").person.id == ann.id


def test_a_success_clears_the_failures_of_the_name_alone(people: People, ann: Person) -> None:
    people.add("bob", password=PASSWORD, role=Role.VIEWER, by=BY)
    for _ in range(4):
        fail(people, "ann")
        fail(people, "bob")
    enter(people, "ann")
    for _ in range(4):
        fail(people, "ann")
    enter(people, "ann")
    fail(people, "bob")
    assert wait(people, "bob") == 15 * MINUTE


def test_names_that_nobody_has_are_limited_alike(people: People, ann: Person) -> None:
    for _ in range(5):
        fail(people, "nobody")
    assert wait(people, "nobody") == 15 * MINUTE


def test_after_twenty_failures_an_address_has_to_wait_whatever_the_name(people: People, ann: Person) -> None:
    for n in range(20):
        fail(people, f"name{n}")
    assert wait(people, "ann") == 15 * MINUTE
    assert enter(people, "ann", address="10.0.0.2").person.id == ann.id


def test_addresses_of_one_network_count_together(people: People, ann: Person, clock: VirtualClock) -> None:
    for first, second, are_one in [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("unknown", "unknown", True),
        ("a\x00b", "c", False),
    ]:
        clock.advance(timedelta(hours=1))
        for n in range(20):
            fail(people, f"name{n}", address=first)
        if are_one:
            wait(people, "ann", address=second)
        else:
            enter(people, "ann", address=second)


def test_attempts_at_the_same_moment_count_as_many_as_they_are(people: People, ann: Person, hasher: Counting) -> None:
    found = together(12, lambda n: enter(people, "ann", WRONG, address=f"10.0.0.{n}"))
    kinds = [type(one).__name__ for one in found]
    assert (kinds.count("NotAuthenticated"), kinds.count("TooManyAttempts")) == (5, 7)
    assert hasher.checks == 5


def test_a_name_that_has_to_wait_can_still_come_in_by_link_and_stays_in(people: People, ann: Person) -> None:
    inside = enter(people, "ann").secret
    for _ in range(5):
        fail(people, "ann")
    wait(people, "ann")
    assert people.by_session(inside).name == "Ann"
    link = people.login_link(ann.id)
    assert people.login_by_link(link, address="10.0.0.1", browser="").person.id == ann.id


@pytest.fixture
def plain(store: Store) -> tuple[Engine, VirtualClock]:
    clock = VirtualClock()
    return Engine(store, [], clock=clock), clock


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 400), st.booleans()),
        min_size=20,
        max_size=60,
    )
)
def test_the_limits_hold_for_any_course_of_attempts(
    plain: tuple[Engine, VirtualClock], course: list[tuple[str, int, int, bool]]
) -> None:
    """Against a plain count of what was let through; a lucky attempt clears its name."""
    engine, clock = plain
    clock.advance(timedelta(hours=1))  # what the example before left does not count any more
    let: list[tuple[str, int, int]] = []
    for name, where, seconds, lucky in course:
        clock.advance(timedelta(seconds=seconds))
        now = clock.now()
        recent = [one for one in let if one[2] > now - attempts.WINDOW]
        by_name, by_address = (sum(one[n] == x for one in recent) for n, x in ((0, name), (1, where)))
        expected = by_name < attempts.MOST_BY_NAME and by_address < attempts.MOST_BY_ADDRESS
        try:
            engine.write(lambda unit, n=name, w=where: attempts.begin(unit, n, f"10.0.0.{w}"))  # type: ignore[misc]
            passed = True
        except TooManyAttempts as refused:
            passed = not 1 <= refused.retry_after <= 15 * MINUTE
        assert passed == expected
        if passed:
            let.append((name, where, now))
        if passed and lucky:
            engine.write(lambda unit, n=name: attempts.clear(unit, n))  # type: ignore[misc]
            let = [one for one in let if one[0] != name]
