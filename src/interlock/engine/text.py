"""JSON as the engine stores and hashes it: one spelling for one value."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson
from pydantic_core import from_json, to_json

from interlock.engine import secrets
from interlock.engine.errors import InvalidData
from interlock.machine import DataTooBig

BESIDE = 1024
"""Data longer than this lies beside the row: in it, each move writes it again and the rate halves."""
BIGGEST = 256 * 1024
SORTED = (
    orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)  # fmt: skip


# Made once: json.dumps makes a new encoder for every call that has options, which costs more than the encoding.
# orjson takes 0.4 µs where this takes 3.
_plain = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_ascii = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: Any) -> str:
    """Sorted keys, no spaces, no NaN, no known secret; lone surrogates (hostile pages have them) are escaped."""
    try:
        quick = orjson.dumps(value, option=SORTED)
    except TypeError:  # keys that are no text, big numbers, half of a pair: rare, or not JSON at all
        return secrets.without_known(_slowly(value))
    text = _slowly(value) if b"null" in quick and _doubtful(value) else quick.decode()
    # PostgreSQL's text takes no NUL; the encoder escapes it as \u0000, which both databases keep.
    return secrets.without_known(text)


def _doubtful(value: Any) -> bool:
    """Whether a null may have been a NaN, which orjson writes like that and which has no place in JSON."""
    said = to_json(value, inf_nan_mode="constants")
    return b"NaN" in said or b"Infinity" in said


def _slowly(value: Any) -> str:
    text = _plain(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _ascii(value)
    return text


def parsed(text: str) -> Any:
    """What `canonical` has written; numbers of any length stay whole."""
    try:
        return from_json(text)
    except ValueError:  # half of a pair
        return json.loads(text)


def merged(before: Any, patch: Any, place: str = "") -> Any:
    """What was there with the patch added, field by field and deeply; null says nothing, so it takes nothing away."""
    if before is None or patch is None:
        return before if patch is None else patch
    if isinstance(before, dict) != isinstance(patch, dict):
        kinds = {True: "an object", False: "a single value"}
        raise InvalidData(
            f"{place or 'the value'} is {kinds[isinstance(before, dict)]} already, and "
            f"{kinds[isinstance(patch, dict)]} would take its fields away; send it under another name"
        )
    if not isinstance(before, dict):
        return patch
    return before | {
        name: merged(before.get(name), value, f"{place}.{name}" if place else name)
        for name, value in patch.items()
        if value is not None
    }


def hidden(key: str) -> str:
    """What is kept of a key that was erased: enough to know it again."""
    return f"erased:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def fitting(text: str, what: str) -> str:
    if len(text) > BIGGEST:
        raise DataTooBig(
            f"{what} has {len(text):,} characters as JSON, at most {BIGGEST:,} fit; keep big values as artifacts"
        )
    return text


def storable(text: str, what: str) -> str:
    """The text, if both databases can keep it: no NUL, no lone surrogate."""
    if "\x00" in text or (not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise InvalidData(f"{what} {text[:80]!r} has a character that no database keeps (NUL, or half of a pair)")
    return text


def shortened(text: str, limit: int = 2000) -> str:
    """At most `limit` characters, with the middle left out and secrets hidden, fit for any database and any page."""
    text = secrets.hide(text).encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"
