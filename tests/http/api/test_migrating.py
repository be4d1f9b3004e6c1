"""Migrations over HTTP: the plan, and batches of running instances that go to another version of their machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine
from interlock.engine.versions import migrating
from interlock.machine import FINAL, USER, WAITING, Actor, Machine, State, Transition
from interlock.store import Store
from interlock.testing import VirtualClock
from tests.support.api import Api, open_api

PLACE = "/api/machines/order/migration"
OLD = Machine(
    "order",
    initial="weighing",
    states=[
        State("weighing", WAITING, waits_for="somebody"),
        State("packing", WAITING, waits_for="somebody"),
        State("sent", FINAL),
    ],
    transitions=[
        Transition("weighing", "packing", on="weighed", by=USER),
        Transition("packing", "sent", on="packed", by=USER),
    ],
)
ANN = Actor(USER, "ann")
TO = {"weighing": "asked", "packing": "asked"}


@pytest.fixture
def api(store: Store) -> Iterator[Api]:
    """Five orders of the version before, two of them a step further, and one of the version that the API serves."""
    clock = VirtualClock()
    old = Engine(store, [OLD], clock=clock)
    made = [old.create("order", {"item": f"tea {n}"}).id for n in range(5)]
    for one in made[3:]:
        old.fire(one, "weighed", actor=ANN)
    with open_api(store, clock=clock) as api:
        api.new()
        yield api
        assert api.engine.verify().problems == ()


def old_ones(api: Api) -> list[UUID]:
    return [one.id for one in api.engine.page(limit=100).instances if one.version == 1]


def moved(body: Any) -> int:
    return sum(one["count"] for one in body["moved"])


def rows(api: Api, it: UUID) -> list[str]:
    return [row.actor for row in api.engine.history(it) if row.kind == "migrated"]


def test_a_plan_says_what_would_become_of_them_and_changes_nothing(api: Api) -> None:
    body = api.get(f"{PLACE}?map=weighing=asked&map=packing=asked", "member").json()
    assert (body["machine"], body["to_version"], body["left"], body["whole"]) == ("order", 2, 5, True)
    assert body["moved"] == [
        {"from_version": 1, "from": "packing", "to_version": 2, "to": "asked", "count": 2},
        {"from_version": 1, "from": "weighing", "to_version": 2, "to": "asked", "count": 3},
    ]
    assert len(old_ones(api)) == 5


def test_states_without_a_target_are_reported_with_examples(api: Api) -> None:
    body = api.get(f"{PLACE}?map=weighing=asked").json()
    assert moved(body) == 3
    [refused] = body["refused"]
    assert (refused["version"], refused["state"], refused["count"], len(refused["examples"])) == (1, "packing", 2, 2)


def test_batch_after_batch_moves_each_once(api: Api) -> None:
    made = old_ones(api)
    wish = {"map": TO, "reason": "release 2", "batch": 2}
    lefts, after = [], None
    while True:
        body = api.post(PLACE, {**wish, "after": after}).json()
        assert moved(body) <= 2
        assert all(one.keys() == {"from_version", "from", "to_version", "to", "count"} for one in body["moved"])
        lefts.append(body["left"])
        after = body["next"]
        if after is None:
            break
    assert lefts == sorted(lefts, reverse=True)
    assert (lefts[0], lefts[-1]) == (3, 0)
    assert {tuple(rows(api, one)) for one in made} == {("owner:owner/setup",)}
    assert api.engine.verify().problems == ()
    assert moved(api.post(PLACE, wish).json()) == 0


def test_who_may_not_force_maps_nothing_past_its_review(api: Api) -> None:
    before = len(old_ones(api))
    for wish in ({"map": TO}, {"map": TO, "workspace": "north"}, {"map": {"weighing": "sent"}}):
        assert api.post(PLACE, wish, "member").status_code == 403, wish
    assert len(old_ones(api)) == before
    assert api.post(PLACE, {}, "member").status_code == 200


def test_what_is_left_is_not_counted_where_nobody_asks(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "count", lambda *_: pytest.fail("it counted"))
    body = api.post(PLACE, {"map": TO, "batch": 2, "count": False}).json()
    assert (moved(body), body["left"], body["next"] is not None) == (2, None, True)


def test_what_is_refused_does_not_keep_the_others_from_going(api: Api) -> None:
    wish = {"map": {"packing": "asked"}, "batch": 1}
    after, done, asked = None, 0, 0
    while asked == 0 or after is not None:
        body = api.post(PLACE, {**wish, "after": after}).json()
        done, after, asked = done + moved(body), body["next"], asked + 1
        assert asked < 20
    assert (done, body["left"]) == (2, 3)


def test_the_same_request_under_the_same_key_moves_one_batch(api: Api) -> None:
    wish, headers = {"map": TO, "batch": 2}, {"Idempotency-Key": "once"}
    first = api.post(PLACE, wish, headers=headers)
    assert api.post(PLACE, wish, headers=headers).json() == first.json()
    assert len(old_ones(api)) == 3


def test_only_those_of_one_workspace_and_version_go(api: Api) -> None:
    assert moved(api.post(PLACE, {"map": TO, "workspace": "north"}).json()) == 0
    assert moved(api.post(PLACE, {"map": TO, "from": 1}).json()) == 5


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize(
    ("place", "wish", "status"),
    [
        ("/api/machines/nothing/migration", {}, 404),
        (PLACE, {"from": 9}, 404),
        (PLACE, {"to": 1}, 409),
        (PLACE, {"from": 2}, 422),
        (PLACE, {"map": {"weighing": "nowhere"}}, 404),
    ],
)
def test_what_cannot_be_is_refused(api: Api, place: str, wish: dict[str, Any], status: int) -> None:
    asked = "&".join(
        [f"{k}={v}" for k, v in wish.items() if k != "map"] + [f"map={a}={b}" for a, b in wish.get("map", {}).items()]
    )
    assert api.get(f"{place}?{asked}").status_code == status
    assert api.post(place, wish).status_code == status
    assert len(old_ones(api)) == 5


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("after", ["", "weighing", "weighing/x", "sent/", f"nowhere/{UUID(int=7)}"])
def test_a_place_that_is_none_is_refused(api: Api, after: str) -> None:
    assert api.post(PLACE, {"map": TO, "after": after}).status_code == 422


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("map", ["", "weighing", "=asked", "weighing=", "weighing=asked&map=weighing=sent"])
def test_a_map_that_is_none_is_refused(api: Api, map: str) -> None:
    assert api.get(f"{PLACE}?map={map}").status_code == 422
