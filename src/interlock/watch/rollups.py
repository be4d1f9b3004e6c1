"""Add up the history into counts by state and sums by minute and hour, in the order of the feed.

The row `rollup` in the table `cursor` is the position. A process locks it, adds up the rows behind it in SQL and moves
it on, all in one transaction. So any process can do it, and each row is counted once.

Each history row is counted by its own content, never by later rows, so the boundaries of batches do not matter. One
case needs care: an instance may pass through a final state within a chain of moves. It is counted as finished when it
enters the state, and subtracted again by the row that leaves it at the same moment.

measure    counts                                                                      state
created    instances                                                                   the first
finished   instances that finished (total: their lifetimes)                            the final one
retried    finished instances with at least one failed attempt                         the final one
passed     successful attempts at a step                                               the step's
failed     failed attempts at a step                                                   the step's
given_up   failed attempts after which the instance stays, for a person to handle      the step's
dwell      times spent in a state, by bucket                                           the one that was left
moved      moves, by hour                                                              both (`SEPARATOR`)
waited     times from a ready step to its claim, by bucket                             the step's
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from interlock.engine.unit import Unit
from interlock.store import Micros, positions
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.store.positions import Order, Position
from interlock.store.sql import prefer_indexes, upsert
from interlock.watch.endings import endings
from interlock.watch.histogram import DAY, HOUR, MINUTE, bucket_of

H, I, R = t.history, t.instance, s.rollup  # noqa: E741
CURSOR = "rollup"
BATCH = 20_000
KEEP_MINUTES = 48 * HOUR
KEEP_HOURS = 400 * DAY
BY_MINUTE = ("created", "finished", "retried", "passed", "failed", "given_up", "waited")
# History is canonical JSON with sorted keys and escaped quotes, so a key can be found by a text match. That costs a
# tenth of parsing the JSON, and PostgreSQL cannot parse JSON that contains \u0000.
ERRED = ('{"error":{%', '{"crash":_,"error":{%', '{"crash":__,"error":{%', '{"crash":___,"error":{%')
SPENT = '%]},"exhausted":true,%'
TOOK = '%","took":%'
FINAL: Any = sa.bindparam("final", expanding=True)
FAILED: Any = sa.bindparam("failed", expanding=True)
SEPARATOR = "\t"
"""Between the two states of a move; names of states have printable characters only."""
QUIET: Any = sa.bindparam("quiet", expanding=True)
Column = sa.ColumnElement[Any]


def behind(conn: sa.Connection) -> bool:
    """Whether there are rows to add up. Takes no lock."""
    after, order = position(conn), positions.order(conn)
    query = sa.select(sa.literal(1)).select_from(H).where(*order.settled(after))
    return conn.execute(query.order_by(*order.columns).limit(1)).first() is not None


def roll(unit: Unit, limit: int = BATCH) -> bool:
    """Add up the next rows of the history. True if there are more. Skipped while another process holds the lock."""
    conn = unit.conn
    after = _take(conn)
    if after is None:
        return False
    end, full = _end(conn, after, limit)
    if end is None:
        return False
    known = endings(conn)
    values = {
        "after_xact": after.xact,
        "after_pos": after.pos,
        "end_xact": end.xact,
        "end_pos": end.pos,
        "final": list(known.final),
        "failed": list(known.failed),
        "quiet": list(known.quiet),
        "recent": unit.now - KEEP_MINUTES,
    }
    prefer_indexes(conn)
    for statement in _statements(positions.order(conn)):
        conn.execute(statement, values)
    conn.execute(sa.update(s.cursor).where(s.cursor.c.name == CURSOR).values(xact=end.xact, pos=end.pos))
    return full


def prune(unit: Unit, limit: int = 5_000) -> bool:
    """Delete expired sums. True if there may be more."""
    key = [R.c[column.name] for column in R.primary_key]
    removed = 0
    for name, kept in (("minute", KEEP_MINUTES), ("hour", KEEP_HOURS)):
        old = sa.select(*key).where(R.c.span == name, R.c.at < unit.now - kept).limit(limit)
        removed = max(removed, unit.conn.execute(sa.delete(R).where(sa.tuple_(*key).in_(old))).rowcount)
    return removed >= limit


def anything_old(conn: sa.Connection, now: Micros) -> bool:
    """Whether `prune` would delete something. Takes no lock."""
    for name, kept in (("minute", KEEP_MINUTES), ("hour", KEEP_HOURS)):
        oldest = conn.execute(sa.select(sa.func.min(R.c.at)).where(R.c.span == name)).scalar()
        if oldest is not None and oldest < now - kept:
            return True
    return False


# -- position


def position(conn: sa.Connection) -> Position:
    """The position up to which the history is added up."""
    row = conn.execute(sa.select(s.cursor.c.xact, s.cursor.c.pos).where(s.cursor.c.name == CURSOR)).first()
    return Position(row.xact, row.pos) if row else positions.START


def _take(conn: sa.Connection) -> Position | None:
    """Lock and return the position; None while another process holds the lock."""
    row = lock(conn, CURSOR)
    return Position(row.xact, row.pos) if row else None


def lock(conn: sa.Connection, name: str) -> sa.Row[Any] | None:
    """Lock a row of the table `cursor`, created on first use. None while another process holds the lock."""
    mine = sa.select(s.cursor).where(s.cursor.c.name == name).with_for_update(skip_locked=True)
    row = conn.execute(mine).first()
    # Select before inserting: with an existing, locked row, PostgreSQL's insert would wait for the lock.
    if row is None and conn.execute(sa.select(s.cursor.c.name).where(s.cursor.c.name == name)).first() is None:
        made = upsert(s.cursor).values(name=name, xact=0, pos=0)
        conn.execute(made.on_conflict_do_nothing())
        row = conn.execute(mine).first()
    return row


def _end(conn: sa.Connection, after: Position, limit: int) -> tuple[Position | None, bool]:
    """The last row of the batch, and whether there may be more behind it."""
    order = positions.order(conn)
    some = sa.select(H.c.xact, H.c.pos).where(*order.settled(after)).order_by(*order.columns)
    row = conn.execute(some.limit(1).offset(limit - 1)).first()
    if row is not None:
        return Position(row.xact, row.pos), True
    row = conn.execute(some.order_by(None).order_by(*order.backwards).limit(1)).first()
    return (Position(row.xact, row.pos), False) if row is not None else (None, False)


# -- reading the rows


@cache
def _statements(order: Order) -> tuple[sa.Insert, sa.Insert]:
    """Build the statements once: it takes 7 ms, during which SQLite's only writer would wait."""
    rows = _rows(order)
    return (
        _adding(s.state_count, ("n",), _present(rows)),
        _adding(R, ("n", "total"), _sums(rows), worst="worst"),
    )


def _rows(order: Order) -> sa.CTE:
    """The rows of the batch, with their instances and the facts in their payloads."""
    bound: dict[str, Any] = {
        name: sa.bindparam(name, type_=sa.BigInteger) for name in ("after_xact", "after_pos", "end_xact", "end_pos")
    }
    after, end = Position(bound["after_xact"], bound["after_pos"]), Position(bound["end_xact"], bound["end_pos"])
    inside = [order.after(after), order.upto(end)]
    erred = _erred(H)
    by_worker = H.c.actor.startswith("worker:", autoescape=True)
    passed = sa.and_(
        by_worker, ~erred, H.c.kind.in_(("moved", "worked", "again")), H.c.payload.like(sa.literal_column(f"'{TOOK}'"))
    )
    there = sa.case(
        (H.c.from_state.is_not(None), H.c.from_state),
        (sa.or_(erred, H.c.waited.is_not(None), passed), _entered(H, lambda p: p.c.to_state)),
    )
    return (
        sa.select(
            H.c.instance_id,
            H.c.seq,
            H.c.kind,
            H.c.from_state,
            H.c.to_state,
            H.c.at,
            H.c.dwell,
            H.c.waited,
            I.c.workspace,
            I.c.machine,
            (H.c.at - I.c.created_at).label("life"),
            _flag(erred, "erred"),
            _flag(sa.and_(erred, _spent(H)), "spent"),
            _flag(passed, "passed"),
            sa.func.coalesce(there, "").label("there"),
        )
        .join(I, I.c.id == H.c.instance_id)
        .where(*inside)
        .cte("batch")
    )


def _flag(condition: Column, name: str) -> sa.Label[int]:
    return sa.case((condition, sa.literal_column("1")), else_=sa.literal_column("0")).label(name)


def _erred(h: Any) -> Column:
    """Whether the row is a failed attempt: one that stayed in its state, or a move that carries an error."""
    payload = sa.func.coalesce(h.c.payload, "")  # NULL would make the negated condition NULL
    patterns = [payload.like(sa.literal_column(f"'{pattern}'")) for pattern in ERRED]
    return sa.or_(h.c.kind == "failed", sa.and_(h.c.from_state.is_not(None), sa.or_(*patterns)))


def _spent(h: Any) -> Column:
    """Whether no retry was left afterwards."""
    return sa.func.coalesce(h.c.payload.like(sa.literal_column(f"'{SPENT}'")), sa.false())


def _entered(row: Any, what: Any) -> Column:
    """Evaluate an expression on the row with which the instance had entered its previous state."""
    p = H.alias("entry")
    found = sa.select(what(p)).where(p.c.instance_id == row.c.instance_id, p.c.seq < row.c.seq)
    return found.where(p.c.to_state.is_not(None)).order_by(p.c.seq.desc()).limit(1).correlate(row).scalar_subquery()


def _present(rows: sa.CTE) -> sa.Select[Any]:
    """The change in the number of instances in each state."""
    moves = sa.union_all(
        sa.select(
            rows.c.workspace, rows.c.machine, rows.c.to_state.label("state"), sa.literal_column("1").label("n")
        ).where(rows.c.to_state.is_not(None)),
        sa.select(rows.c.workspace, rows.c.machine, rows.c.from_state, sa.literal_column("-1")).where(
            rows.c.from_state.is_not(None)
        ),
    ).cte("change")
    key = (moves.c.workspace, moves.c.machine, moves.c.state)
    return sa.select(*key, sa.func.sum(moves.c.n).label("n")).group_by(*key).having(sa.func.sum(moves.c.n) != 0)


def _rests(h: Any, key: Column) -> Column:
    """Whether the instance stays in the failure state that the row leads to."""
    by_hand = sa.or_(h.c.kind == "forced", key.in_(QUIET))
    return sa.or_(sa.and_(_erred(h), _spent(h)), sa.and_(~_erred(h), by_hand))


def _endings(rows: sa.CTE) -> sa.CTE:
    """+1 for each finished instance, -1 for each that left the final state at the same moment."""
    to, source = rows.c.machine + "/" + rows.c.to_state, rows.c.machine + "/" + rows.c.from_state
    by_hand = sa.and_(rows.c.erred == 0, sa.or_(rows.c.kind == "forced", to.in_(QUIET)))
    given_up = sa.and_(to.in_(FAILED), sa.or_(rows.c.spent == 1, by_hand))
    had_rested = _entered(rows, lambda p: _flag(_rests(p, rows.c.machine + "/" + p.c.to_state), "rested"))
    through = sa.or_(source.in_(FINAL), sa.and_(source.in_(FAILED), had_rested == 1))
    columns = (rows.c.instance_id, rows.c.seq, rows.c.at, rows.c.workspace, rows.c.machine, rows.c.life)
    return sa.union_all(
        sa.select(*columns, rows.c.to_state.label("state"), sa.literal_column("1").label("n")).where(
            rows.c.to_state.is_not(None), sa.or_(to.in_(FINAL), given_up)
        ),
        sa.select(*columns, rows.c.from_state, sa.literal_column("-1")).where(
            rows.c.from_state.is_not(None), rows.c.dwell.is_(None), through
        ),
    ).cte("ending")


def _sums(rows: sa.CTE) -> sa.CompoundSelect[Any]:
    """The sums to add to the table `rollup`."""
    zero: Column = sa.literal_column("0")
    one: Column = sa.literal_column("1")

    def measured(
        source: sa.CTE,
        measure: str,
        state: Column,
        n: Column = one,
        total: Column = zero,
        size: Column = zero,
        worst: Column = zero,
    ) -> sa.Select[Any]:
        return sa.select(
            source.c.at,
            source.c.workspace,
            source.c.machine,
            sa.literal_column(f"'{measure}'").label("measure"),
            state.label("state"),
            size.label("size"),
            n.label("n"),
            total.label("total"),
            worst.label("worst"),
        )

    def length(measure: str, of: Column, state: Column) -> sa.Select[Any]:
        return measured(rows, measure, state, total=of, size=bucket_of(of), worst=of).where(of.is_not(None))

    ends = _endings(rows)
    p = H.alias("attempt")
    troubled = sa.exists().where(p.c.instance_id == ends.c.instance_id, p.c.seq <= ends.c.seq, _erred(p))
    happened = sa.union_all(
        measured(rows, "created", rows.c.to_state).where(rows.c.kind == "created"),
        measured(ends, "finished", ends.c.state, n=ends.c.n, total=ends.c.n * ends.c.life),
        measured(ends, "retried", ends.c.state, n=ends.c.n).where(troubled),
        measured(rows, "passed", rows.c.there).where(rows.c.passed == 1),
        measured(rows, "failed", rows.c.there).where(rows.c.erred == 1),
        measured(rows, "given_up", rows.c.there).where(rows.c.kind == "failed", rows.c.spent == 1),
        length("dwell", rows.c.dwell, rows.c.there),
        measured(rows, "moved", rows.c.from_state + sa.literal_column(f"'{SEPARATOR}'") + rows.c.to_state).where(
            rows.c.from_state.is_not(None), rows.c.to_state.is_not(None)
        ),
        length("waited", rows.c.waited, rows.c.there),
    ).cte("happened")

    def by(name: str, length_: Micros, size: Column) -> sa.Select[Any]:
        e = happened.c
        begins = (e.at - e.at % sa.literal_column(str(length_))).label("begins")
        key = (begins, e.workspace, e.machine, e.measure, e.state, size)
        n, total = sa.func.sum(e.n), sa.func.sum(e.total)
        chosen = sa.select(sa.literal_column(f"'{name}'"), *key, n, total, sa.func.max(e.worst))
        # Literals instead of bound values: with parameters PostgreSQL does not recognise the grouping keys.
        return chosen.group_by(*(k for k in key if k is not zero)).having(sa.or_(n != 0, total != 0))

    recent = happened.c.at >= sa.bindparam("recent", type_=sa.BigInteger)
    return sa.union_all(
        by("hour", HOUR, happened.c.size),
        by("minute", MINUTE, zero).where(happened.c.measure.in_(BY_MINUTE), recent),
    )


# -- writing the sums


def _adding(table: sa.Table, sums: Sequence[str], query: Any, *, worst: str | None = None) -> sa.Insert:
    """An upsert that adds the query's rows to the existing rows with the same key."""
    insert = upsert(table).from_select([column.name for column in table.c], query)
    new = insert.excluded
    values: dict[str, Any] = {name: table.c[name] + new[name] for name in sums}
    if worst is not None:
        values[worst] = sa.case((new[worst] > table.c[worst], new[worst]), else_=table.c[worst])
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)
