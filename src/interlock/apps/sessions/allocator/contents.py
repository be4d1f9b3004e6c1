"""Items and parameters as they come from outside: any JSON, within limits, as the text that is stored."""

from __future__ import annotations

import json
from typing import Any

from interlock.apps.sessions.allocator import pool
from interlock.http.problems import BadRequest

BIGGEST = 256 * 1024
"""Characters of an item."""
BIGGEST_PARAMS = 16 * 1024
"""Characters of the parameters of a borrow or a return."""


def content_of(item: Any) -> tuple[str, str]:
    """The text of an item, and its digest."""
    text = _text(item, "item")
    if len(text) > BIGGEST:
        raise BadRequest(f"the item has {len(text):,} characters; at most {BIGGEST:,} are stored", status=400)
    return text, pool.digest(text)


def params_of(text: str | None) -> dict[str, Any]:
    """The parameters of a query: a JSON object."""
    if not text:
        return {}
    try:
        found = json.loads(text) if len(text) <= BIGGEST_PARAMS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadRequest(f'params must be a JSON object of at most {BIGGEST_PARAMS:,} characters, such as {{"k":"v"}}')
    return checked_params(found)


def checked_params(found: dict[str, Any] | None) -> dict[str, Any]:
    """The parameters of a body, if they can be stored."""
    if found and len(_text(found, "params")) > BIGGEST_PARAMS:
        raise BadRequest(f"params may have at most {BIGGEST_PARAMS:,} characters", status=400)
    return found or {}


def _text(value: Any, name: str) -> str:
    try:
        text = pool.canonical(value)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{name} must be JSON that can be stored: {type(error).__name__}", status=400) from None
    return text
