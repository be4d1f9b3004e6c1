"""Limits: how much of something a machine may do, per key; used inside the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from string import Formatter
from typing import Any


def quoted(text: str, separators: str = ":|") -> str:
    """The text without these characters: each is spelled as in an address, %3A for a colon."""
    for character in "%" + separators.replace("%", ""):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


@lru_cache(1000)
def fields_of(template: str) -> tuple[int, str, bool]:
    """How many fields the template of a key has, what stands between them, and whether two of them touch."""
    parts = list(Formatter().parse(template))
    literals = [literal for literal, field, _, _ in parts if field is not None][1:]
    count = sum(field is not None for _, field, _, _ in parts)
    return count, "".join(sorted(set("".join(literals)))), "" in literals


class _Apart(Formatter):
    """Spells values without the characters that stand between them: `{a}:{b}` of x:y, z is not that of x, y:z."""

    def __init__(self, separators: str) -> None:
        self._separators = separators

    def format_field(self, value: Any, format_spec: str) -> Any:
        return quoted(format(value, format_spec), self._separators)


def spelled(template: str, data: Mapping[str, Any]) -> str:
    """The key that the template makes of the data; other values make another key."""
    count, separators, _ = fields_of(template)
    return template.format_map(data) if count < 2 else _Apart(separators).vformat(template, (), data)


@dataclass(frozen=True, slots=True)
class Window:
    """At most `size` uses per key in any stretch of `per`: a sliding window."""

    name: str
    key: str
    """A template over the data, such as `user:{user_id}`."""
    size: int | str
    """A number, or the field of the data that holds it."""
    per: timedelta
    once: bool = False
    """An instance counts once, however often it tries; otherwise each of its tries counts."""

    def key_for(self, data: Mapping[str, Any]) -> str:
        return f"{self.name}/{spelled(self.key, data)}"

    def size_for(self, data: Mapping[str, Any]) -> int:
        return int(data[self.size]) if isinstance(self.size, str) else self.size


@dataclass(frozen=True, slots=True)
class Concurrent:
    """At most `size` instances per key worked on at once, in these states."""

    name: str
    key: str
    size: int
    states: tuple[str, ...]

    def key_for(self, data: Mapping[str, Any]) -> str:
        return f"{self.name}/{spelled(self.key, data)}"


Limit = Window | Concurrent
