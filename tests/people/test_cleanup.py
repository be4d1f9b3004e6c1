"""What has had its time is deleted, a bounded number at once; what still counts stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from interlock.engine import Engine
from interlock.engine.unit import Unit
from interlock.people import NotAuthenticated, People, Person, Role, TooManyAttempts, clean_up
from interlock.store import open_store
from interlock.store import service_tables as s
from interlock.testing import VirtualClock
from tests.support.people import BY, PASSWORD, enter
from tests.support.racing import DEADLINE

TABLES = (s.login_attempt, s.login_session, s.login_link, s.idempotency)


@pytest.fixture
def ann(people: People, owner: Person) -> Person:
    return people.add("ann", password=PASSWORD, role=Role.MEMBER, by=BY)


def rows(engine: Engine) -> list[int]:
    """How many rows each of the tables has."""

    def count(conn: sa.Connection) -> list[int]:
        return [conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in TABLES]

    return engine.read(count)


def keep_answers(engine: Engine, count: int) -> None:
    def write(unit: Unit) -> None:
        for n in range(count):
            unit.insert(
                s.idempotency, who="person:1", key=f"{unit.now}-{n}", request="", status=200, body="", at=unit.now
            )

    engine.write(write)


def test_each_kind_goes_when_its_time_is_over_and_not_before(
    engine: Engine, people: People, ann: Person, clock: VirtualClock
) -> None:
    with pytest.raises(NotAuthenticated):
        enter(people, "nobody")
    enter(people, "ann")
    people.login_link(ann.id)
    keep_answers(engine, 1)
    left = [[1, 1, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    ends = [timedelta(minutes=15), timedelta(hours=1), timedelta(hours=24), timedelta(days=7)]
    began, moment = clock.time, timedelta(microseconds=1)
    for n, end in enumerate(ends):
        clock.advance(began + end - moment - clock.time)
        assert people.clean_up() == 0
        assert rows(engine) == left[n]
        clock.advance(moment)
        assert people.clean_up() == 1
        assert rows(engine) == left[n + 1]


def test_a_session_that_was_ended_goes_at_once_and_others_stay(engine: Engine, people: People, ann: Person) -> None:
    gone, stays = enter(people, "ann").secret, enter(people, "ann").secret
    people.end_session(gone)
    assert people.clean_up() == 1
    assert people.by_session(stays).name == "ann"


def test_a_session_that_is_used_goes_after_14_days(
    engine: Engine, people: People, ann: Person, clock: VirtualClock
) -> None:
    secret = enter(people, "ann").secret
    for _ in range(14):
        people.by_session(secret)
        assert people.clean_up() == 0
        clock.advance(timedelta(hours=23.99))
        people.by_session(secret)
    clock.advance(timedelta(hours=1))
    assert people.clean_up() == 1


def test_attempts_that_count_are_not_forgotten(people: People, ann: Person, clock: VirtualClock) -> None:
    for _ in range(5):
        with pytest.raises(NotAuthenticated):
            enter(people, "ann", "another password")
    clock.advance(timedelta(minutes=14))
    people.clean_up()
    with pytest.raises(TooManyAttempts):
        enter(people, "ann")


def test_a_bounded_number_goes_at_once(engine: Engine, people: People, clock: VirtualClock) -> None:
    keep_answers(engine, 25)
    clock.advance(timedelta(days=7))
    keep_answers(engine, 3)
    done = [engine.write(lambda unit: clean_up(unit, batch=10)) for _ in range(4)]
    assert done == [10, 10, 5, 0]
    assert rows(engine)[3] == 3


def test_what_another_process_is_cleaning_up_is_left_to_it(postgres_url: str) -> None:
    clock = VirtualClock()
    with open_store(postgres_url, wakeup="poll") as store, ThreadPoolExecutor(1) as other:
        engine = Engine(store, [], clock=clock)
        keep_answers(engine, 20)
        clock.advance(timedelta(days=7))

        def meanwhile(conn: sa.Connection) -> int:
            conn.execute(sa.select(s.idempotency).limit(5).with_for_update())
            return other.submit(People(engine).clean_up).result(DEADLINE)

        assert store.write(meanwhile) == 15
        assert People(engine).clean_up() == 5
