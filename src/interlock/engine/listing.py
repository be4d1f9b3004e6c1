"""Lists instances: filters, pages by cursor, and bounded counts.

The newest come first. Ids grow with time, so the last id of a page is the cursor of the next, and every page costs the
same. A count stops at 10,000. If no index helps (text, label, error, age), a page reads at most 20,000 rows, and its
cursor says where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from secrets import randbelow
from uuid import UUID

import sqlalchemy as sa

from interlock.engine import lineage, short_ids, values
from interlock.engine.errors import InvalidData
from interlock.engine.instance import Instance
from interlock.engine.text import canonical
from interlock.engine.unit import load
from interlock.store import Micros, span
from interlock.store import tables as t

I = t.instance  # noqa: E741

MOST = 10_000
BIGGEST_PAGE = 500
MOST_SORTED = 5_000
FEW = 5_000
VISIBILITY = frozenset({"workspace", "workspaces", "machines"})
"""Fields of a filter that restrict what somebody may see. They select nothing by themselves."""
MAX_SCANNED = 20_000
"""Rows that a page or a count reads at most if no index helps."""


@dataclass(frozen=True, slots=True)
class Where:
    """A filter for instances. Fields that are None do not count."""

    machine: str | None = None
    state: str | None = None
    workspace: str | None = None
    key: str | None = None
    label: tuple[str, str] | None = None
    error: str | None = None
    """The type of its last error."""
    finished: bool | None = None
    paused: bool | None = None
    in_state_for: timedelta | None = None
    """At least this long in its current state."""
    root: UUID | None = None
    text: str | None = None
    """A text in its key, its labels or its data, or the end of its id."""
    workspaces: frozenset[str] | None = None
    """Only these workspaces: what a person may see."""
    machines: frozenset[str] | None = None
    """Only these machines: what an agent may see."""

    def __post_init__(self) -> None:
        values.filters(self, self.__slots__)

    @property
    def empty(self) -> bool:
        """Whether it selects nothing. Workspaces and visible machines do not count."""
        return all(getattr(self, name) is None for name in self.__slots__ if name not in VISIBILITY)

    @property
    def searches(self) -> bool:
        """Whether rows must be read one by one. No index has the state without the machine."""
        return (self.state is not None and self.machine is None) or any(
            getattr(self, name) is not None
            for name in ("text", "key", "label", "error", "paused", "finished", "in_state_for", "machines")
        )

    def conditions(self, now: Micros) -> list[sa.ColumnElement[bool]]:
        return self.indexed() + self.unindexed(now)

    def indexed(self) -> list[sa.ColumnElement[bool]]:
        # If an index by state or lineage helps, SQLite must not use the one by workspace: 400 ms instead of 5 for a
        # count among a million rows. Concatenated with an empty text, the column has no index.
        related = self.root is not None
        found: list[sa.ColumnElement[bool]] = [
            (I.c[name].concat("") if related else I.c[name]) == value
            for name in (("machine",) if self.machine is None else ("machine", "state"))
            if (value := getattr(self, name)) is not None
        ]
        if self.root is not None:
            found.append(lineage.family(self.root))
        leads = related or None not in {self.machine, self.state}
        whose = I.c.workspace.concat("") if leads else I.c.workspace
        if self.workspace is not None:
            found.append(whose == self.workspace)
        if self.workspaces is not None:
            found.append(whose.in_(sorted(self.workspaces)))
        if not leads and not self.in_first_workspace and (self.workspace, self.workspaces) != (None, None):
            found.append(t.ELSEWHERE)  # the condition of the index
        return found

    @property
    def in_first_workspace(self) -> bool:
        """Whether instances of the first workspace may match. No index has them by workspace."""
        return self.workspace in {None, t.FIRST_WORKSPACE} and (
            self.workspaces is None or t.FIRST_WORKSPACE in self.workspaces
        )

    def unindexed(self, now: Micros) -> list[sa.ColumnElement[bool]]:
        found: list[sa.ColumnElement[bool]] = []
        if self.state is not None and self.machine is None:
            found.append(I.c.state == self.state)
        if self.machines is not None:
            found.append(I.c.machine.concat("").in_(sorted(self.machines)))
        if self.key is not None:
            found.append(I.c.key == self.key)
        if self.text is not None:
            found.append(_somewhere(self.text))
        if self.label is not None:
            name, value = self.label
            found.append(I.c.labels.contains(f"{canonical(name)}:{canonical(value)}", autoescape=True))
        if self.error is not None:
            found.append(I.c.last_error.contains(f'"type":{canonical(self.error)}', autoescape=True))
        if self.finished is not None:
            found.append(I.c.finished_at.is_not(None) if self.finished else I.c.finished_at.is_(None))
        if self.paused is not None:
            found.append(I.c.paused_at.is_not(None) if self.paused else I.c.paused_at.is_(None))
        if self.in_state_for is not None:
            found.append(I.c.entered_at <= now - span(self.in_state_for))
        return found


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing."""

    instances: list[Instance]
    next: UUID | None
    """The cursor of the next page; None on the last."""


def _somewhere(text: str) -> sa.ColumnElement[bool]:
    """The end of its id, or the text as JSON writes it, in any case. SQLite folds only ASCII letters."""
    wanted = canonical(text)[1:-1]
    far = t.instance_data
    beside = sa.exists().where(far.c.instance_id == I.c.id, far.c.data.icontains(wanted, autoescape=True))
    return sa.or_(
        *([short_ids.ends_with(I.c.id, text)] if short_ids.ENDING.fullmatch(text) else []),
        I.c.key.icontains(text, autoescape=True),
        I.c.labels.icontains(wanted, autoescape=True),
        I.c.data.icontains(wanted, autoescape=True),
        sa.and_(I.c.data.is_(None), beside),
    )


def page(
    conn: sa.Connection,
    where: Where,
    now: Micros,
    *,
    after: UUID | None = None,
    limit: int = 50,
    oldest: bool = False,
) -> Page:
    """A page of the instances that match, the newest or the oldest first."""
    if not 1 <= limit <= BIGGEST_PAGE:
        raise InvalidData(f"a page has 1 to {BIGGEST_PAGE} rows, not {limit}")
    narrow = _narrow(conn, where)
    query = sa.select(I).where(*where.conditions(now), *narrow).order_by(_order(oldest)).limit(limit + 1)
    if after is not None:
        query = query.where(I.c.id > after if oldest else I.c.id < after)
    end = None if narrow else _scan_end(conn, where, after, oldest=oldest)
    if end is not None:
        query = query.where(I.c.id <= end if oldest else I.c.id >= end)
    rows = conn.execute(query).all()
    found = load(conn, rows[:limit])
    return Page(found, found[-1].id if len(rows) > limit else end)


def longest_in_state(
    conn: sa.Connection, where: Where, now: Micros, *, skip: int = 0, limit: int = 50
) -> list[Instance] | None:
    """The instances that are in their state for the longest time; None if there are too many to sort.

    No index has the time of entry, so the rows of one machine and state are read and sorted: at most 5,000.
    """
    if where.machine is None or where.state is None:
        return None
    few = sa.select(I.c.id).where(I.c.machine == where.machine, I.c.state == where.state).limit(MOST_SORTED + 1)
    if conn.execute(sa.select(sa.func.count()).select_from(few.subquery())).scalar_one() > MOST_SORTED:
        return None
    query = sa.select(I).where(*where.conditions(now)).order_by(I.c.entered_at, I.c.id).offset(skip).limit(limit)
    return load(conn, conn.execute(query).all())


def _narrow(conn: sa.Connection, where: Where) -> list[sa.ColumnElement[bool]]:
    """A condition on ids for a machine with few instances: finding them among a million others takes half a second."""
    if where.machine is None or where.state is not None or where.root is not None:
        return []
    ids = sa.select(I.c.id).where(I.c.machine == where.machine)
    if conn.execute(ids.offset(FEW).limit(1)).first() is not None:
        return []
    return [I.c.id.in_(ids.correlate(None))]


def _order(oldest: bool) -> sa.ColumnElement[UUID]:
    return I.c.id.asc() if oldest else I.c.id.desc()


def _scan_end(conn: sa.Connection, where: Where, after: UUID | None, *, oldest: bool = False) -> UUID | None:
    """Where a bounded scan ends; None at the end of the table.

    It becomes the cursor of a page. The caller may not be allowed to see the last row, so it is an id between that row
    and the next one.
    """
    # No index has the instances of the first workspace, so also a search there would read all those of the others.
    seen = _without_workspace(conn, where)
    if where.searches:
        seen = where if seen is None else replace(seen, machine=where.machine)
    if seen is None:
        return None
    query = sa.select(I.c.id).where(*seen.indexed()).order_by(_order(oldest)).offset(MAX_SCANNED - 1).limit(2)
    if after is not None:
        query = query.where(I.c.id > after if oldest else I.c.id < after)
    found = conn.execute(query).scalars().all()
    if len(found) < 2:
        return None
    last, following = found[0].int, found[1].int
    gap = randbelow(abs(following - last))
    return UUID(int=last + gap if oldest else last - gap)


def _without_workspace(conn: sa.Connection, where: Where) -> Where | None:
    """The rows to read for a list of the first workspace among those of others; None if an index has it, or if there
    are no others.
    """
    if (where.workspace, where.workspaces) == (None, None) or not where.in_first_workspace or where.root is not None:
        return None
    if where.machine is not None and where.state is not None:
        return None
    others = sa.select(I.c.id).where(t.ELSEWHERE).order_by(I.c.workspace, I.c.id).limit(1)
    if conn.execute(others).first() is None:
        return None
    return replace(where, workspace=None, workspaces=None, machine=None)


@dataclass(frozen=True, slots=True)
class Count:
    """How many match."""

    n: int
    exact: bool
    """False if there may be more."""


def count(conn: sa.Connection, where: Where, now: Micros, *, most: int = MOST) -> Count:
    """How many match, counted up to `most` and among as many rows as a page reads."""
    narrow = _narrow(conn, where)
    some = sa.select(sa.literal(1).label("one")).select_from(I).where(*where.conditions(now), *narrow)
    end = None if narrow else _scan_end(conn, where, None)
    if end is not None:
        some = some.where(I.c.id >= end)
    total: int = conn.execute(sa.select(sa.func.count()).select_from(some.limit(most + 1).subquery())).scalar_one()
    return Count(min(total, most), total <= most and end is None)
