"""Query plans: with 50,000 rows around them, the statements that run all the time read by their indexes alone.

The statements are caught while the engine runs them, so that what is explained here is what it really asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from interlock.engine import Engine, due, keys, limits, lineage, listing, moves, picking, workers
from interlock.engine.listing import Where
from interlock.engine.unit import Unit
from interlock.store import open_store, tables
from interlock.store.arrays import array
from interlock.store.postgres_bulk import same_for_all, update_many
from interlock.store.prepared import _Compiled
from interlock.testing import VirtualClock
from tests.support.databases import shared_database
from tests.support.query_plans import HOLDER, MACHINES, CaughtStatement, fill, nodes, postgres_plan, sqlite_plan

QUEUES = ("parcel", "visit")

# The timers' index has one column, and the look for blocked work needs none.
ALLOWED = {
    "SEARCH instance USING INDEX ix_instance_timer (timer_at>? AND timer_at<?)",
    "SEARCH instance USING COVERING INDEX ix_instance_timer (timer_at>? AND timer_at<?)",
    "SCAN instance USING INDEX ix_instance_blocked",
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    url = shared_database(request, tmp_path_factory.mktemp("plans"))
    with open_store(url, durability="normal", wakeup="poll") as store:
        store.write(fill)
        yield Engine(store, MACHINES, clock=VirtualClock())


def catch(engine: Engine, job: Callable[[Unit], Any]) -> list[CaughtStatement]:
    """The statements about instances that the job sends; what it changes is taken back."""
    asked: list[CaughtStatement] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        about = re.search(r"\b(FROM|UPDATE|INTO|JOIN) instance\b", statement)
        if about and not statement.startswith(("INSERT", "UPDATE")):
            asked.append(CaughtStatement(statement, parameters))

    class TakenBack(Exception):
        pass

    def run(unit: Unit) -> None:
        job(unit)
        raise TakenBack

    went = _Compiled.run

    def straight(self: _Compiled, conn: sa.Connection, values: dict[str, Any]) -> Any:
        note(conn, None, self.text, self.bound(values))
        return went(self, conn, values)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_Compiled, "run", straight)
            with pytest.raises(TakenBack):
                engine.write(run)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert asked
    return asked


Job = Callable[[Unit], Any]
BY_ID = ("pk_instance", "sqlite_autoindex_instance_1")
JOBS: dict[str, tuple[Job, tuple[str, ...]]] = {
    "the claim's probe": (lambda u: picking.pick(u.core, u.conn, u.now, QUEUES, 8, 1), ("ix_instance_ready",)),
    "the claim's probe by age": (lambda u: picking.pick(u.core, u.conn, u.now, QUEUES, 16, 0), ("ix_instance_ready",)),
    "a look for ready work": (
        lambda u: picking.anything_ready(u.core, u.conn, u.now, QUEUES),
        ("ix_instance_ready",),
    ),
    "resumes": (lambda u: due.run_due(u, due.RESUMES, 10), ("ix_instance_due",)),
    "time limits": (lambda u: due.run_due(u, due.OVERDUE, 10), ("ix_instance_due",)),
    "timers": (lambda u: due.run_due(u, due.TIMERS, 10), ("ix_instance_timer",)),
    "a look for what is due": (
        lambda u: due.anything_due(u.conn, 0),
        ("ix_instance_due", "ix_instance_timer", "ix_instance_blocked", *BY_ID),
    ),
    "what a worker holds": (lambda u: workers.claimed_by(u.conn, HOLDER), ("ix_instance_due",)),
    "what lost workers hold": (lambda u: due.lost_workers(u, [HOLDER, uuid4()]), ("ix_instance_due",)),
    "what waits for a slot": (lambda u: limits.unblock(u, "desk/7", count=2), ("ix_instance_blocked",)),
    "the holder of a key": (lambda u: moves.key_holder(u, "default", "parcel", "key 20"), ("uq_instance_key",)),
    "the holders of many keys": (
        lambda u: keys.lock_by_keys(u, "default", "parcel", ["key 20", "key 22"]),
        ("uq_instance_key",),
    ),
    "which keys are free": (
        lambda u: keys.find_free(u, "default", "parcel", ["key 20", "key 9999999"]),
        ("uq_instance_key",),
    ),
    "an instance": (lambda u: u.lock(UUID(int=17)), BY_ID),
    "many instances": (lambda u: u.lock_many([UUID(int=n) for n in (17, 18, 19)]), BY_ID),
    "what runs in a lineage": (
        lambda u: lineage._same_in_lineage(u, UUID(int=17), "parcel", "key 17"),
        ("ix_instance_root", *BY_ID),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_it_reads_by_its_index_and_passes_over_nothing(engine: Engine, name: str) -> None:
    job, indexes = JOBS[name]
    for asked in catch(engine, job):
        if engine.store.dialect == "sqlite":
            plan = engine.store.read(partial(sqlite_plan, asked=asked))
            searches = [step for step in plan if "instance" in step]
            assert searches
            for step in searches:
                found = re.fullmatch(r"SEARCH instance USING (?:COVERING )?INDEX (\w+) \(.*=.*\)", step)
                assert found or step in ALLOWED, f"{step}\n{asked.statement}"
                assert found is None or found.group(1) in indexes, step
            # Sorting is for the few rows of a lost worker only: the index gives the others in order.
            assert name == "what lost workers hold" or not [step for step in plan if "TEMP B-TREE" in step], plan
            continue
        for mode in ("force_custom_plan", "force_generic_plan"):
            top = engine.store.read(partial(postgres_plan, asked=asked, mode=mode))
            reads = [node for node in nodes(top) if node.get("Relation Name") == "instance"]
            assert reads
            for node in reads:
                assert node["Node Type"] in {"Index Scan", "Index Only Scan"}, (mode, node)
                assert node["Index Name"] in indexes, (mode, node)
                assert node.get("Rows Removed by Filter", 0) == 0, (mode, node)
                assert node["Actual Rows"] <= 20, (mode, node)


LINEAGES = {
    "all": Where(root=UUID(int=17)),
    "of a machine": Where(root=UUID(int=17), machine="parcel"),
    "in a state": Where(root=UUID(int=17), machine="parcel", state="packing"),
    "of a workspace": Where(root=UUID(int=17), workspace="default"),
    "in sight": Where(root=UUID(int=17), workspaces=frozenset({"default"})),
}


@pytest.mark.parametrize("which", LINEAGES)
def test_a_lineage_is_found_by_its_root_and_by_its_parents(engine: Engine, which: str) -> None:
    for asked in catch(engine, lambda u: listing.page(u.conn, LINEAGES[which], u.now)):
        if engine.store.dialect == "sqlite":
            plan = engine.store.read(partial(sqlite_plan, asked=asked))
            assert [step for step in plan if step.startswith("SEARCH instance")] == [
                "SEARCH instance USING INDEX sqlite_autoindex_instance_1 (id=?)",
                "SEARCH instance USING INDEX ix_instance_root (root=?)",
            ], plan
            continue
        for mode in ("force_custom_plan", "force_generic_plan"):
            reads = list(nodes(engine.store.read(partial(postgres_plan, asked=asked, mode=mode))))
            assert {node["Index Name"] for node in reads if "Index Name" in node} == {"pk_instance", "ix_instance_root"}
            assert all(node.get("Rows Removed by Filter", 0) <= 1 for node in reads), reads


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)  # SQLite updates one by one
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("guards", [(), ("seq", "fence", "holder")], ids=["", "guarded"])
@pytest.mark.parametrize("priorities", [1, 2], ids=["one for all", "one for each"])
def test_postgresql_finds_the_rows_of_many_updates_by_their_ids(
    engine: Engine, mode: str, guards: tuple[str, ...], priorities: int
) -> None:
    """So many that it would rather read the whole table, if it could see how many they are."""
    ids, worker = [UUID(int=n) for n in range(1, 2001)], UUID(int=7)
    rows = [(it, n % priorities, *(1, 1, worker)[: len(guards)]) for n, it in enumerate(ids)]
    columns = list(zip(*rows, strict=True))
    same = same_for_all(columns, len(guards))
    assert same == (False, priorities == 1, *(False for _ in guards))
    values = [str(c[0]) for c, one in zip(columns, same, strict=True) if one]
    values += [array(c) for c, one in zip(columns, same, strict=True) if not one]
    update = CaughtStatement(update_many(tables.instance, ("id", "priority"), guards, same).decode(), values)

    class TakenBack(Exception):
        pass

    def explain(conn: sa.Connection) -> None:
        plans.append(postgres_plan(conn, update, mode))
        raise TakenBack

    plans: list[dict[str, Any]] = []
    with pytest.raises(TakenBack):
        engine.store.write(explain)
    (read,) = [node for node in nodes(plans[0]) if node.get("Alias") == "old" and "Scan" in node["Node Type"]]
    assert (read["Node Type"], read["Index Name"]) == ("Index Scan", "pk_instance")
