"""Fields of two documents side by side; a field is a mapping as it is stored, with value, quote and place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from interlock.apps.contracts.comparison.clauses import shortened
from interlock.apps.contracts.comparison.result import Evidence, FieldChange, FieldSide
from interlock.apps.contracts.comparison.text import fold

_DATE = re.compile(r"\d{4}-(?:\d\d|XX)-(?:\d\d|XX)")

StoredFields = Mapping[str, Mapping[str, Any]]


def side(document: str, stored: Mapping[str, Any] | None) -> FieldSide | None:
    """Return what a document says for a field, or nothing if it has no value."""
    if not stored or stored.get("value") in (None, "", []):
        return None
    page, start, end = stored.get("page"), stored.get("start"), stored.get("end")
    evidence = None
    if isinstance(page, int):
        evidence = Evidence(
            document=document,
            page=page,
            start=start if isinstance(start, int) else 0,
            end=end if isinstance(end, int) else 0,
            quote=str(stored.get("quote") or ""),
        )
    confidence = stored.get("confidence")
    return FieldSide(
        document=document,
        value=stored["value"],
        normalised=stored.get("normalised"),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        evidence=evidence,
    )


def shown(field: FieldSide | None) -> str:
    """Return a value as a person reads it in a table."""
    if field is None:
        return "not stated"
    # A date has many spellings and is read best in its normal form; other values as the document has them.
    dated = isinstance(field.normalised, str) and _DATE.fullmatch(field.normalised)
    return text_of(field.normalised if dated else field.value)


def text_of(value: Any) -> str:
    """Return any value as one line of text."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list | tuple):
        return "; ".join(text_of(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {text_of(item)}" for key, item in value.items() if item not in (None, ""))
    return str(value)


def named(name: str) -> str:
    """Return the name of a field as a person writes it."""
    return name.replace("_", " ").strip().capitalize()


def same(before: FieldSide, after: FieldSide) -> bool:
    """Whether two values mean the same: by their normal form where both have one, else by their words."""
    if before.normalised is not None and after.normalised is not None:
        return bool(_loose(before.normalised) == _loose(after.normalised))
    return bool(_loose(before.value) == _loose(after.value))


def field_changes(before: StoredFields, after: StoredFields) -> list[FieldChange]:
    """Return each field that either document has, before and after."""
    changes = []
    for name in dict.fromkeys([*before, *after]):
        old, new = side("before", before.get(name)), side("after", after.get(name))
        title = named(name)
        if old and new:
            equal = same(old, new)
            said = f"{title} stays {_short(old)}." if equal else f"{title}: {_short(old)} → {_short(new)}."
            status = "same" if equal else "changed"
        elif new:
            status, said = "added", f"{title} is new: {_short(new)}."
        elif old:
            status, said = "removed", f"{title} is gone; it was {_short(old)}."
        else:
            status, said = "absent", f"{title} is in neither version."
        changes.append(
            FieldChange.model_validate({"name": name, "status": status, "before": old, "after": new, "verdict": said})
        )
    return changes


def _short(field: FieldSide) -> str:
    return shortened(shown(field), 80)


def _loose(value: Any) -> Any:
    if isinstance(value, str):
        return fold(value).casefold().strip(" .,;")
    if isinstance(value, list | tuple):
        return sorted((str(_loose(item)) for item in value), key=str)
    if isinstance(value, Mapping):
        return {key: _loose(item) for key, item in value.items()}
    return value
