"""The same request with the same key is done once, whoever crashes or comes at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.store import failpoints
from interlock.store.service_tables import idempotency
from tests.support.api import BY, Api

NEW = {"machine": "order", "data": {"item": "seeds"}}


def create(api: Api, key: str, body: Any = None, who: str = "owner") -> Any:
    return api.post("/api/instances", body or NEW, who, headers={"Idempotency-Key": key})


def count(api: Api) -> int:
    return api.engine.count().n


def test_the_same_request_is_answered_from_the_store(both: Api) -> None:
    first, again = create(both, "k"), create(both, "k")
    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert ("idempotency-replayed" in first.headers, again.headers.get("idempotency-replayed")) == (False, "true")
    assert count(both) == 1


def test_it_is_answered_alike_although_the_instance_has_moved_on(api: Api) -> None:
    it = api.asked()
    key = {"Idempotency-Key": "k"}
    first = api.post(f"/api/instances/{it.id}/events", {"event": "approve"}, headers=key)
    again = api.post(f"/api/instances/{it.id}/events", {"event": "approve"}, headers=key)
    assert (again.status_code, again.json()) == (200, first.json())
    assert api.post(f"/api/instances/{it.id}/events", {"event": "approve"}).status_code == 409


def test_another_request_with_the_same_key_is_refused(api: Api) -> None:
    create(api, "k")
    other = create(api, "k", {"machine": "order", "data": {"item": "tea"}})
    assert (other.status_code, other.json()["type"]) == (422, "key-reused")
    assert api.post("/api/workspaces", {"name": "w"}, headers={"Idempotency-Key": "k"}).status_code == 422
    assert count(api) == 1


def test_keys_of_different_callers_are_different_keys(api: Api) -> None:
    assert create(api, "k").json()["id"] != create(api, "k", who="member").json()["id"]
    assert count(api) == 2


def test_what_was_refused_is_not_remembered(api: Api) -> None:
    """Nothing was changed, so the same request may succeed later."""
    it = api.new()
    event, key = {"event": "approve"}, {"Idempotency-Key": "k"}
    assert api.post(f"/api/instances/{it}/events", event, headers=key).status_code == 409
    api._work(it, _asked())
    assert api.post(f"/api/instances/{it}/events", event, headers=key).status_code == 200


def _asked() -> Any:
    from interlock.machine import Go

    return Go("asked")


def test_sixteen_at_once_do_it_once(both: Api) -> None:
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: create(both, "k"), range(16)))
    assert {a.status_code for a in answers} == {201}
    assert len({a.content for a in answers}) == 1
    assert count(both) == 1


@pytest.mark.parametrize("where", ["create:before", "create:after"])
def test_a_crash_around_the_commit_does_not_do_it_twice(api: Api, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Before the commit nothing was done, after it everything; the caller heard of neither and asks again."""
    crashed: list[str] = []

    def crash(point: str) -> None:
        if point == where and not crashed:
            crashed.append(point)
            raise OSError("the process is gone")

    monkeypatch.setattr(failpoints, "hook", crash)
    assert create(api, "k").status_code >= 500
    assert create(api, "k").status_code == 201
    assert (crashed, count(api)) == ([where], 1)


def test_the_secret_of_a_token_is_not_kept_with_the_answer(api: Api) -> None:
    body, key = {"name": "robot", "scopes": ["read"]}, {"Idempotency-Key": "k"}
    first = api.post("/api/tokens", body, headers=key).json()
    again = api.post("/api/tokens", body, headers=key).json()
    assert first["secret"].startswith("il_")
    assert (again["id"], again["secret"]) == (first["id"], None)
    kept = api.engine.read(lambda conn: conn.execute(sa.select(idempotency.c.body)).scalars().all())
    assert first["secret"] not in "".join(kept)


def test_an_answer_is_kept_for_seven_days(api: Api) -> None:
    create(api, "k")
    api.clock.advance(timedelta(days=6))
    api.people.clean_up()
    assert "idempotency-replayed" in create(api, "k").headers
    api.clock.advance(timedelta(days=2))
    api.people.clean_up()
    assert "idempotency-replayed" not in create(api, "k").headers
    assert count(api) == 2


@pytest.mark.parametrize("key", [" ", "x" * 201, "a b", "\u00e4".encode("latin-1")])
def test_a_key_that_is_none_is_refused(api: Api, key: Any) -> None:
    refused = api.post("/api/instances", NEW, headers={"Idempotency-Key": key})
    assert (refused.status_code, count(api)) == (422, 0)
    assert "Idempotency-Key" in refused.json()["detail"]


def test_every_write_takes_a_key(api: Api) -> None:
    """Each of a sample of writes, twice: the second is the first one's answer."""
    it = api.asked()
    [review] = api.engine.reviews.waiting(instance_id=it.id)
    made, _ = api.people.create_token("default", "x", kind="agent", scopes=["read"], by=BY)
    writes: list[tuple[str, str, Any]] = [
        ("POST", f"/api/instances/{it.id}/pause", {}),
        ("POST", f"/api/instances/{it.id}/resume", {}),
        ("POST", f"/api/reviews/{review.id}/claim", {}),
        ("POST", f"/api/reviews/{review.id}/decide", {"decision": "no", "answer": {"note": "n"}}),
        ("POST", "/api/bulk", {"action": "pause", "filter": {"machine": "order"}}),
        ("PUT", "/api/schedules/default/s", {"machine": "order", "cron": "0 2 * * *"}),
        ("POST", "/api/schedules/default/s/run", {}),
        ("DELETE", "/api/schedules/default/s", None),
        ("PUT", "/api/alert-rules/mine", {"metric": "dead_letters", "threshold": 5}),
        ("DELETE", "/api/alert-rules/mine", None),
        ("POST", "/api/users", {"name": "zoe"}),
        ("POST", "/api/workspaces", {"name": "south"}),
        ("POST", f"/api/tokens/{made.id}/revoke", {}),
    ]
    for number, (method, path, body) in enumerate(writes):
        headers = {"Idempotency-Key": f"k{number}"}
        first = api.call("owner", method, path, body, headers=headers)
        again = api.call("owner", method, path, body, headers=headers)
        assert first.status_code < 300, (path, first.text)
        assert (again.status_code, again.content) == (first.status_code, first.content), path
        assert again.headers.get("idempotency-replayed") == "true", path
