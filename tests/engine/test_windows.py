"""Windows: at most so many uses per key in any stretch of time, exact to the microsecond and under any load."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.engine import Claim, InvalidData, Result, limits
from interlock.engine.unit import Unit
from interlock.machine import (
    FINAL,
    Concurrent,
    Failures,
    Go,
    LimitReached,
    Machine,
    Pause,
    Rule,
    State,
    Transition,
    Window,
)
from interlock.store import Store, micros, tables
from interlock.testing import Trial
from tests.support.counting import counted
from tests.support.machines import ANN, THE_SYSTEM, by_hand, do, last_row, pass_time, picture, trial_of
from tests.support.racing import race

MINUTE = timedelta(minutes=1)
DAILY = Window("daily", "maker:{maker}", 3, timedelta(hours=24))
HOURLY = Window("hourly", "all", 5, timedelta(hours=1))
OWN_SIZE = Window("own", "maker:{maker}", "room", timedelta(hours=1))


@pytest.fixture
def trial(store: Store) -> Iterator[Trial]:
    with trial_of(store, picture(DAILY, takes=("daily",))) as trial:
        yield trial


def shown(trial: Trial, count: int = 1, **data: object) -> list[UUID]:
    """So many pictures that wait to be published."""
    ids = trial.engine.create_many("picture", [data] * count)
    done = trial.engine.finish([Result(claim, Go("shown")) for claim in trial.claim(count)])
    assert done == [True] * count
    return ids


def publish(trial: Trial, picture_id: UUID) -> datetime | None:
    """None when it was published; otherwise when there is room again."""
    try:
        trial.engine.fire(picture_id, "publish", actor=THE_SYSTEM)
    except LimitReached as full:
        return full.until
    return None


def uses(trial: Trial) -> dict[str, int]:
    query = sa.select(tables.limit_use.c.key, sa.func.count()).group_by(tables.limit_use.c.key)
    rows = trial.engine.read(lambda conn: conn.execute(query).all())
    return {row.key: row[1] for row in rows}


# -- one window


def test_so_many_uses_are_allowed_and_the_next_gets_the_time_to_try_again(trial: Trial) -> None:
    pictures, began = shown(trial, 4), trial.clock.time
    assert [publish(trial, one) for one in pictures[:3]] == [None, None, None]
    trial.clock.advance(MINUTE)
    with pytest.raises(LimitReached, match=r"limit 'daily' \(daily/maker:ann\) is used up: 3 of 3 per 1 day") as full:
        trial.engine.fire(pictures[3], "publish", actor=ANN)
    assert full.value.until == began + timedelta(hours=24)
    assert trial.state(pictures[3]) == "shown"


def test_a_refused_use_is_no_use(trial: Trial) -> None:
    pictures = shown(trial, 4)
    for one in pictures:
        publish(trial, one)
    assert uses(trial) == {"daily/maker:ann": 3}
    assert last_row(trial, pictures[3]).to_state == "shown"


def test_at_the_moment_it_names_there_is_room_and_not_a_microsecond_before(trial: Trial) -> None:
    *first, last = shown(trial, 4)
    for one in first:
        publish(trial, one)
    pass_time(trial, hours=24, microseconds=-1)
    assert publish(trial, last) == trial.clock.time + timedelta(microseconds=1)
    pass_time(trial, microseconds=1)
    assert publish(trial, last) is None


def test_the_window_slides_with_every_single_use(trial: Trial) -> None:
    pictures, began = shown(trial, 6), trial.clock.time
    for one in pictures[:3]:
        assert publish(trial, one) is None
        trial.clock.advance(10 * MINUTE)
    assert publish(trial, pictures[3]) == began + timedelta(hours=24)
    pass_time(trial, hours=23, minutes=30)
    assert publish(trial, pictures[3]) is None
    assert publish(trial, pictures[4]) == began + timedelta(hours=24) + 10 * MINUTE
    pass_time(trial, minutes=10)
    assert publish(trial, pictures[4]) is None
    assert publish(trial, pictures[5]) == began + timedelta(hours=24) + 20 * MINUTE


def test_each_key_has_its_own_room(trial: Trial) -> None:
    for maker in ("ann", "ben"):
        results = [publish(trial, one) is None for one in shown(trial, 4, maker=maker)]
        assert results == [True, True, True, False]
    assert uses(trial) == {"daily/maker:ann": 3, "daily/maker:ben": 3}


def test_its_size_may_come_from_the_data(store: Store) -> None:
    with trial_of(store, picture(OWN_SIZE, takes=("own",))) as trial:
        assert [publish(trial, one) is None for one in shown(trial, 3, room=2)] == [True, True, False]


def test_with_less_room_than_is_used_it_waits_until_enough_is_free(store: Store) -> None:
    with trial_of(store, picture(OWN_SIZE, takes=("own",))) as trial:
        began = trial.clock.time
        for one in shown(trial, 5, room=5):
            assert publish(trial, one) is None
            trial.clock.advance(MINUTE)
        [small] = shown(trial, room=2)
        assert publish(trial, small) == began + timedelta(hours=1) + 3 * MINUTE
        pass_time(trial, microseconds=micros(began + timedelta(hours=1) + 3 * MINUTE) - trial.clock.now())
        assert publish(trial, small) is None


def test_no_room_at_all_never_has_a_moment(store: Store) -> None:
    with trial_of(store, picture(OWN_SIZE, takes=("own",))) as trial:
        [it] = shown(trial, room=0)
        with pytest.raises(LimitReached) as full:
            trial.engine.fire(it, "publish", actor=ANN)
        assert full.value.until is None


def test_a_use_goes_with_its_transaction(trial: Trial) -> None:
    [it] = shown(trial)
    with pytest.raises(InvalidData):
        trial.engine.fire(it, "publish", actor=ANN, data={"maker": "ben"})
    assert uses(trial) == {}


# -- several windows in one transition


@pytest.fixture
def both(store: Store) -> Iterator[Trial]:
    with trial_of(store, picture(DAILY, HOURLY, takes=("daily", "hourly"))) as trial:
        yield trial


def test_all_limits_of_a_transition_must_have_room(both: Trial) -> None:
    for maker, room in (("ann", 3), ("ben", 2), ("cid", 0)):
        assert [publish(both, one) is None for one in shown(both, 4, maker=maker)].count(True) == room


def test_where_one_is_full_none_is_used(both: Trial) -> None:
    pictures = [one for maker in ("ann", "ben", "cid") for one in shown(both, 2, maker=maker)]
    assert [publish(both, one) is None for one in pictures] == [True] * 5 + [False]
    assert uses(both) == {"hourly/all": 5, "daily/maker:ann": 2, "daily/maker:ben": 2, "daily/maker:cid": 1}


# -- inside an outcome


def test_in_a_batch_as_many_pass_as_there_is_room(store: Store) -> None:
    rule = Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume"))
    with trial_of(store, picture(DAILY, work_takes=("daily",), failures=Failures(rules=(rule,)))) as trial:
        trial.engine.create_many("picture", [{}] * 5)
        claims = trial.claim(5)
        assert trial.engine.finish([Result(claim, Go("done")) for claim in claims]) == [True] * 5
        states = [trial.state(claim.id) for claim in claims]
        assert states == ["done", "done", "done", "paused", "paused"]
        assert uses(trial) == {"daily/maker:ann": 3}


def test_what_found_no_room_goes_on_at_the_very_moment_when_there_is(store: Store) -> None:
    rule = Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume"))
    with trial_of(store, picture(DAILY, work_takes=("daily",), failures=Failures(rules=(rule,)))) as trial:
        began = trial.clock.time
        trial.engine.create_many("picture", [{}] * 4)
        for _ in range(4):
            last = do(trial, Go("done")).id
            trial.clock.advance(MINUTE)
        assert trial.get(last).due_at == micros(began + timedelta(hours=24))
        pass_time(trial, microseconds=micros(began + timedelta(hours=24)) - trial.clock.now())
        assert trial.state(last) == "queued"
        do(trial, Go("done"))
        assert trial.state(last) == "done"


# -- under load


TEN = Window("ten", "all", 10, timedelta(hours=1))
TEN_MORE = Window("ten_more", "everybody", 10, timedelta(hours=1))


def test_eight_who_race_for_ten_uses_get_ten(store: Store) -> None:
    with trial_of(store, picture(TEN, takes=("ten",))) as trial:
        pictures = shown(trial, 40)
        shares = race(8, lambda number: [publish(trial, one) is None for one in pictures[number::8]])
        assert sum(share.count(True) for share in shares) == 10
        assert uses(trial) == {"ten/all": 10}
        assert [trial.state(one) for one in pictures].count("done") == 10


def test_eight_workers_who_race_for_ten_uses_get_ten(store: Store) -> None:
    failures = Failures(rules=(Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume")),))
    with trial_of(store, picture(TEN, work_takes=("ten",), failures=failures)) as trial:
        trial.engine.create_many("picture", [{}] * 40)
        claims = trial.claim(40)
        race(8, lambda number: trial.engine.finish([Result(claim, Go("done")) for claim in claims[number::8]]))
        states = [trial.state(claim.id) for claim in claims]
        assert (states.count("done"), states.count("paused"), uses(trial)) == (10, 30, {"ten/all": 10})


def test_limits_wanted_in_opposite_orders_do_not_stand_in_each_others_way(store: Store) -> None:
    with trial_of(store, picture(TEN, TEN_MORE, takes=("ten", "ten_more"))) as trial:
        pictures = shown(trial, 24)

        def go(number: int) -> int:
            passed = 0
            for one in pictures[number::8]:
                try:
                    trial.engine.fire(one, "publish" if number % 2 else "repaint", actor=ANN)
                    passed += 1
                except LimitReached:
                    pass
            return passed

        assert sum(race(8, go)) == 10
        assert uses(trial) == {"ten/all": 10, "ten_more/everybody": 10}


def test_nor_do_batches_whose_results_come_in_opposite_orders(store: Store) -> None:
    roomy = Window("roomy", "maker:{maker}", 1000, timedelta(hours=1))
    with trial_of(store, picture(roomy, work_takes=("roomy",))) as trial:
        trial.engine.create_many("picture", [{"maker": maker} for _ in range(16) for maker in ("ann", "ben", "cid")])
        by_maker: dict[str, list[Claim]] = {}
        for claim in trial.claim(48):
            by_maker.setdefault(claim.instance.data["maker"], []).append(claim)

        def finish(number: int) -> list[bool]:
            makers = sorted(by_maker, reverse=bool(number % 2))
            mine = [by_maker[maker][number + turn] for turn in (0, 8) for maker in makers]
            return trial.engine.finish([Result(claim, Go("done")) for claim in mine])

        assert race(8, finish) == [[True] * 6] * 8
        assert uses(trial) == {f"roomy/maker:{maker}": 16 for maker in by_maker}


def test_a_window_is_no_slot(store: Store) -> None:
    """What counts uses says nothing about how many are worked on at once."""
    slots = Concurrent("gpu", "card:{card}", 2, ("rendering",))
    with trial_of(store, picture(TEN, slots, takes=("ten",))) as trial:
        trial.engine.create_many("picture", [{}] * 3)
        assert len(trial.claim(3)) == 2
        assert uses(trial) == {}


# -- in a batch


def test_a_batch_of_many_keys_takes_as_many_statements_as_one_of_few(store: Store) -> None:
    counts = []
    roomy = Window("roomy", "maker:{maker}", 1000, timedelta(hours=1))
    with trial_of(store, picture(roomy, work_takes=("roomy",))) as trial:
        for keys in (2, 40):
            trial.engine.create_many("picture", [{"maker": f"{keys}-{n % keys}"} for n in range(80)])
            claims = trial.claim(80)
            with counted() as statements:
                assert trial.engine.finish([Result(claim, Go("done")) for claim in claims]) == [True] * 80
            counts.append(len(statements))
        assert counts[0] == counts[1]
        assert set(uses(trial).values()) == {40, 2}


def test_in_a_batch_each_counts_by_its_own_size(store: Store) -> None:
    """What is counted is enough until one finds no room: then it is told when there is."""
    failures = Failures(rules=(Rule((LimitReached,), retries=None, pause=Pause("paused", resume="resume")),))
    with trial_of(store, picture(OWN_SIZE, work_takes=("own",), failures=failures)) as trial:
        for room in (1, 3, 2, 9, 3, 9):
            trial.create("picture", {"room": room})
            trial.clock.advance(timedelta(seconds=1))
        claims = trial.claim(6)
        trial.engine.finish([Result(claim, Go("done")) for claim in claims])
        assert [trial.state(claim.id) for claim in claims] == ["done", "done", "paused", "done", "paused", "done"]
        assert uses(trial) == {"own/maker:ann": 4}


def _taking(name: str, window: Window) -> Machine:
    states = [State("start"), State("end", FINAL)]
    go = Transition("start", "end", on="go", takes=(window.name,))
    return by_hand(Machine(name, initial="start", states=states, transitions=[go], limits=[window]))


def test_two_machines_that_share_a_window_count_by_their_own_periods(store: Store) -> None:
    brief, long = (_taking(name, Window("own", "all", 3, timedelta(hours=n))) for name, n in (("a", 1), ("b", 3)))
    with trial_of(store, brief, long) as trial:
        ids = [trial.create(name) for name in ("b", "a", "b", "b", "a")]

        def job(unit: Unit) -> list[str]:
            said = []
            for instance in map(unit.lock, ids):
                try:
                    limits.use(unit, instance, unit.machine(instance), "own")
                    said.append("used")
                except LimitReached:
                    said.append("full")
            return said

        assert trial.write(job) == ["used", "used", "used", "full", "full"]


def test_keys_that_are_new_to_all_are_locked_without_a_deadlock(store: Store) -> None:
    """Eight writers with parts of the same new keys: each waits, and none is turned away."""
    with trial_of(store, picture(TEN, takes=("ten",))) as trial:

        def go(number: int) -> int:
            for turn in range(5):
                keys = [f"new/{turn}-{n}" for n in range(24) if n % 8 != number]

                def job(unit: Unit, keys: list[str] = keys) -> None:
                    limits.lock(unit, keys if number % 2 else reversed(keys))

                trial.write(job)
            return number

        assert race(8, go) == list(range(8))


def test_the_usage_that_people_see_counts_only_within_the_window(trial: Trial) -> None:
    pictures = shown(trial, 3, maker="ann")
    for one in pictures[:2]:
        publish(trial, one)
    trial.clock.advance(timedelta(hours=20))
    publish(trial, pictures[2])

    def used() -> list[tuple[str, int]]:
        machines, now = trial.engine.registry, trial.engine.clock.now()
        return [(one.key, one.used) for one in trial.engine.read(lambda conn: limits.usage(conn, machines, now))]

    assert used() == [("daily/maker:ann", 3)]
    trial.clock.advance(timedelta(hours=5))
    assert used() == [("daily/maker:ann", 1)]
