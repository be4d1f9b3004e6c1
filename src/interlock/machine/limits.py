"""Limits: how much of something a machine may do per key. They are counted in the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from string import Formatter
from typing import Any


def quoted(text: str, separators: str = ":|") -> str:
    """The text with these characters percent-encoded: %3A for a colon."""
    for character in "%" + separators.replace("%", ""):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


@lru_cache(1000)
def template_fields(template: str) -> tuple[int, str, bool]:
    """The number of fields of a template, the characters between them, and whether two fields touch."""
    parts = list(Formatter().parse(template))
    literals = [literal for literal, field, _, _ in parts if field is not None][1:]
    count = sum(field is not None for _, field, _, _ in parts)
    return count, "".join(sorted(set("".join(literals)))), "" in literals


class _QuotingFormatter(Formatter):
    """Percent-encodes the separators inside values, so that `{a}:{b}` of x:y, z differs from that of x, y:z."""

    def __init__(self, separators: str) -> None:
        self._separators = separators

    def format_field(self, value: Any, format_spec: str) -> Any:
        return quoted(format(value, format_spec), self._separators)


def key_from(template: str, data: Mapping[str, Any]) -> str:
    """The key that the template makes from the data. Different values make different keys."""
    count, separators, _ = template_fields(template)
    return template.format_map(data) if count < 2 else _QuotingFormatter(separators).vformat(template, (), data)


@dataclass(frozen=True, slots=True)
class Window:
    """At most `size` uses per key within any period of length `per`: a sliding window."""

    name: str
    key: str
    """A template over the data, such as `user:{user_id}`."""
    size: int | str
    """A number, or the name of the field with the number."""
    per: timedelta
    once: bool = False
    """Count each instance once. Otherwise each of its attempts counts."""

    def key_for(self, data: Mapping[str, Any]) -> str:
        return f"{self.name}/{key_from(self.key, data)}"

    def size_for(self, data: Mapping[str, Any]) -> int:
        return int(data[self.size]) if isinstance(self.size, str) else self.size


@dataclass(frozen=True, slots=True)
class Concurrent:
    """At most `size` instances per key are worked on at once in these states."""

    name: str
    key: str
    size: int
    states: tuple[str, ...]

    def key_for(self, data: Mapping[str, Any]) -> str:
        return f"{self.name}/{key_from(self.key, data)}"


Limit = Window | Concurrent
