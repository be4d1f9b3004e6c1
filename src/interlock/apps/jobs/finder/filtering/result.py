"""The result of the filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from interlock.apps.jobs.finder.postings.posting import Evidence


class Skipped(NamedTuple):
    """A check that was not performed, and why."""

    check: str
    reason: str


class Rejection(NamedTuple):
    """A rule that rejects a posting by itself."""

    rule: str
    category: str
    reason: str
    evidence: Evidence

    def json(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "rule": self.rule,
            "category": self.category,
            "evidence": self.evidence.model_dump(mode="json"),
        }


class Strike(NamedTuple):
    """A rule that counts against a posting."""

    rule: str
    category: str
    reason: str
    points: int
    evidence: Evidence

    def json(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "strikes": self.points,
            "rule": self.rule,
            "category": self.category,
            "points": self.points,
            "evidence": self.evidence.model_dump(mode="json"),
        }


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Whether a posting passed, and everything that speaks against it."""

    hard_rejections: tuple[Rejection, ...]
    strikes: tuple[Strike, ...]
    threshold: int
    checks_performed: tuple[str, ...]
    checks_skipped: tuple[Skipped, ...]
    unread: bool
    """The posting has no text, so that passing says little."""

    @property
    def total_strikes(self) -> int:
        return sum(one.points for one in self.strikes)

    @property
    def passed(self) -> bool:
        return not self.hard_rejections and self.total_strikes < self.threshold

    @property
    def rejection_summary(self) -> str | None:
        if self.passed:
            return None
        if self.hard_rejections:
            return "; ".join(one.reason for one in self.hard_rejections)
        return f"{self.total_strikes} strikes (threshold: {self.threshold})"

    def json(self) -> dict[str, Any]:
        """The specification's structure, with the checks beside it."""
        return {
            "passed": self.passed,
            "total_strikes": self.total_strikes,
            "hard_rejections": [one.json() for one in self.hard_rejections],
            "strikes": [one.json() for one in self.strikes],
            "rejection_summary": self.rejection_summary,
            "threshold": self.threshold,
            "checks_performed": list(self.checks_performed),
            "checks_skipped": [{"check": one.check, "reason": one.reason} for one in self.checks_skipped],
            "unread": self.unread,
        }
