"""Events that arrive together are fired in one transaction, and each is answered as if it had come alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import NotFound, Refused
from interlock.http.api import moving
from interlock.http.api.moving import Event, EventBatcher, EventRequest, fire_together
from interlock.people import NotAllowed, Principal
from interlock.store import StoreGone, tables
from interlock.store.tables import history
from tests.support.api import Api


def caller(api: Api, who: str) -> Principal:
    return api.service.callers.find("token", api.tokens[who])


def wish(api: Api, instance: UUID, event: str = "approve", who: str = "owner", **body: Any) -> EventRequest:
    return EventRequest(caller(api, who), instance, Event(event=event, **body))


def fired(api: Api, *asked: EventRequest) -> list[Any]:
    """The answers of one batch, as JSON; errors and None as they are."""
    made = api.engine.write(lambda unit: fire_together(unit, asked))
    return [json.loads(one) if isinstance(one, bytes) else one for one in made]


def together(api: Api, asked: Sequence[EventRequest]) -> list[Any]:
    async def ask() -> list[Any]:
        batcher = api.service.singleton(EventBatcher)
        return await asyncio.gather(*(batcher.fire(one) for one in asked), return_exceptions=True)

    return asyncio.run(ask())


def kinds(api: Api, instance: UUID) -> list[str]:
    return [row.event or row.kind for row in api.engine.history(instance)]


def test_each_of_a_batch_gets_its_own_answer_and_history(both: Api) -> None:
    first, second, third = (both.asked().id for _ in range(3))
    answers = fired(
        both,
        wish(both, third, "approve", data={"note": "good"}),
        wish(both, first, "refuse", reason="no"),
        wish(both, second, "destroy"),
    )
    assert [one["state"] for one in answers] == ["sent", "refused", "cancelled"]
    assert answers[0]["data"]["note"] == "good"
    assert answers == [both.get(f"/api/instances/{one}").json() for one in (third, first, second)]
    assert both.engine.verify().problems == ()


def test_what_one_is_refused_for_leaves_nothing_behind_and_hurts_nobody_else(both: Api) -> None:
    ids = [both.asked().id for _ in range(6)]
    before = [both.engine.get(one) for one in ids[:5]]
    answers = fired(
        both,
        wish(both, ids[0], "no such event"),
        wish(both, ids[1], "approve", who="viewer"),
        wish(both, ids[2], "approve", expected_seq=1),
        wish(both, ids[3], "approve", data={"colour": "red"}),
        wish(both, ids[4], "approve", who="north-owner"),
        wish(both, ids[5], "approve"),
    )
    assert isinstance(answers[0], Refused)
    assert answers[0].allowed
    assert isinstance(answers[1], NotAllowed)
    assert "seq" in str(answers[2])
    assert "colour" in str(answers[3])
    assert isinstance(answers[4], NotFound)
    assert answers[5]["state"] == "sent"
    assert [both.engine.get(one) for one in ids[:5]] == before
    assert both.engine.verify().problems == ()


def test_a_review_is_decided_only_by_those_who_may(both: Api) -> None:
    claimed, free = both.asked().id, both.asked().id
    (question,) = both.engine.reviews.waiting(instance_id=claimed)
    both.engine.reviews.claim(question.id, actor=caller(both, "reviewer").actor_in("default"))
    refused, done = fired(both, wish(both, claimed, "refuse"), wish(both, free, "refuse"))
    assert "is being worked on by user:reviewer" in str(refused)
    assert done["state"] == "refused"
    (closed,) = both.engine.read(
        lambda conn: conn.execute(sa.select(tables.review.c.status).where(tables.review.c.instance_id == free)).all()
    )
    assert closed.status == "closed"


def test_what_needs_a_closer_look_goes_alone(both: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, twice, good, gone = (both.asked().id for _ in range(4))
    both.engine.fire(ended, "refuse", actor=caller(both, "owner").actor_in("default"))
    revoked = wish(both, gone, who="member")
    both.people.revoke(revoked.who.token_id, caller(both, "owner").actor_in("default"))
    asked = [wish(both, ended), wish(both, twice), wish(both, twice, "refuse"), wish(both, uuid4()), revoked]
    answers = fired(both, *asked, wish(both, good))
    assert [one and one["state"] for one in answers] == [None, "sent", None, None, None, "sent"]
    assert kinds(both, gone)[-1] != "approve"
    machine = both.engine.registry["order"]
    monkeypatch.setitem(machine.followers, "sent", [lambda *_: None])
    assert fired(both, wish(both, gone)) == [None]


def test_an_instance_that_others_have_locked_delays_nobody(both: Api) -> None:
    if both.engine.store.one_writer:
        pytest.skip("SQLite locks no rows")
    locked, free = both.asked().id, both.asked().id

    def hold(conn: sa.Connection) -> list[Any]:
        conn.execute(sa.select(tables.instance.c.id).where(tables.instance.c.id == locked).with_for_update())
        return fired(both, wish(both, locked), wish(both, free))

    left, done = both.engine.read(hold)
    assert left is None
    assert done["state"] == "sent"


# -- as requests come in


def test_events_of_one_moment_share_a_transaction(both: Api) -> None:
    ids = [both.asked().id for _ in range(5)]
    made = together(both, [wish(both, one) for one in ids])
    if both.engine.store.one_writer:
        assert made == [None] * 5  # its writer shares commits without it
        return
    assert [json.loads(one)["state"] for one in made] == ["sent"] * 5
    rows = sa.select(history.c.xact).where(history.c.instance_id.in_(ids), history.c.event == "approve").distinct()
    assert len(both.engine.read(lambda conn: conn.execute(rows).all())) == 1


def test_a_lone_event_over_http_is_answered_as_ever(both: Api) -> None:
    one = both.asked().id
    assert both.post(f"/api/instances/{one}/events", {"event": "approve"}).json()["state"] == "sent"
    again = both.post(f"/api/instances/{one}/events", {"event": "approve"})
    assert (again.status_code, again.json()["type"]) == (409, "refused")
    assert both.post(f"/api/instances/{uuid4()}/events", {"event": "approve"}).status_code == 404
    viewer = both.post(f"/api/instances/{both.asked().id}/events", {"event": "approve"}, who="viewer")
    assert viewer.status_code == 403


@pytest.mark.parametrize("error", [StoreGone("away"), ZeroDivisionError()], ids=["unknown", "nothing written"])
def test_a_batch_that_fails_is_fired_again_only_if_nothing_can_have_been_written(
    both: Api, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    if both.engine.store.one_writer:
        pytest.skip("events share no transaction on SQLite")
    one = both.asked().id

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(moving, "fire_together", fail)
    answer = both.post(f"/api/instances/{one}/events", {"event": "approve"})
    if isinstance(error, StoreGone):
        assert answer.status_code == 503
        assert both.engine.get(one).state == "asked"
    else:
        assert answer.json()["state"] == "sent"
        assert kinds(both, one).count("approve") == 1
