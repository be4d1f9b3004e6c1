"""Postings that nearly passed: at the edge of the filter or of the score, with the rules that cut there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.jobs.finder.records.postings import CLOSED, FILTERED, SKIPPED
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import posting as P
from interlock.store import Micros

LOOKED_AT = 1_000
"""The newest postings that are looked at."""
SHORT_OF_SCORE = 5
"""Points below the threshold that still count as nearly."""


@dataclass(frozen=True, slots=True)
class Nearly:
    """Postings at the edge, the nearest first, and how many of them each rule struck."""

    ids: list[UUID]
    rules: dict[str, int]


def nearly_passed(conn: sa.Connection, workspace: str, since: Micros, *, limit: int = 25) -> Nearly:
    """Postings first seen since a moment that one strike fewer or a few points more would have let through."""
    query = (
        sa.select(P.c.id, P.c.outcome, P.c.filter_result, P.c.match_result)
        .where(
            P.c.workspace == workspace,
            P.c.outcome.in_([FILTERED, SKIPPED]),
            P.c.first_seen >= since,
            P.c.state != CLOSED,
            P.c.decision.is_(None),
        )
        .order_by(P.c.id.desc())
        .limit(LOOKED_AT)
    )
    found: list[tuple[int, UUID]] = []
    rules: Counter[str] = Counter()
    for row in conn.execute(query):
        struck = mapping(row.filter_result)
        if row.outcome == FILTERED:
            short = _over(struck)
            if short == 0:
                found.append((0, row.id))
                rules.update({str(one.get("rule")) for one in struck.get("strikes") or () if isinstance(one, dict)})
        else:
            short = _below(mapping(row.match_result))
            if short is not None and 0 < short <= SHORT_OF_SCORE:
                found.append((short, row.id))
                rules["score"] += 1
    nearest = sorted(found, key=lambda one: one[0])
    return Nearly([one for _, one in nearest[:limit]], dict(rules.most_common()))


def _over(result: dict[str, object]) -> int | None:
    """Strikes above the threshold; None where a rule rejected it by itself, or the result cannot be read."""
    strikes, threshold = result.get("total_strikes"), result.get("threshold")
    if result.get("hard_rejections") or not isinstance(strikes, int) or not isinstance(threshold, int):
        return None
    return strikes - threshold


def _below(result: dict[str, object]) -> int | None:
    score, threshold = result.get("match_score"), result.get("threshold")
    return threshold - score if isinstance(score, int) and isinstance(threshold, int) else None
