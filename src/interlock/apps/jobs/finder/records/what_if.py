"""What a changed profile would do with the stored postings: which matches appear, and which disappear.

Both profiles are applied now and by rules, so that only their difference shows: neither the age of a posting nor a
model's score does. Nothing is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic import ValidationError

from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile import Profile
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records import profiles
from interlock.apps.jobs.finder.records.companies import said
from interlock.apps.jobs.finder.records.postings import CLOSED, FILTERED, MATCHED, SKIPPED
from interlock.apps.jobs.finder.records.stored import mapping
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import posting as P
from interlock.store import Micros, moment

MOST_SHOWN = 20
MOST_POSTINGS = 2_000
SECONDS = 5.0
"""Time after which no further posting is looked at. A thousand take about a second."""
BATCH = 100


@dataclass(frozen=True, slots=True)
class Result:
    """What a profile makes of a posting."""

    outcome: str
    """filtered, skipped or matched."""
    score: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A posting that a changed profile treats differently."""

    id: UUID
    title: str | None
    company_name: str | None
    url: str | None
    before: Result | None
    after: Result


@dataclass(slots=True)
class Preview:
    """The difference that a changed profile would make."""

    postings: int
    """How many open postings are stored."""
    looked_at: int = 0
    before: dict[str, int] = field(default_factory=lambda: dict.fromkeys((MATCHED, SKIPPED, FILTERED), 0))
    after: dict[str, int] = field(default_factory=lambda: dict.fromkeys((MATCHED, SKIPPED, FILTERED), 0))
    appear: int = 0
    disappear: int = 0
    appearing: list[Changed] = field(default_factory=list)
    disappearing: list[Changed] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all open postings were looked at."""
        return self.looked_at >= self.postings


def what_if(
    conn: sa.Connection,
    workspace: str,
    profile: Profile,
    now: Micros,
    *,
    most: int = MOST_POSTINGS,
    stopped: Callable[[], bool] = lambda: False,
) -> Preview:
    """Compare a profile with the stored one over the newest open postings, until `stopped` says so."""
    stored = profiles.seeker(conn, workspace)
    before, after = stored[0] if stored else None, Seeker(profile)
    conditions = [
        P.c.workspace == workspace,
        P.c.state != CLOSED,
        sa.or_(P.c.opening_id.is_(None), P.c.opening_id == P.c.id),
    ]
    total = conn.execute(sa.select(sa.func.count()).select_from(P).where(*conditions)).scalar_one()
    found = Preview(int(total))
    ends = time.monotonic() + SECONDS
    for row in _rows(conn, conditions, most):
        if stopped() or time.monotonic() > ends:
            break
        _compare(found, row, before, after, now)
    return found


def _rows(conn: sa.Connection, conditions: list[sa.ColumnElement[bool]], most: int) -> Iterator[Any]:
    query = (
        sa.select(P.c.id, P.c.title, P.c.company_name, P.c.url, P.c.posting, C.c.size_category, C.c.facts)
        .outerjoin(C, C.c.id == P.c.company_id)
        .where(*conditions)
        .order_by(P.c.id.desc())
    )
    last: UUID | None = None
    while most > 0:
        page = query if last is None else query.where(P.c.id < last)
        rows = conn.execute(page.limit(min(BATCH, most))).all()
        yield from rows
        if len(rows) < BATCH:
            return
        most, last = most - len(rows), rows[-1].id


def _compare(found: Preview, row: Any, before: Seeker | None, after: Seeker, now: Micros) -> None:
    try:
        posting = ReadPosting(
            Posting.model_validate_json(row.posting), **said(row.size_category, mapping(row.facts or "{}"))
        )
    except ValidationError:
        found.looked_at += 1  # a row that cannot be read fits no profile
        return
    old = _result(posting, before, now) if before is not None else None
    new = _result(posting, after, now)
    found.looked_at += 1
    found.after[new.outcome] += 1
    if old is not None:
        found.before[old.outcome] += 1
    was, is_now = old is not None and old.outcome == MATCHED, new.outcome == MATCHED
    if was == is_now:
        return
    changed = Changed(row.id, row.title, row.company_name, row.url, old, new)
    if is_now:
        found.appear += 1
        found.appearing.extend([changed] if found.appear <= MOST_SHOWN else [])
    else:
        found.disappear += 1
        found.disappearing.extend([changed] if found.disappear <= MOST_SHOWN else [])


def _result(posting: ReadPosting, seeker: Seeker, now: Micros) -> Result:
    filtered = filter_posting(posting, seeker, moment(now))
    if not filtered.passed:
        worst = sorted(filtered.strikes, key=lambda one: -one.points)
        because = filtered.rejection_summary if filtered.hard_rejections else "; ".join(one.reason for one in worst)
        return Result(FILTERED, None, because or "")
    matched = match_posting(posting, seeker)
    if matched.above_threshold:
        return Result(MATCHED, matched.match_score, "")
    return Result(SKIPPED, matched.match_score, f"scores {matched.match_score}, and {matched.threshold} is wanted")
