"""JSON of a row as it can be shown. A row that was written by hand or cut off spoils no list."""

from __future__ import annotations

import json
from typing import Any


def mapping(text: str | None) -> dict[str, Any]:
    """A stored object; `{"unreadable": why}` in place of one that cannot be read."""
    found = _parsed(text)
    return found if isinstance(found, dict) else _unreadable("an object", text)


def items(text: str | None) -> list[Any]:
    """A stored list; one with `{"unreadable": why}` in place of one that cannot be read."""
    found = _parsed(text)
    return found if isinstance(found, list) else [_unreadable("a list", text)]


def objects(text: str | None) -> list[dict[str, Any]]:
    """A stored list of objects; whatever else is in it is unreadable."""
    return [one if isinstance(one, dict) else _unreadable("an object", str(one)) for one in items(text)]


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, TypeError, RecursionError):
        return None


def _unreadable(wanted: str, text: str | None) -> dict[str, Any]:
    return {"unreadable": f"{wanted} was expected; it begins {str(text)[:80]!r}"}
