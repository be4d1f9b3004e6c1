"""Canonical JSON, as the engine stores and hashes it: equal values have equal texts."""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import Any
from uuid import UUID

import orjson
from pydantic_core import to_json

from interlock.engine import secrets, values
from interlock.engine.errors import InvalidData
from interlock.machine import DataTooBig

LARGE_DATA = 1024
"""Data longer than this is stored in `instance_data`: in the row, each move would write it again, at half the rate."""
BIGGEST = 256 * 1024
SEARCHED = 64 * 1024
"""Characters of a text that are searched for secrets before it is shortened. The middle of longer ones is dropped."""
SORTED = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def _as_orjson(one: Any) -> Any:
    return str(one) if isinstance(one, UUID) else one.value if isinstance(one, Enum) else _no_json(one)


def _no_json(one: Any) -> Any:
    raise TypeError(f"{type(one).__name__} has no JSON")


# Made once: json.dumps makes an encoder for every call with options, which costs more than the encoding.
# orjson takes 0.4 µs, this takes 3.
_plain = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_as_orjson
).encode


def canonical(value: Any, what: str = "the value", *, deepest: int = values.DEEPEST) -> str:
    """JSON with sorted keys, no spaces and no known secret. Raises InvalidData for values that cannot be stored."""
    try:
        quick = orjson.dumps(value, option=SORTED)
    except TypeError:  # big numbers, enumerations and subclasses, which are rare, or values that cannot be stored
        values.check(value, what, deepest)
        encoded = _plain(value)
    else:
        # Searching the text takes 0.3 µs, walking the value 10. So the value is walked only if the text is suspicious.
        if (
            (b"\\" in quick and b"\\u0000" in quick)  # one byte is found six times as fast
            or (b"null" in quick and _may_have_nan(value))
            or (
                len(quick) > 2 * deepest
                and quick.count(b"}") + quick.count(b"]") > deepest
                and values.too_deep(value, deepest)
            )
        ):
            values.check(value, what, deepest)
        encoded = quick.decode()
    return encoded if secrets.none_known or not secrets.may_have(encoded) else _without_secrets(value)


def _without_secrets(value: Any) -> str:
    """Hides secrets in the texts of a value, not in its JSON: there they may start inside an escape or be numbers."""
    return _plain(secrets.without_known(value))


def _may_have_nan(value: Any) -> bool:
    """Whether a null may be a NaN or an infinity, which orjson writes as null."""
    encoded = to_json(value, inf_nan_mode="constants")
    return b"NaN" in encoded or b"Infinity" in encoded


def canonical_lossy(value: Any) -> str:
    """Canonical JSON for values that must be stored whatever they are. What cannot be stored is replaced by text."""
    try:
        return canonical(value, deepest=values.DEEPEST + values.WRAPPED)
    except InvalidData:
        return canonical(values.cleaned(value), deepest=values.DEEPEST + 2 * values.WRAPPED)


def merged(before: Any, patch: Any, place: str = "") -> Any:
    """The old value with the patch merged into it, deeply. A null in the patch changes nothing."""
    if before is None or patch is None:
        return before if patch is None else patch
    if isinstance(before, dict) != isinstance(patch, dict):
        kinds = {True: "an object", False: "a single value"}
        raise InvalidData(
            f"{place or 'the value'} is {kinds[isinstance(before, dict)]} already, and "
            f"{kinds[isinstance(patch, dict)]} would lose its fields; send it under another name"
        )
    if not isinstance(before, dict):
        return patch
    return before | {
        name: merged(before.get(name), value, f"{place}.{name}" if place else name)
        for name, value in patch.items()
        if value is not None
    }


def joined(members: str, text: str | None) -> str:
    """A payload with more members at its end. Roll-ups recognise errors by the beginning, which stays."""
    return f"{text[:-1]},{members}}}" if text else f"{{{members}}}"


def erased_key(key: str) -> str:
    """What is stored of an erased key: a hash, by which it is recognised."""
    return f"erased:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def fitting(text: str, what: str) -> str:
    """The text, or DataTooBig."""
    if len(text) > BIGGEST:
        raise DataTooBig(
            f"{what} has {len(text):,} characters as JSON, at most {BIGGEST:,} fit; store large values as artifacts"
        )
    return text


def shortened(text: str, limit: int = 2000) -> str:
    """At most `limit` characters, with the middle left out and secrets hidden, safe for any database and page."""
    left_out = 0
    if len(text) > SEARCHED:
        left_out = len(text) - SEARCHED
        text = f"{text[: SEARCHED // 2]}{text[-SEARCHED // 2 :]}"
    text = secrets.hide(text).encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    if len(text) <= limit and not left_out:
        return text
    half = min(limit, len(text)) // 2
    return f"{text[:half]} … {left_out + len(text) - 2 * half:,} characters left out … {text[-half:]}"
