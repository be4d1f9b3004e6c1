"""Named leases: one holder at a time, a fence that only grows; shown in Redis, decided by the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis as redis_client

from interlock.engine import Engine, Lease, LeaseTaken
from interlock.engine.redis_mirror import RedisMirror
from interlock.store import Store, open_store, span
from interlock.testing import VirtualClock
from tests.support.effects_and_reviews import parcel
from tests.support.racing import together
from tests.support.servers import Redis

HOUR = timedelta(hours=1)
NAME = "sandbox-1"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def engine(store: Store, clock: VirtualClock) -> Engine:
    return Engine(store, [parcel], clock=clock)


@pytest.fixture
def shown(redis: Redis) -> Iterator[Any]:
    """What other programs see in Redis."""
    with redis_client.Redis.from_url(redis.url, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def mirror(redis: Redis, shown: Any) -> Iterator[RedisMirror]:
    made = RedisMirror(redis.url)
    yield made
    made.close()


@pytest.fixture
def mirrored(store: Store, clock: VirtualClock, mirror: RedisMirror) -> Engine:
    return Engine(store, [parcel], clock=clock, mirror=mirror)


def test_a_free_lease_is_taken_until_a_moment(engine: Engine, clock: VirtualClock) -> None:
    taken = engine.leases.take(NAME, "ann", HOUR)
    assert taken == Lease(NAME, "ann", 1, clock.now() + span(HOUR))
    assert engine.leases.find(NAME) == taken


def test_nobody_holds_a_lease_that_was_never_taken(engine: Engine) -> None:
    assert engine.leases.find(NAME) is None


def test_a_held_lease_is_refused_to_others_with_who_has_it_and_how_long(engine: Engine) -> None:
    engine.leases.take(NAME, "ann", HOUR)
    with pytest.raises(LeaseTaken, match=r"'sandbox-1' is held by ann until 10:00:00 UTC"):
        engine.leases.take(NAME, "bob", HOUR)
    engine.leases.take("sandbox-2", "bob", HOUR)


def test_a_released_lease_is_free_at_once(engine: Engine) -> None:
    held = engine.leases.take(NAME, "ann", HOUR)
    assert engine.leases.release(held)
    assert engine.leases.find(NAME) is None
    assert engine.leases.take(NAME, "bob", HOUR).holder == "bob"


def test_a_lease_runs_out_at_its_moment_and_not_before(engine: Engine, clock: VirtualClock) -> None:
    engine.leases.take(NAME, "ann", HOUR)
    clock.advance(HOUR - timedelta(microseconds=1))
    with pytest.raises(LeaseTaken):
        engine.leases.take(NAME, "bob", HOUR)
    clock.advance(timedelta(microseconds=1))
    assert engine.leases.find(NAME) is None
    assert engine.leases.take(NAME, "bob", HOUR).holder == "bob"


def test_a_renewed_lease_lasts_from_now_and_keeps_its_fence(engine: Engine, clock: VirtualClock) -> None:
    held = engine.leases.take(NAME, "ann", HOUR)
    clock.advance(timedelta(minutes=50))
    renewed = engine.leases.renew(held, HOUR)
    assert (renewed.fence, renewed.until) == (held.fence, clock.now() + span(HOUR))
    clock.advance(timedelta(minutes=50))
    with pytest.raises(LeaseTaken):
        engine.leases.take(NAME, "bob", HOUR)


def test_the_fence_only_grows_whatever_happens_to_the_lease(engine: Engine, clock: VirtualClock) -> None:
    fences = []
    for _ in range(3):
        fences.append(engine.leases.take(NAME, "ann", HOUR).fence)
        fences.append(engine.leases.take(NAME, "ann", HOUR).fence)  # its own holder takes it anew
        clock.advance(HOUR)
        held = engine.leases.take(NAME, "bob", HOUR)
        fences.append(held.fence)
        engine.leases.release(held)
    assert fences == sorted(set(fences)) == list(range(1, 10))


def test_a_late_holder_can_neither_renew_nor_release_what_is_anothers_now(engine: Engine, clock: VirtualClock) -> None:
    old = engine.leases.take(NAME, "ann", HOUR)
    clock.advance(HOUR)
    new = engine.leases.take(NAME, "bob", HOUR)
    with pytest.raises(LeaseTaken, match="no longer held by ann with fence 1"):
        engine.leases.renew(old, HOUR)
    assert not engine.leases.release(old)
    assert engine.leases.find(NAME) == new


def test_an_earlier_take_of_the_same_holder_is_late_as_well(engine: Engine) -> None:
    old = engine.leases.take(NAME, "ann", HOUR)
    new = engine.leases.take(NAME, "ann", HOUR)
    with pytest.raises(LeaseTaken):
        engine.leases.renew(old, HOUR)
    assert not engine.leases.release(old)
    assert engine.leases.find(NAME) == new


def test_a_lease_that_ran_out_cannot_be_renewed_though_nobody_took_it(engine: Engine, clock: VirtualClock) -> None:
    held = engine.leases.take(NAME, "ann", HOUR)
    clock.advance(HOUR)
    with pytest.raises(LeaseTaken):
        engine.leases.renew(held, HOUR)


def test_a_released_lease_cannot_be_released_twice(engine: Engine) -> None:
    held = engine.leases.take(NAME, "ann", HOUR)
    assert [engine.leases.release(held), engine.leases.release(held)] == [True, False]


def _race(engine: Engine) -> None:
    for turn in range(5):

        def take(number: int, name: str = f"job-{turn}") -> Lease:
            return engine.leases.take(name, f"agent-{number}", HOUR)

        results = together(16, take)
        winners = [one for one in results if isinstance(one, Lease)]
        assert len(winners) == 1, results
        assert all(isinstance(one, LeaseTaken) for one in results if one is not winners[0])
        assert engine.leases.find(f"job-{turn}") == winners[0]


def test_of_sixteen_who_race_exactly_one_wins(engine: Engine) -> None:
    _race(engine)


def test_of_sixteen_who_race_for_a_lease_that_ran_out_exactly_one_wins(engine: Engine, clock: VirtualClock) -> None:
    for turn in range(5):
        engine.leases.take(f"job-{turn}", "somebody", HOUR)
    clock.advance(HOUR)
    _race(engine)


# -- in Redis as well


def test_a_lease_is_shown_in_redis_under_its_own_name_for_as_long(mirrored: Engine, shown: Any) -> None:
    mirrored.leases.take(NAME, "ann", HOUR)
    assert shown.get(NAME) == "ann"
    assert 3_590_000 < shown.pttl(NAME) <= 3_600_000


def test_renewing_lengthens_and_releasing_removes_what_redis_shows(mirrored: Engine, shown: Any) -> None:
    held = mirrored.leases.take(NAME, "ann", HOUR)
    mirrored.leases.renew(held, 2 * HOUR)
    assert shown.pttl(NAME) > 7_190_000
    mirrored.leases.release(held)
    assert shown.get(NAME) is None


def test_a_holder_that_only_redis_knows_is_respected(mirrored: Engine, shown: Any) -> None:
    shown.set(NAME, "a program of theirs", px=60_000)
    with pytest.raises(LeaseTaken, match="held by a program of theirs, as the mirror shows"):
        mirrored.leases.take(NAME, "ann", HOUR)
    assert mirrored.leases.find(NAME) is None
    assert shown.get(NAME) == "a program of theirs"
    shown.delete(NAME)
    assert mirrored.leases.take(NAME, "ann", HOUR).fence == 1


def test_an_emptied_redis_gives_no_second_winner_and_shows_the_lease_again_when_renewed(
    mirrored: Engine, shown: Any
) -> None:
    held = mirrored.leases.take(NAME, "ann", HOUR)
    shown.flushall()
    with pytest.raises(LeaseTaken, match="held by ann until"):
        mirrored.leases.take(NAME, "bob", HOUR)
    assert shown.get(NAME) is None, "who was refused leaves nothing behind"
    mirrored.leases.renew(held, HOUR)
    assert shown.get(NAME) == "ann"


def test_a_foreign_holder_that_came_into_an_emptied_redis_is_left_alone(mirrored: Engine, shown: Any) -> None:
    held = mirrored.leases.take(NAME, "ann", HOUR)
    shown.set(NAME, "a program of theirs")
    mirrored.leases.renew(held, HOUR)
    assert mirrored.leases.release(held)
    assert shown.get(NAME) == "a program of theirs"


def test_a_late_holder_does_not_remove_what_redis_shows_of_another(
    mirrored: Engine, shown: Any, clock: VirtualClock
) -> None:
    old = mirrored.leases.take(NAME, "ann", HOUR)
    clock.advance(HOUR)
    shown.delete(NAME)  # there it ran out as well
    mirrored.leases.take(NAME, "bob", HOUR)
    assert not mirrored.leases.release(old)
    with pytest.raises(LeaseTaken):
        mirrored.leases.renew(old, HOUR)
    assert shown.get(NAME) == "bob"


def test_a_late_release_does_not_hide_what_the_same_holder_took_anew(mirrored: Engine, shown: Any) -> None:
    old = mirrored.leases.take(NAME, "ann", HOUR)
    mirrored.leases.take(NAME, "ann", HOUR)
    assert not mirrored.leases.release(old)
    assert shown.get(NAME) == "ann"


def test_of_sixteen_who_race_exactly_one_wins_with_redis_too(mirrored: Engine, shown: Any) -> None:
    _race(mirrored)
    holders = {name: mirrored.leases.find(name) for name in shown.keys("job-*")}
    assert {name: shown.get(name) for name in holders} == {n: h.holder for n, h in holders.items() if h is not None}
    assert len(holders) == 5


def test_of_sixteen_who_race_exactly_one_wins_though_redis_is_emptied_all_the_time(
    mirrored: Engine, redis: Redis, shown: Any
) -> None:
    def take(number: int) -> Lease | None:
        if number == 0:
            for _ in range(100):
                shown.flushall()
            return None
        return mirrored.leases.take(NAME, f"agent-{number}", HOUR)

    results = together(16, take)
    assert len([one for one in results if isinstance(one, Lease)]) == 1, results


def test_a_redis_that_is_gone_leaves_the_decision_to_the_database(
    store: Store, clock: VirtualClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Redis(tmp_path / "redis")
    server.start()
    mirror = RedisMirror(server.url)
    engine = Engine(store, [parcel], clock=clock, mirror=mirror)
    before = engine.leases.take("before", "ann", HOUR)
    server.stop()
    assert engine.leases.renew(before, HOUR).fence == before.fence
    held = engine.leases.take(NAME, "ann", HOUR)
    with pytest.raises(LeaseTaken, match="held by ann until"):
        engine.leases.take(NAME, "bob", HOUR)
    assert engine.leases.release(held)
    assert "redis did not answer, the database alone decides about sandbox-1" in caplog.text
    mirror.close()


def test_two_processes_with_and_without_redis_agree(url: str, clock: VirtualClock, mirror: RedisMirror) -> None:
    with open_store(url, wakeup="poll") as one, open_store(url, wakeup="poll") as other:
        with_redis = Engine(one, [parcel], clock=clock, mirror=mirror)
        without = Engine(other, [parcel], clock=clock)
        held = without.leases.take(NAME, "ann", HOUR)
        with pytest.raises(LeaseTaken, match="held by ann until"):
            with_redis.leases.take(NAME, "bob", HOUR)
        without.leases.release(held)
        assert with_redis.leases.take(NAME, "bob", HOUR).fence == 2
