"""Mailboxes: a file (mbox), a folder of `.eml` files, or IMAP over TLS. All are read, and none is changed.

Each returns at most `MOST_MAILS` mails a time and the position to go on from. A mail that was read twice does no harm.
"""

from __future__ import annotations

import imaplib
import json
import re
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from interlock.apps.jobs.autoapply.mail.message import MOST_BYTES
from interlock.apps.jobs.settings import MailSettings
from interlock.machine import WorkError

MOST_MAILS = 200
MOST_FILES = 20_000
LINE = 1 << 16
HEAD = 1000
"""Bytes at the beginning of a file that tell it from another."""
MOST_LITERAL = MOST_BYTES + 65_536
MOST_ANSWER = MOST_MAILS * MOST_LITERAL
TIMEOUT = 30.0
"""Seconds for each exchange with the server."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class MailboxError(WorkError):
    """The mailbox cannot be read now."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Mails as bytes, each cut off at a limit, and where to go on."""

    mails: tuple[bytes, ...]
    position: str
    more: bool
    """There are further ones."""


def read_batch(settings: MailSettings, position: str, now: datetime) -> Batch:
    """The next mails of the configured mailbox."""
    if settings.mailbox is not None:
        path = settings.mailbox
        try:
            return _folder(path, position) if path.is_dir() else _file(path, position)
        except OSError as error:
            raise MailboxError(
                f"{path} cannot be read: {error.strerror or error}; check [jobs.autoapply.mail]"
            ) from None
    return _imap(settings, position, now)


# -- a file


def _file(path: Path, position: str) -> Batch:
    """An mbox file from where the last reading ended; from its beginning if it is another file now."""
    known = _position(position)
    with path.open("rb") as file:
        size = path.stat().st_size
        start = _start(file, known, size)
        file.seek(start)
        mails: list[bytes] = []
        end = start
        for content, ends in _messages(file):
            mails.append(content)
            end = ends
            if len(mails) == MOST_MAILS:
                break
        many = min(end, HEAD)
        file.seek(0)
        at = {"offset": end, "many": many, "head": sha256(file.read(many)).hexdigest()}
        return Batch(tuple(mails), json.dumps(at), end < size and len(mails) == MOST_MAILS)


def _start(file: IO[bytes], known: dict[str, Any], size: int) -> int:
    """Where to go on: the end of the last reading, if the file still begins as it did."""
    offset, many = known.get("offset"), known.get("many")
    if not isinstance(offset, int) or not isinstance(many, int) or not 0 <= many <= offset <= size or many > HEAD:
        return 0
    file.seek(0)
    return offset if sha256(file.read(many)).hexdigest() == known.get("head") else 0


def _messages(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Each mail of an mbox file and the place where it ends; no more of it is held than is read."""
    current = bytearray()
    is_started, blank, begins_line = False, True, True
    at = file.tell()
    while line := file.readline(LINE):
        if begins_line and blank and line.startswith(b"From "):
            if is_started:
                yield bytes(current), at
            current, is_started = bytearray(), True
        elif is_started and len(current) < MOST_BYTES:
            current += line[1:] if line.startswith(b">From ") else line
        blank = begins_line and line in (b"\n", b"\r\n")
        begins_line = line.endswith(b"\n")
        at += len(line)
    if is_started:
        yield bytes(current), at


def _position(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# -- a folder


def _folder(path: Path, position: str) -> Batch:
    """Files by the time of their change, and then by name."""
    known = _position(position)
    after = (int(known.get("changed", 0)), str(known.get("name", "")))
    found = []
    for index, one in enumerate(path.iterdir()):
        if index >= MOST_FILES:
            break
        if one.suffix.lower() == ".eml" and one.is_file() and not one.is_symlink():
            found.append((one.stat().st_mtime_ns, one.name, one))
    new = sorted(one for one in found if one[:2] > after)
    mails = []
    for _, _, file in new[:MOST_MAILS]:
        with file.open("rb") as opened:
            mails.append(opened.read(MOST_BYTES))
    last = new[: len(mails)][-1][:2] if mails else after
    return Batch(tuple(mails), json.dumps({"changed": last[0], "name": last[1]}), len(new) > len(mails))


# -- IMAP


class _Bounded(imaplib.IMAP4_SSL):
    """A connection whose server cannot send without an end."""

    received = 0

    def read(self, size: int) -> bytes:
        self.received += size
        if size > MOST_LITERAL or self.received > MOST_ANSWER:
            raise self.abort("the server sends more than is read")
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self.received += len(line)
        if self.received > MOST_ANSWER:
            raise self.abort("the server sends more than is read")
        return line


def _imap(settings: MailSettings, position: str, now: datetime) -> Batch:
    assert settings.imap_host is not None
    name = f"{settings.imap_host}:{settings.imap_port}"
    context = ssl.create_default_context(cafile=str(settings.imap_ca) if settings.imap_ca else None)
    password = settings.imap_password.get_secret_value() if settings.imap_password is not None else ""
    connection: _Bounded | None = None
    try:
        connection = _Bounded(settings.imap_host, settings.imap_port, ssl_context=context, timeout=TIMEOUT)
        connection.login(settings.imap_user, password)
        return _folder_of(connection, settings, position, now)
    except (imaplib.IMAP4.error, OSError, ValueError) as error:
        reason = " ".join(str(error).replace(password or "\0", "***").split())[:200]
        raise MailboxError(f"mail of {name} cannot be read: {reason}; check [jobs.autoapply.mail]") from None
    finally:
        if connection is not None:
            _end(connection)


def _end(connection: imaplib.IMAP4_SSL) -> None:
    with suppress(imaplib.IMAP4.error, OSError, ValueError):
        connection.logout()
    with suppress(OSError, ValueError):
        connection.shutdown()  # also where it was lost before it could log out


def _folder_of(connection: _Bounded, settings: MailSettings, position: str, now: datetime) -> Batch:
    """The mails after the last one by their number, in a folder that is opened read-only."""
    folder = '"' + settings.imap_folder.replace("\\", "\\\\").replace('"', '\\"') + '"'
    answer, _ = connection.select(folder, readonly=True)  # EXAMINE
    if answer != "OK":
        raise MailboxError(f"there is no mail folder {settings.imap_folder!r}; check [jobs.autoapply.mail]")
    validity = _validity(connection)
    known = _position(position)
    last = int(known.get("uid", 0)) if known.get("validity") == validity else 0
    since = now - timedelta(days=settings.since_days)
    day = f"{since.day:02d}-{_MONTHS[since.month - 1]}-{since.year}"
    answer, found = connection.uid("SEARCH", "SINCE", day, "UID", f"{last + 1}:*")
    if answer != "OK":
        raise MailboxError("the mail server does not search; check [jobs.autoapply.mail]")
    numbers = sorted({int(one) for line in found if line for one in line.split()[:100_000] if one.isdigit()})
    new = [one for one in numbers if one > last]
    mails: list[bytes] = []
    for number in new[:MOST_MAILS]:
        answer, parts = connection.uid("FETCH", str(number), f"(BODY.PEEK[]<0.{MOST_BYTES}>)")
        mails += [
            part[1] for part in parts if answer == "OK" and isinstance(part, tuple) and isinstance(part[1], bytes)
        ]
        last = number
    return Batch(tuple(mails), json.dumps({"validity": validity, "uid": last}), len(new) > MOST_MAILS)


def _validity(connection: imaplib.IMAP4_SSL) -> str:
    _, found = connection.response("UIDVALIDITY")
    said = found[0] if found else None
    number = re.search(rb"\d{1,20}", said) if isinstance(said, bytes) else None
    return number[0].decode() if number else "0"
