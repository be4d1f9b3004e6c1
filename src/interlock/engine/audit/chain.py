"""The hash chain: the hash of each history row covers the row and all before it.

hash(n) = SHA-256( hash(n-1) ‖ instance id ‖ [seq, kind, from, to, event, actor, at] ‖ digest of the payload )

The payload is hashed by its digest, so it can be erased and the chain still verifies.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from uuid import UUID

from interlock.store import Micros

START = b""
_text = json.encoder.encode_basestring_ascii


def digest(payload: str | None) -> bytes | None:
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).digest() if payload is not None else None


def _maybe(text: str | None) -> str:
    return "null" if text is None else _text(text)


@lru_cache(1000)
def middle(kind: str, from_state: str | None, to_state: str | None, event: str | None, actor: str) -> str:
    """The part of the hashed text between seq and time, which many rows have in common."""
    # JSON of a list, built by hand: an encoder takes three times as long.
    return f"{_text(kind)}, {_maybe(from_state)}, {_maybe(to_state)}, {_maybe(event)}, {_text(actor)}"


def tail(middle: str, at: Micros, payload_digest: bytes | None) -> bytes:
    """The part of the hashed bytes after seq, which rows of one move at one time have in common."""
    return f", {middle}, {at}]".encode() + (payload_digest or b"")


def joined(before: bytes, instance: UUID, seq: int, tail: bytes) -> bytes:
    return hashlib.sha256(b"%b%b[%d%b" % (before, instance.bytes, seq, tail)).digest()


def link(
    before: bytes,
    instance: UUID,
    seq: int,
    kind: str,
    from_state: str | None,
    to_state: str | None,
    event: str | None,
    actor: str,
    at: Micros,
    payload_digest: bytes | None,
) -> bytes:
    """The hash of a row, which covers it and all before it."""
    between = middle(kind, from_state, to_state, event, actor)
    return joined(before, instance, seq, tail(between, at, payload_digest))
