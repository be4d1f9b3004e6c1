"""A mail as it is read: headers and text, within limits, whatever its parts, encodings and HTML try.

Attachments are neither decoded nor kept. HTML becomes text, without anything that a reader would not see as words.
"""

from __future__ import annotations

import email
import email.header
import email.policy
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import HeaderParseError, MessageError
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from hashlib import sha256

from interlock.apps.jobs.autoapply.documents.values import clean
from interlock.apps.jobs.finder.sources.cleaning import UNSEEN, sanitised, text_of

MOST_BYTES = 1_000_000
"""Bytes of one mail that are read; words come first, attachments last."""
MOST_PARTS = 50
MOST_DEPTH = 8
MOST_TEXT = 50_000
LONGEST_HEADER = 2000
MOST_IDS = 50
_ID = re.compile(r"<[^<>\s]{1,300}>")
_QUOTED = re.compile(
    r"^(?:>|\|).*$|^(?:on .{5,120} wrote:|am .{5,120} schrieb .{1,120}:|-{3,} ?original message.*)$", re.I
)
_LABEL = re.compile(r"[a-z0-9-]{1,63}")


@dataclass(frozen=True, slots=True)
class Mail:
    """What is known of a mail."""

    key: str
    """The same for the same mail, also from another mailbox."""
    message_id: str
    thread: tuple[str, ...]
    """The ids of the mails that it answers."""
    sender_name: str
    sender: str
    """The address, in lower case; empty where it is none."""
    subject: str
    sent_at: datetime | None
    text: str
    """Its own words, without what it quotes."""

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2]


def read_mail(content: bytes) -> Mail | None:
    """The mail; None for something that is none. What is wrong in it is left out."""
    content = content[:MOST_BYTES]
    try:
        # The older policy: the newer one parses every header completely, in quadratic time for some.
        parsed = email.message_from_bytes(content, policy=email.policy.compat32)
        text = _own_words(_text(parsed))
    except (MessageError, RecursionError, ValueError, LookupError, AssertionError):
        return None
    sender_name, sender = _sender(parsed)
    subject = _header(parsed, "subject", 300)
    ids = _ID.findall(_raw(parsed, "message-id"))
    message_id = ids[0] if ids else ""
    if not (sender or subject or text):
        return None
    sent = _date(parsed)
    digest = sha256("\n".join((message_id, sender, subject, str(sent), text[:4000])).encode("utf-8", "replace"))
    thread = tuple(dict.fromkeys(_ID.findall(f"{_raw(parsed, 'references')} {_raw(parsed, 'in-reply-to')}")))[
        -MOST_IDS:
    ]
    return Mail(digest.hexdigest(), message_id, thread, sender_name, sender, subject, sent, text)


def _raw(parsed: Message, name: str) -> str:
    value = parsed.get(name)
    return str(value)[: LONGEST_HEADER * 10] if value is not None else ""


def _header(parsed: Message, name: str, most: int) -> str:
    raw = _raw(parsed, name)[:LONGEST_HEADER]
    try:
        parts = email.header.decode_header(raw)
    except (HeaderParseError, ValueError):
        return clean(raw, most)
    return clean("".join(_decoded(part, charset) for part, charset in parts), most)


def _decoded(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    try:
        return part.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return part.decode("utf-8", "replace")


def _sender(parsed: Message) -> tuple[str, str]:
    raw = _raw(parsed, "from")[:LONGEST_HEADER]
    _, address = parseaddr(raw)
    name = _header(parsed, "from", 300).partition("<")[0].strip().strip('"') or ""
    local, at, domain = address.lower().strip().rpartition("@")
    labels = domain.split(".")
    if not at or not local or len(address) > 254 or len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)):
        return clean(name, 200), ""
    return clean(name, 200) if "@" not in name else "", clean(f"{local}@{domain}", 254)


def _date(parsed: Message) -> datetime | None:
    try:
        found = parsedate_to_datetime(_raw(parsed, "date")[:200])
        aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return aware.astimezone(UTC) if 1990 <= aware.year <= 2200 else None
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _text(parsed: Message) -> str:
    """The plain text, or that of the HTML where there is none."""
    plain: list[str] = []
    marked: list[str] = []
    count = 0
    waiting: list[tuple[Message, int]] = [(parsed, 0)]
    while waiting and count < MOST_PARTS:
        part, depth = waiting.pop(0)
        count += 1
        inner = part.get_payload()
        if isinstance(inner, list):
            if depth < MOST_DEPTH:
                waiting[:0] = [(one, depth + 1) for one in inner[:MOST_PARTS] if isinstance(one, Message)]
            continue
        kind = part.get_content_type()
        if kind not in ("text/plain", "text/html") or "attachment" in _raw(part, "content-disposition").lower():
            continue
        payload = part.get_payload(decode=True)
        if not isinstance(payload, bytes):
            continue
        charset = part.get_param("charset")
        text = _decoded(payload[: MOST_TEXT * 8], charset if isinstance(charset, str) else None)
        (plain if kind == "text/plain" else marked).append(text)
    words = "\n".join(plain).strip()
    if not words:
        words = "\n".join(text_of(sanitised(one)) or "" for one in marked)
    return UNSEEN.sub("", words)[:MOST_TEXT]


def _own_words(text: str) -> str:
    """Without the lines of an earlier mail: its words would be found again."""
    kept: list[str] = []
    for line in text.splitlines():
        said = " ".join(line.split())
        if _QUOTED.match(said[:300]):
            if not said.startswith((">", "|")):
                break
            continue
        kept.append(said)
    return "\n".join(kept).strip()
