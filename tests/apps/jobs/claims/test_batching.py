"""Claims that arrive together are made in one transaction, and each is answered as if it had come alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis as redis_client
import sqlalchemy as sa

from interlock.apps.jobs import registry
from interlock.apps.jobs.claims import job, steps
from interlock.apps.jobs.claims.batching import ClaimBatcher
from interlock.apps.jobs.claims.bodies import ClaimedOut, LeaseOut, claimed
from interlock.config import Settings
from interlock.engine import Engine, Instance, creating
from interlock.engine.redis_mirror import RedisMirror
from interlock.engine.unit import SYSTEM_ACTOR, Unit
from interlock.http.service import Service
from interlock.machine import AGENT, Actor
from interlock.store import Store, StoreError, StoreGone
from interlock.store.tables import history
from interlock.testing import VirtualClock
from tests.support.servers import Redis

SCOUT = Actor(AGENT, "scout")
LOCK = "lock:apply:ramp:{}"


@pytest.fixture
def engine(store: Store) -> Engine:
    made = Engine(store, registry, clock=VirtualClock())
    add(made, "1", "2", "3")
    return made


def add(engine: Engine, *numbers: str, workspace: str = "default") -> None:
    def make(unit: Unit) -> None:
        for number in numbers:
            data = {"board": "ramp", "job_id": number}
            key = steps.job_key("ramp", number)
            creating.create(unit, job, data, SYSTEM_ACTOR, key=key, workspace=workspace, by_application=True)

    engine.write(make)


def wish(number: str, run_id: str, *, workspace: str = "default", **artifacts: Any) -> steps.AgentClaim:
    return steps.AgentClaim(workspace, steps.ClaimRequest(run_id, "ramp", number, None, artifacts), SCOUT)


def claim(engine: Engine, *asked: steps.AgentClaim) -> list[Instance | None]:
    return engine.write(lambda unit: steps.claim_many(unit, asked))


def state(engine: Engine, number: str, workspace: str = "default") -> str:
    found = engine.find("job", steps.job_key("ramp", number), workspace=workspace)
    assert found is not None
    return found.state


def holder(engine: Engine, number: str) -> str | None:
    held = engine.leases.find(LOCK.format(number))
    return held.holder if held is not None else None


def test_each_of_a_group_gets_its_run_its_lease_and_its_history(engine: Engine) -> None:
    made = claim(engine, *(wish(number, f"run-{number}", resume_url="s3://v2.pdf") for number in "123"))
    for number, begun in zip("123", made, strict=True):
        assert begun is not None
        assert (begun.state, begun.data["job_id"], begun.data["agent"]) == ("pending", number, "scout")
        assert begun.data["artifacts"] == {"resume_url": "s3://v2.pdf"}
        assert state(engine, number) == "queued"
        assert holder(engine, number) == f"run-{number}"
        assert [row.kind for row in engine.history(begun.id)] == ["created"]
    assert engine.verify().problems == ()


def test_of_two_wishes_for_one_job_in_a_group_the_first_is_made(engine: Engine) -> None:
    first, second = claim(engine, wish("1", "a"), wish("1", "b"))
    assert first is not None
    assert second is None
    assert holder(engine, "1") == "a"


def test_of_two_wishes_with_one_run_id_in_a_group_the_first_is_made(engine: Engine) -> None:
    first, second = claim(engine, wish("1", "a"), wish("2", "a"))
    assert first is not None
    assert second is None
    assert state(engine, "2") == "discovered"
    assert holder(engine, "2") is None


@pytest.mark.parametrize("number", ["1", "404"], ids=["held", "unknown"])
def test_what_cannot_be_claimed_is_left_to_be_looked_at_alone(engine: Engine, number: str) -> None:
    claim(engine, wish("1", "a"))
    other, good = claim(engine, wish(number, "b"), wish("2", "c"))
    assert other is None
    assert good is not None


def test_a_run_id_that_was_used_before_is_not_used_again(engine: Engine) -> None:
    claim(engine, wish("1", "a"))
    assert claim(engine, wish("2", "a")) == [None]


def test_data_that_does_not_fit_leaves_nothing_behind_and_hurts_nobody_else(engine: Engine) -> None:
    big, good = claim(engine, wish("1", "a", notes="x" * 300_000), wish("2", "b"))
    assert big is None
    assert good is not None
    assert state(engine, "1") == "discovered"
    assert engine.find("run", "a") is None
    assert holder(engine, "1") is None


def test_a_lease_that_somebody_else_has_lets_none_of_the_group_through(engine: Engine) -> None:
    engine.leases.take(LOCK.format("2"), "somebody", timedelta(minutes=5))
    with pytest.raises(steps.MustClaimAlone):
        claim(engine, wish("1", "a"), wish("2", "b"))
    assert (state(engine, "1"), holder(engine, "1")) == ("discovered", None)
    assert engine.find("run", "a") is None


def test_a_lease_that_ran_out_is_taken_with_a_higher_fence(engine: Engine) -> None:
    before = engine.leases.take(LOCK.format("1"), "somebody", timedelta(seconds=1))
    clock = engine.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(timedelta(seconds=2))
    assert claim(engine, wish("1", "a"))[0] is not None
    held = engine.leases.find(LOCK.format("1"))
    assert held is not None
    assert held.fence > before.fence


def test_workspaces_do_not_meet_in_a_group(engine: Engine) -> None:
    add(engine, "1", workspace="ann")
    ours, theirs = claim(engine, wish("1", "a"), wish("1", "a", workspace="ann"))
    assert ours is not None
    assert theirs is not None
    assert (ours.workspace, theirs.workspace) == ("default", "ann")
    assert engine.leases.find("lock@ann:apply:ramp:1") is not None


# -- as requests come in


@pytest.fixture
def service(engine: Engine) -> Iterator[Service]:
    made = Service(engine, Settings())
    yield made
    made.close()


def together(service: Service, *asked: steps.AgentClaim) -> list[Any]:
    async def ask() -> list[Any]:
        batcher = service.singleton(ClaimBatcher)
        return await asyncio.gather(*(batcher.claim(one) for one in asked), return_exceptions=True)

    return asyncio.run(ask())


def test_requests_of_one_moment_share_a_transaction(service: Service) -> None:
    made = together(service, *(wish(number, f"run-{number}") for number in "123"))
    ids = [begun.id for begun in made]
    rows = sa.select(history.c.xact).where(history.c.instance_id.in_(ids)).distinct()
    assert len(service.engine.read(lambda conn: conn.execute(rows).all())) == 1
    assert [state(service.engine, number) for number in "123"] == ["queued"] * 3


def test_more_requests_than_a_group_takes_are_all_answered(service: Service) -> None:
    numbers = [str(n) for n in range(100, 300)]
    add(service.engine, *numbers)
    made = together(service, *(wish(number, f"run-{number}") for number in numbers))
    assert [begun.data["job_id"] for begun in made] == numbers


def test_a_group_that_cannot_be_made_is_looked_at_one_by_one(service: Service) -> None:
    service.engine.leases.take(LOCK.format("2"), "somebody", timedelta(minutes=5))
    assert together(service, wish("1", "a"), wish("2", "b")) == [None, None]
    assert together(service, wish("1", "a"))[0] is not None  # and the next group is made


def test_an_unreachable_database_raises_for_each_caller(service: Service) -> None:
    service.engine.store.close()
    assert {type(answers).__base__ for answers in together(service, wish("1", "a"), wish("2", "b"))} == {StoreError}


def test_a_batch_names_the_holder_of_a_held_job_beside_those_that_are_served(service: Service) -> None:
    together(service, wish("1", "a"))
    other, good = together(service, wish("1", "b"), wish("2", "c"))
    assert isinstance(other, steps.Conflict)
    assert "run a holds it until" in str(other)
    assert good.state == "pending"


def test_the_holder_itself_and_a_lease_that_ran_out_are_looked_at_alone(service: Service) -> None:
    together(service, wish("1", "a"))
    assert together(service, wish("1", "a")) == [None]
    clock = service.engine.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(steps.LEASE + timedelta(seconds=1))
    assert together(service, wish("1", "b")) == [None]


def test_a_look_at_the_refused_that_fails_takes_nothing_from_the_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    together(service, wish("1", "a"))

    def away(*_: object) -> None:
        raise StoreGone("away")

    monkeypatch.setattr(steps, "refusals", away)
    other, good = together(service, wish("1", "b"), wish("2", "c"))
    assert other is None
    assert good.state == "pending"


def test_a_request_that_left_before_its_group_began_claims_nothing_and_hurts_nobody(service: Service) -> None:
    async def ask() -> list[Any]:
        batcher = service.singleton(ClaimBatcher)
        asked = [asyncio.ensure_future(batcher.claim(wish(number, f"run-{number}"))) for number in "12"]
        await asyncio.sleep(0)
        asked[0].cancel()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    left, served = asyncio.run(ask())
    assert isinstance(left, asyncio.CancelledError)
    assert served.state == "pending"
    assert state(service.engine, "1") == "discovered"


def test_those_who_wait_for_a_group_that_is_cancelled_are_cancelled(service: Service) -> None:
    async def ask() -> list[Any]:
        batcher = service.singleton(ClaimBatcher)
        asked = [asyncio.ensure_future(batcher.claim(wish(number, f"run-{number}"))) for number in "12"]
        while not batcher._under_way:
            await asyncio.sleep(0)
        for group in batcher._under_way:
            group.cancel()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert [type(one) for one in asyncio.run(ask())] == [asyncio.CancelledError] * 2


# -- with Redis


def test_in_redis_those_who_are_refused_leave_the_holder_as_it_is(service: Service, shown: redis_client.Redis) -> None:
    together(service, wish("1", "a"))
    (other,) = together(service, wish("1", "b"))
    assert isinstance(other, steps.Conflict)
    assert shown.get(LOCK.format("1")) == "a"


def test_a_redis_that_forgot_the_holder_is_set_right_by_a_closer_look(
    service: Service, shown: redis_client.Redis
) -> None:
    together(service, wish("1", "a"))
    shown.flushall()
    assert together(service, wish("1", "b")) == [None]


@pytest.fixture
def shown(redis: Redis, engine: Engine) -> Iterator[redis_client.Redis]:
    client = redis_client.Redis.from_url(redis.url, decode_responses=True)
    client.flushall()
    mirror = RedisMirror(redis.url)
    engine.core.mirror = mirror
    yield client
    mirror.close()
    client.close()


def test_a_group_is_shown_in_redis(service: Service, shown: redis_client.Redis) -> None:
    together(service, wish("1", "a"), wish("2", "b"))
    assert [shown.get(LOCK.format(number)) for number in "12"] == ["a", "b"]
    assert 299_000 < int(shown.pttl(LOCK.format("1"))) <= 300_000  # type: ignore[arg-type]


def test_an_agent_that_knows_only_redis_is_left_alone_and_the_others_are_served(
    service: Service, shown: redis_client.Redis
) -> None:
    shown.set(LOCK.format("1"), "stranger", ex=300)
    other, good = together(service, wish("1", "a"), wish("2", "b"))
    assert other is None
    assert good.state == "pending"
    assert shown.get(LOCK.format("1")) == "stranger"
    assert state(service.engine, "1") == "discovered"


def test_a_redis_that_is_gone_hinders_nobody(service: Service, shown: redis_client.Redis, engine: Engine) -> None:
    engine.core.mirror = RedisMirror("redis://127.0.0.1:1/0")
    first, second = together(service, wish("1", "a"), wish("2", "b"))
    assert (first.state, second.state) == ("pending", "pending")


def test_what_was_shown_for_a_group_that_failed_is_taken_back(
    service: Service, shown: redis_client.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(steps.leases, "take_many", broken)
    assert isinstance(together(service, wish("1", "a"))[0], RuntimeError)
    assert shown.get(LOCK.format("1")) is None


@pytest.mark.parametrize("more", [{}, {"salary": 2**70}], ids=["plain", "long number"])
def test_the_quick_answer_is_the_one_that_is_described(engine: Engine, more: dict[str, Any]) -> None:
    (begun,) = claim(engine, wish("1", "a", notes='ärger \u2028 "q"', answers={"yoe": 5.5, "none": None}, **more))
    assert begun is not None
    lease = LeaseOut(name=LOCK.format("1"), seconds=300)
    slowly = ClaimedOut.of(begun, lease=lease).model_dump_json()
    assert json.loads(claimed(begun, lease.name, 300)) == json.loads(slowly)
    assert ClaimedOut.model_validate_json(claimed(begun, lease.name, 300)) == ClaimedOut.of(begun, lease=lease)
