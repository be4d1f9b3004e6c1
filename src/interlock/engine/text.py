"""JSON as the engine stores and hashes it: one spelling for one value."""

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
"""Data longer than this lies beside the row: in it, each move writes it again and the rate halves."""
BIGGEST = 256 * 1024
SEARCHED = 64 * 1024
"""Characters of a text that are searched for secrets before it is shortened; its middle is left out first."""
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


# Made once: json.dumps makes a new encoder for every call that has options, which costs more than the encoding.
# orjson takes 0.4 µs where this takes 3.
_plain = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_as_orjson
).encode


def canonical(value: Any, what: str = "the value", *, deepest: int = values.DEEPEST) -> str:
    """Sorted keys, no spaces, no known secret; InvalidData names the place that JSON or a database cannot carry."""
    try:
        quick = orjson.dumps(value, option=SORTED)
    except TypeError:  # big numbers, enumerations, subclasses: rare; or what cannot be carried
        values.check(value, what, deepest)
        said = _plain(value)
    else:
        # Looks at the text take 0.3 µs, a walk through the value takes 10; so it is walked where they find something.
        if (
            b"\\u0000" in quick
            or (b"null" in quick and _doubtful(value))
            or (
                len(quick) > 2 * deepest
                and quick.count(b"}") + quick.count(b"]") > deepest
                and values.too_deep(value, deepest)
            )
        ):
            values.check(value, what, deepest)
        said = quick.decode()
    return said if secrets.none_known or not secrets.may_have(said) else _without_secrets(value)


def _without_secrets(value: Any) -> str:
    """Hidden in the texts of a value, never in its JSON: a secret may begin inside an escape, or look like a number."""
    return _plain(secrets.without_known(value))


def _doubtful(value: Any) -> bool:
    """Whether a null may have been a NaN, which orjson writes like that and which has no place in JSON."""
    said = to_json(value, inf_nan_mode="constants")
    return b"NaN" in said or b"Infinity" in said


def spelled(value: Any) -> str:
    """The same for what must be kept whatever it is, such as the data of a failed step: nothing is refused."""
    try:
        return canonical(value, deepest=values.DEEPEST + values.WRAPPED)
    except InvalidData:
        return canonical(values.cleaned(value), deepest=values.DEEPEST + 2 * values.WRAPPED)


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


def joined(said: str, text: str | None) -> str:
    """A payload with more at its end. Its beginning stays: sums over the history know errors by how they begin."""
    return f"{text[:-1]},{said}}}" if text else f"{{{said}}}"


def hidden(key: str) -> str:
    """What is kept of a key that was erased: enough to know it again."""
    return f"erased:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def fitting(text: str, what: str) -> str:
    if len(text) > BIGGEST:
        raise DataTooBig(
            f"{what} has {len(text):,} characters as JSON, at most {BIGGEST:,} fit; keep big values as artifacts"
        )
    return text


def shortened(text: str, limit: int = 2000) -> str:
    """At most `limit` characters, with the middle left out and secrets hidden, fit for any database and any page."""
    left_out = 0
    if len(text) > SEARCHED:
        left_out = len(text) - SEARCHED
        text = f"{text[: SEARCHED // 2]}{text[-SEARCHED // 2 :]}"
    text = secrets.hide(text).encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    if len(text) <= limit and not left_out:
        return text
    half = min(limit, len(text)) // 2
    return f"{text[:half]} … {left_out + len(text) - 2 * half:,} characters left out … {text[-half:]}"
