"""Lists of postings: filters, pages, counts, and the summary of the day.

Lists are ordered by score, then by id, the highest first; a posting without a score comes last. The cursor of a page is
the score and id of its last posting, so a page is stable while postings come and go. Inside a page the fresh ones move
up (`matching.fresh`); across pages they do not, because freshness changes with time and a cursor must not.

An opening that several sources show is listed once. `opening_id` of its further postings is the id of the one to show,
which has none itself; they are found by their source or their address. The long JSON columns are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from interlock.ai.calls import paid_for
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.machine import company, listing, source
from interlock.apps.jobs.finder.matching import fresh
from interlock.apps.jobs.finder.postings.posting import Workplace
from interlock.apps.jobs.finder.profiles.profile import Scoring
from interlock.apps.jobs.finder.records import profiles, sources
from interlock.apps.jobs.finder.records.postings import (
    CLOSED,
    FAILED,
    FILTERED,
    LIST_COLUMNS,
    MATCHED,
    NEW,
    OPEN,
    SKIPPED,
    UNCERTAIN,
    WAITING,
    of_opening,
)
from interlock.apps.jobs.finder.records.sources import SourceRow
from interlock.apps.jobs.finder.sources.cleaning import visible
from interlock.apps.jobs.tables import company as C
from interlock.apps.jobs.tables import posting as P
from interlock.apps.jobs.tables import source as S
from interlock.engine import Instance, InvalidData, Unreadable, reviews
from interlock.engine.application import stuck
from interlock.store import Micros, moment

OUTCOMES = (NEW, WAITING, FILTERED, SKIPPED, MATCHED, FAILED)
STATES = (OPEN, UNCERTAIN, CLOSED)
SAVED, DISMISSED, UNDECIDED = "saved", "dismissed", "undecided"
DECISIONS = (SAVED, DISMISSED, UNDECIDED)
WORKPLACES = tuple(one.value for one in Workplace)
MACHINES = (company.name, source.name, listing.name)
STUCK_AFTER = timedelta(hours=24)
BIGGEST_PAGE = 500
MOST_WORDS = 10
UNSCORED = -1
"""The score in the cursor of a posting that has none."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which postings are wanted. What is None or empty does not count."""

    q: str | None = None
    """Words of title, company, place or address; all of them."""
    states: Sequence[str] = ()
    """Outcomes, states and decisions. Of one kind any will do, and each kind that is named must fit."""
    min_score: int | None = None
    company: str | None = None
    """The company's id, or its name whatever the legal form."""
    workplace: str | None = None
    source: str | None = None
    """The source's id, or a kind of source, such as `greenhouse`."""
    every_sighting: bool = False
    """Also the further postings of an opening."""

    def conditions(self, workspace: str) -> list[sa.ColumnElement[bool]]:
        """What a row has to fulfil besides its outcome. Raises InvalidData with what is wrong."""
        found = [P.c.workspace == workspace]
        found += [_somewhere(word) for word in visible(self.q or "").split()[:MOST_WORDS]]
        if wanted := [one for one in self.states if one in STATES]:
            found.append(P.c.state.in_(wanted))
        if wanted := [one for one in self.states if one in DECISIONS]:
            named = P.c.decision.in_([one for one in wanted if one != UNDECIDED])
            found.append(sa.or_(named, P.c.decision.is_(None)) if UNDECIDED in wanted else named)
        if self.min_score is not None:
            found.append(P.c.score >= self.min_score)
        if self.company:
            found.append(self._company())
        if self.workplace:
            found.append(P.c.workplace == _one_of(self.workplace, WORKPLACES, "workplace"))
        if self.source:
            one = _uuid(self.source)
            of_kind = sa.select(S.c.id).where(S.c.workspace == workspace, S.c.source_type == visible(self.source))
            found.append(P.c.source_id == one if one else P.c.source_id.in_(of_kind))
        elif not self.every_sighting:
            found.append(sa.or_(P.c.opening_id.is_(None), P.c.opening_id == P.c.id))
        return found

    def outcomes(self) -> list[str]:
        """The outcomes that are wanted: those that are named, else all."""
        for one in self.states:
            _one_of(one, (*OUTCOMES, *STATES, *DECISIONS), "state")
        return [one for one in OUTCOMES if one in self.states] or list(OUTCOMES)

    def _company(self) -> sa.ColumnElement[bool]:
        one, key = _uuid(self.company), company_key(visible(self.company or ""))
        if one is not None:
            return P.c.company_id == one
        return P.c.company_key == key if key else sa.false()


@dataclass(frozen=True, slots=True)
class Having:
    """Which companies or sources are wanted: by themselves, or by an open posting that they have."""

    min_score: int | None = None
    """They have a posting that scores at least this."""
    workplace: str | None = None
    """They have a posting with this workplace."""
    company: str | None = None
    """The company's id, or its name whatever the legal form."""
    source: str | None = None
    """The source's id, or a kind of source, such as `greenhouse`."""

    def of_companies(self, workspace: str) -> list[sa.ColumnElement[bool]]:
        """Conditions on companies. Raises InvalidData with what is wrong."""
        found = self._posted(workspace, C.c.id, P.c.company_id)
        if self.company:
            found.append(self._company())
        if self.source:
            found.append(C.c.id.in_(sa.select(S.c.company_id).where(S.c.workspace == workspace, self._source())))
        return found

    def of_sources(self, workspace: str) -> list[sa.ColumnElement[bool]]:
        """Conditions on sources. Raises InvalidData with what is wrong."""
        found = self._posted(workspace, S.c.id, P.c.source_id)
        if self.source:
            found.append(self._source())
        if self.company:
            named = visible(self.company).lower()
            known = sa.select(C.c.id).where(C.c.workspace == workspace, self._company())
            found.append(sa.or_(S.c.company_id.in_(known), sa.func.lower(S.c.company_name) == named))
        return found

    def _posted(
        self, workspace: str, mine: sa.ColumnElement[Any], whose: sa.ColumnElement[Any]
    ) -> list[sa.ColumnElement[bool]]:
        wanted = []
        if self.min_score is not None:
            wanted += [P.c.outcome.in_(OUTCOMES), P.c.score >= self.min_score]  # the index by outcome and score
        if self.workplace:
            wanted.append(P.c.workplace == _one_of(self.workplace, WORKPLACES, "workplace"))
        shown = sa.select(whose).where(P.c.workspace == workspace, P.c.state != CLOSED, whose.is_not(None), *wanted)
        return [mine.in_(shown)] if wanted else []

    def _company(self) -> sa.ColumnElement[bool]:
        one, key = _uuid(self.company), company_key(visible(self.company or ""))
        return C.c.id == one if one is not None else C.c.company_key == key if key else sa.false()

    def _source(self) -> sa.ColumnElement[bool]:
        one = _uuid(self.source)
        return S.c.id == one if one is not None else S.c.source_type == visible(self.source or "")


@dataclass(frozen=True)
class Row:
    """A posting in a list: its columns, without the long ones."""

    row: Any
    list_score: float | None
    """The score with what a fresh posting gains. It orders lists and means nothing else."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of postings."""

    rows: list[Row]
    next: str | None
    """The cursor of the next page; None on the last."""


def page(
    conn: sa.Connection, workspace: str, wanted: Filter, now: Micros, *, after: str | None = None, limit: int = 50
) -> Page:
    """A page of postings, the best first."""
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    conditions, outcomes = wanted.conditions(workspace), wanted.outcomes()
    score, last = position(after)
    rows: list[Any] = []
    if score is None or score != UNSCORED:
        rows = _scored(conn, conditions, outcomes, score, last, limit + 1)
    if len(rows) <= limit and wanted.min_score is None:
        before = last if score == UNSCORED else None
        rows += _unscored(conn, conditions, outcomes, before, limit + 1 - len(rows))
    more, rows = len(rows) > limit, rows[:limit]
    return Page(ordered(conn, workspace, rows, now), _cursor(rows[-1]) if more else None)


def ordered(conn: sa.Connection, workspace: str, rows: Sequence[Any], now: Micros) -> list[Row]:
    """The rows by their scores and freshness."""
    scoring = _scoring(conn, workspace)
    at = moment(now)
    made = [
        Row(row, None if row.score is None else fresh(row.score, _moment(row.posted_at), at, scoring)) for row in rows
    ]
    return sorted(made, key=lambda one: -1.0 if one.list_score is None else one.list_score, reverse=True)


def _scoring(conn: sa.Connection, workspace: str) -> Scoring:
    try:
        stored = profiles.find(conn, workspace)
    except Unreadable:
        return Scoring()
    return stored.profile.match if stored else Scoring()


def _scored(
    conn: sa.Connection,
    conditions: Sequence[sa.ColumnElement[bool]],
    outcomes: Sequence[str],
    score: int | None,
    last: UUID | None,
    limit: int,
) -> list[Any]:
    # Each outcome for itself: then the index by outcome, score and id gives them in their order.
    found: list[Any] = []
    for outcome in outcomes:
        query = sa.select(*LIST_COLUMNS).where(*conditions, P.c.outcome == outcome, P.c.score.is_not(None))
        if score is not None:
            query = query.where(P.c.score <= score, sa.or_(P.c.score < score, P.c.id < last))
        found += conn.execute(query.order_by(P.c.score.desc(), P.c.id.desc()).limit(limit)).all()
    return sorted(found, key=lambda row: (row.score, row.id), reverse=True)[:limit]


def _unscored(
    conn: sa.Connection,
    conditions: Sequence[sa.ColumnElement[bool]],
    outcomes: Sequence[str],
    last: UUID | None,
    limit: int,
) -> list[Any]:
    found: list[Any] = []
    for outcome in outcomes:
        query = sa.select(*LIST_COLUMNS).where(*conditions, P.c.outcome == outcome, P.c.score.is_(None))
        if last is not None:
            query = query.where(P.c.id < last)
        found += conn.execute(query.order_by(P.c.id.desc()).limit(limit)).all()
    return sorted(found, key=lambda row: row.id, reverse=True)[:limit]


def _cursor(row: Any) -> str:
    return f"{UNSCORED if row.score is None else row.score}.{row.id.hex}"


def position(cursor: str | None) -> tuple[int | None, UUID | None]:
    """The score and id that a cursor names."""
    if cursor is None:
        return None, None
    score, _, last = cursor.partition(".")
    try:
        return max(UNSCORED, min(int(score[:10]), 1000)), UUID(hex=last)
    except ValueError:
        raise InvalidData(f"{cursor[:100]!r} is not a cursor; take it from `next` of the page before") from None


def sightings(conn: sa.Connection, row: Any) -> list[Any]:
    """The other postings of the same opening, without their long columns."""
    query = sa.select(*LIST_COLUMNS).where(of_opening(row), P.c.id != row.id)
    return list(conn.execute(query.order_by(P.c.id).limit(50)))


Counted = Literal["outcomes", "states", "decisions"]


def counts(conn: sa.Connection, workspace: str) -> dict[Counted, dict[str, int]]:
    """How many openings have each outcome, state and decision. Outcomes and decisions leave out those that closed."""
    shown = sa.or_(P.c.opening_id.is_(None), P.c.opening_id == P.c.id)
    rows = conn.execute(
        sa.select(P.c.outcome, P.c.state, P.c.decision, sa.func.count().label("many"))
        .where(P.c.workspace == workspace, shown)
        .group_by(P.c.outcome, P.c.state, P.c.decision)
    ).all()
    found: dict[Counted, dict[str, int]] = {
        "outcomes": dict.fromkeys(OUTCOMES, 0),
        "states": dict.fromkeys(STATES, 0),
        "decisions": dict.fromkeys(DECISIONS, 0),
    }

    def add(kind: Counted, name: str, many: int) -> None:
        found[kind][name] = found[kind].get(name, 0) + many

    for row in rows:
        add("states", row.state, row.many)
        if row.state != CLOSED:
            add("outcomes", row.outcome, row.many)
            add("decisions", row.decision or UNDECIDED, row.many)
    return found


@dataclass(frozen=True)
class Settled:
    """How many postings have an outcome, and for how many of them a model was paid."""

    postings: int
    paid: int

    @property
    def before_any_call(self) -> int:
        return self.postings - self.paid

    @cached_property
    def share(self) -> float | None:
        return round(self.before_any_call / self.postings, 4) if self.postings else None


def settled(conn: sa.Connection, workspace: str) -> Settled:
    """How many postings were settled before any call that costs."""
    done = [P.c.workspace == workspace, P.c.outcome.in_([FILTERED, SKIPPED, MATCHED])]
    many = sa.select(sa.func.count()).select_from(P).where(*done)
    return Settled(
        int(conn.execute(many).scalar_one()), int(conn.execute(many.where(paid_for(P.c.item_id))).scalar_one())
    )


@dataclass(frozen=True, slots=True)
class Today:
    """What needs attention now."""

    matches: list[Row]
    """Matches that nobody has decided about, the best first; only open ones."""
    reviews: list[reviews.OpenReview]
    stuck: list[Instance]
    """Items that are in their state for more than a day."""
    troubled: list[SourceRow]
    """Sources whose last crawl failed, and those that were disabled or wait for a person."""
    settled: Settled
    counts: dict[Counted, dict[str, int]]


def today(conn: sa.Connection, workspace: str, now: Micros, *, limit: int = 10) -> Today:
    """The summary of the day, with at most `limit` of each."""
    wanted = Filter(states=(MATCHED, UNDECIDED, OPEN, UNCERTAIN))
    open_reviews = reviews.ReviewFilter(workspace=workspace, machines=frozenset(MACHINES))
    return Today(
        page(conn, workspace, wanted, now, limit=limit).rows,
        reviews.waiting(conn, open_reviews, limit=limit),
        stuck(conn, (company, source, listing), now, STUCK_AFTER, workspace=workspace, limit=limit),
        in_trouble(conn, workspace, limit=limit),
        settled(conn, workspace),
        counts(conn, workspace),
    )


def in_trouble(conn: sa.Connection, workspace: str, *, limit: int = 10) -> list[SourceRow]:
    """Sources that a person should look at, those with the most failures first."""
    trouble = sa.or_(
        S.c.consecutive_failures > 0,
        S.c.status == sources.PENDING_VALIDATION,
        sa.and_(S.c.status == sources.DISABLED, S.c.status_reason != ""),
    )
    query = sa.select(S).where(S.c.workspace == workspace, trouble)
    query = query.order_by(S.c.consecutive_failures.desc(), S.c.id.desc()).limit(limit)
    return [sources.row_of(row) for row in conn.execute(query)]


def _somewhere(word: str) -> sa.ColumnElement[bool]:
    return sa.or_(*(_has(column, word) for column in (P.c.title, P.c.company_name, P.c.location, P.c.url)))


def _has(column: sa.ColumnElement[Any], word: str) -> sa.ColumnElement[bool]:
    # SQLite folds only ASCII letters, so other spellings of the word are named.
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return sa.or_(*(column.icontains(one, autoescape=True) for one in sorted(spellings)))


def _one_of(value: str, known: Sequence[str], what: str) -> str:
    if value not in known:
        raise InvalidData(f"{what} {value[:100]!r} is none of {', '.join(known)}")
    return value


def _uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _moment(at: Micros | None) -> Any:
    return None if at is None else moment(at)
