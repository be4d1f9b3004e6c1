"""Reply rates: how often employers answer, by source, tier, resume variant and score band.

An application counts once it had time to be answered, or was. Fresh ones are counted apart: they would lower the rate
although nobody could reply yet. A group with few is marked as small, and its interval says how little it proves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.board.stages import Stage
from interlock.apps.jobs.board_tables import card as C
from interlock.apps.jobs.board_tables import move as M
from interlock.apps.jobs.tables import applied as T
from interlock.store import Micros, span

By = Literal["source", "tier", "variant", "score"]
TIME_TO_REPLY = span(timedelta(days=14))
SMALL = 10
"""Answered or old enough applications below which a rate says little."""
BANDS = ((90, "90 to 100"), (80, "80 to 89"), (65, "65 to 79"), (50, "50 to 64"), (0, "0 to 49"))
UNKNOWN = "unknown"
MOST = 100_000
Z = 1.96
"""For an interval that has the true rate in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An application as rates see it."""

    key: str
    opened_at: Micros
    replied: bool
    closed: bool
    interview: bool
    offer: bool


@dataclass(frozen=True, slots=True)
class Rate:
    """The replies to a group of applications."""

    key: str
    sent: int
    fresh: int
    """Sent lately and not answered; they are no part of the rate."""
    counted: int
    replies: int
    interviews: int
    offers: int
    rate: float | None
    low: float | None
    high: float | None
    """The rate may be from `low` to `high` by chance alone."""
    small: bool


def reply_rates(conn: sa.Connection, workspace: str, by: By, now: Micros) -> list[Rate]:
    """The rate of each group, the largest group first, and of all together as the key ""."""
    found = _sent(conn, workspace, by)
    groups: dict[str, list[Sent]] = {}
    for one in found:
        groups.setdefault(one.key, []).append(one)
    rates = sorted((rate_of(key, group, now) for key, group in groups.items()), key=lambda one: (-one.sent, one.key))
    return [*rates, rate_of("", found, now)]


def rate_of(key: str, group: Iterable[Sent], now: Micros) -> Rate:
    every = list(group)
    counted = [one for one in every if one.replied or one.closed or now - one.opened_at >= TIME_TO_REPLY]
    replies = sum(one.replied for one in counted)
    low, high = interval(replies, len(counted))
    return Rate(
        key,
        len(every),
        len(every) - len(counted),
        len(counted),
        replies,
        sum(one.interview for one in counted),
        sum(one.offer for one in counted),
        replies / len(counted) if counted else None,
        low,
        high,
        len(counted) < SMALL,
    )


def interval(hits: int, of: int) -> tuple[float | None, float | None]:
    """Wilson's interval, which holds for few and for extreme rates too."""
    if not of:
        return None, None
    share, z2 = hits / of, Z * Z
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return 0.0 if hits == 0 else middle - half, 1.0 if hits == of else middle + half


def band_of(score: int | None) -> str:
    return UNKNOWN if score is None else next(name for least, name in BANDS if score >= least)


_KEYS: dict[By, Callable[[sa.Row[tuple[object, ...]]], str]] = {
    "source": lambda row: str(row.source or UNKNOWN),
    "tier": lambda row: str(row.tier or UNKNOWN),
    "variant": lambda row: str(row.variant or UNKNOWN),
    "score": lambda row: band_of(row.score),
}


def _sent(conn: sa.Connection, workspace: str, by: By) -> list[Sent]:
    def reached(stage: Stage) -> sa.ColumnElement[bool]:
        return sa.exists().where(M.c.application_id == C.c.application_id, M.c.to_stage == stage)

    query = (
        sa.select(
            T.c.source,
            T.c.tier,
            T.c.score,
            C.c.variant,
            C.c.opened_at,
            C.c.replied_at,
            (C.c.stage == Stage.CLOSED).label("closed"),
            reached(Stage.INTERVIEW).label("interview"),
            reached(Stage.OFFER).label("offer"),
        )
        .join(C, C.c.application_id == T.c.id)
        .where(C.c.workspace == workspace)
        .limit(MOST)
    )
    key = _KEYS[by]
    return [
        Sent(
            key(row), row.opened_at, row.replied_at is not None, bool(row.closed), bool(row.interview), bool(row.offer)
        )
        for row in conn.execute(query)
    ]
