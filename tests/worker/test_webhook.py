"""Webhooks, against a real HTTP server: what is posted and signed, and what comes of each answer."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine
from interlock.engine.outbox import OutboxMessage
from interlock.machine import InterlockError
from interlock.store import SECOND, Store, micros
from interlock.testing import VirtualClock
from interlock.worker.deliverer import Deliverer, DeliveryFailed, DeliveryRefused
from interlock.worker.webhook import Endpoint, SignatureInvalid, Webhooks, payload, sign, verify
from tests.support.machines import PARCEL
from tests.support.receiver import Receiver, Reply, drip, keep_open, pour, reset
from tests.support.servers import free_port
from tests.support.waiting import eventually, took

ID = UUID("0198f0a0-0000-7000-8000-000000000001")
HAPPENED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
NOW = datetime(2026, 3, 1, 13, 0, 5, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four.").decode()
TOKEN = "Bearer 9f86d081884c7d65"


def message(to: str = "ops", **body: Any) -> OutboxMessage:
    return OutboxMessage(
        id=ID,
        instance_id=None,
        channel="webhook",
        recipient=to,
        subject="parcel.shipped",
        body=body or {"item": "tëa"},
        status="waiting",
        at=micros(HAPPENED),
        workspace=None,
        attempts=1,
        due_at=0,
        settled_at=None,
        last_error=None,
    )


class Hooks:
    """Webhooks to a receiver, closed at the end."""

    def __init__(self) -> None:
        self.opened: list[Webhooks] = []

    def to(self, url: str, **options: Any) -> Webhooks:
        endpoint = Endpoint(url, SECRET, **{"timeout": 5.0, **options})
        self.opened.append(Webhooks({"ops": endpoint}, clock=VirtualClock(NOW)))
        return self.opened[-1]


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    yield made
    for one in made.opened:
        one.close()


# -- what is posted


def test_a_message_is_posted_as_json_with_its_id_type_and_moment(hooks: Hooks) -> None:
    with Receiver(Reply(body=b"thank you")) as receiver:
        assert hooks.to(receiver.url, headers={"Authorization": TOKEN}).deliver(message()) == "200 thank you"
    [request] = receiver.requests
    assert request.line == "POST /hook?key=in-the-address HTTP/1.1"
    assert json.loads(request.body) == {
        "id": str(ID),
        "type": "parcel.shipped",
        "timestamp": "2026-03-01T12:30:00Z",
        "data": {"item": "tëa"},
    }
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == TOKEN
    assert request.headers["webhook-id"] == str(ID)
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))


def test_the_signature_is_that_of_standard_webhooks(hooks: Hooks) -> None:
    with Receiver() as receiver:
        hooks.to(receiver.url).deliver(message())
    [request] = receiver.requests
    signed = f"{ID}.{int(NOW.timestamp())}.".encode() + request.body
    expected = hmac.new(b"a secret of twenty-four.", signed, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()


def test_the_published_example_of_standard_webhooks_is_signed_as_published() -> None:
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_headers_of_the_configuration_cannot_replace_the_signature(hooks: Hooks) -> None:
    with Receiver() as receiver:
        hooks.to(receiver.url, headers={"Webhook-Signature": "v1,mine"}).deliver(message())
    assert receiver.requests[0].headers["webhook-signature"] != "v1,mine"


def test_a_receiver_verifies_what_it_got(hooks: Hooks) -> None:
    with Receiver() as receiver:
        hooks.to(receiver.url).deliver(message())
    [request] = receiver.requests
    assert verify(SECRET, request.headers, request.body, now=micros(NOW))["data"] == {"item": "tëa"}


# -- verifying


def signed(secret: str = SECRET, at: datetime = NOW) -> tuple[dict[str, str], bytes]:
    body = payload(message())
    stamp = int(at.timestamp())
    headers = {"Webhook-Id": str(ID), "Webhook-Timestamp": str(stamp)}
    return {**headers, "Webhook-Signature": sign(secret, str(ID), stamp, body)}, body


def refused(headers: dict[str, str], body: bytes, secret: str = SECRET, now: datetime = NOW) -> str:
    with pytest.raises(SignatureInvalid) as refusal:
        verify(secret, headers, body, now=micros(now))
    return str(refusal.value)


def test_another_secret_another_body_or_another_id_does_not_verify() -> None:
    headers, body = signed()
    assert refused(headers, body, secret="another") == "no signature matches the body and the secret"
    assert "no signature matches" in refused(headers, body + b" ")
    assert "no signature matches" in refused({**headers, "Webhook-Id": "x"}, body)
    assert "no signature matches" in refused({**headers, "Webhook-Signature": "v1,ünsigned"}, body)
    assert "no signature matches" in refused({**headers, "Webhook-Signature": ""}, body)


def test_an_old_request_does_not_verify_nor_one_from_the_future() -> None:
    headers, body = signed()
    assert verify(SECRET, headers, body, now=micros(NOW + timedelta(minutes=5)))
    assert "more than 0:05:00 from now" in refused(headers, body, now=NOW + timedelta(minutes=5, seconds=1))
    assert "more than" in refused(headers, body, now=NOW - timedelta(minutes=6))
    assert verify(SECRET, headers, body, timedelta(hours=2), now=micros(NOW + timedelta(hours=1)))


@pytest.mark.parametrize("name", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
def test_a_request_without_its_headers_does_not_verify(name: str) -> None:
    headers, body = signed()
    del headers[name]
    assert f"no header {name.lower()}" in refused(headers, body)


@pytest.mark.parametrize("stamp", ["", "soon", "-1", "1e3", "9" * 4000, "١٢٣"])
def test_a_moment_that_is_none_does_not_verify(stamp: str) -> None:
    headers, body = signed()
    assert "is not a number of seconds" in refused({**headers, "Webhook-Timestamp": stamp}, body)


def test_one_of_several_signatures_is_enough_while_secrets_change() -> None:
    old, body = signed("an old secret")
    new, _ = signed()
    both = {**new, "Webhook-Signature": f"{old['Webhook-Signature']} {new['Webhook-Signature']}"}
    assert verify(SECRET, both, body, now=micros(NOW))
    assert verify("an old secret", both, body, now=micros(NOW))


# -- answers


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_yes_is_a_delivery(hooks: Hooks, status: int) -> None:
    with Receiver(Reply(status, b"")) as receiver:
        assert hooks.to(receiver.url).deliver(message()) == str(status)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
def test_trouble_of_the_moment_is_tried_again(hooks: Hooks, status: int) -> None:
    with Receiver(Reply(status, b"not now")) as receiver, pytest.raises(DeliveryFailed) as refusal:
        hooks.to(receiver.url).deliver(message())
    assert str(refusal.value) == f"webhook 'ops' answered {status} not now"
    assert refusal.value.retry_after is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_a_no_is_not_tried_again(hooks: Hooks, status: int) -> None:
    with Receiver(Reply(status, b"never")) as receiver, pytest.raises(DeliveryRefused) as refusal:
        hooks.to(receiver.url).deliver(message())
    assert str(refusal.value) == f"webhook 'ops' answered {status} never"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(hooks: Hooks, status: int) -> None:
    with Receiver() as elsewhere, Receiver(Reply(status, headers={"location": elsewhere.url})) as receiver:
        with pytest.raises(DeliveryRefused, match="redirects are not followed"):
            hooks.to(receiver.url).deliver(message())
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("expected", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 7 ", timedelta(seconds=7)),
        ("9" * 5000, timedelta(hours=24)),
        (format_datetime(NOW + timedelta(minutes=10), usegmt=True), timedelta(minutes=10)),
        (format_datetime(NOW - timedelta(minutes=10), usegmt=True), timedelta(0)),
        (format_datetime(NOW + timedelta(days=400), usegmt=True), timedelta(hours=24)),
        ("Sun, 01 Mar 2026 13:01:05 -0000", timedelta(minutes=1)),
        ("Sun, 99 Mar 99999 13:01:05 GMT", None),
        ("soon", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_is_honoured_in_seconds_or_as_a_date_up_to_a_day(
    hooks: Hooks, expected: str, wait: timedelta | None
) -> None:
    with Receiver(Reply(429, headers={"retry-after": expected})) as receiver, pytest.raises(DeliveryFailed) as failed:
        hooks.to(receiver.url).deliver(message())
    assert failed.value.retry_after == wait


def test_of_the_answer_five_hundred_characters_are_kept_on_one_line(hooks: Hooks) -> None:
    with Receiver(Reply(200, b"a\r\nb\x00\x1b[31m\xff" + b"y" * 5000)) as receiver:
        answer = hooks.to(receiver.url).deliver(message())
    assert answer.startswith("200 a b [31m\ufffdyyy")
    assert len(answer) == len("200 ") + 500


def test_of_a_huge_answer_only_the_beginning_is_read(hooks: Hooks) -> None:
    endless = Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n", then=pour)
    with Receiver(endless) as receiver:
        assert hooks.to(receiver.url).deliver(message()).startswith("200 xxx")
    assert receiver.poured < 50_000_000


def test_an_answer_that_drips_is_left_after_the_time_limit_and_its_status_counts(hooks: Hooks) -> None:
    dripping = Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", then=drip)
    with Receiver(dripping) as receiver:
        channel = hooks.to(receiver.url, timeout=0.3)
        assert took(lambda: channel.deliver(message())) < 5


def test_an_answer_that_breaks_off_after_its_status_counts(hooks: Hooks) -> None:
    broken = Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", then=reset)
    with Receiver(broken) as receiver:
        assert hooks.to(receiver.url).deliver(message()).endswith("(the response broke off)")


# -- no answer


@pytest.mark.parametrize(
    "reply",
    [
        Reply(raw=b"", then=reset),
        Reply(raw=b""),
        Reply(raw=b"SSH-2.0-OpenSSH\r\n"),
        Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-le", then=reset),
    ],
    ids=["reset", "closed", "not HTTP", "reset in the headers"],
)
def test_a_connection_that_breaks_before_an_answer_is_tried_again(hooks: Hooks, reply: Reply) -> None:
    with Receiver(reply) as receiver, pytest.raises(DeliveryFailed, match="webhook 'ops': "):
        hooks.to(receiver.url).deliver(message())


def test_a_receiver_that_does_not_answer_is_left_after_the_time_limit(hooks: Hooks) -> None:
    with Receiver(Reply(raw=b"", then=keep_open)) as receiver, pytest.raises(DeliveryFailed, match="timed out"):
        hooks.to(receiver.url, timeout=0.2).deliver(message())


def test_a_receiver_that_is_not_there_is_tried_again(hooks: Hooks) -> None:
    with pytest.raises(DeliveryFailed, match="webhook 'ops': "):
        hooks.to(f"http://127.0.0.1:{free_port()}/").deliver(message())


def test_a_name_that_is_not_configured_calls_nobody_and_waits(hooks: Hooks) -> None:
    with Receiver() as receiver:
        with pytest.raises(DeliveryFailed, match="no webhook 'eve' is configured here; there are: ops"):
            hooks.to(receiver.url).deliver(message(to="eve"))
        with pytest.raises(DeliveryFailed, match="no webhook 'http"):
            hooks.to(receiver.url).deliver(message(to=receiver.url))
        assert receiver.requests == []


def test_the_environments_proxy_is_not_used(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as proxy, Receiver() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        hooks.to(receiver.url).deliver(message())
        assert (len(receiver.requests), len(proxy.requests)) == (1, 0)


# -- secrets


def test_secrets_appear_neither_in_details_nor_in_logs(hooks: Hooks, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Receiver() as receiver:
        echo = f"you sent {TOKEN} signed with {SECRET} to {receiver.url}".encode()
        receiver._replies += [Reply(200, echo), Reply(500, echo), Reply(raw=b"")]
        channel = hooks.to(receiver.url, headers={"authorization": TOKEN})
        answers = [channel.deliver(message())]
        for _ in range(2):
            with pytest.raises(DeliveryFailed) as failed:
                channel.deliver(message())
            answers.append(str(failed.value))
    assert answers[0] == "200 you sent *** signed with *** to ***"
    everything = "\n".join([*answers, caplog.text, repr(Endpoint(receiver.url, SECRET, {"authorization": TOKEN}))])
    for secret in (SECRET, SECRET.removeprefix("whsec_"), TOKEN, "in-the-address"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (Endpoint("ftp://host/", "s" * 16), "has an invalid address"),
        (Endpoint("https:///path", "s" * 16), "has an invalid address"),
        (Endpoint("nonsense", "s" * 16), "has an invalid address"),
        (Endpoint("https://host/", ""), "has no secret"),
        (Endpoint("https://host/", "whsec_"), "has no secret"),
        (Endpoint("https://host/", "whsec_###"), "must continue in base64"),
        (Endpoint("https://host/", "s" * 16, {"a\nb": "c"}), "invalid header 'a\\\\nb'"),
        (Endpoint("https://host/", "s" * 16, {"a": "b\r\nc: d"}), "invalid header 'a'"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused_at_once(endpoint: Endpoint, expected: str) -> None:
    with pytest.raises(InterlockError, match=expected) as error:
        Webhooks({"ops": endpoint})
    assert "###" not in str(error.value)


# -- all together


def has_attempts(engine: Engine, message_id: UUID, attempts: int) -> bool:
    """Whether so many attempts are written down."""
    return len(engine.outbox.deliveries(message_id)) == attempts


def test_a_receiver_in_trouble_gets_the_message_when_it_is_well_again(store: Store, hooks: Hooks) -> None:
    clock = VirtualClock()
    engine = Engine(store, [PARCEL], clock=clock)
    with Receiver(Reply(503, headers={"retry-after": "600"}), Reply(raw=b"", then=reset)) as receiver:
        made = engine.outbox.put("webhook", "ops", "parcel.shipped", {"item": "tea"})
        loop = Deliverer(engine, {"webhook": hooks.to(receiver.url)})
        loop.start()
        try:
            eventually(lambda: engine.outbox.get(made).last_error)
            assert engine.outbox.get(made).due_at == clock.now() + 600 * SECOND
            for attempts in (1, 2):
                eventually(partial(has_attempts, engine, made, attempts))
                clock.advance(timedelta(minutes=10))
                loop.wake()
            eventually(lambda: engine.outbox.get(made).status == "delivered")
        finally:
            loop.stop()
            loop.join(20)
    assert {request.headers["webhook-id"] for request in receiver.requests} == {str(made)}
    assert [d.outcome for d in engine.outbox.deliveries(made)] == ["failed", "failed", "delivered"]
    assert len({request.body for request in receiver.requests}) == 1
