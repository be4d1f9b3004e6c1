"""The packet: everything that an application sends, under one hash. An approval belongs to that hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

VERSION = 1
"""Part of the hash: a new meaning of the same values is a new packet."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A prepared application."""

    posting: str
    """The posting's id or address: the same documents for another posting are another packet."""
    profile_digest: str
    content_hash: str
    """What the posting said when the packet was made (`Posting.content_hash`)."""
    resume_text: str
    letter_text: str
    files: Mapping[str, str]
    """File name → SHA-256 of its bytes."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Question key → the value that is sent."""

    @property
    def packet_hash(self) -> str:
        """SHA-256 over the canonical JSON of what is sent. Which profile it came from is no part of it."""
        sent = {
            "version": VERSION,
            "posting": self.posting,
            "resume": self.resume_text,
            "letter": self.letter_text,
            "files": dict(self.files),
            "answers": dict(self.answers),
        }
        return sha256(canonical(sent)).hexdigest()

    def json(self) -> dict[str, Any]:
        """The packet as it is stored."""
        return {
            "posting": self.posting,
            "profile_digest": self.profile_digest,
            "content_hash": self.content_hash,
            "resume_text": self.resume_text,
            "letter_text": self.letter_text,
            "files": dict(self.files),
            "answers": dict(self.answers),
            "packet_hash": self.packet_hash,
        }


def packet_of(stored: Mapping[str, Any]) -> Packet:
    """A stored packet. Raises ValueError if it was changed since its hash was taken."""
    packet = Packet(**{name: value for name, value in stored.items() if name != "packet_hash"})
    if packet.packet_hash != stored["packet_hash"]:
        raise ValueError("the stored packet does not have its hash; prepare the application again")
    return packet


def is_current(packet: Packet, profile_digest: str, content_hash: str) -> bool:
    """Whether neither profile nor posting changed since the packet was made, so that it can be reused."""
    return (packet.profile_digest, packet.content_hash) == (profile_digest, content_hash)


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """File name → SHA-256."""
    return {name: sha256(data).hexdigest() for name, data in sorted(files.items())}


def canonical(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8; a lone surrogate is escaped."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
