"""Query plans: with 50,000 rows around them, the statements that run all the time read by their indexes alone.

The statements are caught while the engine runs them, so that what is explained here is what it really asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa

from interlock.engine import Engine, due, keys, limits, lineage, listing, moves, picking, workers
from interlock.engine.listing import Where
from interlock.engine.unit import Unit
from interlock.machine import Go, Outcome
from interlock.store import micros, open_store, tables
from interlock.store.arrays import array
from interlock.store.postgres_bulk import same_for_all, update_many
from interlock.store.prepared import _Compiled
from interlock.testing import START, VirtualClock
from tests.support.effects_and_reviews import parcel, shared_database, visit

ROWS = 50_000
NOW = micros(START)
HOLDER, ROOT = uuid4(), uuid4()
QUEUES = ("parcel", "visit")


def _never(_: Any) -> Outcome:
    return Go("done")


MACHINES = [
    parcel.with_handlers({"packing": _never, "posting": _never}),
    visit.with_handlers({"working": _never, "held": _never}),
]
# Of every 50 rows so many are …: what is ready or due is rare among what is not.
MIX = """CASE WHEN n % 50 < 5 THEN 'finished' WHEN n % 50 < 10 THEN 'paused' WHEN n % 50 < 15 THEN 'blocked'
         WHEN n % 50 < 43 THEN 'future' WHEN n % 50 = 44 THEN 'ready' WHEN n % 50 = 45 THEN 'resume'
         WHEN n % 50 = 46 THEN 'resume later' WHEN n % 50 = 47 THEN 'held' WHEN n % 50 = 48 THEN 'waiting'
         ELSE 'waiting long' END"""
COLUMNS = {
    "machine": "CASE WHEN n % 3 = 0 THEN 'visit' ELSE 'parcel' END",
    "version": "1",
    "workspace": "'default'",
    "key": "'key ' || n",
    "unique_key": "CASE WHEN what = 'finished' THEN NULL ELSE 'key ' || n END",
    "state": "CASE WHEN what = 'finished' THEN 'done' WHEN n % 3 = 0 THEN 'working' ELSE 'packing' END",
    "seq": "1",
    "data": '\'{"desk":"1","user":"ann"}\'',
    "queue": "CASE WHEN n % 3 = 0 THEN 'visit' ELSE 'parcel' END",
    "priority": "n / 7 % 4",
    "wake": """CASE what WHEN 'blocked' THEN 'blocked' WHEN 'future' THEN 'work' WHEN 'ready' THEN 'work'
               WHEN 'resume' THEN 'resume' WHEN 'resume later' THEN 'resume' WHEN 'held' THEN 'lease' END""",
    "due_at": """CASE what WHEN 'blocked' THEN {now} - n WHEN 'future' THEN {now} + 1000000 + n
                 WHEN 'ready' THEN {now} - n WHEN 'resume' THEN {now} - n WHEN 'resume later' THEN {now} + 1000000 + n
                 WHEN 'held' THEN {now} - 500 + n / 50 END""",
    "due_event": "CASE WHEN what LIKE 'resume%' THEN 'retry' END",
    "timer_at": """CASE what WHEN 'paused' THEN {now} - n WHEN 'waiting' THEN {now} - n
                   WHEN 'waiting long' THEN {now} + 1000000 + n END""",
    "fence": "1",
    "blocked_on": "CASE WHEN what = 'blocked' THEN 'desk/' || n % 20 END",
    "paused_at": "CASE WHEN what = 'paused' THEN {now} END",
    "paused_wake": "CASE WHEN what = 'paused' THEN 'work' END",
    "trace_id": "'t'",
    "created_at": "{now}",
    "entered_at": "{now}",
    "updated_at": "{now}",
    "finished_at": "CASE WHEN what = 'finished' THEN {now} END",
}
DIALECT = {
    "sqlite": {
        "id": "printf('%032x', n)",
        "root": "printf('%032x', n)",
        "head": "x''",
        "holder": f"CASE WHEN what = 'held' THEN CASE WHEN n = 47 THEN '{HOLDER.hex}' ELSE printf('%032x', n) END END",
        "parent": f"CASE WHEN n % 1000 = 0 THEN '{ROOT.hex}' END",
    },
    "postgresql": {
        "id": "lpad(to_hex(n), 32, '0')::uuid",
        "root": "lpad(to_hex(n), 32, '0')::uuid",
        "head": "''::bytea",
        "holder": f"CASE WHEN what = 'held' THEN CASE WHEN n = 47 THEN '{HOLDER}'::uuid "
        "ELSE lpad(to_hex(n), 32, '0')::uuid END END",
        "parent": f"CASE WHEN n % 1000 = 0 THEN '{ROOT}'::uuid END",
    },
}
# The timers' index has one column, and the look for blocked work needs none.
ALLOWED = {
    "SEARCH instance USING INDEX ix_instance_timer (timer_at>? AND timer_at<?)",
    "SEARCH instance USING COVERING INDEX ix_instance_timer (timer_at>? AND timer_at<?)",
    "SCAN instance USING INDEX ix_instance_blocked",
}
NUMBERS = {
    "sqlite": f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS})",
    "postgresql": f"WITH numbers AS (SELECT generate_series(1, {ROWS}) AS n)",
}


def fill(conn: sa.Connection) -> None:
    """Fifty thousand rows in one statement."""
    dialect = conn.dialect.name
    columns = {**COLUMNS, **DIALECT[dialect]}
    conn.exec_driver_sql(
        f"INSERT INTO instance ({', '.join(columns)}) {NUMBERS[dialect]} "
        f"SELECT {', '.join(columns.values())} FROM (SELECT n, {MIX} AS what FROM numbers) AS mixed".replace(
            "{now}", str(NOW)
        ).replace("%", "%%" if dialect == "postgresql" else "%")
    )
    conn.exec_driver_sql("ANALYZE")


@dataclass
class Asked:
    """A statement as the engine sent it."""

    statement: str
    parameters: Any


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    url = shared_database(request, tmp_path_factory.mktemp("plans"))
    with open_store(url, durability="normal", wakeup="poll") as store:
        store.write(fill)
        yield Engine(store, MACHINES, clock=VirtualClock())


def catch(engine: Engine, job: Callable[[Unit], Any]) -> list[Asked]:
    """The statements about instances that the job sends; what it changes is taken back."""
    asked: list[Asked] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        about = re.search(r"\b(FROM|UPDATE|INTO|JOIN) instance\b", statement)
        if about and not statement.startswith(("INSERT", "UPDATE")):
            asked.append(Asked(statement, parameters))

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


def sqlite_plan(conn: sa.Connection, asked: Asked) -> list[str]:
    return [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked.statement}", tuple(asked.parameters))]


def postgres_plan(conn: sa.Connection, asked: Asked, mode: str) -> dict[str, Any]:
    """The plan of the prepared statement, as the server makes it in this mode."""
    raw: Any = conn.connection.driver_connection
    values: list[Any] = []

    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        values.append(asked.parameters[name] if name else asked.parameters[len(values)])
        return f"${len(values)}"

    statement = re.sub(r"%(?:\((\w+)\))?s", number, asked.statement)
    name = f"p{uuid4().hex}"
    with psycopg.ClientCursor(raw) as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")
        cursor.execute(f"PREPARE {name} AS {statement}")
        arguments = f"({', '.join(['%s'] * len(values))})" if values else ""
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}{arguments}", values)
        answer = cursor.fetchall()[0][0]
        plan: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
        return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


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
    update = Asked(update_many(tables.instance, ("id", "priority"), guards, same).decode(), values)

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
