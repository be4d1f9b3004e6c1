"""Limits: how much of something a machine may do, per key; used inside the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


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
        return f"{self.name}/{self.key.format_map(data)}"

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
        return f"{self.name}/{self.key.format_map(data)}"


Limit = Window | Concurrent
