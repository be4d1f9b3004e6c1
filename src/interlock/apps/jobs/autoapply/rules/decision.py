"""The decision about one posting, with every check that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Level = Literal["info", "warn", "block"]


class Check(NamedTuple):
    """One check and its result. A single `block` excludes the posting."""

    name: str
    level: Level
    reason: str

    def json(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a rule takes a posting, and why."""

    key: str
    """The posting's key."""
    checks: tuple[Check, ...]
    needs_approval: bool

    @property
    def taken(self) -> bool:
        return not self.blocked_by

    @property
    def blocked_by(self) -> tuple[Check, ...]:
        return tuple(one for one in self.checks if one.level == "block")

    @property
    def warnings(self) -> tuple[Check, ...]:
        return tuple(one for one in self.checks if one.level == "warn")

    @property
    def summary(self) -> str:
        found = self.blocked_by
        return "; ".join(one.reason for one in found) if found else "taken"

    def json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "taken": self.taken,
            "needs_approval": self.needs_approval,
            "summary": self.summary,
            "checks": [one.json() for one in self.checks],
        }
