"""Values from outside: which can be stored, one rule for all ways in, and how stored values are read.

A value is refused, with its place (`data.tags[3]`), if a database, a page, an export or another program could not
handle it: a NUL, half of a surrogate pair, NaN, a key that is not text, too deep nesting. Rows may have such values
anyway, written by older versions or by hand. To show them, read with `readable`: it returns an `Unreadable` for what
cannot be read, so that other rows are still shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from pydantic_core import from_json, to_json

from interlock.engine import secrets
from interlock.engine.errors import InvalidData

T = TypeVar("T")

DEEPEST = 100
"""Levels of nesting. Parsers stop at 200, and a page needs three of Python's thousand stack frames per level."""
WRAPPED = 8
"""Levels that the engine adds: the history stores data inside a payload, an export inside a line."""
LONGEST_INTEGER = 1_000
"""Digits. Python refuses to parse more than 4,300."""

# Indexed text is bounded in bytes: PostgreSQL allows 2,704 for an index row.
KEY = 2_000
"""Bytes of a key: an instance's, an effect's, a limit's; of a lease's name and its holder."""
NAME = 200
"""Bytes of a workspace, queue, host, event, channel, or the name of an artifact, label, schedule or review."""
LABEL = 1_000
"""Characters of a label's value."""
LABELS = 50
REASON = 10_000
"""Characters of a reason, a note or a title."""
RECIPIENT = 2_000
"""Characters of the address that a message goes to."""

NESTED = (dict, list, tuple)
_EXCERPT = 40
_PLACE = 120

Place = tuple[Any, Any] | None
"""The place of a value: the place of its container, and its key there."""


def text(given: object, what: str, most: int = REASON) -> str:
    """The text, if it can be stored and has at most `most` characters. Raises InvalidData otherwise."""
    if not isinstance(given, str):
        raise InvalidData(f"{what} is {_kind(given)}, not text")
    if len(given) > most:
        raise InvalidData(f"{what} has {len(given):,} characters, at most {most:,} fit; it begins {excerpt(given)}")
    if found := _flaw(given):
        raise InvalidData(f"{what} {found}")
    return given


def indexed(given: object, what: str, most: int = KEY) -> str:
    """The text, if it can be indexed: at most `most` bytes as UTF-8."""
    checked = text(given, what, most)
    size = len(checked) if checked.isascii() else len(checked.encode())
    if size > most:
        raise InvalidData(f"{what} has {size:,} bytes as UTF-8, at most {most:,} fit; it begins {excerpt(checked)}")
    return checked


def labels(given: Any) -> dict[str, str]:
    """The labels, if each is a name and a short text."""
    found = dict(given)
    if len(found) > LABELS:
        raise InvalidData(f"an instance has at most {LABELS} labels, not {len(found)}; put the rest into its data")
    for name, value in found.items():
        indexed(name, f"the label's name {excerpt(name)}", NAME)
        text(value, f"the label {excerpt(name)}", LABEL)
    return found


def filters(given: object, names: Iterable[str]) -> None:
    """Raise InvalidData for a filter with a text that no row can have."""
    for name in names:
        value = getattr(given, name)
        for one in value if isinstance(value, tuple | frozenset) else (value,):
            if isinstance(one, str):
                text(one, f"the filter's {name}")


def _flaw(given: str) -> str:
    """What of the text cannot be stored, with the remedy; empty if all can be."""
    at = given.find("\x00")
    if at >= 0:
        return (
            f"has a NUL character at position {at}, {excerpt(given, at)}: no database stores it in text; remove it, "
            "or store the value as an artifact"
        )
    if given.isascii():
        return ""
    try:
        given.encode()
    except UnicodeEncodeError as error:
        return (
            f"has half of a surrogate pair at position {error.start}, {excerpt(given, error.start)}: it is no "
            "character and cannot be written as UTF-8; replace it, as text.encode('utf-8', 'replace').decode() does"
        )
    return ""


def excerpt(given: object, at: int = 0) -> str:
    """A few characters from this position on, escaped and without secrets, for a message."""
    if not isinstance(given, str):
        return _kind(given)
    start = max(at - _EXCERPT // 2, 0)
    part = secrets.hidden_part(given, start, start + _EXCERPT)
    return f"{'…' if start else ''}{part!a}{'…' if len(given) > start + _EXCERPT else ''}"


def _kind(given: object) -> str:
    return "nothing" if given is None else f"a value of type {type(given).__name__}"


def check(value: Any, what: str, deepest: int = DEEPEST) -> None:
    """Raise InvalidData for the first place in the value that cannot be stored. It walks the whole value."""
    todo: list[tuple[Any, Place, int]] = [(value, None, 0)]
    while todo:
        one, place, depth = todo.pop()
        if isinstance(one, Enum):
            one = one.value
        if found := _single(one):
            raise InvalidData(f"{where(what, place)} {found}")
        if not isinstance(one, dict | list | tuple):
            continue
        if depth == deepest:
            raise InvalidData(
                f"{where(what, place)} is nested more than {deepest} levels deep; flatten it, or store it as an "
                "artifact or as text"
            )
        if isinstance(one, dict):
            for key in one:
                if not isinstance(key, str):
                    raise InvalidData(
                        f"{where(what, place)} has a key that is {_kind(key)} ({brief(key)}); keys are text in JSON"
                    )
                if found := _flaw(key):
                    raise InvalidData(f"a key of {where(what, place)} {found}")
        pairs = one.items() if isinstance(one, dict) else enumerate(one)
        todo.extend([(child, (place, key), depth + 1) for key, child in pairs][::-1])


def _single(one: Any) -> str:
    """What is wrong with a value that is neither a list nor an object."""
    match one:
        case None | bool() | dict() | list() | tuple() | UUID():
            return ""
        case str():
            return _flaw(one)
        case int():
            digits = one.bit_length() * 0.30103
            return (
                f"is a whole number of about {digits:,.0f} digits, at most {LONGEST_INTEGER:,} fit; store it as text"
                if digits > LONGEST_INTEGER
                else ""
            )
        case float():
            return "" if math.isfinite(one) else f"is {one}, which JSON does not have; use null or text"
    return (
        f"is {_kind(one)} ({brief(one)}), which JSON does not have; convert it to text, a number, a list or an object"
    )


def brief(value: object, most: int = _EXCERPT) -> str:
    """The beginning of `repr(value)`, in ASCII and without secrets, for a message."""
    try:
        text = repr(value)
    except Exception:
        return "unprintable"
    part = secrets.hidden_part(text, 0, most) + ("…" if len(text) > most else "")
    return part.encode("ascii", "backslashreplace").decode()


def where(what: str, place: Place) -> str:
    """A place in a value as people write it: `data.tags[3]`."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        if isinstance(key, int):
            parts.append(f"[{key}]")
        elif key.isidentifier() and key.isascii():
            parts.append(f".{key}")
        else:
            parts.append(f"[{excerpt(key)}]")
    said = "".join(reversed(parts))
    if len(said) > _PLACE:
        said = f"{said[: _PLACE // 2]} … {said[-_PLACE // 2 :]}"
    return what + said


# -- comparing


def alike(one: Any, other: Any) -> bool:
    """Whether both have the same JSON. In Python, 1, 1.0 and True are equal; in JSON they are not."""
    if type(one) is str and type(other) is str:  # most values are texts
        return one == other
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            todo.extend((value, b[key]) for key, value in a.items())
        elif isinstance(a, list | tuple):
            if not isinstance(b, list | tuple) or len(a) != len(b):
                return False
            todo.extend(zip(a, b, strict=True))
        elif isinstance(a, float) or isinstance(b, float):
            if not (isinstance(a, float) and isinstance(b, float)) or repr(a) != repr(b):
                return False
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


# -- reading what is stored


class Unreadable(dict[str, Any]):
    """Takes the place of a stored value that cannot be read or shown: `{"unreadable": "why"}` in answers."""

    @property
    def why(self) -> str:
        return str(self["unreadable"])


def unreadable(why: str) -> Unreadable:
    return Unreadable(unreadable=why)


def parsed(stored: str) -> Any:
    """Parse what `canonical` has written. Numbers of any length are kept."""
    try:
        return from_json(stored)
    except ValueError:  # half of a surrogate pair, or deep nesting: older versions stored both
        return json.loads(stored)


def readable(stored: str | None) -> dict[str, Any]:
    """A stored object as it can be shown, or an Unreadable."""
    found = anything(stored)
    if isinstance(found, dict):
        return found
    return unreadable(f"an object was expected, not {_kind(found)}")


def anything(stored: str | None) -> Any:
    """A stored value as it can be shown, or an Unreadable."""
    if not isinstance(stored, str):
        return unreadable("it is not there" if stored is None else f"it is {_kind(stored)}, not text")
    try:
        value = parsed(stored)
    except (ValueError, TypeError, RecursionError) as error:
        return unreadable(f"it is not JSON that can be read: {excerpt(str(error)[:200])}; it begins {excerpt(stored)}")
    if stored.count("{") + stored.count("[") > DEEPEST + WRAPPED and too_deep(value):
        return unreadable(f"it is nested more than {DEEPEST} levels deep; it begins {excerpt(stored)}")
    return _cleaned_if_needed(value)


def showable(value: Any) -> Any:
    """The same for a value that was read already."""
    return unreadable(f"it is nested more than {DEEPEST} levels deep") if too_deep(value) else _cleaned_if_needed(value)


def _cleaned_if_needed(value: Any) -> Any:
    try:
        said = to_json(value, inf_nan_mode="constants")
    except ValueError:
        return cleaned(value)
    return cleaned(value) if b"NaN" in said or b"Infinity" in said else value


def error(stored: str) -> dict[str, Any]:
    """A stored error as it can be shown: type, message and places."""
    found = readable(stored)
    if isinstance(found, Unreadable):
        found = {"type": "Unreadable", "message": found.why}
    places = found.get("where")
    texts = {name: str(found.get(name, "")) for name in ("type", "message")}
    return {**found, **texts, "where": list(map(str, places)) if isinstance(places, list) else []}


def counters(stored: str | None) -> dict[str, int]:
    """Stored counters. Other values are left out."""
    return {name: n for name, n in readable(stored).items() if type(n) is int} if stored else {}


def texts(stored: str | None) -> dict[str, str]:
    """Stored labels as they can be shown. Values that are not text are shown as JSON."""
    if not stored:
        return {}
    return {name: one if isinstance(one, str) else json.dumps(one) for name, one in readable(stored).items()}


def too_deep(value: Any, deepest: int = DEEPEST + WRAPPED) -> bool:
    """Whether it is nested deeper than can be shown."""
    level = [value] if isinstance(value, NESTED) else []
    for _ in range(deepest):
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, NESTED)
        ]
        if not level:
            return False
    return True


def cleaned(value: Any, depth: int = DEEPEST + WRAPPED) -> Any:
    """The value with everything that cannot be stored replaced by text."""
    match value:
        case None | bool():
            return value
        case str():
            return value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
        case int():
            return value if not _single(value) else f"a whole number of {value.bit_length():,} bits"
        case float():
            return value if math.isfinite(value) else str(value)
        case dict() if depth:
            return {cleaned(k if isinstance(k, str) else str(k)): cleaned(v, depth - 1) for k, v in value.items()}
        case list() | tuple() if depth:
            return [cleaned(one, depth - 1) for one in value]
    return "…" if isinstance(value, dict | list | tuple) else cleaned(brief(value))
