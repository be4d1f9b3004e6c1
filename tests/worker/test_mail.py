"""Mail, against real servers: what arrives, and what comes of everything that can go wrong."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from interlock.engine import Engine
from interlock.engine.outbox import OutboxMessage
from interlock.machine import InterlockError
from interlock.store import Store, micros
from interlock.worker.deliverer import Deliverer, DeliveryFailed, DeliveryRefused
from interlock.worker.mail import Mail, MailServer, rendered
from tests.support.machines import PARCEL
from tests.support.servers import free_port
from tests.support.smtp import CLOSE, SILENCE, MailHost, ScriptedHost, trusting_context
from tests.support.waiting import eventually

ID = UUID("0198f0a0-0000-7000-8000-000000000001")
WRITTEN = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
PASSWORD = "correct horse battery"


def message(
    to: str = "ann@example.org", subject: str = "Tea", body: Mapping[str, Any] | None = None, attempts: int = 1
) -> OutboxMessage:
    return OutboxMessage(
        id=ID,
        instance_id=None,
        channel="mail",
        recipient=to,
        subject=subject,
        body=dict(body if body is not None else {"text": "It is ready."}),
        status="waiting",
        at=micros(WRITTEN),
        workspace=None,
        attempts=attempts,
        due_at=0,
        settled_at=None,
        last_error=None,
    )


def mail(port: int, **options: Any) -> Mail:
    chosen = {"sender": "Interlock <interlock@example.com>", "security": "none", "timeout": 5.0, **options}
    context: ssl.SSLContext | None = chosen.pop("context", None)
    return Mail(MailServer(host="127.0.0.1", port=port, **chosen), context=context)


@pytest.fixture
def host() -> Iterator[MailHost]:
    with MailHost() as made:
        yield made


# -- what arrives


def test_a_mail_arrives_with_its_subject_text_sender_and_date(host: MailHost) -> None:
    detail = mail(host.port).deliver(message(subject="Tee für Zoë", body={"text": "Grüße\n.\nEnde"}))
    [got] = host.box.mails
    assert got["Subject"] == "Tee für Zoë"
    assert (got["From"], got["To"]) == ("Interlock <interlock@example.com>", "ann@example.org")
    assert got.get_content() == "Grüße\n.\nEnde\n"
    assert got["Date"].datetime == WRITTEN
    assert got["Auto-Submitted"] == "auto-generated"
    [envelope] = host.box.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("interlock@example.com", ["ann@example.org"])
    assert detail == f"accepted by 127.0.0.1:{host.port} as <{ID}@example.com>"


def test_a_second_copy_is_the_same_mail_byte_for_byte(host: MailHost) -> None:
    mail(host.port).deliver(message())
    mail(host.port).deliver(message(attempts=2))
    first, second = host.box.envelopes
    assert first.content == second.content
    assert host.box.mails[0]["Message-ID"] == f"<{ID}@example.com>"


def test_a_body_without_text_is_written_so_that_a_person_can_read_it(host: MailHost) -> None:
    mail(host.port).deliver(message(body={"rule": "queue_lag", "value": 31.5, "where": {"machine": "parcel"}}))
    assert host.box.mails[0].get_content() == "rule: queue_lag\nvalue: 31.5\nwhere:\n  machine: parcel\n"


def test_nested_values_are_written_line_by_line() -> None:
    body = {"open_reviews": [{"id": 1}, "two"], "done": True, "bad": False, "none": None, "empty": [], "nothing": {}}
    assert list(rendered(body)) == [
        "open reviews:",
        "  id: 1",
        "  - two",
        "done: yes",
        "bad: no",
        "none: (none)",
        "empty: (none)",
        "nothing: (none)",
    ]


@pytest.mark.parametrize(
    "subject", ["Tea\r\nBcc: eve@example.net", "Tea\nBcc: eve@example.net", "Tea\x00\u2028Bcc: eve"]
)
def test_a_subject_cannot_add_a_header(host: MailHost, subject: str) -> None:
    mail(host.port).deliver(message(subject=subject))
    [got] = host.box.mails
    assert "Bcc" not in got
    assert got["Subject"].startswith("Tea Bcc: eve")
    assert host.box.envelopes[0].rcpt_tos == ["ann@example.org"]


def test_a_mail_without_a_subject_gets_one(host: MailHost) -> None:
    mail(host.port).deliver(message(subject=" "))
    assert host.box.mails[0]["Subject"] == "A message from example.com"


def test_text_with_half_a_character_arrives_all_the_same(host: MailHost) -> None:
    mail(host.port).deliver(message(body={"text": "a \ud800 b"}))
    assert host.box.mails[0].get_content() == "a \\ud800 b\n"


@pytest.mark.parametrize(
    "recipient",
    [
        "",
        "ann",
        "ann@",
        "@example.org",
        "ann@example.org, eve@example.net",
        "Ann <ann@example.org>",
        "ann@example.org\r\nRCPT TO:<eve@example.net>",
        "ann smith@example.org",
        "a@b@c",
        "ann@exa..mple",
        "ann@" + "x" * 300,
        "<ann@example.org>",
    ],
)
def test_a_recipient_that_is_not_one_address_is_refused_before_anything_is_sent(host: MailHost, recipient: str) -> None:
    with pytest.raises(DeliveryRefused, match="is not a mail address"):
        mail(host.port).deliver(message(to=recipient))
    assert host.box.envelopes == []


def test_a_domain_with_umlauts_is_written_as_the_net_knows_it(host: MailHost) -> None:
    mail(host.port).deliver(message(to="zoe@bücher.example"))
    assert host.box.envelopes[0].rcpt_tos == ["zoe@xn--bcher-kva.example"]


def test_a_server_that_knows_only_ascii_names_is_not_asked_again_for_others() -> None:
    with ScriptedHost({}) as host, pytest.raises(DeliveryRefused, match="cannot accept it"):
        mail(host.port).deliver(message(to="zoë@example.org"))


# -- encryption and login


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_the_connection_is_encrypted_and_the_login_goes_through_it(security: str) -> None:
    with MailHost(tls=security, wants_login=security == "starttls") as host:
        channel = mail(
            host.port,
            security=security,
            context=trusting_context(),
            timeout=5.0,
            **({"username": "interlock", "password": PASSWORD} if security == "starttls" else {}),
        )
        channel.deliver(message())
        assert len(host.box.mails) == 1
        assert host.box.logins == ([("interlock", PASSWORD)] if security == "starttls" else [])


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_server_that_nobody_vouches_for_gets_nothing(security: str) -> None:
    with MailHost(tls=security) as host:
        with pytest.raises(DeliveryFailed, match="certificate verify failed"):
            mail(host.port, security=security).deliver(message())
        assert host.box.envelopes == []


def test_a_server_that_does_not_encrypt_gets_nothing(host: MailHost) -> None:
    with pytest.raises(DeliveryFailed, match="STARTTLS"):
        mail(host.port, security="starttls", context=trusting_context()).deliver(message())
    assert host.box.envelopes == []


def test_a_wrong_password_is_a_connection_error_that_does_not_show_it() -> None:
    with MailHost(tls="starttls", wants_login=True) as host:
        channel = mail(
            host.port, security="starttls", context=trusting_context(), username="interlock", password="wrong one"
        )
        with pytest.raises(DeliveryFailed, match="535") as refusal:
            channel.deliver(message())
        assert "wrong one" not in str(refusal.value)
        assert set(host.box.logins) == {("interlock", "wrong one")}


def test_a_password_that_the_server_repeats_is_hidden() -> None:
    with ScriptedHost({"RCPT": "550 who is hunter22?"}) as host:
        channel = mail(host.port, password="hunter22")
        with pytest.raises(DeliveryRefused, match=r"550 who is \*\*\*\?"):
            channel.deliver(message())
    assert "hunter22" not in repr(MailServer("h", "a@b.c", password="hunter22"))


def test_nothing_of_a_mail_is_logged(host: MailHost, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "interlock")
    mail(host.port).deliver(message(body={"text": "the secret recipe"}))
    assert "recipe" not in caplog.text


# -- what goes wrong


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
def test_a_temporary_no_is_tried_again(host: MailHost, verb: str) -> None:
    host.box.answers[verb] = ["451 come back later"]
    with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1 answered 451 come back later"):
        mail(host.port).deliver(message())
    mail(host.port).deliver(message())
    assert len(host.box.mails) == 1


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
def test_a_final_no_is_not_tried_again(host: MailHost, verb: str) -> None:
    host.box.answers[verb] = ["550 nobody of that name"]
    with pytest.raises(DeliveryRefused, match=r"127\.0\.0\.1 answered 550 nobody of that name"):
        mail(host.port).deliver(message())


@pytest.mark.parametrize("verb", ["hello", "EHLO", "MAIL", "RCPT", "DATA", "."])
def test_a_connection_that_is_closed_in_the_middle_is_tried_again(verb: str) -> None:
    script = {verb: CLOSE, "HELO": CLOSE}
    with ScriptedHost(script) as host, pytest.raises(DeliveryFailed, match=r"connection to 127\.0\.0\.1"):
        mail(host.port).deliver(message())


@pytest.mark.parametrize("verb", ["hello", "RCPT", "."])
def test_a_server_that_falls_silent_is_left_after_the_time_limit(verb: str) -> None:
    with ScriptedHost({verb: SILENCE}) as host, pytest.raises(DeliveryFailed, match="timed out"):
        mail(host.port, timeout=0.2).deliver(message())


@pytest.mark.parametrize("script", [{"hello": "554 no service"}, {"hello": "421 too busy"}, {"RCPT": "what?"}])
def test_a_server_that_is_out_of_order_is_tried_again(script: dict[str, str]) -> None:
    with ScriptedHost(script) as host, pytest.raises(DeliveryFailed):
        mail(host.port).deliver(message())


@pytest.mark.parametrize("farewell", [CLOSE, "500 you never leave", SILENCE])
def test_a_mail_that_was_taken_is_delivered_however_the_farewell_goes(farewell: str) -> None:
    with ScriptedHost({"QUIT": farewell}) as host:
        assert mail(host.port, timeout=2).deliver(message()).startswith("accepted by")
        assert host.heard[-2:] == [".", "QUIT"]


def test_a_server_that_is_not_there_is_tried_again() -> None:
    with pytest.raises(DeliveryFailed, match=r"no connection to 127\.0\.0\.1"):
        mail(free_port()).deliver(message())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sender": "nobody"}, "'nobody' is not a mail address"),
        ({"security": "ssl3"}, "security 'ssl3' is unknown"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(options: dict[str, str], expected: str) -> None:
    with pytest.raises(InterlockError, match=expected):
        mail(25, **options)


# -- all together


def test_a_server_that_was_away_gets_each_mail_once_when_it_is_back(store: Store) -> None:
    engine = Engine(store, [PARCEL])
    made = [engine.outbox.put("mail", f"{n}@example.org", "Tea", {"text": "ready"}) for n in range(3)]
    with MailHost() as host:
        host.box.answers["RCPT"] = ["451 busy", "550 gone"]
        loop = Deliverer(engine, {"mail": mail(host.port)})
        loop.start()
        try:
            eventually(lambda: all(engine.outbox.deliveries(one) for one in made))
        finally:
            loop.stop()
            loop.join(20)
        assert len(host.box.mails) == 1
        statuses = sorted(engine.outbox.get(one).status for one in made)
        assert statuses == ["dead", "delivered", "waiting"]
