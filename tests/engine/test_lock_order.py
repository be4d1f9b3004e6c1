"""Results are written group by group, and yet their rows are locked in the order of their ids."""

from __future__ import annotations

import threading
import time

import pytest
import sqlalchemy as sa

from interlock.engine import Result
from interlock.machine import Go
from interlock.store import Store
from interlock.store.tables import instance
from tests.support.machines import job, trial_of


@pytest.mark.parametrize("reasons", ["ab", "aba"], ids=["apart", "overlapping"])
def test_moves_of_several_groups_and_somebody_who_locks_the_same_rows_do_not_wait_for_each_other(
    store: Store, reasons: str
) -> None:
    if store.one_writer:
        pytest.skip("one writer at a time needs no order")
    with trial_of(store, job()) as trial:
        trial.engine.create_many("job", [None] * len(reasons))
        claims = sorted(trial.claim(len(reasons)), key=lambda claim: claim.id.int)
        results = [Result(claim, Go("second", reason=why)) for claim, why in zip(claims, reasons, strict=True)]
        low, high = (claims[0], claims[1]) if reasons == "ab" else (claims[1], claims[2])
        done: list[list[bool]] = []
        finishing = threading.Thread(target=lambda: done.append(trial.engine.finish(results[::-1])))

        def lock_both(conn: sa.Connection) -> None:
            for claim in (low, high):
                conn.execute(sa.select(instance.c.id).where(instance.c.id == claim.id).with_for_update())
                if not finishing.ident:
                    finishing.start()
                    time.sleep(0.3)

        begun = time.monotonic()
        store.write(lock_both)
        took = time.monotonic() - begun
        finishing.join(10)
        assert done == [[True] * len(reasons)]
        assert took < 0.9, "PostgreSQL looks for a deadlock after a second"
