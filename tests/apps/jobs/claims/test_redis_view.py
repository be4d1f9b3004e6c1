"""The same lock in Redis: others see it and respect it; the database decides."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis as redis_client

from interlock.apps.jobs import registry
from interlock.engine.redis_mirror import RedisMirror
from interlock.store import open_store
from tests.apps.jobs.claims.test_api import ClaimsApi
from tests.support.api import open_api
from tests.support.servers import Redis
from tests.support.waiting import eventually

KEY = "lock:apply:ramp:1"


@pytest.fixture
def shown(redis: Redis) -> Iterator[redis_client.Redis]:
    client = redis_client.Redis.from_url(redis.url, decode_responses=True)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def claims(sqlite_url: str, redis: Redis, shown: redis_client.Redis) -> Iterator[ClaimsApi]:
    mirror = RedisMirror(redis.url)
    with (
        open_store(sqlite_url, durability="normal") as store,
        open_api(store, applications=[registry], mirror=mirror) as api,
    ):
        made = ClaimsApi(api)
        made.add("1")
        yield made
    mirror.close()


def test_a_claim_is_seen_in_redis_for_300_seconds_and_gone_at_its_end(
    claims: ClaimsApi, shown: redis_client.Redis
) -> None:
    name = str(uuid4())
    assert claims.claim("1", name).status_code == 201
    assert shown.get(KEY) == name
    assert 290_000 < shown.pttl(KEY) <= 300_000
    claims.patch(run_id=name, status="success")
    eventually(lambda: shown.get(KEY) is None)


def test_an_agent_that_knows_only_redis_is_respected(claims: ClaimsApi, shown: redis_client.Redis) -> None:
    shown.set(KEY, "their-run", nx=True, ex=300)
    refused = claims.claim("1")
    assert (refused.status_code, "their-run" in refused.json()["detail"]) == (409, True)
    assert (claims.status("1"), shown.get(KEY)) == ("discovered", "their-run")
    shown.delete(KEY)
    assert claims.claim("1").status_code == 201


def test_an_emptied_redis_makes_no_second_winner_and_shows_the_first_again(
    claims: ClaimsApi, shown: redis_client.Redis
) -> None:
    name = str(uuid4())
    claims.claim("1", name)
    shown.flushall()
    assert claims.claim("1").status_code == 409
    assert shown.get(KEY) == name
    shown.flushall()
    claims.patch(run_id=name, artifacts={"notes": "x"})
    eventually(lambda: shown.get(KEY) == name)


def test_a_key_that_was_left_behind_by_a_run_that_is_over_keeps_nobody_away(
    claims: ClaimsApi, shown: redis_client.Redis
) -> None:
    name = str(uuid4())
    claims.claim("1", name)
    claims.patch(run_id=name, status="failed")
    eventually(lambda: shown.get(KEY) is None)
    shown.set(KEY, name, ex=300)
    other = str(uuid4())
    assert claims.claim("1", other).status_code == 201
    assert shown.get(KEY) == other


def test_a_claim_that_is_refused_leaves_no_key(claims: ClaimsApi, shown: redis_client.Redis) -> None:
    claims.patch("owner", board="ramp", job_id="1", status="rejected")
    assert claims.claim("1").status_code == 400
    assert shown.get(KEY) is None


def test_a_key_of_somebody_who_asks_as_well_does_not_hide_that_the_job_is_over(
    claims: ClaimsApi, shown: redis_client.Redis
) -> None:
    """Many who ask for the same job would else tell each other forever that it is being applied for."""
    claims.patch("owner", board="ramp", job_id="1", status="rejected")
    shown.set(KEY, "another-who-asks", ex=300)
    assert claims.claim("1").status_code == 400
    assert shown.get(KEY) == "another-who-asks"


def test_a_job_that_waits_for_verification_stays_locked_in_redis(claims: ClaimsApi, shown: redis_client.Redis) -> None:
    """An agent that knows only Redis would apply a second time."""
    name = str(uuid4())
    claims.claim("1", name)
    claims.patch(run_id=name, status="submitted")
    claims.expire_leases()
    eventually(lambda: shown.get(KEY) == f"verify:{name}")
    (review,) = claims.api.get("/api/reviews").json()["reviews"]
    claims.api.post(f"/api/reviews/{review['id']}/decide", {"decision": "it_went_out"})
    eventually(lambda: shown.get(KEY) is None)
    assert claims.status("1") == "applied"


def test_without_redis_the_database_alone_decides(sqlite_url: str) -> None:
    mirror = RedisMirror("redis://127.0.0.1:1")
    with (
        open_store(sqlite_url, durability="normal") as store,
        open_api(store, applications=[registry], mirror=mirror) as api,
    ):
        claims = ClaimsApi(api)
        claims.add("1")
        name = str(uuid4())
        assert [claims.claim("1", name).status_code, claims.claim("1").status_code] == [201, 409]
        assert claims.patch(run_id=name, status="success").status_code == 200
        assert claims.status("1") == "applied"
    mirror.close()
