"""The reconciler: differences between what loans hold and what the allocator counts as lent, and whose they are.

It only finds them. A difference is noted when it is first seen and forgotten when it is gone, so a borrow or a return
that is just under way does not count: only what lasts longer than `LASTS` is shown as drift.

- `allocator`: it counts something as lent that no loan here holds. Release it by force if nobody uses it.
- `loan`: a loan holds something that the allocator does not count as lent, so somebody else may get it.
- `both`: two loans hold the same sandbox.
- `counts`: the counts of a pool are not those of its items: somebody edited the tables.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import sqlalchemy as sa

from interlock.apps.sessions.allocator import lending, pool
from interlock.apps.sessions.allocator.choosing import lender_of
from interlock.apps.sessions.allocator.lender import AllocatorRefused, AllocatorUnavailable, AnswerLost, Borrowed
from interlock.apps.sessions.allocator.transactions import EngineTransactions
from interlock.apps.sessions.loans.keys import loan_in
from interlock.apps.sessions.machine import BORROWING, loan
from interlock.apps.sessions.settings import SessionSettings, settings_in
from interlock.apps.sessions.tables import sandbox_drift as D
from interlock.apps.sessions.tables import sandbox_loan
from interlock.engine import Engine
from interlock.engine.application import Unit, instances
from interlock.store import Micros, span
from interlock.store.sql import upsert

log = logging.getLogger("interlock.sessions")
LASTS = timedelta(seconds=60)
"""How long a difference has to be there to be drift: longer than a borrow or a return takes between its two sides."""
OUT_OF_USE = {lending.EXPIRED, lending.WITHDRAWN, lending.RETURN_FAILED}
"""Borrows whose item is in quarantine: nobody works in it, and it is counted there."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference between loans and allocator."""

    name: str
    whose: str
    """allocator, loan, both or counts: the side that is wrong."""
    sentence: str
    item_id: str | None
    loan_id: UUID | None
    first_seen: Micros
    last_seen: Micros


def drifts(conn: sa.Connection, now: Micros, lasts: timedelta = LASTS) -> list[Drift]:
    """Differences that have been there for so long, the oldest first."""
    query = sa.select(D).where(D.c.first_seen <= now - span(lasts)).order_by(D.c.first_seen, D.c.name)
    return [Drift(**row._mapping) for row in conn.execute(query)]


def reconcile(engine: Engine) -> bool:
    """Compare both sides, and note what differs."""
    settings = settings_in(engine.setting("sessions"))
    lender = lender_of(settings, EngineTransactions(engine))
    # First what is held here: a borrow that comes in between is then on the allocator's side only, and its loan known.
    held = engine.read(lambda conn: _held(conn, lender.name))
    try:
        lent = lender.borrowed()
    except (AllocatorUnavailable, AllocatorRefused, AnswerLost) as error:
        log.warning("the allocator does not say what it has lent, so nothing was compared: %s", error)
        return False
    engine.write(lambda unit: _note(unit, _differences(unit.conn, settings, held, lent)), name="reconcile")
    return False


def _held(conn: sa.Connection, allocator: str) -> dict[str, list[UUID]]:
    """The loans that hold an item of this allocator, by item."""
    query = sa.select(sandbox_loan.c.item_id, sandbox_loan.c.loan_id).where(
        sandbox_loan.c.ended_at.is_(None), sandbox_loan.c.allocator == allocator
    )
    found: dict[str, list[UUID]] = defaultdict(list)
    for row in conn.execute(query.order_by(sandbox_loan.c.loan_id)):
        found[row.item_id].append(row.loan_id)
    return found


@dataclass(frozen=True, slots=True)
class _Difference:
    name: str
    whose: str
    sentence: str
    item_id: str | None = None
    loan_id: UUID | None = None


def _differences(
    conn: sa.Connection, settings: SessionSettings, held: dict[str, list[UUID]], lent: Sequence[Borrowed]
) -> list[_Difference]:
    by_item = {one.item_id: one for one in lent}
    found = []
    for item_id, loans in held.items():
        if len(loans) > 1:
            words = " and ".join(map(str, loans))
            found.append(_Difference(f"both:{item_id}", "both", f"the loans {words} hold the same sandbox", item_id))
        if item_id not in by_item:
            sentence = f"loan {loans[0]} holds the sandbox {item_id}, and the allocator does not count it as lent"
            found.append(_Difference(f"loan:{loans[0]}", "loan", sentence, item_id, loans[0]))
    ours = [(one, loan_in(one.key)) for one in lent if one.item_id not in held and one.state not in OUT_OF_USE]
    borrowing = _borrowing(conn, [its for _, its in ours if its is not None])
    for one, its in ours:
        if its is None and (one.key is not None or settings.allocator.shared):
            continue  # it is lent to somebody else
        if its in borrowing:
            continue  # the loan is just being lent it, or will look it up
        who = f"loan {its}, which does not hold it" if its is not None else "a borrower that is not known here"
        sentence = f"the allocator counts the sandbox {one.item_id} as lent to {who}"
        found.append(_Difference(f"allocator:{one.item_id}", "allocator", sentence, one.item_id, its))
    if settings.allocator.url is None:
        found += [
            _Difference(f"counts:{name}", "counts", f"the counts of the pool {name} are not those of its items")
            for name in pool.miscounted(conn)
        ]
    return found


def _borrowing(conn: sa.Connection, loans: list[UUID]) -> set[UUID]:
    """Loans that are being lent something, or are stuck there: they are shown as such."""
    if not loans:
        return set()
    found = instances(conn, loan.name, ids=loans, limit=len(loans))
    return {one.id for one in found if one.state == BORROWING or (one.state == "stuck" and one.data["lent"] is None)}


def _note(unit: Unit, found: list[_Difference]) -> None:
    """Keep when each difference was first seen, and forget those that are gone."""
    for one in found:
        values = {
            "name": one.name,
            "whose": one.whose,
            "sentence": one.sentence,
            "item_id": one.item_id,
            "loan_id": one.loan_id,
            "first_seen": unit.now,
            "last_seen": unit.now,
        }
        kept = upsert(D).values(values)
        changed = {"last_seen": unit.now, "sentence": one.sentence}
        unit.conn.execute(kept.on_conflict_do_update(index_elements=["name"], set_=changed))
    unit.conn.execute(sa.delete(D).where(D.c.last_seen < unit.now))
