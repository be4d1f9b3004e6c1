"""Secrets: values that this process knows never reach the database, a log or a page; what looks like one is hidden.

Handlers ask for a secret by name (`task.secret("mail_key")`), so that data and history carry names and not values. A
value that was learnt is replaced wherever it would be stored: in data, history, errors, effects and messages.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "[hidden]"
SHORTEST = 6
"""Shorter values are not hidden: they would turn up by chance in every other text."""
NAMES = re.compile(
    r"(?:^|[_\-.])(?:password|passwd|passphrase|secret|token|api_?key|private_?key|authorization|cookie|credentials?)$",
    re.IGNORECASE,
)
# Each part either starts at a fixed word or cannot start inside a run that it would read to its end: so a text is read
# a few times, whatever is in it. With `[a-z]+://` in front, 96 kB of `a.a.a.` took 28 s.
SHAPES = re.compile(
    r"(?P<scheme>\b(?:Bearer|Basic)\s{1,9})[A-Za-z0-9._~+/=-]{12,}"
    r"|(?P<address>://[^\s:/@]{0,999}:)[^\s@/]{1,999}(?=@)"
    r"|(?P<pair>\b(?:password|passwd|secret|token|api[_-]?key)[\"']?\s{0,9}[=:]\s{0,9}[\"']?)[^\s\"'&,;]{6,}"
    r"|\b(?:il_[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abpr]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16})"
    r"|(?<![A-Za-z0-9_-])(?P<before>[A-Za-z0-9_-]{0,40}?)eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",
    re.IGNORECASE,
)

_lock = threading.Lock()
_values: set[str] = set()
_in_text: re.Pattern[str] | None = None
_in_json: re.Pattern[str] | None = None
none_known = True
"""Whether there is nothing to look for."""


def learn(values: Iterable[str]) -> None:
    """From now on these values are hidden wherever this process would write or show them."""
    global _in_text, _in_json, none_known
    with _lock:
        _values.update(value for value in values if len(value) >= SHORTEST)
        _in_text = _any_of(_values)
        none_known = _in_text is None
        _in_json = _any_of({json.dumps(v, ensure_ascii=a)[1:-1] for v in _values for a in (True, False)})


def _any_of(values: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(values, key=lambda v: (-len(v), v))
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def forget() -> None:
    """For tests: nothing is known any more."""
    _values.clear()
    learn(())


def may_have(encoded: str) -> bool:
    """Whether the JSON text may have a value that was learnt."""
    return _in_json is not None and _in_json.search(encoded) is not None


def without_known(value: Any) -> Any:
    """The JSON value without the values that were learnt, in its texts and in the names of its fields."""
    match value:
        case str():
            return value if _in_text is None else _in_text.sub(HIDDEN, value)
        case Mapping():
            found: dict[Any, Any] = {}
            for name, one in sorted(value.items()):  # one spelling, whatever came first
                kept = without_known(name) if isinstance(name, str) else name
                while kept in found:  # two names that are secrets stay two fields
                    kept += "*"
                found[kept] = without_known(one)
            return found
        case list() | tuple():
            return [without_known(one) for one in value]
    return value


def hide(text: str) -> str:
    """The text without known values, and without what has the shape of a key, a token or a password."""
    known = text if _in_text is None else _in_text.sub(HIDDEN, text)
    return SHAPES.sub(lambda m: (m["scheme"] or m["address"] or m["pair"] or m["before"] or "") + HIDDEN, known)


def shown(value: Any) -> Any:
    """A JSON value for a page or an answer: what is named like a secret is hidden, and so is what looks like one."""
    match value:
        case str():
            return hide(value)
        case Mapping():
            return {
                name: HIDDEN if isinstance(name, str) and NAMES.search(name) and _filled(one) else shown(one)
                for name, one in value.items()
            }
        case list() | tuple():
            return [shown(one) for one in value]
    return value


def _filled(value: Any) -> bool:
    return isinstance(value, str | int | dict | list) and value not in ("", 0, [], {}) and not isinstance(value, bool)
