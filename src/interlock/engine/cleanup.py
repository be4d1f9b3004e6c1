"""Cleanup: removes rows that are no longer needed, a few at a time while others work.

These are uses of limits that are older than any window, unused keys of limits, abandoned slots, workers that are long
gone, the progress of handlers that ended, and leases that have been free for a long time. Each step is a short
transaction over a bounded number of rows, and skips locked rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from interlock.engine import leases, limits, picking
from interlock.engine.unit import Unit
from interlock.machine import Window
from interlock.store import Micros, span
from interlock.store import tables as t
from interlock.store.sql import is_claimed, upsert

if TYPE_CHECKING:
    from interlock.engine.engine import Engine

BATCH = 500
GRACE = timedelta(days=1)
"""How long a use is kept after its window: another process may have a longer window for the same limit."""
UNKNOWN = timedelta(days=400)
"""How long a use is kept if no code here knows its limit."""
WORKERS, PROGRESS, LEASES = timedelta(days=7), timedelta(days=1), timedelta(days=30)
K, U, S, W, P, L, I = t.limit_key, t.limit_use, t.limit_slot, t.worker, t.progress, t.lease, t.instance  # noqa: E741


def clean_up(
    engine: Engine,
    *,
    stopping: Callable[[], bool] = lambda: False,
    rest: Callable[[float], object] = lambda _: None,
    batch: int = BATCH,
) -> Counter[str]:
    """Remove all that is no longer needed. Returns the number of rows by table. `rest` is called between steps."""
    removed: Counter[str] = Counter()
    for step in (_limits, _leases, _workers, _progress):
        after: Any = None
        while not stopping():
            before = engine.clock.steady()
            after = engine.write(partial(step, after=after, batch=batch, removed=removed), name="tidy")
            if after is None:
                break
            rest(engine.clock.steady() - before)
    return removed


# -- limits


def _limits(unit: Unit, after: str | None, batch: int, removed: Counter[str]) -> str | None:
    """Clean up the next keys of limits. Each is locked, so that nobody counts under it meanwhile."""
    keys = sorted(set(_keys(unit, after or "", batch)))[:batch]
    mine = _locked(unit, keys)
    gone: Counter[str] = Counter()
    for before, some in _by_age(unit, mine):
        gone["limit_use"] += unit.conn.execute(sa.delete(U).where(U.c.key.in_(some), U.c.at <= before)).rowcount
    gone["limit_slot"] += limits.free_abandoned(unit, mine)
    if mine:
        used = sa.or_(sa.exists().where(U.c.key == K.c.key), sa.exists().where(S.c.key == K.c.key))
        gone["limit_key"] += unit.conn.execute(sa.delete(K).where(K.c.key.in_(mine), ~used)).rowcount
    _count(unit, removed, gone)
    return keys[-1] if len(keys) == batch else None


def _keys(unit: Unit, after: str, batch: int) -> Iterator[str]:
    for table in (K, U, S):
        query = sa.select(table.c.key).where(table.c.key > after).distinct().order_by(table.c.key).limit(batch)
        yield from unit.conn.execute(query).scalars()


def _locked(unit: Unit, keys: Sequence[str]) -> list[str]:
    """Lock those of the keys that are not locked, until the commit. On SQLite there is only one writer anyway."""
    if not keys or unit.core.store.one_writer:
        return list(keys)
    # After a restore from SQLite, a key may have uses and no row to lock.
    unit.conn.execute(upsert(K).values([{"key": key} for key in keys]).on_conflict_do_nothing())
    query = sa.select(K.c.key).where(K.c.key.in_(keys)).order_by(K.c.key).with_for_update(skip_locked=True)
    return list(unit.conn.execute(query).scalars())


def _by_age(unit: Unit, keys: Sequence[str]) -> Iterator[tuple[Micros, list[str]]]:
    """The keys, grouped by the time before which their uses no longer count."""
    windows: dict[str, Micros] = {}
    for machine in unit.core.registry:
        for name, limit in machine.limits.items():
            if isinstance(limit, Window):
                windows[name] = max(windows.get(name, 0), span(limit.per + GRACE))
    ages: dict[Micros, list[str]] = {}
    for key in keys:
        ages.setdefault(windows.get(key.partition("/")[0], span(UNKNOWN)), []).append(key)
    return ((unit.now - age, some) for age, some in ages.items())


# -- leases


def _leases(unit: Unit, after: str | None, batch: int, removed: Counter[str]) -> str | None:
    """Clean up the next leases. A lease that has been free for long goes once the floor is as high as its fence.

    The floor is raised in one round and used in a later one. So a statement that takes a lease while its row is removed
    began after the floor was raised, and gets a higher fence.
    """
    query = sa.select(L.c.name).where(L.c.name > (after or ""), L.c.name != leases.FLOOR)
    names = list(unit.conn.execute(query.order_by(L.c.name).limit(batch)).scalars())
    ended = unit.now - span(LEASES)
    free = sa.and_(
        L.c.name.in_(names),
        # A lease that expired for an instance is left to its application.
        sa.or_(
            sa.and_(L.c.holder.is_(None), L.c.taken_at <= ended),
            sa.and_(L.c.until <= ended, L.c.instance_id.is_(None)),
        ),
    )
    old = {
        row.name: row.fence
        for row in unit.conn.execute(sa.select(L.c.name, L.c.fence).where(free).with_for_update(skip_locked=True))
    }
    floor, since = leases.floor(unit.conn)
    if old and since is not None and since <= unit.now - span(leases.SETTLED):
        low = [name for name, fence in old.items() if fence <= floor]
        if low:
            gone = unit.conn.execute(sa.delete(L).where(L.c.name.in_(low), free)).rowcount
            _count(unit, removed, Counter({"lease": gone}))
    if old and max(old.values()) > floor:
        leases.raise_floor(unit.conn, unit.now, max(old.values()))
    return names[-1] if len(names) == batch else None


# -- workers and progress


def _workers(unit: Unit, after: object, batch: int, removed: Counter[str]) -> bool | None:
    """Remove workers that stopped or were lost a while ago and have no claims."""
    working = sa.or_(
        sa.exists().where(picking.wake_is("lease"), I.c.holder == W.c.id),
        sa.exists().where(t.claim_batch.c.worker == W.c.id),
    )
    ended = sa.and_(W.c.status.in_(("stopped", "lost")), W.c.until <= unit.now - span(WORKERS), ~working)
    files = unit.conn.execute(sa.select(W.c.lock_file).where(ended, W.c.lock_file.is_not(None)).limit(batch)).scalars()
    unit.after_commit += [partial(unit.core.store.remove_lock, path) for path in files]
    return _some(unit, W, ended, batch, removed)


def _progress(unit: Unit, after: object, batch: int, removed: Counter[str]) -> bool | None:
    """Remove the progress of handlers that have ended."""
    worked_on = sa.exists().where(I.c.id == P.c.instance_id, is_claimed())
    return _some(unit, P, sa.and_(P.c.at <= unit.now - span(PROGRESS), ~worked_on), batch, removed)


def _some(unit: Unit, table: sa.Table, where: sa.ColumnElement[bool], batch: int, removed: Counter[str]) -> bool | None:
    """Remove up to `batch` rows. None if there were fewer."""
    (key,) = table.primary_key.columns
    pick = sa.select(key).where(where).limit(batch).with_for_update(skip_locked=True)
    found = list(unit.conn.execute(pick).scalars())
    if found:
        gone = unit.conn.execute(sa.delete(table).where(key.in_(found), where)).rowcount
        _count(unit, removed, Counter({table.name: gone}))
    return True if len(found) == batch else None


def _count(unit: Unit, removed: Counter[str], gone: Counter[str]) -> None:
    """Count after the commit: the transaction may run twice."""
    unit.after_commit.append(lambda: removed.update({name: n for name, n in gone.items() if n}))
