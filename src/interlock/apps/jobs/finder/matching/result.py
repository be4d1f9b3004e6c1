"""The result of the match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Priority = Literal["High", "Medium", "Low"]


class ScorePart(NamedTuple):
    """A part of the base: its points of so many, and why."""

    name: str
    points: int
    most: int
    known: bool
    """False where there was no data, and the points are the neutral share."""
    explanation: str
    sentences: tuple[str, ...] = ()
    """The words of the posting that it was worked out from."""

    def json(self) -> dict[str, Any]:
        return {**self._asdict(), "sentences": list(self.sentences)}


class Adjustment(NamedTuple):
    """Points that are added to the base, and why."""

    name: str
    points: int
    explanation: str

    def json(self) -> dict[str, Any]:
        return self._asdict()


class WouldBe(NamedTuple):
    """The score if something were different."""

    condition: str
    score: int


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How well a posting fits."""

    match_score: int
    application_priority: Priority
    matched_skills: tuple[str, ...]
    skill_gaps: tuple[str, ...]
    """Required or preferred, and neither in the profile nor implied by it."""
    resume: Mapping[str, Any]
    """The resume intake data, in the specification's structure."""
    confidence: float
    threshold: int
    office_bonus: bool
    """The employer has an office in the home city, and the lower threshold holds."""
    parts: tuple[ScorePart, ...]
    adjustments: tuple[Adjustment, ...]
    would_be: tuple[WouldBe, ...]

    @property
    def above_threshold(self) -> bool:
        return self.match_score >= self.threshold

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for part in self.parts for one in part.sentences))

    def json(self) -> dict[str, Any]:
        """The specification's structure, with the explanation beside it."""
        return {
            "match_score": self.match_score,
            "application_priority": self.application_priority,
            "matched_skills": list(self.matched_skills),
            "skill_gaps": list(self.skill_gaps),
            "resumeIntakeData": dict(self.resume),
            "static_score": self.match_score,
            "confidence": self.confidence,
            "threshold": self.threshold,
            "office_bonus": self.office_bonus,
            "above_threshold": self.above_threshold,
            "parts": [one.json() for one in self.parts],
            "adjustments": [one.json() for one in self.adjustments],
            "would_be": [{"if": one.condition, "score": one.score} for one in self.would_be],
            "sentences": list(self.sentences),
        }
