"""Mailboxes are read once and changed never: a file that grows, a folder, and IMAP over TLS."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from interlock.apps.jobs.autoapply.mail.mailboxes import MOST_MAILS, Batch, MailboxError, read_batch
from interlock.apps.jobs.autoapply.mail.message import MOST_BYTES, read_mail
from interlock.apps.jobs.settings import MailSettings
from tests.support.imap import PASSWORD, USER, Imap, imap_server
from tests.support.smtp import CERTIFICATE

from .mails import mail_bytes

NOW = datetime(2026, 11, 20, tzinfo=UTC)
FROM = b"From bo@kind.example Fri Nov 20 09:00:00 2026\n"


def texts(batch: Batch) -> list[str]:
    return [found.text for one in batch.mails if (found := read_mail(one)) is not None]


def from_file(path: Path, position: str = "") -> Batch:
    return read_batch(MailSettings(mailbox=path), position, NOW)


def test_a_file_is_read_on_from_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "mbox"
    body = b"one\n>From quoted\n\nFrom here on it goes on\n"
    path.write_bytes(
        FROM + b"Subject: a\n\n" + body.replace(b"\nFrom here", b"\n>From here") + b"\n" + FROM + mail_bytes("two")
    )
    first = from_file(path)
    assert texts(first) == ["one\nFrom quoted\n\nFrom here on it goes on", "two"]
    assert from_file(path, first.position).mails == ()
    with path.open("ab") as file:
        file.write(b"\n" + FROM + mail_bytes("three"))
    assert texts(from_file(path, first.position)) == ["three"]


def test_another_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "mbox"
    path.write_bytes(FROM + mail_bytes("old " * 50))
    position = from_file(path).position
    path.write_bytes(FROM + mail_bytes("new"))
    assert texts(from_file(path, position)) == ["new"]
    assert texts(from_file(path, "no position")) == ["new"]


def test_a_large_file_is_read_in_batches_and_large_mails_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "mbox"
    path.write_bytes(
        (FROM + b"Subject: x\n\nwords\n\n") * (MOST_MAILS + 3) + FROM + b"Subject: y\n\n" + b"z" * (3 * MOST_BYTES)
    )
    first = from_file(path)
    assert (len(first.mails), first.more) == (MOST_MAILS, True)
    rest = from_file(path, first.position)
    assert (len(rest.mails), rest.more) == (4, False)
    assert max(map(len, rest.mails)) <= MOST_BYTES + 70_000
    assert path.stat().st_size > 3 * MOST_BYTES


def test_a_folder_of_files(tmp_path: Path) -> None:
    for number, name in enumerate(("a.eml", "b.EML", "c.txt")):
        (tmp_path / name).write_bytes(mail_bytes(f"mail {name}"))
        os.utime(tmp_path / name, (number, number))
    (tmp_path / "link.eml").symlink_to(tmp_path / "c.txt")
    first = from_file(tmp_path)
    assert texts(first) == ["mail a.eml", "mail b.EML"]
    assert from_file(tmp_path, first.position).mails == ()
    (tmp_path / "d.eml").write_bytes(mail_bytes("mail d"))
    assert texts(from_file(tmp_path, first.position)) == ["mail d"]


def test_a_mailbox_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(MailboxError, match="cannot be read: No such file"):
        from_file(tmp_path / "none")


@pytest.fixture
def server() -> Iterator[Imap]:
    with imap_server() as made:
        yield made


def from_imap(server: Imap, position: str = "", **more: Any) -> Batch:
    given = {
        "imap_host": "localhost",
        "imap_port": server.port,
        "imap_user": USER,
        "imap_password": PASSWORD,
        "imap_ca": CERTIFICATE,
        **more,
    }
    return read_batch(MailSettings.model_validate(given), position, NOW)


def test_imap_is_read_on_by_number_and_never_changed(server: Imap) -> None:
    server.mails = {3: mail_bytes("three"), 8: mail_bytes("eight")}
    first = from_imap(server)
    assert texts(first) == ["three", "eight"]
    assert from_imap(server, first.position).mails == ()
    server.mails[9] = mail_bytes("nine")
    assert texts(from_imap(server, first.position)) == ["nine"]
    said = " ".join(server.asked).upper()
    assert "EXAMINE" in said
    assert "SINCE 21-SEP-2026" in said
    assert not any(word in said for word in ("SELECT", "STORE", "EXPUNGE", "DELETE", "APPEND", "BODY[]"))


def test_another_folder_of_the_same_name_is_read_anew(server: Imap) -> None:
    server.mails = {3: mail_bytes("three")}
    position = from_imap(server).position
    server.validity = 8
    assert texts(from_imap(server, position)) == ["three"]


@pytest.mark.parametrize("fault", ["literal", "cut"])
def test_a_server_that_misbehaves_is_an_error(server: Imap, fault: str) -> None:
    server.mails, server.fault = {3: mail_bytes("three")}, fault
    with pytest.raises(MailboxError, match="cannot be read"):
        from_imap(server)


def test_a_wrong_certificate_password_or_folder(server: Imap, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(MailboxError, match="certificate"):
        from_imap(server, imap_ca=None)
    assert server.asked == []
    with pytest.raises(MailboxError) as caught:
        from_imap(server, imap_password="wrong-secret")
    assert "wrong-secret" not in str(caught.value)
    with pytest.raises(MailboxError, match="no mail folder 'Jobs'"):
        from_imap(server, imap_folder="Jobs")
    assert PASSWORD not in caplog.text
    assert "wrong-secret" not in repr(MailSettings(imap_host="x.example", imap_password="wrong-secret"))


def test_settings_name_one_mailbox() -> None:
    for given in ({}, {"mailbox": "/x", "imap_host": "x.example"}, {"imap_host": "a b"}):
        with pytest.raises(ValidationError):
            MailSettings.model_validate(given)
