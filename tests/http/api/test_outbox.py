"""The outbox over HTTP: what is on its way, each attempt, and what to do about messages that are dead."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from interlock.engine import outbox
from interlock.store import SECOND, open_store
from tests.support.api import Api, open_api


def send(api: Api, recipient: str = "ann@example.org", *, channel: str = "mail", **options: Any) -> UUID:
    options = {"workspace": "default"} | options
    return api.engine.outbox.put(channel, recipient, "Hello", {"text": "hello"}, **options)


def attempt(api: Api, error: str | None = None, *, final: bool = False) -> None:
    """Whoever delivers takes the one that waited longest, and says what came of it."""

    def once(unit: Any) -> None:
        [message] = outbox.take(unit, ["mail", "webhook"], 1, timedelta(minutes=1))
        if error is None:
            outbox.delivered(unit, message, took=2 * SECOND, detail="250 OK", attempt=uuid7())
        else:
            outbox.failed(unit, message, error, took=SECOND, attempt=uuid7(), final=final)

    api.engine.write(once)


def dead(api: Api, **options: Any) -> str:
    made = send(api, **options)
    attempt(api, "550 no such person", final=True)
    return str(made)


def ids(api: Api, query: str = "", who: str = "owner") -> list[str]:
    return [m["id"] for m in api.get(f"/api/outbox?{query}", who).json()["messages"]]


def test_a_message_says_what_goes_where_and_how_far_it_is(both: Api) -> None:
    it = both.asked().id
    made = send(both, instance_id=it)
    body = both.get(f"/api/outbox/{made}", "viewer").json()
    assert {name: body[name] for name in ("instance_id", "workspace", "channel", "recipient", "subject", "body")} == {
        "instance_id": str(it),
        "workspace": "default",
        "channel": "mail",
        "recipient": "ann@example.org",
        "subject": "Hello",
        "body": {"text": "hello"},
    }
    assert (body["status"], body["attempts"], body["settled_at"], body["last_error"]) == ("waiting", 0, None, None)
    assert body["due_at"] == body["at"]
    assert both.get("/api/outbox").json()["messages"] == [body]


def test_every_attempt_is_listed_in_order_with_its_answer(both: Api) -> None:
    made = send(both)
    attempt(both, "421 try later")
    waiting = both.get(f"/api/outbox/{made}").json()
    assert (waiting["status"], waiting["attempts"], waiting["last_error"]) == ("waiting", 1, "421 try later")
    both.clock.advance(timedelta(hours=1))
    attempt(both)
    body = both.get(f"/api/outbox/{made}").json()
    assert (body["status"], body["attempts"], body["last_error"], body["due_at"]) == ("delivered", 2, None, None)
    tried = both.get(f"/api/outbox/{made}/deliveries", "viewer").json()["deliveries"]
    assert [(d["outcome"], d["detail"], d["took_seconds"]) for d in tried] == [
        ("failed", "421 try later", 1.0),
        ("delivered", "250 OK", 2.0),
    ]
    assert tried[0]["at"] < tried[1]["at"]


def test_the_newest_come_first_in_pages(api: Api) -> None:
    made = [str(send(api)) for _ in range(3)]
    first = api.get("/api/outbox?limit=2").json()
    assert [m["id"] for m in first["messages"]] == made[:0:-1]
    assert ids(api, f"limit=2&after={first['next']}") == made[:1]


def test_each_filter_finds_its_own(api: Api) -> None:
    it = api.asked().id
    gone = dead(api)
    waiting = str(send(api, "shop", channel="webhook", instance_id=it))
    assert ids(api, "status=dead") == [gone]
    assert ids(api, "status=waiting") == [waiting]
    assert ids(api, "status=delivered") == ids(api, "status=discarded") == []
    assert ids(api, "channel=webhook") == [waiting]
    assert ids(api, f"instance={it}") == [waiting]
    refused = api.get("/api/outbox?status=lost")
    assert (refused.status_code, "query.status" in refused.json()["detail"]) == (422, True)


def test_a_dead_message_is_tried_again_from_the_beginning(both: Api) -> None:
    gone = dead(both)
    again = both.post(f"/api/outbox/{gone}/retry", who="member").json()
    assert (again["status"], again["attempts"], again["due_at"] is not None) == ("waiting", 0, True)
    attempt(both)
    assert both.get(f"/api/outbox/{gone}").json()["status"] == "delivered"
    assert both.get("/api/actions?what=message.retry").json()["actions"][0]["actor"] == "user:member/t"


def test_a_dead_message_is_given_up_with_a_note(api: Api) -> None:
    gone = dead(api)
    body = api.post(f"/api/outbox/{gone}/discard", {"note": "said by telephone"}, "member").json()
    assert body["status"] == "discarded"
    [action] = api.get("/api/actions?what=message.discard").json()["actions"]
    assert (action["target"], action["details"]["note"]) == (gone, "said by telephone")
    assert api.post(f"/api/outbox/{gone}/discard", {"why": "x"}).status_code == 422


@pytest.mark.parametrize("action", ["retry", "discard"])
def test_only_a_dead_message_is_retried_or_given_up(api: Api, action: str) -> None:
    waiting, sent = send(api), send(api)
    refused = api.post(f"/api/outbox/{waiting}/{action}")
    assert (refused.status_code, refused.json()["type"]) == (409, "refused")
    assert "is waiting; only a dead message can be retried or discarded" in refused.json()["detail"]
    attempt(api)
    attempt(api)
    assert "is delivered;" in api.post(f"/api/outbox/{sent}/{action}").json()["detail"]
    assert api.post(f"/api/outbox/{uuid4()}/{action}").status_code == 404


def test_a_message_of_no_workspace_is_for_the_first_workspace(api: Api) -> None:
    mine, theirs, everybodys = send(api), send(api, workspace="north"), send(api, workspace=None)
    assert ids(api) == [str(one) for one in (everybodys, theirs, mine)]
    assert ids(api, who="north-owner") == [str(theirs)]
    for one, status in ((mine, 404), (everybodys, 404), (theirs, 200)):
        assert api.get(f"/api/outbox/{one}", "north-owner").status_code == status
        assert api.get(f"/api/outbox/{one}/deliveries", "north-owner").status_code == status
        assert api.get(f"/api/outbox/{one}", "viewer").status_code == 200


def test_messages_of_another_workspace_are_mended_by_its_members_and_by_operators(api: Api) -> None:
    first, second = dead(api, workspace="north"), dead(api, workspace="north")
    assert api.post(f"/api/outbox/{first}/retry", who="north-viewer").status_code == 403
    assert api.post(f"/api/outbox/{first}/retry", who="north-member").status_code == 200
    assert api.post(f"/api/outbox/{second}/retry", who="viewer").status_code == 403
    assert api.post(f"/api/outbox/{second}/retry", who="member").status_code == 200


def test_a_channel_that_is_not_configured_is_reported_with_waiting_messages_and_the_remedy(api: Api) -> None:
    send(api)
    send(api)
    send(api, "shop", channel="webhook", workspace="north")
    send(api, "0123", channel="pigeon")
    stuck = api.get("/api/outbox").json()["not_configured"]
    assert [(s["channel"], s["waiting"], s["remedy"]) for s in stuck] == [
        ("mail", 2, "set [mail] in the configuration"),
        ("pigeon", 1, "there are only the channels mail and webhook"),
        ("webhook", 1, "set [webhooks.NAME] in the configuration"),
    ]
    assert [s["channel"] for s in api.get("/api/outbox", "north-viewer").json()["not_configured"]] == ["webhook"]


@pytest.fixture
def mailing(sqlite_url: str) -> Iterator[Api]:
    mail = {"host": "mail.example.org", "sender": "interlock@example.org"}
    with open_store(sqlite_url, durability="normal") as store, open_api(store, mail=mail) as made:
        yield made


def test_a_configured_channel_is_not_reported(mailing: Api) -> None:
    send(mailing)
    send(mailing, "shop", channel="webhook")
    assert [s["channel"] for s in mailing.get("/api/outbox").json()["not_configured"]] == ["webhook"]


def test_secrets_are_hidden_in_messages_and_in_what_came_of_them(api: Api) -> None:
    made = api.engine.outbox.put(
        "mail", "a@b.c", "your token: sesame-sesame", {"password": "sesame-sesame"}, workspace="default"
    )
    attempt(api, "535 password=sesame-sesame was refused")
    texts = [api.get(f"/api/outbox/{made}{rest}").text for rest in ("", "/deliveries")]
    assert "sesame" not in "".join(texts)
    assert "535" in texts[0]
    assert "535" in texts[1]
