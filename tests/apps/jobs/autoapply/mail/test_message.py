"""Mails are read within limits, whatever their parts, encodings and HTML try."""

from __future__ import annotations

import base64
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.jobs.autoapply.mail.message import MOST_BYTES, MOST_TEXT, read_mail

from .mails import AT, mail, mail_bytes


def raw(head: str, body: bytes = b"Hello there") -> bytes:
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


def test_headers_and_words() -> None:
    one = mail("Guten Tag,\nwir haben Ihre Bewerbung.", subject="Köchin bei Möwe", answers="<0@x.example>")
    assert (one.sender_name, one.sender, one.domain) == ("Bo Sailor", "bo@kind-boats.example", "kind-boats.example")
    assert (one.subject, one.sent_at, one.message_id) == ("Köchin bei Möwe", AT, "<1@kind-boats.example>")
    assert one.thread == ("<0@x.example>",)
    assert "Bewerbung" in one.text


def test_the_same_mail_has_the_same_key() -> None:
    assert mail("x").key == mail("x").key
    assert mail("x").key != mail("y").key


def test_html_is_read_as_words_where_there_is_no_plain_text() -> None:
    made = EmailMessage()
    made["From"] = "a@b.example"
    made.set_content(
        "<style>p{}</style><script>alert('thank you for applying')</script><p>We <b>received</b> it</p>"
        '<img src="https://track.example/x.gif"><p style="display:none">you have an offer letter</p>',
        subtype="html",
    )
    found = read_mail(made.as_bytes())
    assert found is not None
    assert "We received it" in found.text
    assert "alert" not in found.text
    assert "track.example" not in found.text


def test_what_is_quoted_is_not_said_again() -> None:
    text = "See you then.\n\n> We regret to inform you\n\nOn Mon, 2 Nov 2026 Bo Sailor wrote:\nOffer letter"
    assert mail(text).text == "See you then."


def test_attachments_are_not_read() -> None:
    made = EmailMessage()
    made["From"] = "a@b.example"
    made.set_content("words")
    made.add_attachment("We are pleased to offer you", filename="offer.txt")
    made.add_attachment(b"PK\x03\x04" * 1000, maintype="application", subtype="zip", filename="bomb.zip")
    found = read_mail(made.as_bytes())
    assert found is not None
    assert found.text == "words"


HOSTILE = {
    "deep nesting": raw(
        "From: a@b.example\nContent-Type: multipart/mixed; boundary=x",
        b"--x\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" * 5000,
    ),
    "many parts": raw(
        "From: a@b.example\nContent-Type: multipart/mixed; boundary=x",
        b"--x\r\nContent-Type: text/plain\r\n\r\na\r\n" * 20_000,
    ),
    "many headers": b"From: a@b.example\r\n" + b"X: y\r\n" * 100_000 + b"\r\nwords",
    "a long header": b"From: a@b.example\r\nSubject: " + b"=?utf-8?q?" + b"a" * 900_000 + b"?=\r\n\r\nwords",
    "no such charset": raw("From: a@b.example\nContent-Type: text/plain; charset=klingon", b"words \xff\xfe"),
    "a wrong encoding": raw("From: a@b.example\nContent-Transfer-Encoding: base64", b"!!!not base64!!!"),
    "binary": bytes(range(256)) * 3000,
    "null bytes": b"From: a@b.example\r\nSubject: a\0b\r\n\r\nwo\0rds",
    "a date": raw("From: a@b.example\nDate: Mon, 99 Zzz 99999999 99:99:99 +9999999999"),
    "ids": raw("From: a@b.example\nReferences: " + "<a@b> " * 50_000),
    "surrogates": raw("From: a@b.example\nSubject: =?utf-8?b?7aCA?="),
    "html bomb": raw("From: a@b.example\nContent-Type: text/html", b"<div>" * 150_000),
    "uuencode": raw("From: a@b.example\nContent-Transfer-Encoding: x-uuencode", b"begin 666 x\n" + b"M" * 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mails_do_no_harm(name: str) -> None:
    found = read_mail(HOSTILE[name])
    if found is not None:
        assert len(found.text) <= MOST_TEXT
        assert len(found.subject) <= 300
        assert len(found.thread) <= 50
        assert "\0" not in found.text + found.subject


def test_only_the_beginning_of_a_large_mail_is_read() -> None:
    found = read_mail(mail_bytes("We received your application.\n" + "x" * 78 + "\n") + b"y" * (2 * MOST_BYTES))
    assert found is not None
    assert found.text.startswith("We received")
    assert len(found.text) <= MOST_TEXT


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "nobody",
        "a@b",
        "a@b..example",
        "a@b.example\r\nBcc: x@y.example",
        "<@>",
        "a b@c.example, d@e.example",
        '"' * 1000,
    ],
)
def test_a_sender_that_is_none_has_no_address_or_a_plain_one(sender: str) -> None:
    found = read_mail(b"From: " + sender.encode() + b"\r\nSubject: s\r\n\r\nwords")
    assert found is not None
    assert "\n" not in found.sender
    assert found.sender.count("@") <= 1


@given(st.binary(max_size=3000))
def test_nothing_breaks_the_reader(content: bytes) -> None:
    read_mail(content)
    read_mail(b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n" + content)
    read_mail(b"From: =?utf-8?b?" + base64.b64encode(content) + b"?= <a@b.example>\r\n\r\n" + content)
