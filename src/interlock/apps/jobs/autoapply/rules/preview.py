"""Which stored matches a rule would select, for its editor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.apps.jobs.autoapply.rules.criteria import ApplyRule
from interlock.apps.jobs.autoapply.rules.decision import Decision
from interlock.apps.jobs.autoapply.rules.judge import Candidate, criteria_checks, needs_approval


@dataclass(frozen=True, slots=True)
class Preview:
    """Decisions by criteria alone. Pause, day and limits decide when, not what."""

    taken: tuple[Decision, ...]
    not_taken: tuple[Decision, ...]
    blocked_by: Mapping[str, int]
    """Check → postings that it excludes."""
    only_by: Mapping[str, int]
    """Check → postings that only this check excludes: what would be gained without it."""

    def json(self) -> dict[str, Any]:
        return {
            "taken": [one.json() for one in self.taken],
            "not_taken": [one.json() for one in self.not_taken],
            "blocked_by": dict(self.blocked_by),
            "only_by": dict(self.only_by),
        }


def preview(rule: ApplyRule, candidates: Iterable[Candidate]) -> Preview:
    """Judge candidates, given in any order. Results are sorted by score, the highest first, then by key."""
    ordered = sorted(candidates, key=lambda one: (-(one.score if one.score is not None else -1), one.key))
    decisions = [Decision(one.key, tuple(criteria_checks(rule, one)), needs_approval(rule, one)) for one in ordered]
    out = [one for one in decisions if not one.taken]
    blocked = Counter(check.name for one in out for check in one.blocked_by)
    alone = Counter(one.blocked_by[0].name for one in out if len(one.blocked_by) == 1)
    return Preview(
        tuple(one for one in decisions if one.taken),
        tuple(out),
        dict(sorted(blocked.items())),
        dict(sorted(alone.items())),
    )
