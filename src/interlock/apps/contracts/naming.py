"""What people call a contract: by its file name and its parties, never by a hash or an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WHO = ("parties", "provider")
"""The fields that name the other side, the first that a vertical has."""
MOST_NAMES, LONGEST_NAME = 2, 60
NAMELESS = "contract without a file name"


def parties_of(fields: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of the parties as they are written in the document."""
    for name in WHO:
        value = (fields.get(name) or {}).get("value")
        if value:
            names = value if isinstance(value, list) else str(value).split(";")
            return [text for one in names if (text := " ".join(str(one).split()))]
    return []


def listed(names: Sequence[str]) -> str:
    """Names for a title: the first two, and how many more."""
    shown = [_cut(one) for one in names[:MOST_NAMES]]
    more = len(names) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(shown)


def file_of(data: Mapping[str, Any]) -> str:
    """The file's name."""
    return str(data.get("filename") or "").strip() or NAMELESS


def called(data: Mapping[str, Any]) -> str:
    """The title of a contract: `supply.pdf · Nordwind Tools, Inc. and Harbor Retail LLC`."""
    parties = listed(data.get("parties") or [])
    return f"{file_of(data)} · {parties}" if parties else file_of(data)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 2].rstrip()} …"
