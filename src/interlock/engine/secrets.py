"""Hides secrets: known values never reach the database, a log or a page, and what looks like a secret is hidden.

Handlers ask for a secret by name (`task.secret("mail_key")`), so that data and history have names and not values. A
known value is replaced wherever it would be stored: in data, history, errors, effects and messages.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "[hidden]"
REACH = 2_000
"""Characters before and after a part of a text that are searched as well."""
SHORTEST = 6
"""Shorter values are not hidden: they occur by chance in many texts."""
NAMES = re.compile(
    r"(?:^|[_\-.])(?:password|passwd|passphrase|secret|token|api_?key|private_?key|authorization|cookie|credentials?)$",
    re.IGNORECASE,
)
# Each part starts at a fixed word, or cannot start inside a run that it would read to the end. So matching takes linear
# time for any text. With `[a-z]+://` in front, 96 kB of `a.a.a.` took 28 s.
SHAPES = re.compile(
    r"(?P<scheme>(?<![A-Za-z0-9])(?:Bearer|Basic)\s{1,9})[A-Za-z0-9._~+/=-]{12,}"
    # A password may contain a slash, but a port is followed by one.
    r"|(?P<address>://[^\s:/@]{0,999}+:)(?!\d{1,5}/)[^\s@/]{1,999}+(?:/[^\s@\"'<>]{0,999}+)?(?=@)"
    # Also at the end of longer names: db_password, accessToken.
    r"|(?P<pair>(?:passw(?:or)?d|passphrase|secret|token|(?:api|private|access|secret)[_-]?key)"
    r"[\"']?\s{0,9}[=:]\s{0,9}[\"']?)[^\s\"'&,;]{6,}"
    r"|(?<![A-Za-z0-9])(?:il_[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abpr]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16})"
    r"|(?<![A-Za-z0-9_-])(?P<before>[A-Za-z0-9_-]{0,40}?)eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",
    re.IGNORECASE,
)

_lock = threading.Lock()
_values: set[str] = set()
_in_text: re.Pattern[str] | None = None
_in_json: re.Pattern[str] | None = None
_in_any_form: re.Pattern[str] | None = None
_reach = REACH
generation = 0
"""Grows whenever the known values change."""
none_known = True
"""Whether no secret is known, so that nothing must be searched."""


def learn(values: Iterable[str]) -> None:
    """Hide these values from now on wherever this process would write or show them."""
    global _in_text, _in_json, _in_any_form, _reach, none_known, generation
    with _lock:
        _values.update(value for value in values if len(value) >= SHORTEST)
        _in_text = _any_of(_values, HIDDEN)  # text that is hidden already stays, even if a secret is the same word
        none_known = _in_text is None
        in_json = {json.dumps(v, ensure_ascii=a)[1:-1] for v in _values for a in (True, False)}
        _in_json = _any_of(in_json)
        forms = _values | in_json | {spell(v)[1:-1] for v in _values for spell in (repr, ascii)}
        _in_any_form = _any_of(forms)
        _reach = max([REACH, *map(len, forms)])
        generation += 1  # last: what was hidden by the values before belongs to the generation before


def _any_of(values: Iterable[str], *first: str) -> re.Pattern[str] | None:
    longest_first = sorted(values, key=lambda v: (-len(v), v))
    return re.compile("|".join(map(re.escape, (*first, *longest_first)))) if longest_first else None


def forget() -> None:
    """Forget all values; for tests."""
    _values.clear()
    learn(())


def may_have(encoded: str) -> bool:
    """Whether a JSON text may contain a known value."""
    return _in_json is not None and _in_json.search(encoded) is not None


def without_known(value: Any) -> Any:
    """The JSON value with known values hidden, in its texts and in the names of its fields."""
    match value:
        case str():
            return value if _in_text is None else _in_text.sub(HIDDEN, value)
        case Mapping():
            found: dict[Any, Any] = {}
            for name, one in sorted(value.items()):  # sorted, so that the result does not depend on the order
                kept = without_known(name) if isinstance(name, str) else name
                while kept in found:  # two fields whose names are secrets must stay two fields
                    kept += "*"
                found[kept] = without_known(one)
            return found
        case list() | tuple():
            return [without_known(one) for one in value]
    return value


def hide(text: str) -> str:
    """The text with known values hidden, and everything that looks like a key, a token or a password."""
    known = text if _in_text is None else _in_text.sub(HIDDEN, text)
    return SHAPES.sub(lambda m: (m["scheme"] or m["address"] or m["pair"] or m["before"] or "") + HIDDEN, known)


def hidden_part(text: str, start: int, end: int) -> str:
    """A part of a text as `hide` shows it. A secret may begin before the part and end after it."""
    first = max(start - _reach, 0)
    near = text[first : end + _reach]
    spans = [m.span() for m in _in_any_form.finditer(near)] if _in_any_form is not None else []
    for m in SHAPES.finditer(near):
        before = m["scheme"] or m["address"] or m["pair"] or m["before"] or ""
        spans.append((m.start() + len(before), m.end()))
    at, last, parts = start - first, min(end - first, len(near)), []
    for begins, ends in sorted(spans):
        if ends > at and begins < last:
            parts += [near[at : max(begins, at)], HIDDEN]
            at = ends
    return "".join([*parts, near[at:last]])


def shown(value: Any) -> Any:
    """A JSON value for a page or an answer. Fields with names of secrets are hidden, and texts that look like one."""
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
